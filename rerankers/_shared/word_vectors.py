"""The word vectors of a reranker: the index's or chosen ones, checked to be finite."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.errors import UsageError, VectorError
from allusion_es.language.vectors.types import WordVectors, kept_vectors
from allusion_es.retrieval.reranking import Collection


class ChosenVectors:
    """The word vectors that a reranker was told to use: the index's, or others by name.

    Args:
        plugin: The reranker's name, for messages.
        name: Name or path of word vectors; "" for those of the index.
    """

    def __init__(self, plugin: str, name: str = "") -> None:
        self._plugin = plugin
        self._name = name
        self._loaded: WordVectors | None = None

    def find(self, collection: Collection) -> WordVectors | None:
        """The vectors, loaded when first asked for; None where the index has none."""
        if not self._name:
            return collection.vectors
        if self._loaded is None:
            from allusion_es.corpora.packages import default_vectors
            from allusion_es.language.vectors.files import load_vectors

            self._loaded = kept_vectors(load_vectors(self._name, {"floret": default_vectors}))
        return self._loaded

    def need(self, collection: Collection) -> WordVectors:
        """The vectors, or an error where there are none.

        Raises:
            UsageError: The index has none.
        """
        vectors = self.find(collection)
        if vectors is None:
            raise UsageError(
                f"{self._plugin} needs word vectors, and the index has none; rebuild it without "
                f"--no-vectors, or name some with {self._plugin}.vectors"
            )
        return vectors

    def rows(self, collection: Collection, words: Sequence[str]) -> NDArray[np.float32]:
        """`vectors_of` these words; those of a tuple of words are cached.

        Candidates' words are a tuple, the same one for every reranker of a query.
        """
        vectors = self.find(collection)
        if not isinstance(words, tuple):
            return vectors_of(vectors, words)
        return collection.kept(lambda: vectors_of(vectors, words), words, vectors)

    def note(self, collection: Collection) -> str:
        """A note that names the vectors."""
        vectors = self.find(collection)
        name = vectors.name if vectors is not None else "none"
        return f"{self._plugin}: word vectors {name}, of unit length"


def vectors_of(vectors: WordVectors | None, words: Sequence[str]) -> NDArray[np.float32]:
    """Unit vectors of `words`, shape (len(words), dimension); zeros for words without one.

    Raises:
        VectorError: A vector is not finite; the message names the word. (Such a vector would
            make a text a perfect match of every other.)
    """
    if vectors is None:
        return np.zeros((len(words), 1), dtype=np.float32)
    rows = vectors.vectors(words)
    # One pass over the sums: a row holds NaN or infinity exactly where its sum is not finite.
    broken = np.flatnonzero(~np.isfinite(rows.sum(axis=1)))
    if len(broken):
        raise VectorError(
            f"word vectors {vectors.name!r}: the vector of {words[broken[0]]!r} is not finite; "
            "use other vectors"
        )
    return rows
