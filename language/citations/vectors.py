"""Citation vectors: vectors of texts, learned so that a text lies close to what it cites.

`learning` trains them; a file holds one byte a number and no text.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, Singles, save_arrays
from allusion_es.core.errors import SettingsMismatchError
from allusion_es.language.citations.learned_files import open_learned
from allusion_es.language.citations.word_parts import Word, WordParts, find_rows, lemma_key
from allusion_es.language.latin.analysis import AnalysisSettings
from allusion_es.language.vectors.types import RowCache

KIND = "citation vectors"
FORMAT = 1
"""Version of the format, to be raised whenever older programs cannot read the file."""

_NAME = re.compile(r"[0-9A-Za-z_-]{1,64}")
_LARGEST = 127
_ZERO = 1e-30
"""The largest value of a row that is saved as zero: single precision could not hold its scale."""


@dataclass(frozen=True, slots=True)
class CitationTable:
    """The result of training: vectors of tokens, lemmas and n-grams, and weights of lemmas.

    Attributes:
        keys: The key of each row's token, lemma or n-gram (`word_parts`), ascending, shape (n,).
        rows: Their vectors, shape (n, dimension), float32.
        lemma_keys: Lemmas that have a weight, ascending, shape (m,).
        lemma_weights: `exp(b) idf` of each, shape (m,), float32.
        unknown_weight: The weight of any other lemma.
    """

    keys: NDArray[np.int64]
    rows: Singles
    lemma_keys: NDArray[np.int64]
    lemma_weights: Singles
    unknown_weight: float


def save_citation_vectors(
    path: Path, table: CitationTable, settings: AnalysisSettings, about: Mapping[str, Any]
) -> str:
    """Write a table with one byte a number and a scale for each row, whole or not at all.

    Args:
        path: The file.
        table: The result of training.
        settings: The analysis of the texts; others cannot use the vectors.
        about: A description of what it was learned from, as JSON.

    Returns:
        The model's name, a hash of its content, so that no two models have the same name.

    Raises:
        StorageError: The file cannot be written.
    """
    numbers, scales = to_bytes(table.rows)
    arrays: dict[str, Array] = {
        "keys": table.keys,
        "rows": numbers,
        "scales": scales,
        "lemma_keys": table.lemma_keys,
        "lemma_weights": table.lemma_weights,
    }
    meta = {
        "kind": KIND,
        "format": FORMAT,
        "settings": asdict(settings),
        "unknown_weight": table.unknown_weight,
        "about": dict(about),
    }
    digest = hashlib.sha256(json.dumps(meta, sort_keys=True).encode())
    for array in arrays.values():
        digest.update(np.ascontiguousarray(array).data)
    name = digest.hexdigest()[:16]
    save_arrays(path, {**meta, "name": name}, arrays)
    return name


def is_name(name: str) -> bool:
    """Whether a name is safe as that of citation vectors, since it becomes part of a path.

    Example:
        >>> is_name("0f3a"), is_name("../0f3a")
        (True, False)
    """
    return _NAME.fullmatch(name) is not None


def to_bytes(rows: Singles) -> tuple[NDArray[np.int8], Singles]:
    """Return vectors as integers from -127 to 127, and the scale by which to multiply each row.

    Args:
        rows: Shape (n, dimension).

    Returns:
        Shapes (n, dimension) and (n,).

    Example:
        >>> numbers, scales = to_bytes(np.array([[0.5, -1.0], [0.0, 0.0]], dtype=np.float32))
        >>> numbers.tolist(), scales.round(4).tolist()
        ([[64, -127], [0, 0]], [0.007899999618530273, 0.0])
    """
    largest = np.abs(rows).max(axis=1, initial=0.0).astype(np.float64)
    largest[largest < _ZERO] = 0.0
    steps = np.divide(_LARGEST, largest, out=np.zeros(len(rows)), where=largest > 0)
    numbers = np.rint(rows * steps[:, None]).astype(np.int8)
    return numbers, (largest / _LARGEST).astype(np.float32)


CONTEXT = 0.5
"""Weight of the vector of a query's window beside that of the query's own words."""

_TOGETHER = 20_000  # texts that are encoded at once, which bounds the memory for their words
_WORDS = 10_000  # words whose vectors are computed at once, likewise
_SUMS = 256  # sums that are computed at once: 256 KB, and as much for their addends
_KEPT = 100_000
"""Words whose vectors are cached, about as many as a large collection has."""

_MOST_SCALE = 1e6
_MOST_WEIGHT = 1e6
"""Real scales and weights are far smaller; larger ones could make a sum infinite."""


class CitationVectors:
    """Encodes texts as vectors of unit length whose cosine tells how likely one cites the other.

    `v(text) = sum over its distinct words of sqrt(tf) w(lemma) v(word)`, scaled to unit length,
    with `w(lemma) = exp(b) idf`; for v(word) see `WordParts`.

    Args:
        path: A file that `save_citation_vectors` wrote; it is memory-mapped.

    Attributes:
        name: The model's name, a hash of its content.
        dimension: The length of the vectors.
        settings: The analysis that texts must have.
        about: A description of what it was learned from.

    Raises:
        IndexDamagedError: The file is damaged.
        InputError: The file is of another kind, of another format, or cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        file = open_learned(path, KIND, FORMAT, "citation vectors")
        self.name: str = file.read_header(_name)
        self.about: Mapping[str, Any] = file.about
        self.settings = file.settings
        self._unknown_weight: float = file.read_header(_unknown_weight)
        self._keys = file.integers("keys", (None,))
        self._rows = file.integers("rows", (len(self._keys), None), 128, least=-127)
        self._scales = file.floats("scales", (len(self._keys),), _MOST_SCALE, least=0)
        self._lemma_keys = file.integers("lemma_keys", (None,))
        weights = (len(self._lemma_keys),)
        self._lemma_weights = file.floats("lemma_weights", weights, _MOST_WEIGHT, least=0)
        self.dimension: int = self._rows.shape[1]
        self.path = path
        self._cache: RowCache[Word] = RowCache(self.dimension, _KEPT)
        self._directions: RowCache[str] = RowCache(self.dimension, _KEPT)
        self._weights: RowCache[str] = RowCache(1, _KEPT)

    def __len__(self) -> int:
        """Return the number of tokens, lemmas and n-grams."""
        return len(self._keys)

    def fits(self, settings: AnalysisSettings) -> bool:
        """Whether they were learned from texts whose words got the same lemmas."""
        return self.settings.has_lemmas_of(settings)

    def check(self, settings: AnalysisSettings) -> None:
        """Refuse to work on words of another analysis.

        Args:
            settings: The analysis of an index.

        Raises:
            SettingsMismatchError: It differs from the analysis of the texts of the training.
        """
        if self.fits(settings):
            return
        mine, other = asdict(self.settings), asdict(settings)
        changed = [
            f"{key} {mine[key]!r} (here {other[key]!r})" for key in mine if mine[key] != other[key]
        ]
        raise SettingsMismatchError(
            f"citation vectors {self.name} were learned with {', '.join(changed)}; learn others "
            "with 'allusion-es learn', or build the index with --no-learned-links"
        )

    def table(self) -> CitationTable:
        """Return the table that the vectors are made of, from which training can continue."""
        return CitationTable(
            self._keys,
            self._rows * self._scales[:, None],
            self._lemma_keys,
            self._lemma_weights,
            self._unknown_weight,
        )

    def word_vectors(self, words: Sequence[Word]) -> Singles:
        """Return `w(lemma) v(word)` of each word, or zeros; shape (len(words), dimension)."""
        result = np.zeros((len(words), self.dimension), dtype=np.float32)
        parts = WordParts(words, self._keys)
        weights = parts.weights * self._scales[parts.rows]
        result[:] = weighted_sums(weights, parts.rows, parts.offsets, self._rows)
        result *= self.word_weights(words)[:, None]
        return result

    def known_word_vectors(self, words: Sequence[Word]) -> Singles:
        """Return `word_vectors` from a cache, since texts repeat their words.

        Args:
            words: The words, each once.
        """

        def compute(new: Sequence[Word]) -> Singles:
            starts = range(0, len(new), _WORDS)
            return np.concatenate([self.word_vectors(new[n : n + _WORDS]) for n in starts])

        return self._cache.rows(words, compute)

    def lemma_directions(self, lemmas: Sequence[str]) -> Singles:
        """Return unit vectors of lemmas, whatever their forms, from a cache.

        Args:
            lemmas: The lemmas, each once.

        Returns:
            Shape (len(lemmas), dimension); zeros for a lemma of which nothing is known.
        """

        def compute(new: Sequence[str]) -> Singles:
            return unit(self.known_word_vectors([(lemma, lemma) for lemma in new]))

        return self._directions.rows(lemmas, compute)

    def word_weights(self, words: Sequence[Word]) -> Singles:
        """Return `w(lemma)` of each word, shape (len(words),)."""
        weights: Singles = self._weights.rows([lemma for _, lemma in words], self._lemma_rows)[:, 0]
        return weights

    def _lemma_rows(self, lemmas: Sequence[str]) -> Singles:
        """Return w(lemma) of each lemma, shape (len(lemmas), 1)."""
        rows = find_rows(self._lemma_keys, [lemma_key(lemma) for lemma in lemmas])
        weights = np.full((len(lemmas), 1), self._unknown_weight, dtype=np.float32)
        weights[rows >= 0, 0] = self._lemma_weights[rows[rows >= 0]]
        return weights

    def text_vectors(self, texts: Sequence[Sequence[Word]]) -> Singles:
        """Return unit vectors of texts, shape (len(texts), dimension).

        A text without a known word gets zeros.
        """
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        place = 0
        remaining = iter(texts)
        while batch := list(islice(remaining, _TOGETHER)):
            result[place : place + len(batch)] = self._batch(batch)
            place += len(batch)
        return result

    def query_vector(
        self, words: Sequence[Word], window: Sequence[Word] = (), context: float = CONTEXT
    ) -> Singles:
        """Return the unit vector of a query, shape (dimension,); zeros if no word is known.

        Args:
            words: The query's own words.
            window: The query's words with those before and after it; empty if there are none.
            context: The weight of the window's unit vector beside that of the words.
        """
        return self.query_vectors(words, window, context)[1]

    def query_vectors(
        self, words: Sequence[Word], window: Sequence[Word] = (), context: float = CONTEXT
    ) -> tuple[Singles, Singles]:
        """Return the unit vectors of the words alone and of the words with their window."""
        own, around = self.text_vectors([words, window])
        both = np.asarray(own + np.float32(context) * around, dtype=np.float32)
        return unit(own), unit(both)

    def _batch(self, texts: Sequence[Sequence[Word]]) -> Singles:
        numbers: dict[Word, int] = {}
        offsets, codes, roots = [0], list[int](), list[float]()
        for text in texts:
            counts: dict[int, int] = {}
            for word in text:
                code = numbers.setdefault(word, len(numbers))
                counts[code] = counts.get(code, 0) + 1
            codes += counts
            roots += [math.sqrt(count) for count in counts.values()]
            offsets.append(len(codes))
        vectors = self.known_word_vectors(list(numbers))
        weights = np.array(roots, dtype=np.float32)
        return unit(
            weighted_sums(weights, np.array(codes, dtype=np.int64), np.array(offsets), vectors)
        )


