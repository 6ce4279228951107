"""What an index may have or not, and what to say where it is needed and is not there."""

from collections.abc import Collection
from typing import Literal

from allusion_es.core.errors import UsageError

Part = Literal["knn", "citations", "ngrams", "expansion", "parallels"]
"""Fields for kinds of searches, and groups of parallel passages."""

_MISSING = {
    "knn": "no word vectors; rebuild it without --no-vectors",
    "citations": "no citation vectors; rebuild it without --no-learned-links",
    "ngrams": "no n-grams; rebuild it with 'allusion-es index'",
    "expansion": "no expansion; rebuild it without --no-learned-links",
}


def need(kind: str, parts: Collection[Part], name: str) -> None:
    """Refuse a kind of search that an index has no field for.

    Args:
        kind: The kind, see `SearchRequest`.
        parts: What the index has.
        name: Its name.

    Raises:
        UsageError: It has no such field; the message says how to rebuild it.

    Example:
        >>> need("bm25", (), "vulgate")
        >>> need("ngrams", (), "vulgate")
        Traceback (most recent call last):
        ...
        allusion_es.core.errors.UsageError: index 'vulgate' has no n-grams; rebuild it with \
'allusion-es index'
    """
    if kind in _MISSING and kind not in parts:
        raise UsageError(f"index {name!r} has {_MISSING[kind]}")
