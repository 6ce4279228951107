"""A spool of analysed passages on disk, and the term statistics of the whole collection.

Weights depend on document frequencies, which are known only once all passages have been read; the
passages wait for that on disk, so that an index can be built of more than fits into memory.
"""

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
from allusion_es.corpora.passage import Passage
from allusion_es.language.latin.analysis import Analyser, AnalysisSettings
from allusion_es.retrieval.analysed import AnalysedPassage, Unanalysed, analyse_passages
from allusion_es.retrieval.types import FIELDS, Field

ADVICE = "try fewer --workers"
"""Advice to the user if a process dies, which lack of memory explains best."""

_MOST_PASSAGES = 1_000
_MOST_CHARACTERS = 1_000_000
"""Limits of a batch, whichever is reached first: some 10 MB in each process that analyses it."""

Describe = Callable[[AnalysedPassage], bytes]
"""Encodes all of a passage but its words as one line, without its end."""


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
        """The number of the passage that each word belongs to, shape (total,)."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def counts(self, words: int) -> tuple[Integers, Integers, Integers]:
        """Passage, word and frequency of each pair that occurs, by passage, then by word.

        Args:
            words: A number above all codes.
        """
        keys, counts = np.unique(self.owners() * words + self.codes, return_counts=True)
        return keys // words, keys % words, counts


@dataclass(frozen=True, slots=True)
class SpooledBatch:
    """Some passages as they come back from the disk.

    Attributes:
        ids: Their ids.
        records: The line that describes each, without its words.
        fields: Their words.
        facets: The value of each facet as its place in `Spool.facets`, shape (len(ids),).
    """

    ids: Sequence[str]
    records: Sequence[bytes]
    fields: dict[Field, SpooledWords]
    facets: dict[str, Integers]


class FieldTerms:
    """Statistics of all words of one field.

    Attributes:
        numbers: The position of each word in the arrays below.
        passages: Passages that have at least one word.
    """

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.passages = 0
        # Rows df, cf and largest frequency; longer than there are words, so as to grow seldom.
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
        """The frequency of each word in the passage that has it most often."""
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
    """Takes in passages that can be read only once, and gives them back in batches.

    Args:
        files: Where its temporary file lies.
        facets: Names of properties of passages, whose values are numbered as words are.

    Attributes:
        fields: Term statistics of each field.
        facets: For each facet its values, and the number of each, in the order of their coming.
        batches: How many batches `read` gives.
    """

    def __init__(self, files: TemporaryFiles, facets: Sequence[str] = ()) -> None:
        self.batches = 0
        self.facets: dict[str, dict[str, int]] = {name: {} for name in facets}
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
            describe: Encodes a passage; it is sent to other processes, so it must be a function
                of a module. What it raises comes from here.
            workers: Processes that analyse and describe passages.

        Raises:
            InputError: Two have the same id, or there is none.
            StorageError: The disk is full.
        """
        if isinstance(passages, Unanalysed):
            items: Iterable[Any] = passages.passages
            settings = passages.settings
        else:
            items, settings = passages, None
        start = partial(_start, settings, describe, tuple(self.facets))
        for piece, encoded in in_order(start, _pieces(items), workers, ADVICE):
            # The ids of the passages themselves: those from another process would be copies.
            self._take([_passage(each).id for each in piece], encoded)
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
            facets = {name: self._read_array(len(ids)) for name in self.facets}
            yield SpooledBatch(ids, records, fields, facets)

    def _take(self, ids: Sequence[str], batch: "_EncodedBatch") -> None:
        """Count the words of a batch and write it: three parts, read back in the same order."""
        self.batches += 1
        for identifier in ids:
            if identifier in self._ids:
                raise InputError(f"passage id {identifier!r} occurs twice; ids must be unique")
            self._ids[identifier] = None
        words = [self.fields[field].add(*batch.fields[field]) for field in FIELDS]
        facets = [
            np.array([numbers.setdefault(value, len(numbers)) for value in batch.facets[name]])
            for name, numbers in self.facets.items()
        ]
        lines = [json.dumps(ids).encode(), *batch.records]
        with self._files.writing():
            self._file.write(b"\n".join(lines) + b"\n")
            for each in words:
                self._file.write(each.lengths.astype(np.int32).tobytes())
                self._file.write(each.codes.astype(np.int32).tobytes())
            for codes in facets:
                self._file.write(codes.astype(np.int32).tobytes())
            self._file.flush()

    def _read_array(self, size: int) -> Integers:
        return np.frombuffer(self._file.read(4 * size), dtype=np.int32).astype(np.int64)


@dataclass(frozen=True, slots=True)
class _EncodedBatch:
    """Some passages as another process sends them, before words have numbers for the collection.

    Attributes:
        records: The line that describes each.
        fields: The distinct words of each field, and all words as places in these.
        facets: The value of each facet.
    """

    records: list[bytes]
    fields: dict[Field, tuple[list[str], SpooledWords]]
    facets: dict[str, list[str]]


def _passage(item: Passage | AnalysedPassage) -> Passage:
    """A passage, as it is or with its words."""
    return item.passage if isinstance(item, AnalysedPassage) else item


def _pieces(passages: Iterable[Any]) -> Iterator[list[Any]]:
    """Passages cut in such pieces that no process has too much in memory."""
    piece: list[Any] = []
    size = 0
    for each in passages:
        piece.append(each)
        size += len(_passage(each).text)
        if len(piece) >= _MOST_PASSAGES or size >= _MOST_CHARACTERS:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def _start(
    settings: AnalysisSettings | None, describe: Describe, facets: Sequence[str]
) -> Callable[[list[Any]], _EncodedBatch]:
    """The function that encodes a piece; without settings, its passages bring their words."""
    if settings is None:
        return partial(_encode, list, describe, facets)
    analyser = Analyser(settings.lemmatiser, settings.stop_words)
    return partial(_encode, partial(analyse_passages, analyser=analyser), describe, facets)


def _encode(
    analyse: Callable[[list[Any]], Iterable[AnalysedPassage]],
    describe: Describe,
    facets: Sequence[str],
    piece: list[Any],
) -> _EncodedBatch:
    analysed = list(analyse(piece))
    fields: dict[Field, tuple[list[str], SpooledWords]] = {}
    for field in FIELDS:
        numbers: dict[str, int] = {}
        codes: list[int] = []
        lengths: list[int] = []
        for each in analysed:
            found = each.analysis.tokens if field == "token" else each.analysis.lemmas
            codes += [numbers.setdefault(word, len(numbers)) for word in found]
            lengths.append(len(found))
        words = SpooledWords(np.array(codes, dtype=np.int64), np.array(lengths))
        fields[field] = list(numbers), words
    return _EncodedBatch(
        [describe(each) for each in analysed],
        fields,
        {name: [str(getattr(each.passage, name)) for each in analysed] for name in facets},
    )
