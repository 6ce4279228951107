"""Expansion: the words by which a passage is cited, whether it has them or not, with weights.

`ExpansionMaker` computes it; `PassageExpander` does so for spooled passages, in any process.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Singles
from allusion_es.language.citations.citing_texts import CitingWords, citing_texts_of
from allusion_es.language.citations.vectors import CitationVectors, to_bytes
from allusion_es.language.citations.word_parts import Word
from allusion_es.retrieval.byte_vectors import unit_bytes
from allusion_es.retrieval.spool import Spool, SpooledWords
from allusion_es.retrieval.types import FIELDS, Field
from allusion_es.retrieval.weighting import bm25_saturation, lucene_idf

SUGGESTED_WORDS = 100
"""Words of each passage that its citation vector suggests."""

SUGGESTED_WEIGHT = 5.0
"""How much these count beside words that are known to be used, chosen on development links."""

_LEAST_USES = 3
"""Occurrences that a word needs to be suggested; vectors of rarer words say little."""

_K1, _B = 1.2, 0.75
"""Lucene's defaults. The index's own do not matter: weights are fixed when it is built."""

_PASSAGES_TOGETHER = 64
"""Passages that are compared with all words at once: 4 MB for the Vulgate's."""

_DROPPED_BITS = 15
"""Lucene's FeatureField keeps the sign, 8 bits of exponent and 8 of the fraction."""

