"""The library: the indexes of a data folder, which it builds, opens and lists."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from allusion_es.core.errors import IndexDamagedError, IndexMissingError, UsageError
from allusion_es.core.files import data_dir
from allusion_es.core.progress import Progress, silent
from allusion_es.corpora.packages import VULGATE, default_vectors, fetch
from allusion_es.corpora.passage import Passage
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.encoders.sentences import (
    SentenceEncoder,
    choose_encoder,
    recorded_encoder,
)
from allusion_es.language.encoders.settings import EncoderChoice, EncoderSettings
from allusion_es.language.latin.analysis import Analyser
from allusion_es.language.vectors.types import WordVectors
from allusion_es.local.index import KeptVectors, LocalIndex
from allusion_es.retrieval.analysed import AnalysedPassage, Unanalysed, reread
from allusion_es.retrieval.citation_models import CitationModels
from allusion_es.retrieval.defaults import DEFAULTS
from allusion_es.retrieval.encoder_vectors import EncodedPassages, PassageVectors
from allusion_es.retrieval.index import MAX_K1, IndexSettings, check_name

VULGATE_NAME = DEFAULTS.name
"""Name of the default index, which is built when it is first asked for."""

_SUFFIX = ".idx"

_KEPT = "compared"
"""The folder of the indexes that go by a key."""

_MOST_KEPT = 10
"""How many of them are kept; each has some ten megabytes."""

_VERSES = 35_809
"""Verses of the Vulgate, for the progress bar; another number would only make it wrong."""


_LOOKED_AT = 100
"""Passages at the beginning that tell whether a collection is the Bible."""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Options of a new index: how passages are analysed and weighed.

    Attributes:
        lemmatiser: Name of a lemmatiser plug-in.
        stop_words: Leave out the words of the stop list.
        vectors: Give words and passages their vectors.
        k1: BM25's term-frequency saturation, above 0.
        b: BM25's length normalisation, from 0 to 1.
        learned_links: Give passages citation vectors; by default where the collection is the Bible
            and those that come with the program fit the analysis.
        encoder: A sentence encoder that gives passages vectors, or None.
    """

    lemmatiser: str = "simplemma"
    stop_words: bool = False
    vectors: bool = True
    k1: float = 1.2
    b: float = 0.75
    learned_links: bool | None = None
    encoder: EncoderChoice | None = None


Prepared = tuple[
    Unanalysed, IndexSettings, WordVectors | None, CitationVectors | None, EncodedPassages | None
]
"""The passages of a new index, the settings to save with them, and what gives them vectors."""


