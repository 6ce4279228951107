"""Translations: probabilities that citing texts replace a word of a passage by another one.

They are learned as in statistical machine translation (`learning.translate`) and kept in a file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, lines_array, offsets_array, save_arrays
from allusion_es.language.citations.learned_files import open_learned
from allusion_es.language.latin.analysis import AnalysisSettings

KIND = "translations"
FORMAT = 1
"""Version of the format, to be raised whenever older programs cannot read the file."""

Entries = Mapping[str, Mapping[str, float]]
"""For each lemma of the passages the lemmas of the citing texts, each with its probability."""


def save_translations(
    path: Path, entries: Entries, settings: AnalysisSettings, about: Mapping[str, Any]
) -> None:
    """Write a table of translations, whole or not at all.

    Args:
        path: The file.
        entries: Probabilities above 0.
        settings: The analysis of the texts.
        about: A description of what it was learned from, as JSON.

    Raises:
        StorageError: The file cannot be written.
    """
    sources = sorted(entries)
    words = sorted({*sources, *(word for row in entries.values() for word in row)})
    numbers = {word: number for number, word in enumerate(words)}
    rows = [
        sorted(entries[source].items(), key=lambda one: (-one[1], one[0])) for source in sources
    ]
    arrays: dict[str, Array] = {
        "words": lines_array(words),
        "sources": np.array([numbers[source] for source in sources], dtype=np.int32),
        "offsets": offsets_array(len(row) for row in rows),
        "targets": np.array([numbers[w] for row in rows for w, _ in row], dtype=np.int32),
        "probabilities": np.array([p for row in rows for _, p in row], dtype=np.float32),
    }
    meta = {"kind": KIND, "format": FORMAT, "settings": asdict(settings), "about": dict(about)}
    save_arrays(path, meta, arrays)


class Translations:
    """A table of translations; each array is read from the file when it is first used.

    Args:
        path: A file that `save_translations` wrote.

    Attributes:
        about: A description of what it was learned from.

    Raises:
        IndexDamagedError: The file is damaged.
        InputError: The file is of another kind, of another format, or cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._file = open_learned(path, KIND, FORMAT, "translations")
        self.about: Mapping[str, Any] = self._file.about
        self.settings = self._file.settings

    def __len__(self) -> int:
        """Return the number of entries."""
        return self._file.file.length("targets")

    def matrix(self, sources: Sequence[str], targets: Sequence[str]) -> NDArray[np.float64]:
        """Return t(target | source) for distinct words, shape (len(sources), len(targets))."""
        columns = {self._numbers.get(word, -1): column for column, word in enumerate(targets)}
        found = np.zeros((len(sources), len(targets)))
        for row, word in enumerate(sources):
            place = self._places.get(self._numbers.get(word, -1))
            if place is not None:
                part = slice(self._offsets[place], self._offsets[place + 1])
                for target, probability in zip(
                    self._targets[part].tolist(), self._probabilities[part].tolist(), strict=True
                ):
                    if target in columns:
                        found[row, columns[target]] = probability
        return found

    @cached_property
    def _words(self) -> list[str]:
        return self._file.lines("words")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self._words)}

    @cached_property
    def _places(self) -> dict[int, int]:
        sources = self._file.integers("sources", (None,), len(self._words))
        return {code: place for place, code in enumerate(sources.tolist())}

    @cached_property
    def _offsets(self) -> list[int]:
        parts = self._file.file.length("sources")
        offsets: list[int] = self._file.offsets("offsets", parts, len(self)).tolist()
        return offsets

    @cached_property
    def _targets(self) -> NDArray[np.int32]:
        return self._file.integers("targets", (None,), len(self._words))

    @cached_property
    def _probabilities(self) -> NDArray[np.float32]:
        return self._file.floats("probabilities", (len(self),), 1.01, least=0)
