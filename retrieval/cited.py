"""Citation vectors and expansions of the passages of a spool, computed in any process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from allusion_es.language.citation_file import to_bytes
from allusion_es.language.citation_vectors import CitationVectors
from allusion_es.language.word_parts import Word
from allusion_es.retrieval.expansion import Counts, Expanded, ExpansionMaker, cited_among
from allusion_es.retrieval.spool import Spool, SpooledWords
from allusion_es.retrieval.types import FIELDS, Field


@dataclass(frozen=True, slots=True)
class Citing:
    """What processes need to know.

    Attributes:
        open: Opens the citation vectors.
        cited: Ids of the passages whose citations are known.
        counts: Frequencies of all lemmas.
        passages: Passages that have at least one word.
    """

    open: Callable[[], CitationVectors]
    cited: Sequence[str]
    counts: Counts
    passages: int

    @staticmethod
    def of(spool: Spool, citations: CitationVectors, workers: int) -> "Citing":
        """The same of a spool; with one worker, the vectors need not be opened again."""
        terms = spool.fields["lemma"]
        opened = partial(CitationVectors, citations.path)
        return Citing(
            opened if workers > 1 else lambda: citations,
            cited_among(citations, spool.ids),
            terms.frequencies(),
            terms.passages,
        )


class CitedPassages:
    """Gives passages their vectors and expansions.

    Args:
        citing: Of the collection.

    Attributes:
        words: All words that an expansion may have, sorted.
    """

    def __init__(self, citing: Citing) -> None:
        self._vectors = citing.open()
        self._maker = ExpansionMaker(self._vectors, citing.cited, citing.counts, citing.passages)
        self.words = self._maker.words

    def of(
        self, ids: Sequence[str], texts: Sequence[Sequence[Word]]
    ) -> tuple[NDArray[np.int8], Expanded]:
        """Vectors, one byte a number, shape (len(ids), dimension), and expansions."""
        vectors = to_bytes(self._vectors.text_vectors(texts))[0]
        return vectors, self._maker.expand(ids, texts, vectors)


def text_words(
    known: Mapping[Field, Sequence[str]], words: Mapping[Field, SpooledWords]
) -> list[list[Word]]:
    """Tokens and lemmas of each passage, from their places in `known`."""
    tokens, lemmas = (
        [known[field][code] for code in words[field].codes.tolist()] for field in FIELDS
    )
    both = list(zip(tokens, lemmas, strict=True))
    ends = np.cumsum(words["token"].lengths).tolist()
    return [both[start:end] for start, end in pairwise([0, *ends])]