class Library:
    """The in-process indexes of one data folder.

    Args:
        folder: The data folder; by default `ALLUSION_DATA_DIR` or the user's cache folder.
        progress: Shown by long work.
        workers: Processes that build indexes.

    Attributes:
        folder: The data folder.
        workers: As given.
    """

    def __init__(
        self, folder: Path | None = None, progress: Progress = silent, workers: int = 1
    ) -> None:
        self.folder = data_dir(folder)
        self._progress = progress
        self.workers = workers
        self._models = CitationModels(self.folder)

    def names(self) -> list[str]:
        """Names of the indexes that are there, sorted."""
        return sorted(path.stem for path in (self.folder / "indexes").glob(f"[!.]*{_SUFFIX}"))

    def path(self, name: str) -> Path:
        """The file of the index of that name, which need not be there.

        Raises:
            UsageError: No index can have that name.
        """
        return self.folder / "indexes" / f"{check_name(name)}{_SUFFIX}"

    def open(self, name: str = VULGATE_NAME) -> LocalIndex:
        """The index of that name; the Vulgate's is built first where it is missing.

        Raises:
            IndexMissingError: There is none of that name; the message says which there are.
            IndexDamagedError: It is damaged or of another format.
            DownloadError: The Vulgate is to be built and cannot be fetched.
        """
        path = self.path(name)
        if name == VULGATE_NAME and not path.exists():
            self.build(name, self.vulgate())
        try:
            return self._opened(path)
        except IndexMissingError as error:
            there = ", ".join(self.names()) or "none yet"
            raise IndexMissingError(f"{error}; there are: {there}") from error

    def _opened(self, path: Path) -> LocalIndex:
        models = self._models
        return LocalIndex(path, self.vectors, self.citations, self.encoder, models.ranker)

    def build(
        self, name: str, passages: Iterable[Passage], options: BuildOptions = BuildOptions()
    ) -> int:
        """Build an index; one of the same name stays in use until it is complete.

        Args:
            name: Lower-case letters, digits, - and _.
            passages: In canonical order.
            options: How they are analysed and weighed.

        Returns:
            How many passages it holds.

        Raises:
            InputError: There is no passage, or two have the same id.
            StorageError: It cannot be written.
        """
        check_name(name)  # before anything is fetched
        return self.build_prepared(name, self.prepare(passages, options))

    def build_prepared(self, name: str, prepared: Prepared) -> int:
        """Build an index of what `prepare` gave, as `build` does."""
        return self._built(self.path(name), prepared)

    def kept(
        self,
        key: str,
        passages: Callable[[], Iterable[Passage]],
        options: BuildOptions = BuildOptions(),
    ) -> LocalIndex:
        """The index that is kept under a key, which has no name in `names`; else it is built.

        The ten that were asked for last are kept, in the folder `compared`.

        Args:
            key: Tells apart whatever the index depends on; a name that an index can have.
            passages: Gives the passages in canonical order; called if the index is to be built.
            options: How they are analysed and weighed.

        Raises:
            InputError: There is no passage, or two have the same id.
            StorageError: It cannot be written.
        """
        path = self._kept_path(key)
        if path.exists():
            with suppress(IndexDamagedError):
                index = self.open_kept(key)
                index.check()
                # Where nothing can be written, it can be read all the same.
                with suppress(OSError):
                    path.touch()
                return index
        self._built(path, self.prepare(passages(), options))
        others = sorted(path.parent.glob(f"[!.]*{_SUFFIX}"), key=lambda each: each.stat().st_mtime)
        for old in others[:-_MOST_KEPT]:
            old.unlink(missing_ok=True)
        return self.open_kept(key)

    def open_kept(self, key: str) -> LocalIndex:
        """The index that is kept under a key.

        Raises:
            IndexMissingError: There is none.
            IndexDamagedError: It is damaged or of another format.
        """
        return self._opened(self._kept_path(key))

    def forget(self, key: str) -> None:
        """Delete the index that is kept under a key, if there is one; open ones go on."""
        self._kept_path(key).unlink(missing_ok=True)

    def _kept_path(self, key: str) -> Path:
        return self.folder / _KEPT / f"{check_name(key)}{_SUFFIX}"

    def give_learned(self, name: str, citations: CitationVectors | None, ranker: str = "") -> None:
        """Build the index of that name again, with other citation vectors and another ranker.

        Its words are those that it has. It stays in use until the new one is complete.

        Args:
            name: Its name.
            citations: The new citation vectors, or None for an index without.
            ranker: Name of a learned ranker, or "" for one that comes along.

        Raises:
            IndexMissingError: There is none of that name.
            SettingsMismatchError: The vectors do not fit its analysis.
            StorageError: It cannot be written.
        """
        index = self.open(name)
        if citations is not None:
            citations.check(index.settings.analysis)
        named = citations.name if citations else ""
        settings = replace(index.settings, citations=named, ranker=ranker)
        encoded = KeptVectors(index) if "dense" in index.capabilities else None
        prepared = reread(index), settings, index.vectors, citations, encoded
        self._built(self.path(name), prepared)

    def _built(
        self,
        path: Path,
        prepared: tuple[
            Unanalysed | Iterable[AnalysedPassage],
            IndexSettings,
            WordVectors | None,
            CitationVectors | None,
            PassageVectors | None,
        ],
    ) -> int:
        """Build an index at a path, as `build_local` does."""
        # Imported where it is needed: most open an index that is there.
        from allusion_es.local.build import build_local

        return build_local(path, *prepared, self.workers, self._progress)

    def prepare(self, passages: Iterable[Passage], options: BuildOptions) -> Prepared:
        """The arguments that `build_local` and `build_es_index` share, by the options.

        Returns:
            The passages, the settings to save with them, word vectors, citation vectors, and
            encoder vectors.

        Raises:
            UsageError: k1 or b is out of range, or a package that the encoder needs is missing.
            InputError: There is no such encoder, or a file of it is broken.
            DownloadError: The encoder cannot be fetched.
            PluginError: There is no such lemmatiser.
            SettingsMismatchError: Citation vectors are asked for, and do not fit the analysis.
        """
        if not 0 < options.k1 <= MAX_K1:
            raise UsageError(
                f"must be above 0 and at most {MAX_K1}, not {options.k1}", argument="k1"
            )
        if not 0 <= options.b <= 1:
            raise UsageError(f"must be from 0 to 1, not {options.b}", argument="b")
        texts = iter(passages)
        first = list(islice(texts, _LOOKED_AT))
        learned = options.learned_links
        if learned is None and 2 * sum(bool(each.book) for each in first) < len(first):
            learned = False  # what comes along was learned from citations of the Bible
        analyser = Analyser(options.lemmatiser, options.stop_words)
        vectors = self.vectors() if options.vectors else None
        name = vectors.name if vectors else ""
        citations = self._models.fitting(analyser.settings, learned)
        encoded = None
        if options.encoder is not None:
            encoded = EncodedPassages(choose_encoder(options.encoder, self.folder), self.folder)
        settings = IndexSettings(
            analyser.settings,
            name,
            options.k1,
            options.b,
            citations.name if citations else "",
            encoded.settings if encoded else None,
        )
        unanalysed = Unanalysed(chain(first, texts), analyser.settings)
        return unanalysed, settings, vectors, citations, encoded

    def vulgate(self) -> Iterator[Passage]:
        """The verses of the Vulgate, fetched first where they are missing."""
        from allusion_es.corpora.bible.vulgate import read_vulgate

        path = fetch(VULGATE, self.folder, self._progress)
        yield from self._progress(read_vulgate(path), "Indexing the Vulgate", _VERSES)

    @property
    def models(self) -> CitationModels:
        """The citation vectors of this machine."""
        return self._models

    def citations(self, name: str) -> CitationVectors:
        """The citation vectors of that name.

        Raises:
            InputError: They are not here; or the file is not what it should be.
            IndexDamagedError: The file is damaged.
        """
        return self._models.open(name)

    def encoder(self, settings: EncoderSettings) -> SentenceEncoder:
        """The sentence encoder that an index was built with, as `recorded_encoder` gives it."""
        return recorded_encoder(settings, self.folder)

    def vectors(self) -> WordVectors:
        """The default word vectors, fetched first where they are missing."""
        return default_vectors(self.folder, self._progress)