def _name(meta: Mapping[str, Any]) -> str:
    """The name in a header, which becomes part of a path."""
    name: str = meta["name"]
    if not is_name(name):
        raise ValueError("name")
    return name


def _unknown_weight(meta: Mapping[str, Any]) -> float:
    weight = float(meta["unknown_weight"])
    if not 0 <= weight <= _MOST_WEIGHT:
        raise ValueError("unknown_weight")
    return weight


def weighted_sums(
    weights: Singles, columns: NDArray[np.int64], offsets: NDArray[np.int64], table: Array
) -> Singles:
    """Return weighted sums of a table's rows, shape (len(offsets) - 1, columns of the table).

    Args:
        weights: Of each addend, shape (addends,).
        columns: The row of the table that each addend is, shape (addends,).
        offsets: Sum i has the addends `offsets[i]:offsets[i + 1]`.
        table: Shape (rows, columns).

    Example:
        >>> table = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
        >>> weights = np.array([2.0, 3.0, 1.0], dtype=np.float32)
        >>> weighted_sums(weights, np.array([0, 1, 1]), np.array([0, 2, 2, 3]), table).tolist()
        [[2.0, 3.0], [0.0, 0.0], [0.0, 1.0]]
    """
    lengths = np.diff(offsets)
    # The longest first, so that those that still have an addend are always the first.
    order = np.argsort(-lengths, kind="stable")
    found = np.empty((len(order), table.shape[1]), dtype=np.float32)
    # Room for some sums and their addends, which stays in a processor's cache.
    sums, addends = np.empty((2, min(_SUMS, len(order)), table.shape[1]), dtype=np.float32)
    for first in range(0, len(order), _SUMS):
        part = order[first : first + _SUMS]
        starts, descending = offsets[:-1][part], -lengths[part]
        mine = sums[: len(part)]
        mine[:] = 0
        # Addends are added one after the other, so that any number of sums gives the same bits:
        # numpy's own sums use another order.
        for number in range(int(lengths[part].max(initial=0))):
            some = int(np.searchsorted(descending, -number))
            places = starts[:some] + number
            rows = addends[:some]
            rows[:] = table[columns[places]]
            rows *= weights[places][:, None]
            mine[:some] += rows
        found[part] = mine
    return found


def unit(vectors: Singles) -> Singles:
    """Return vectors scaled to unit length; those that are zero except for rounding become zero."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=-1, keepdims=True)
    result = np.zeros_like(vectors)
    np.divide(vectors, lengths, out=result, where=lengths > 1e-6, casting="same_kind")
    return result
