"""The hash of a package's code, so that kept results are used only with the code that made them."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable


@cache
def code_hash(*parts: str) -> str:
    """A SHA-256 of all modules and data files in some packages of this program, in hexadecimal.

    Weights and tables count as code does, since they decide results too. Packages inside a
    package are part of it; compiled files are not.

    Args:
        parts: Names of packages below `allusion_es`, such as `retrieval` or `language.latin`.

    Example:
        >>> len(code_hash("core")), code_hash("core") == code_hash("language")
        (64, False)
    """
    digest = hashlib.sha256()
    for part in parts:
        for name, file in _files(files(f"allusion_es.{part}"), part):
            digest.update(f"{name}\n".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _files(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.name == "__pycache__":
            continue
        inner = f"{name}/{item.name}"
        if item.is_dir():
            yield from _files(item, inner)
        else:
            yield inner, item
