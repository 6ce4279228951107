"""Learned files: how files learned from known citations are opened and checked."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allusion_es.core.arrays import ArrayFile, CheckedArrays
from allusion_es.core.errors import InputError
from allusion_es.language.latin.analysis import AnalysisSettings

REMAKE = "make it again with 'allusion-es learn', or install allusion-es again"
"""Advice in messages about a file that cannot be used."""


class LearnedFile(CheckedArrays):
    """A learned file of arrays, with the entries that all such files have in their headers.

    Attributes:
        about: A description of the texts that it was learned from.
        settings: The analysis of those texts; others cannot use the file.

    Raises:
        IndexDamagedError: The header lacks one of these.
    """

    def __init__(self, file: ArrayFile) -> None:
        super().__init__(file)
        self.about: Mapping[str, Any] = self.read_header(lambda meta: dict(meta["about"].items()))
        self.settings: AnalysisSettings = self.read_header(
            lambda meta: AnalysisSettings.from_json(meta["settings"])
        )


def open_learned(path: Path, kind: str, format: int, what: str) -> LearnedFile:
    """Open a learned file of arrays, if its header names the kind and format that are asked for.

    Args:
        path: The file.
        kind: The kind of file that the header must name.
        format: The version of the format that the header must name.
        what: The name of its content, for messages.

    Raises:
        IndexDamagedError: The file is damaged.
        InputError: The file is of another kind, of another format, or cannot be opened.
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