Bits = NDArray[np.uint16]
Counts = Mapping[str, tuple[int, int]]
"""For each lemma of a collection its document and its collection frequency."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """The expansion of n passages.

    Attributes:
        offsets: Passage i has the entries `offsets[i]:offsets[i + 1]`; shape (n + 1,).
        codes: Words, as places in `ExpansionMaker.words`, ascending in each passage.
        bits: Their weights, as `weight_bits` keeps them.
    """

    offsets: NDArray[np.int64]
    codes: NDArray[np.int64]
    bits: Bits


def expansion_words(vectors: CitationVectors, ids: Iterable[str], counts: Counts) -> list[str]:
    """All words that expansions may have, as `ExpansionMaker.words`, without making one."""
    return sorted({*counts, *_KnownCitations(_citing_words_of(vectors), ids).totals})


def _citing_words_of(vectors: CitationVectors) -> CitingWords | None:
    """The lemmas of the citing texts that lie beside vectors, or None where there are none."""
    texts = citing_texts_of(vectors)
    return texts.words_by_passage() if texts else None


def cited_among(vectors: CitationVectors, ids: Set[str]) -> list[str]:
    """The ids whose citations are known, which is all that an `ExpansionMaker` needs of them."""
    texts = citing_texts_of(vectors)
    return sorted(ids & set(texts.ids)) if texts else []


class ExpansionMaker:
    """Gives passages their expansion.

    A word's weight is the sum of two. One is BM25 of the passage lengthened by its known
    citations: the passage's own lemmas, and those of texts that cite it, as often as they do (of
    its idf, the document frequency is the sum of both kinds'). The other comes from the vectors:
    `v(word)` times the passage's vector, which is what the word would add to the cosine of a
    query, for the `SUGGESTED_WORDS` words where that is largest; divided by the mean length of
    v(word), so that both parts are of one scale whatever was learned. The second is all that
    passages have which nobody cited, besides their own words.

    Args:
        vectors: Citation vectors; known citations are those that lie beside their file.
        ids: Ids of all passages.
        counts: Frequencies of all lemmas of the passages.
        passages: Passages that have at least one word.

    Attributes:
        words: All words that an expansion may have, sorted.
    """

    def __init__(
        self, vectors: CitationVectors, ids: Iterable[str], counts: Counts, passages: int
    ) -> None:
        self._known = _KnownCitations(_citing_words_of(vectors), ids)
        totals = self._known.totals
        self.words = sorted({*counts, *totals})
        self._numbers = {word: number for number, word in enumerate(self.words)}
        both = np.array([_sum(counts.get(w), totals.get(w)) for w in self.words], dtype=np.int64)
        df, uses = both.reshape(-1, 2).T
        self._idf = lucene_idf(np.minimum(df, passages), passages)
        self._mean_length = float(uses.sum()) / max(passages, 1)
        self._columns = np.flatnonzero(uses >= _LEAST_USES)
        table = vectors.word_vectors([(w, w) for w in (self.words[c] for c in self._columns)])
        lengths = np.linalg.norm(table.astype(np.float64), axis=1)
        mean = float(lengths.mean()) if lengths.any() else 1.0
        rows, scales = to_bytes(table)
        # Whole numbers: their products are exact in single precision, on any machine.
        self._table = np.ascontiguousarray(rows.T.astype(np.float32))
        self._scales = (scales * (SUGGESTED_WEIGHT / mean)).astype(np.float32)

    def expand(
        self, ids: Sequence[str], texts: Sequence[Sequence[Word]], vectors: NDArray[np.int8]
    ) -> Expanded:
        """The expansion of some passages, the sum of both kinds of weights.

        Args:
            ids: Their ids.
            texts: Their words.
            vectors: Their citation vectors, one byte a number, shape (len(ids), dimension).
        """
        keys, weights = [], []
        for part in (self._used(ids, texts), self._suggested(vectors)):
            keys.append(part[0])
            weights.append(part[1])
        distinct, where = np.unique(np.concatenate(keys), return_inverse=True)
        sums = np.bincount(where, weights=np.concatenate(weights), minlength=len(distinct))
        bits = weight_bits(sums.astype(np.float32))
        kept = bits > 0
        size = max(len(self.words), 1)
        owners = distinct[kept] // size
        offsets = np.searchsorted(owners, np.arange(len(ids) + 1))
        return Expanded(offsets.astype(np.int64), distinct[kept] % size, bits[kept])

    def _used(
        self, ids: Sequence[str], texts: Sequence[Sequence[Word]]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """BM25 weights of own and citing lemmas; keys are passage number * words + word."""
        keys: list[int] = []
        counts: list[int] = []
        totals: list[int] = []
        size = max(len(self.words), 1)
        for number, (name, text) in enumerate(zip(ids, texts, strict=True)):
            found = Counter(lemma for _, lemma in text)
            found.update(self._known.of(name))
            keys += [number * size + self._numbers[word] for word in found]
            counts += found.values()
            totals.append(sum(found.values()))
        places = np.array(keys, dtype=np.int64)
        lengths = np.array(totals, dtype=np.int64)
        saturation = bm25_saturation(lengths, self._mean_length, _K1, _B)[places // size]
        frequency = np.array(counts, dtype=np.float32) * saturation
        return places, self._idf[places % size] * (frequency / (1 + frequency))

    def _suggested(
        self, vectors: NDArray[np.int8]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Weights of the words that the vectors suggest, with keys as `_used` has them."""
        count, width = len(vectors), min(SUGGESTED_WORDS, len(self._columns))
        if not width:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        singles = vectors.astype(np.float32)
        lengths = np.linalg.norm(singles.astype(np.float64), axis=1)
        keys, weights = [], []
        space = np.empty((min(count, _PASSAGES_TOGETHER), len(self._columns)), dtype=np.float32)
        for first in range(0, count, _PASSAGES_TOGETHER):
            some = singles[first : first + _PASSAGES_TOGETHER]
            products = np.matmul(some, self._table, out=space[: len(some)])
            products *= self._scales
            rows, columns = np.nonzero(_largest(products, width) & (products > 0))
            passages = first + rows
            keys.append(passages * len(self.words) + self._columns[columns])
            found = products[rows, columns].astype(np.float64)
            weights.append((found / lengths[passages]).astype(np.float32))
        return np.concatenate(keys), np.concatenate(weights)


def _largest(values: Singles, most: int) -> NDArray[np.bool_]:
    """Which values are among the `most` largest of their row; of equal ones any."""
    at = values.shape[1] - most
    # To find the value is three times as fast as to find the places.
    least = np.partition(values, at, axis=1)[:, at]
    chosen = np.asarray(values >= least[:, None])
    for row in np.flatnonzero(chosen.sum(axis=1) > most).tolist():
        chosen[row] = False
        chosen[row, np.argpartition(values[row], at)[at:]] = True
    return chosen


