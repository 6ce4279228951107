"""Opening the files that are learned from known citations."""

from pathlib import Path

from allusion_es.core.arrays import ArrayFile
from allusion_es.core.errors import InputError

REMAKE = "make it again with 'allusion-es learn', or install allusion-es again"
"""What to do with a file that cannot be used."""


def open_learned(path: Path, kind: str, format: int, what: str) -> ArrayFile:
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
            f"{path}: not {what} of format {format} but {meta.get('kind', 'other')} of format "
            f"{meta.get('format')}; {REMAKE}"
        )
    return file
