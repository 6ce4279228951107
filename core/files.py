"""Files: the data folder, writing whole or not at all, and reading UTF-8 text."""

import contextlib
import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from allusion_es.core.errors import InputError, StorageError
from allusion_es.core.locks import is_abandoned, locked_file

DATA_DIR_VARIABLE = "ALLUSION_DATA_DIR"
"""Environment variable that names the folder for data and indexes."""


def data_dir(chosen: Path | None = None) -> Path:
    """The folder for fetched data and saved indexes; not created here.

    Args:
        chosen: What the user asked for; otherwise the environment variable
            `ALLUSION_DATA_DIR`, otherwise the user's cache folder.
    """
    if chosen is not None:
        return chosen
    named = os.environ.get(DATA_DIR_VARIABLE)
    if named:
        return Path(named)
    import platformdirs  # 20 ms, and not needed where the folder is named

    return Path(platformdirs.user_cache_dir("allusion-es"))


@contextlib.contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Write a file whole or not at all: to a temporary name beside it, then renamed.

    What was there before stays until the new file is complete and on the disk. Temporary files
    that killed processes left of the same file are deleted.

    Raises:
        StorageError: The file cannot be written (no permission, disk full).
    """
    temporary = path.parent / f".{path.name}.{os.urandom(6).hex()}.part"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
            if is_abandoned(left):
                left.unlink(missing_ok=True)
        with locked_file(temporary) as file:
            yield file
            file.flush()
            # Else a crash of the machine could leave the new name on an empty file.
            os.fsync(file.fileno())
            if os.name == "nt":
                file.close()  # open files cannot be renamed there, and there are no locks
            temporary.replace(path)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_lines(target: Path | TextIO, lines: Iterable[str]) -> None:
    """Write lines to a file, whole or not at all, or to an open stream.

    Args:
        target: The file, written as UTF-8, or the stream.
        lines: Without their line ends.

    Raises:
        StorageError: The file cannot be written.
    """
    if isinstance(target, Path):
        with writing(target) as file:
            file.writelines(f"{line}\n".encode() for line in lines)
    else:
        target.writelines(f"{line}\n" for line in lines)


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, without a byte-order mark.

    Raises:
        InputError: It cannot be read, or is not UTF-8; the message names line and byte.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    return decode(data, str(path))


def decode(data: bytes, source: str) -> str:
    """`data` as UTF-8 text, without a byte-order mark.

    Raises:
        InputError: It is not UTF-8, or has a NUL byte, as UTF-16 without a mark has; the message
            names `source`, line and byte.

    Example:
        >>> decode(b"Deus", "input")
        'Deus'
    """
    if (nul := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, nul) + 1
        raise InputError(
            f"{source}:{line}: NUL byte at byte {nul}; save the text as UTF-8 without it"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{source}:{line}: byte {error.start} ({data[error.start]:#04x}) is not UTF-8; "
            "convert the text to UTF-8"
        ) from error
