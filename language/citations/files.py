"""Opening the files that are learned from known citations."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allusion_es.core.arrays import ArrayFile, CheckedArrays
from allusion_es.core.errors import InputError
from allusion_es.language.latin.analysis import AnalysisSettings

REMAKE = "make it again with 'allusion-es learn', or install allusion-es again"
"""What to do with a file that cannot be used."""


class LearnedFile(CheckedArrays):
    """A file of arrays that was learned.

    Attributes:
        about: What it was learned from.
        settings: How the texts were analysed.

    Raises:
        IndexDamagedError: Its header lacks these.
    """

    def __init__(self, file: ArrayFile) -> None:
        super().__init__(file)
        self.about: Mapping[str, Any] = self.read_header(lambda meta: dict(meta["about"].items()))
        self.settings: AnalysisSettings = self.read_header(
            lambda meta: AnalysisSettings.from_json(meta["settings"])
        )


def open_learned(path: Path, kind: str, format: int, what: str) -> LearnedFile:
    """A file of arrays that was learned.

    Args:
        path: The file.
        kind: What its header must say that it is.
        format: The format that its header must name.
        what: What it holds, for messages.

    Raises:
        IndexDamagedError: The file is damaged.
        InputError: It is something else, of another format, or cannot be opened.
    """
    try:
        file = ArrayFile(path, REMAKE)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    meta = file.meta
    if meta.get("kind") != kind or meta.get("format") != format:
        raise InputError(
            f"{path}: not {what} of format {format} but {meta.get('kind', 'other')!s:.40} of "
            f"format {meta.get('format')!s:.40}; {REMAKE}"
        )
    return LearnedFile(file)
