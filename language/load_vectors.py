"""Word vectors by name or path, each file read once."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from allusion_es.core.errors import InputError
from allusion_es.core.plugins import plugins, start_plugin
from allusion_es.language.vector_files import FileVectors, read_vectors
from allusion_es.language.vectors import WordVectors

GROUP = "allusion_es.vectors"
"""The entry-point group that word vectors with a name register in: callables that open them."""


def load_vectors(
    name_or_path: str | Path, named: Mapping[str, Callable[[], WordVectors]] | None = None
) -> WordVectors:
    """The word vectors of that name or file.

    A file is read once for as long as it stays the same; names go before files (write `./floret`
    for a file of that name).

    Args:
        name_or_path: A name, or the path of a file.
        named: What opens the vectors of some names; it goes before plug-ins of the same name.

    Raises:
        InputError: It is neither, or the file cannot be read as word vectors.
        PluginError: The plug-in of that name cannot be loaded.

    Example:
        >>> load_vectors("nihil")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        allusion_es.core.errors.InputError: there are no word vectors 'nihil'; give a file...
    """
    openers = named or {}
    name = str(name_or_path)
    if name in openers:
        return openers[name]()
    plugged = plugins(GROUP)
    if name in plugged:
        vectors: WordVectors = start_plugin(GROUP, name)
        return vectors
    path = Path(name_or_path)
    try:
        state = path.stat()
    except (OSError, ValueError):
        names = " or ".join(sorted({*openers, *plugged}))
        raise InputError(
            f"there are no word vectors {name!r}; give a file" + (f" or {names}" if names else "")
        ) from None
    return _read(path.resolve(), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _read(path: Path, changed: int, size: int) -> FileVectors:
    """The vectors of a file in the state that time and size tell."""
    return read_vectors(path)
