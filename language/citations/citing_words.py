"""Citing words: counts of the lemmas in texts that cite a passage, kept in a file.

Expansion adds to a passage the words with which others cite it (`retrieval.expansion`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, lines_array, offsets_array, save_arrays
from allusion_es.core.errors import InputError
from allusion_es.language.citations.learned_files import REMAKE, open_learned
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.latin.analysis import AnalysisSettings

KIND = "citing words"
SUFFIX = ".expansion"
"""The suffix of such files, which lie beside the citation vectors of the same name."""

FORMAT = 1
"""Version of the format, to be raised whenever older programs cannot read the file."""

_MOST = 65_535  # counts are saved in two bytes

Counts = Mapping[str, Mapping[str, int]]
"""For each passage id the lemmas of the texts that cite it, each with the number of those texts."""


def save_citing_words(
    path: Path, counts: Counts, settings: AnalysisSettings, about: Mapping[str, Any]
) -> None:
    """Write a table of citing words, whole or not at all.

    Args:
        path: The file.
        counts: Counts of at least 1; counts above 65,535 are saved as 65,535.
        settings: The analysis of the texts.
        about: A description of what it was learned from, as JSON.

    Raises:
        StorageError: The file cannot be written.
    """
    ids = sorted(name for name, row in counts.items() if row)
    words = sorted({word for name in ids for word in counts[name]})
    numbers = {word: number for number, word in enumerate(words)}
    rows = [sorted((numbers[word], n) for word, n in counts[name].items()) for name in ids]
    arrays: dict[str, Array] = {
        "ids": lines_array(ids),
        "words": lines_array(words),
        "offsets": offsets_array(len(row) for row in rows),
        "lemmas": np.array([word for row in rows for word, _ in row], dtype=np.int32),
        "counts": np.array([min(n, _MOST) for row in rows for _, n in row], dtype=np.uint16),
    }
    meta = {"kind": KIND, "format": FORMAT, "settings": asdict(settings), "about": dict(about)}
    save_arrays(path, meta, arrays)


class CitingWords:
    """A table of citing words; each array is read from the file when it is first used.

    Args:
        path: A file that `save_citing_words` wrote.

    Attributes:
        about: A description of what it was learned from.

    Raises:
        IndexDamagedError: The file is damaged.
        InputError: The file is of another kind, of another format, or cannot be opened.
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
        """The position of each id in `ids`."""
        return {name: place for place, name in enumerate(self.ids)}

    @cached_property
    def lemmas(self) -> NDArray[np.int32]:
        """The lemmas of all passages in order, as positions in `words`, shape (entries,)."""
        return self._file.integers("lemmas", (None,), len(self.words))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of citing texts with each lemma, shape (entries,)."""
        return self._file.integers("counts", (len(self.lemmas),), _MOST + 1).astype(np.int64)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """The borders of the passages' entries, shape (ids + 1,).

        Passage i has the entries `offsets[i]:offsets[i + 1]`.
        """
        return self._file.offsets("offsets", len(self.ids), len(self.lemmas))

    def table(self) -> dict[str, dict[str, int]]:
        """Return all counts, to which those of other texts can be added."""
        words, lemmas, counts = self.words, self.lemmas.tolist(), self.counts.tolist()
        return {
            name: {words[lemmas[n]]: counts[n] for n in range(start, end)}
            for name, (start, end) in zip(self.ids, pairwise(self.offsets.tolist()), strict=True)
        }


def merged(tables: Sequence[Counts]) -> dict[str, dict[str, int]]:
    """Return the sums of the counts of several tables.

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
    """Return the table beside the file of citation vectors, or None if there is none.

    Raises:
        InputError: The table was learned with other vectors, or the file cannot be used.
    """
    path = vectors.path.with_suffix(SUFFIX)
    if not path.exists():
        return None
    found = CitingWords(path)
    if found.about.get("vectors") != vectors.name or found.settings != vectors.settings:
        raise InputError(f"{path} does not belong to citation vectors {vectors.name}; {REMAKE}")
    return found
