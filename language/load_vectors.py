"""Word vectors by name or path, each opened once."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from allusion_es.core.errors import InputError
from allusion_es.language.vector_files import FileVectors, read_vectors
from allusion_es.language.vectors import WordVectors

Named = Mapping[str, Callable[[], WordVectors]]
"""Word vectors that have a name, and what opens them."""


def load_vectors(name_or_path: str | Path, named: Named | None = None) -> WordVectors:
    """The word vectors of that name or file.

    A file is read once for as long as it stays the same; names go before files (write `./floret`
    for a file of that name).

    Args:
        name_or_path: One of the names, or the path of a file.
        named: The names.

    Raises:
        InputError: It is neither, or the file cannot be read as word vectors.

    Example:
        >>> load_vectors("flo", {"floret": lambda: None})
        Traceback (most recent call last):
        allusion_es.core.errors.InputError: there are no word vectors 'flo'; give a file or floret
    """
    named = named or {}
    if isinstance(name_or_path, str) and name_or_path in named:
        return named[name_or_path]()
    path = Path(name_or_path)
    try:
        state = path.stat()
    except (OSError, ValueError):
        names = " or ".join(sorted(named))
        raise InputError(
            f"there are no word vectors {str(name_or_path)!r}; give a file"
            + (f" or {names}" if names else "")
        ) from None
    return _read(path.resolve(), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _read(path: Path, changed: int, size: int) -> FileVectors:
    """The vectors of a file in the state that time and size tell."""
    return read_vectors(path)