class _KnownCitations:
    """Known citations of the passages of a collection.

    Args:
        table: The lemmas of texts that cite passages, or None where nothing is known.
        ids: The passages of the collection.

    Attributes:
        totals: For each lemma how many passages are cited with it, and how often in all.
    """

    def __init__(self, table: CitingWords | None, ids: Iterable[str]) -> None:
        self._table = table
        self.totals: dict[str, tuple[int, int]] = {}
        if table is None:
            return
        places = sorted(table.places[name] for name in set(ids) & table.places.keys())
        chosen = np.zeros(len(table.ids), dtype=np.bool_)
        chosen[places] = True
        entries = np.repeat(chosen, np.diff(table.offsets))
        df = np.bincount(table.lemmas[entries], minlength=len(table.words))
        cf = np.bincount(
            table.lemmas[entries], weights=table.counts[entries], minlength=len(table.words)
        )
        both = zip(table.words, df.tolist(), cf.astype(np.int64).tolist(), strict=True)
        self.totals = {word: (n, total) for word, n, total in both if n}

    def of(self, name: str) -> dict[str, int]:
        """The lemmas of texts that cite a passage, and how often these use them."""
        table = self._table
        place = table.places.get(name) if table else None
        if table is None or place is None:
            return {}
        part = slice(int(table.offsets[place]), int(table.offsets[place + 1]))
        lemmas = [table.words[code] for code in table.lemmas[part].tolist()]
        return dict(zip(lemmas, table.counts[part].tolist(), strict=True))


def weight_bits(weights: NDArray[np.float32]) -> Bits:
    """Weights as Lucene's FeatureField keeps them: single precision without its last 15 bits.

    Args:
        weights: Not below 0.

    Example:
        >>> weight_bits(np.array([0.0, 1.0, 3.14159], dtype=np.float32)).tolist()
        [0, 32512, 32914]
    """
    bits = np.ascontiguousarray(weights, dtype=np.float32).view(np.uint32) >> _DROPPED_BITS
    return bits.astype(np.uint16)


def bit_weights(bits: Bits) -> NDArray[np.float32]:
    """The weights that `weight_bits` keeps.

    Example:
        >>> bit_weights(np.array([32914], dtype=np.uint16)).tolist()
        [3.140625]
    """
    return (bits.astype(np.uint32) << _DROPPED_BITS).view(np.float32)


def _sum(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int]:
    first, second = one or (0, 0), other or (0, 0)
    return first[0] + second[0], first[1] + second[1]


@dataclass(frozen=True, slots=True)
class ExpansionInputs:
    """Statistics that a process needs to compute citation vectors and expansions.

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
    def of(spool: Spool, citations: CitationVectors, workers: int) -> "ExpansionInputs":
        """The statistics of a spool; with one worker, the vectors need not be opened again."""
        terms = spool.fields["lemma"]
        opened = partial(CitationVectors, citations.path)
        return ExpansionInputs(
            opened if workers > 1 else lambda: citations,
            cited_among(citations, spool.ids),
            terms.frequencies(),
            terms.passages,
        )


class PassageExpander:
    """Gives passages their citation vectors and expansions.

    Args:
        inputs: Of the collection.

    Attributes:
        words: All words that an expansion may have, sorted.
    """

    def __init__(self, inputs: ExpansionInputs) -> None:
        self._vectors = inputs.open()
        self._maker = ExpansionMaker(self._vectors, inputs.cited, inputs.counts, inputs.passages)
        self.words = self._maker.words

    def expand(
        self, ids: Sequence[str], texts: Sequence[Sequence[Word]]
    ) -> tuple[NDArray[np.int8], Expanded]:
        """Citation vectors by `unit_bytes`, shape (len(ids), dimension), and expansions."""
        vectors = self._vectors.text_vectors(texts)
        return unit_bytes(vectors), self._maker.expand(ids, texts, to_bytes(vectors)[0])


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
