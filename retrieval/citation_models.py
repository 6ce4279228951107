"""What was learned of citations: vectors that come along or were learned here, and rankers."""

from importlib.resources import as_file, files
from pathlib import Path

from allusion_es.core.errors import InputError
from allusion_es.language.citations.vectors import CitationVectors, is_name
from allusion_es.language.latin.analysis import AnalysisSettings

SUFFIX = ".citations"
"""The end of the names of files with citation vectors."""

TRANSLATIONS = ".translations"
"""The end of the names of files with translations; they lie beside the vectors of that name."""

RANKER = ".ranker"
"""The end of the names of files with rankers."""

_SHIPPED = "patristic.citations"


class CitationModels:
    """The citation vectors of a data folder, each opened once.

    Args:
        folder: The data folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "models"
        self._open: dict[str, CitationVectors] = {}
        self._looked = False

    def shipped(self) -> CitationVectors | None:
        """The vectors that come with the program, or None where it comes without."""
        if not self._looked:
            self._looked = True
            with as_file(files("allusion_es.language.citations") / _SHIPPED) as path:
                if path.exists():
                    self._shipped: CitationVectors | None = CitationVectors(path)
                else:
                    self._shipped = None
        return self._shipped

    def path(self, name: str) -> Path:
        """The file of the vectors of that name, if they were learned here."""
        return self.folder / f"{name}{SUFFIX}"

    def translations(self, name: str) -> Path:
        """The file of the translations that were learned with the vectors of that name."""
        return self.path(name).with_suffix(TRANSLATIONS)

    def ranker(self, name: str) -> Path:
        """The file of the ranker of that name, which was learned here.

        Raises:
            InputError: It is not here.
        """
        path = self.folder / f"{name}{RANKER}"
        if not is_name(name) or not path.exists():
            raise InputError(
                f"the index was given ranker {name[:64]!r}, which is not in {self.folder}; copy it "
                "there from where it was learned, or build the index again"
            )
        return path

    def open(self, name: str) -> CitationVectors:
        """The vectors of that name.

        Raises:
            InputError: They are not here; or the file is not what it should be.
            IndexDamagedError: The file is damaged.
        """
        shipped = self.shipped()
        if shipped is not None and shipped.name == name:
            return shipped
        found = self._open.get(name)
        if found is None:
            found = self._open[name] = self._read(name)
        return found

    def fitting(self, settings: AnalysisSettings, wanted: bool | None) -> CitationVectors | None:
        """The vectors that come with the program, if they fit an index's analysis.

        Args:
            settings: How its texts are analysed.
            wanted: True if there must be some, False for none; None for them where they fit.

        Raises:
            InputError: Vectors are wanted, and none come with the program.
            SettingsMismatchError: Vectors are wanted, and do not fit.
        """
        if wanted is False:
            return None
        shipped = self.shipped()
        if wanted:
            if shipped is None:
                raise InputError(
                    "no citation vectors come with this installation; learn some with "
                    "'allusion-es learn', or leave --learned-links out"
                )
            shipped.check(settings)
        return shipped if shipped is not None and shipped.fits(settings) else None

    def _read(self, name: str) -> CitationVectors:
        path = self.path(name)
        if not is_name(name) or not path.exists():
            raise InputError(
                f"the index was built with citation vectors {name[:64]!r}, which are not in "
                f"{self.folder}; copy them there from where they were learned, or build the index "
                "again"
            )
        found = CitationVectors(path)
        if found.name != name:
            raise InputError(
                f"{path} holds citation vectors {found.name}, not {name}; build the index again"
            )
        return found
