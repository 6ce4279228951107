"""Passages kept on disk between two readings, and the term statistics that the first gives."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.errors import InputError, StorageError
from allusion_es.es.batches import batches
from allusion_es.es.documents import describe
from allusion_es.es.meta import Extent
from allusion_es.retrieval.analysed import AnalysedPassage
from allusion_es.retrieval.types import FIELDS, Field

MAX_WORD = 255
"""Lucene's whitespace tokenizer cuts words that have more characters."""

MAX_ID_BYTES = 512
"""Elasticsearch takes no longer ids, and each word becomes part of one."""

_TOGETHER = 500

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SpooledWords:
    """The words of one field in n passages, as numbers.

    Attributes:
        codes: All words in order, as positions in `FieldTerms.words`, shape (total,).
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
        descriptions: What `describe` gives for each.
        fields: Their words.
    """

    ids: Sequence[str]
    descriptions: Sequence[bytes]
    fields: dict[Field, SpooledWords]


class FieldTerms:
    """Statistics of all words of one field.

    Attributes:
        numbers: The position of each word in the arrays below.
        df: Document frequencies.
        cf: Collection frequencies.
        max_tf: How often each word occurs in the passage that has most of it.
        passages: Passages that have at least one word.
    """

    def __init__(self) -> None:
        """Nothing counted yet."""
        self.numbers: dict[str, int] = {}
        self.df = self.cf = self.max_tf = np.zeros(0, dtype=np.int64)
        self.passages = 0

    def encode(self, words: Sequence[str], passage_id: str) -> list[int]:
        """The words of a passage as numbers; words that are new get new ones.

        Raises:
            InputError: A word cannot be indexed.
        """
        numbers = self.numbers
        before = len(numbers)
        codes = [numbers.setdefault(word, len(numbers)) for word in words]
        if len(numbers) > before:
            for word in words:
                if numbers[word] >= before:
                    _check_word(word, passage_id)
        return codes

    def count(self, words: SpooledWords) -> None:
        """Add the words of more passages."""
        size = len(self.numbers)
        _, codes, counts = words.counts(max(size, 1))
        most = np.zeros(size, dtype=np.int64)
        np.maximum.at(most, codes, counts)
        self.df = _extended(self.df, size) + np.bincount(codes, minlength=size)
        self.cf = _extended(self.cf, size) + np.bincount(words.codes, minlength=size)
        self.max_tf = np.maximum(_extended(self.max_tf, size), most)
        self.passages += int(np.count_nonzero(words.lengths))

    def extent(self) -> Extent:
        """The size of the field."""
        return Extent(self.passages, int(self.cf.sum()))


class Spool:
    """Reads passages once, so that they can be read again; use it in `with`.

    Weights need the document frequencies of the whole collection, which are only known at its
    end. The passages wait for that in a temporary file, not in memory.

    Attributes:
        fields: Term statistics of each field.
    """

    def __init__(self) -> None:
        """An empty spool."""
        self.fields: dict[Field, FieldTerms] = {field: FieldTerms() for field in FIELDS}
        self._ids: set[str] = set()
        self._file: BinaryIO = tempfile.TemporaryFile(prefix="allusion-es-")  # noqa: SIM115

    def __enter__(self) -> "Spool":
        """The spool itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Delete the file."""
        self._file.close()

    def __len__(self) -> int:
        """How many passages it holds."""
        return len(self._ids)

    @property
    def ids(self) -> Set[str]:
        """Ids of all passages."""
        return self._ids

    def fill(self, passages: Iterable[AnalysedPassage]) -> None:
        """Take in all passages.

        Raises:
            InputError: Two have the same id, or an id or a word cannot be indexed.
            StorageError: The disk is full.
        """
        for batch in batches(passages, _TOGETHER):
            spooled = self._spooled(batch)
            for field, words in spooled.fields.items():
                self.fields[field].count(words)
            try:
                self._write(spooled)
            except OSError as error:
                raise StorageError(
                    f"the passages cannot be kept in {tempfile.gettempdir()} "
                    f"({error.strerror or error}); set TMPDIR to a folder with more room"
                ) from error

    def read(self) -> Iterator[SpooledBatch]:
        """The passages, in their order."""
        self._file.seek(0)
        while line := self._file.readline():
            ids = json.loads(line)
            descriptions = [self._file.readline().rstrip(b"\n") for _ in ids]
            fields = {}
            for field in FIELDS:
                lengths = self._read_array(len(ids))
                fields[field] = SpooledWords(self._read_array(int(lengths.sum())), lengths)
            yield SpooledBatch(ids, descriptions, fields)

    def _spooled(self, batch: Sequence[AnalysedPassage]) -> SpooledBatch:
        codes: dict[Field, list[int]] = {field: [] for field in FIELDS}
        lengths: dict[Field, list[int]] = {field: [] for field in FIELDS}
        for analysed in batch:
            self._check_id(analysed.passage.id)
            analysis = analysed.analysis
            for field, words in zip(FIELDS, (analysis.tokens, analysis.lemmas), strict=True):
                codes[field] += self.fields[field].encode(words, analysed.passage.id)
                lengths[field].append(len(words))
        return SpooledBatch(
            [analysed.passage.id for analysed in batch],
            [describe(analysed) for analysed in batch],
            {
                field: SpooledWords(
                    np.array(codes[field], dtype=np.int64), np.array(lengths[field])
                )
                for field in FIELDS
            },
        )

    def _write(self, batch: SpooledBatch) -> None:
        lines = [json.dumps(batch.ids).encode(), *batch.descriptions]
        self._file.write(b"\n".join(lines) + b"\n")
        for words in batch.fields.values():
            self._file.write(words.lengths.astype(np.int32).tobytes())
            self._file.write(words.codes.astype(np.int32).tobytes())
        self._file.flush()

    def _read_array(self, size: int) -> Integers:
        return np.frombuffer(self._file.read(4 * size), dtype=np.int32).astype(np.int64)

    def _check_id(self, identifier: str) -> None:
        if not identifier or len(identifier.encode("utf-8", "replace")) > MAX_ID_BYTES:
            raise InputError(
                f"passage id {identifier[:60]!r}: ids have 1 to {MAX_ID_BYTES} bytes in UTF-8"
            )
        if identifier in self._ids:
            raise InputError(f"passage id {identifier!r} occurs twice; ids must be unique")
        self._ids.add(identifier)


def _extended(numbers: Integers, size: int) -> Integers:
    return np.concatenate((numbers, np.zeros(size - len(numbers), dtype=np.int64)))


def _check_word(word: str, passage_id: str) -> None:
    """Words are indexed with blanks between them, and `|` before a frequency."""
    if not word or "|" in word or any(character.isspace() for character in word):
        raise InputError(f"passage {passage_id}: word {word[:60]!r} is empty or has a blank or |")
    if len(word) > MAX_WORD or len(word.encode("utf-8", "replace")) > MAX_ID_BYTES - 10:
        raise InputError(
            f"passage {passage_id}: word {word[:40] + '…'!r} has {len(word)} characters, more "
            f"than can be indexed ({MAX_WORD}, in UTF-8 {MAX_ID_BYTES - 10} bytes)"
        )
