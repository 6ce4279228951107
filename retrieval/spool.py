"""Passages kept on disk between two readings, and the term statistics that the first gives."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from allusion_es.core.arrays import Integers
from allusion_es.core.errors import InputError
from allusion_es.core.processes import in_order
from allusion_es.core.temporary_files import TemporaryFiles
from allusion_es.language.latin.analysis import Analyser, AnalysisSettings
from allusion_es.retrieval.analysed import AnalysedPassage, Unanalysed, analyse_passages
from allusion_es.retrieval.types import FIELDS, Field

ADVICE = "try fewer --workers"
"""What to do if a process dies."""

_TOGETHER = 1_000
_CHARACTERS = 1_000_000

Describe = Callable[[AnalysedPassage], bytes]
"""Gives what is kept of a passage besides its words, without line breaks."""


@dataclass(frozen=True, slots=True)
class SpooledWords:
    """The words of one field in n passages, as numbers.

    Attributes:
        codes: All words in order, as positions in `FieldTerms.numbers`, shape (total,).
        lengths: How many of them each passage has, shape (n,).
    """

    codes: Integers
    lengths: Integers

    def owners(self) -> Integers:
        """Which passage each word belongs to, shape (total,)."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def counts(self, words: int) -> tuple[Integers, Integers, Integers]:
        """Passage, word and frequency of each pair that occurs; `words` is above all codes."""
        keys, counts = np.unique(self.owners() * words + self.codes, return_counts=True)
        return keys // words, keys % words, counts


@dataclass(frozen=True, slots=True)
class SpooledBatch:
    """Some passages as they come back from the disk.

    Attributes:
        ids: Their ids.
        records: What was kept of each besides its words.
        fields: Their words.
    """

    ids: Sequence[str]
    records: Sequence[bytes]
    fields: dict[Field, SpooledWords]


class FieldTerms:
    """Statistics of all words of one field.

    Attributes:
        numbers: The position of each word in the arrays below.
        passages: Passages that have at least one word.
    """

    def __init__(self) -> None:
        """Nothing counted yet."""
        self.numbers: dict[str, int] = {}
        self.passages = 0
        self._counted = np.zeros((3, 0), dtype=np.int64)

    @property
    def df(self) -> Integers:
        """Document frequencies."""
        return self._counted[0, : len(self.numbers)]

    @property
    def cf(self) -> Integers:
        """Collection frequencies."""
        return self._counted[1, : len(self.numbers)]

    @property
    def max_tf(self) -> Integers:
        """How often each word occurs in the passage that has most of it."""
        return self._counted[2, : len(self.numbers)]

    def add(self, distinct: Sequence[str], words: SpooledWords) -> SpooledWords:
        """Count the words of more passages; words that are new get new numbers.

        Args:
            distinct: Their distinct words.
            words: Their words, as positions in `distinct`.

        Returns:
            Their words, as positions in `numbers`.
        """
        numbers = self.numbers
        places = np.array([numbers.setdefault(w, len(numbers)) for w in distinct], dtype=np.int64)
        self._grow(len(numbers))
        size = len(distinct)
        _, codes, counts = words.counts(max(size, 1))
        most = np.zeros(size, dtype=np.int64)
        np.maximum.at(most, codes, counts)
        self._counted[0, places] += np.bincount(codes, minlength=size)
        self._counted[1, places] += np.bincount(words.codes, minlength=size)
        self._counted[2, places] = np.maximum(self._counted[2, places], most)
        self.passages += int(np.count_nonzero(words.lengths))
        return SpooledWords(places[words.codes], words.lengths)

    def frequencies(self) -> dict[str, tuple[int, int]]:
        """Document and collection frequency of each word."""
        both = zip(self.df.tolist(), self.cf.tolist(), strict=True)
        return dict(zip(self.numbers, both, strict=True))

    def _grow(self, size: int) -> None:
        if size > self._counted.shape[1]:
            grown = np.zeros((3, 2 * size), dtype=np.int64)
            grown[:, : self._counted.shape[1]] = self._counted
            self._counted = grown


