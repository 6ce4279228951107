"""Which code a result comes from, so that kept results go with the code that made them."""

import hashlib
from functools import cache
from importlib.resources import files


@cache
def code_hash(*parts: str) -> str:
    """A hash of the modules and data of some packages of this program, such as `retrieval`."""
    digest = hashlib.sha256()
    for part in parts:
        folder = files(f"allusion_es.{part}")
        for item in sorted(folder.iterdir(), key=lambda item: item.name):
            if item.is_file():  # weights and tables decide results as code does
                digest.update(item.read_bytes())
    return digest.hexdigest()
