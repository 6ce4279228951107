"""Locks on temporary files, which tell whether the process that made a file still lives.

The system takes a lock away when its process ends, however that was, even by being killed.
"""

import contextlib
import errno
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from allusion_es.core.errors import StorageError

if sys.platform != "win32":
    import fcntl

PREFIX = "allusion-es-"
"""The begin of the names of this program's temporary folders."""

_LOCK = ".lock"
"""The file of a temporary folder that its process holds locked."""


@contextlib.contextmanager
def locked_file(path: Path) -> Iterator[BinaryIO]:
    """Create a file, and hold a lock on it as long as it is open.

    Raises:
        OSError: It is there already, or cannot be written.
    """
    while True:
        with path.open("xb") as file:
            _lock(file, wait=True)
            # Between these two steps it may have been taken for an abandoned one.
            if os.fstat(file.fileno()).st_nlink:
                yield file
                return


def is_abandoned(path: Path) -> bool:
    """True if the process that created a file with `locked_file` has ended.

    False where that cannot be told: the file is another user's, or the file system has no locks.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "some.part")
        ...     with locked_file(path):
        ...         before = is_abandoned(path)
        ...     before, is_abandoned(path)
        (False, True)
    """
    try:
        with path.open("r+b") as file:
            return _lock(file, wait=False)
    except OSError:
        return False


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder, deleted afterwards; those that killed processes left are deleted first.

    It holds a hidden file, the lock.

    Raises:
        StorageError: It cannot be made.
    """
    import tempfile  # takes long to import, and few commands need it

    with contextlib.ExitStack() as stack:
        try:
            for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{_LOCK}"):
                if is_abandoned(lock):
                    shutil.rmtree(lock.parent, ignore_errors=True)
            made = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(made))
            stack.enter_context(locked_file(folder / _LOCK))
        except OSError as error:
            raise StorageError(
                f"no temporary folder can be made ({error.strerror or error}); set TMPDIR to a "
                "folder that can be written"
            ) from error
        yield folder


def _lock(file: BinaryIO, *, wait: bool) -> bool:
    """True if the file could be locked.

    With `wait`, a file system without locks is no error: then nothing is ever abandoned.
    """
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if wait and error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
        return False
    return True
