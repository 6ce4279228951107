"""Passages kept on disk between two readings, and the term statistics that the first gives."""

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import BinaryIO

from allusion_es.core.errors import InputError, StorageError
from allusion_es.corpora.passage import Passage
from allusion_es.es.meta import PASSAGE_FIELDS, Extent
from allusion_es.language.analysis import Analysis
from allusion_es.retrieval.analysed import AnalysedPassage
from allusion_es.retrieval.types import FIELDS, Field

MAX_WORD = 255
"""Lucene's whitespace tokenizer cuts words that have more characters."""

MAX_ID_BYTES = 512
"""Elasticsearch takes no longer ids."""


class FieldTerms:
    """Statistics of all words of one field.

    Attributes:
        terms: For each word its document frequency, its collection frequency, and how often it
            occurs in the passage that has most of it.
        passages: Passages that have at least one word.
        words: Words of all passages.
    """

    def __init__(self) -> None:
        """Nothing counted yet."""
        self.terms: dict[str, tuple[int, int, int]] = {}
        self.passages = 0
        self.words = 0

    def add(self, words: tuple[str, ...], passage_id: str) -> None:
        """Count the words of one more passage."""
        self.passages += bool(words)
        self.words += len(words)
        terms = self.terms
        for word, count in Counter(words).items():
            known = terms.get(word)
            if known is None:
                _check_word(word, passage_id)
                terms[word] = (1, count, count)
            else:
                terms[word] = (known[0] + 1, known[1] + count, max(known[2], count))

    def extent(self) -> Extent:
        """The size of the field."""
        return Extent(self.passages, self.words)


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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Delete the file."""
        self._file.close()

    def __len__(self) -> int:
        """How many passages it holds."""
        return len(self._ids)

    def fill(self, passages: Iterable[AnalysedPassage]) -> None:
        """Take in all passages.

        Raises:
            InputError: Two have the same id, or an id or a word cannot be indexed.
            StorageError: The disk is full.
        """
        try:
            for passage in passages:
                self._check_id(passage.passage.id)
                self.fields["token"].add(passage.analysis.tokens, passage.passage.id)
                self.fields["lemma"].add(passage.analysis.lemmas, passage.passage.id)
                self._file.write(_encode(passage))
            self._file.flush()
        except OSError as error:
            raise StorageError(
                f"the passages cannot be kept in {tempfile.gettempdir()} "
                f"({error.strerror or error}); set TMPDIR to a folder with more room"
            ) from error

    def __iter__(self) -> Iterator[AnalysedPassage]:
        """The passages, in their order; where words stood in the text is not kept."""
        self._file.seek(0)
        for line in self._file:
            yield _decode(line)

    def _check_id(self, identifier: str) -> None:
        if not identifier or len(identifier.encode("utf-8", "replace")) > MAX_ID_BYTES:
            raise InputError(
                f"passage id {identifier[:60]!r}: ids have 1 to {MAX_ID_BYTES} bytes in UTF-8"
            )
        if identifier in self._ids:
            raise InputError(f"passage id {identifier!r} occurs twice; ids must be unique")
        self._ids.add(identifier)


def _encode(analysed: AnalysedPassage) -> bytes:
    passage, analysis = analysed.passage, analysed.analysis
    values = [getattr(passage, name) for name in PASSAGE_FIELDS]
    values += [" ".join(analysis.tokens), " ".join(analysis.lemmas)]
    return json.dumps(values).encode("ascii") + b"\n"


def _decode(line: bytes) -> AnalysedPassage:
    *values, tokens, lemmas = json.loads(line)
    passage = Passage(**dict(zip(PASSAGE_FIELDS, values, strict=True)))
    words = tuple(tokens.split())
    return AnalysedPassage(passage, Analysis(words, tuple(lemmas.split()), ((0, 0),) * len(words)))


def _check_word(word: str, passage_id: str) -> None:
    """Words are indexed with blanks between them, and `|` before a frequency."""
    if not word or "|" in word or any(character.isspace() for character in word):
        raise InputError(f"passage {passage_id}: word {word[:60]!r} is empty or has a blank or |")
    if len(word) > MAX_WORD:
        raise InputError(
            f"passage {passage_id}: word {word[:40] + '…'!r} has {len(word)} characters, more "
            f"than the {MAX_WORD} that can be indexed"
        )
