"""What a reader may do while it reads: little time, little memory, no other file, no code."""

import os
import resource
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from allusion_es.core.files import data_dir

SECONDS = 5.0
"""Most processor time that one input may take; a thousand times what any should."""

PATIENCE = 60.0
"""Longest that one input may take on a busy machine, or waiting for something."""

GROWTH = 48 << 20
"""Bytes by which one input, of at most 64 KB, may raise the peak of memory."""

SPACE = 1 << 30
"""Bytes of address space that a process may add once everything is loaded."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FORBIDDEN = (
    "pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork",
    "subprocess.Popen", "socket.connect", "socket.getaddrinfo", "ctypes.dlopen", "shutil.",
)  # fmt: skip
_CHANGING = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod")


class Broken(BaseException):
    """A promise was broken; no `Exception`, so that no reader can swallow it."""


class Guard:
    """Watches this process; there can be only one, since hooks cannot be taken away.

    Args:
        folder: Where files may be written and read.
        reads: Where else files may be read.
    """

    def __init__(self, folder: Path, reads: Iterable[Path] = ()) -> None:
        self._folder = str(folder)
        readable: tuple[str | Path, ...] = (*_code_folders(), data_dir() / "data", *reads)
        self._readable = (self._folder, *(str(Path(each).resolve()) for each in readable))
        self._broken: str | None = None
        self._watching = False
        sys.addaudithook(self._heard)
        signal.signal(signal.SIGPROF, self._late)
        signal.signal(signal.SIGALRM, self._late)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Watch what happens inside.

        Raises:
            Broken: One of the promises does not hold.
        """
        peak = _peak()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        self._broken, self._watching = None, True
        try:
            yield
        finally:
            self._watching = False
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
        grown = _peak() - peak
        if grown > GROWTH:
            raise Broken(f"the peak of memory grew by {grown >> 20} MB")
        if self._broken:
            raise Broken(self._broken)

    def limit_space(self) -> None:
        """From now on, memory that nobody needs cannot be asked for."""
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + SPACE
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))

    def _late(self, number: int, frame: FrameType | None) -> None:
        if self._watching:
            raise Broken(f"it took more than {SECONDS:g} s of work, or {PATIENCE:g} s")

    def _heard(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self._watching:
            return
        if event == "open":
            self._opened(*arguments)
        elif event.startswith(_FORBIDDEN) or (
            event in _CHANGING and not self._is_inside(arguments[0])
        ):
            self._broken = f"{event} {arguments!r:.100}"

    def _opened(self, path: object, mode: object, flags: object) -> None:
        writes = isinstance(flags, int) and flags & _WRITING
        allowed = (self._folder,) if writes else self._readable
        if isinstance(path, str | bytes) and not self._is_inside(path, allowed):
            self._broken = f"opened {path!r:.100} ({mode!r})"

    def _is_inside(self, path: object, folders: tuple[str, ...] = ()) -> bool:
        if not isinstance(path, str | bytes):
            return True  # an open file
        return os.path.realpath(os.fsdecode(path)).startswith(folders or (self._folder,))


def _code_folders() -> list[str]:
    """Where modules and their data are read from, also late."""
    return [
        sys.prefix,
        sys.base_prefix,
        str(Path(__file__).parents[1]),
        *(each for each in sys.path if each),
    ]


def _peak() -> int:
    """The most memory that this process has had, in bytes.

    `getrusage` would count that of the process that started this one, too.
    """
    status = Path("/proc/self/status").read_bytes()
    return int(status.partition(b"VmHWM:")[2].split(maxsplit=1)[0]) << 10