class Spool:
    """Reads passages once, so that they can be read again.

    Weights need the document frequencies of the whole collection, which are only known at its
    end. The passages wait for that in a temporary file, not in memory.

    Args:
        files: Where that file lies.

    Attributes:
        fields: Term statistics of each field.
        batches: How many batches `read` gives.
    """

    def __init__(self, files: TemporaryFiles) -> None:
        """An empty spool."""
        self.batches = 0
        self.fields: dict[Field, FieldTerms] = {field: FieldTerms() for field in FIELDS}
        self._ids: dict[str, None] = {}
        self._files = files
        self._file: BinaryIO = files.file()

    def __len__(self) -> int:
        """How many passages it holds."""
        return len(self._ids)

    @property
    def ids(self) -> Set[str]:
        """Ids of all passages, in their order."""
        return self._ids.keys()

    def fill(
        self,
        passages: Iterable[AnalysedPassage] | Unanalysed,
        describe: Describe,
        workers: int = 1,
    ) -> None:
        """Take in all passages.

        Args:
            passages: In canonical order.
            describe: A function of a module; what it raises comes from here.
            workers: Processes that find and describe words.

        Raises:
            InputError: Two have the same id, or there is none.
            StorageError: The disk is full.
        """
        if isinstance(passages, Unanalysed):
            items: Iterable[Any] = passages.passages
            settings = passages.settings
        else:
            items, settings = passages, None
        start = partial(_start, settings, describe)
        for _, encoded in in_order(start, _pieces(items), workers, ADVICE):
            self._take(encoded)
        if not self._ids:
            raise InputError("there is no passage to index; give a text with at least one")

    def read(self) -> Iterator[SpooledBatch]:
        """The passages, in their order."""
        self._file.seek(0)
        while line := self._file.readline():
            ids = json.loads(line)
            records = [self._file.readline().rstrip(b"\n") for _ in ids]
            fields = {}
            for field in FIELDS:
                lengths = self._read_array(len(ids))
                fields[field] = SpooledWords(self._read_array(int(lengths.sum())), lengths)
            yield SpooledBatch(ids, records, fields)

    def _take(self, encoded: "_Encoded") -> None:
        batch = encoded.batch
        self.batches += 1
        for identifier in batch.ids:
            if identifier in self._ids:
                raise InputError(f"passage id {identifier!r} occurs twice; ids must be unique")
            self._ids[identifier] = None
        words = [
            self.fields[field].add(encoded.words[field], batch.fields[field]) for field in FIELDS
        ]
        lines = [json.dumps(batch.ids).encode(), *batch.records]
        with self._files.writing():
            self._file.write(b"\n".join(lines) + b"\n")
            for each in words:
                self._file.write(each.lengths.astype(np.int32).tobytes())
                self._file.write(each.codes.astype(np.int32).tobytes())
            self._file.flush()

    def _read_array(self, size: int) -> Integers:
        return np.frombuffer(self._file.read(4 * size), dtype=np.int32).astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Encoded:
    """Passages with their words as positions in `words`."""

    batch: SpooledBatch
    words: dict[Field, list[str]]


def _pieces(passages: Iterable[Any]) -> Iterator[list[Any]]:
    """Passages cut in such pieces that no process has too much in memory."""
    piece: list[Any] = []
    size = 0
    for each in passages:
        piece.append(each)
        size += len(getattr(each, "passage", each).text)
        if len(piece) >= _TOGETHER or size >= _CHARACTERS:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def _start(
    settings: AnalysisSettings | None, describe: Describe
) -> Callable[[list[Any]], _Encoded]:
    """What encodes a piece; without settings, its passages bring their words."""
    if settings is None:
        return partial(_encode, list, describe)
    analyser = Analyser(settings.lemmatiser, settings.stop_words)
    return partial(_encode, partial(analyse_passages, analyser=analyser), describe)


def _encode(
    analyse: Callable[[list[Any]], Iterable[AnalysedPassage]],
    describe: Describe,
    piece: list[Any],
) -> _Encoded:
    analysed = list(analyse(piece))
    records = [describe(each) for each in analysed]
    words: dict[Field, list[str]] = {}
    fields: dict[Field, SpooledWords] = {}
    for field in FIELDS:
        numbers: dict[str, int] = {}
        codes: list[int] = []
        lengths: list[int] = []
        for each in analysed:
            found = each.analysis.tokens if field == "token" else each.analysis.lemmas
            codes += [numbers.setdefault(word, len(numbers)) for word in found]
            lengths.append(len(found))
        words[field] = list(numbers)
        fields[field] = SpooledWords(np.array(codes, dtype=np.int64), np.array(lengths))
    ids = [each.passage.id for each in analysed]
    return _Encoded(SpooledBatch(ids, records, fields), words)
