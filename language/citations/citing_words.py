"""How often which lemmas stand in the texts that cite a passage: a table in a file."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, save_arrays
from allusion_es.core.errors import InputError
from allusion_es.language.citations.files import REMAKE, open_learned
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.latin.analysis import AnalysisSettings

KIND = "citing words"
SUFFIX = ".expansion"
"""How names of such files end; they lie beside the vectors of the same name."""

FORMAT = 1
"""Raised whenever the file changes in a way that older programs cannot read."""

_MOST = 65_535

Counts = Mapping[str, Mapping[str, int]]
"""For each passage id the lemmas of the texts that cite it: in how many of them each stands."""


def save_citing_words(
    path: Path, counts: Counts, settings: AnalysisSettings, about: Mapping[str, Any]
) -> None:
    """Write a table, whole or not at all.

    Args:
        path: The file.
        counts: Counts of at least 1; larger ones than 65,535 are cut.
        settings: How the texts were analysed.
        about: What it was learned from, as JSON.

    Raises:
        StorageError: The file cannot be written.
    """
    ids = sorted(name for name, row in counts.items() if row)
    words = sorted({word for name in ids for word in counts[name]})
    numbers = {word: number for number, word in enumerate(words)}
    rows = [sorted((numbers[word], n) for word, n in counts[name].items()) for name in ids]
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    arrays: dict[str, Array] = {
        "ids": np.frombuffer("\n".join(ids).encode(), np.uint8),
        "words": np.frombuffer("\n".join(words).encode(), np.uint8),
        "offsets": offsets,
        "lemmas": np.array([word for row in rows for word, _ in row], dtype=np.int32),
        "counts": np.array([min(n, _MOST) for row in rows for _, n in row], dtype=np.uint16),
    }
    meta = {"kind": KIND, "format": FORMAT, "settings": asdict(settings), "about": dict(about)}
    save_arrays(path, meta, arrays)


class CitingWords:
    """A table that `save_citing_words` wrote.

    Args:
        path: The file; it is read when first asked.

    Attributes:
        about: What it was learned from.

    Raises:
        IndexDamagedError: The file is damaged.
        InputError: It is something else, of another format, or cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._file = open_learned(path, KIND, FORMAT, "citing words")
        self.about: Mapping[str, Any] = self._file.about
        self.settings = self._file.settings

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The passages that are cited, sorted."""
        return tuple(self._file.lines("ids"))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All lemmas, sorted."""
        return tuple(self._file.lines("words"))

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each id in `ids`."""
        return {name: place for place, name in enumerate(self.ids)}

    @cached_property
    def lemmas(self) -> NDArray[np.int32]:
        """The lemmas of all passages in order, as places in `words`, shape (entries,)."""
        return self._file.integers("lemmas", (None,), len(self.words))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """In how many citing texts each stands, shape (entries,)."""
        return self._file.integers("counts", (len(self.lemmas),), _MOST + 1).astype(np.int64)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Passage i has the entries `offsets[i]:offsets[i + 1]`; shape (ids + 1,)."""
        return self._file.offsets("offsets", len(self.ids), len(self.lemmas))

    def table(self) -> dict[str, dict[str, int]]:
        """All of it, to go on counting from."""
        words, lemmas, counts = self.words, self.lemmas.tolist(), self.counts.tolist()
        return {
            name: {words[lemmas[n]]: counts[n] for n in range(start, end)}
            for name, (start, end) in zip(self.ids, pairwise(self.offsets.tolist()), strict=True)
        }


def merged(tables: Sequence[Counts]) -> dict[str, dict[str, int]]:
    """Counts of several tables added up.

    Example:
        >>> merged([{"Ps.1.1": {"uir": 2}}, {"Ps.1.1": {"uir": 1, "beo": 1}}])
        {'Ps.1.1': {'uir': 3, 'beo': 1}}
    """
    sums: dict[str, dict[str, int]] = {}
    for table in tables:
        for name, row in table.items():
            mine = sums.setdefault(name, {})
            for word, count in row.items():
                mine[word] = mine.get(word, 0) + count
    return sums


def citing_words_of(vectors: CitationVectors) -> CitingWords | None:
    """The table that was made with citation vectors, if there is one beside their file.

    Raises:
        InputError: It was made with others; or the file cannot be used.
    """
    path = vectors.path.with_suffix(SUFFIX)
    if not path.exists():
        return None
    found = CitingWords(path)
    if found.about.get("vectors") != vectors.name or found.settings != vectors.settings:
        raise InputError(f"{path} does not belong to citation vectors {vectors.name}; {REMAKE}")
    return found
