"""Features of segments: numbers that tell allusions from chance, for a model to weigh."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Integers, Singles, ranges
from allusion_es.language.citations.vectors import CitationVectors, unit, weighted_sums
from allusion_es.language.citations.word_parts import Word
from allusion_es.language.latin.analysis import Analysis
from allusion_es.language.vectors.types import RowCache
from allusion_es.retrieval.coded_texts import code_texts
from allusion_es.scanning.evidence import CITING, COMPARED
from allusion_es.scanning.segments import CandidateTexts, Matches, Segments

_NOTHING = 1e-6
"""Length up to which a sum of vectors is none but for rounding, as in `vectors.unit`."""

_KEPT = 20_000
"""Passages whose vectors are kept: 20 MB."""

CONTEXT = 10
"""Words before and after a segment that `cosine-context` takes in."""

MEASURED = (
    "matched", "same-form", "rarest", "passage-share", "text-share", "in-order", "order-share",
    "cosine", "cosine-context", "cosine-lead", "among-rivals", "words", "passage-words",
)  # fmt: skip
"""The columns of `measure`.

- `matched`: weight of the segment's matches; `same-form`: of those in the same form; `rarest`: of
  the heaviest; `in-order`: of the aligned ones, less what is skipped. All as logarithms.
- `passage-share`, `text-share`: share of the passage's and of the segment's weight that matches;
  `order-share`: share of the matches' weight that is aligned.
- `cosine`, `cosine-context`: of citation vectors, without and with the words around;
  `cosine-lead`: how far the cosine is above that of the best rival at the same words.
- `among-rivals`: the segment's score as a share of the best score at the same words.
- `words`, `passage-words`: lengths, as logarithms.
"""

RANKS = ("rank-words", "rank-citations", "rank-citing")
"""How high the passage is among those that windows at the segment propose, in each of three ways;
see `reading.Proposals`."""

CITED_WORDS = "cited-words"
"""Worth of the words that only texts have that cite the passage, as a logarithm."""

NAMES = (*MEASURED, *RANKS, CITED_WORDS, *CITING, *COMPARED)
"""The features of a segment, in the order of the columns of `Reading.features` and of the weights
in `scan.json`. For the last two groups see `evidence`."""


ORDER = tuple(NAMES.index(name) for name in ("in-order", "order-share"))
"""The columns of what only an alignment tells. Both are at least 0, and higher where it scores
more."""


def equal_forms(analysis: Analysis, texts: CandidateTexts, matches: Matches) -> NDArray[np.bool_]:
    """Whether the passage of each match has the word in the same form, shape (matches,).

    Args:
        analysis: The words of the text.
        texts: The passages.
        matches: Words of the text, each with a passage.
    """
    text = code_texts((analysis.tokens,))
    rows, codes = texts.tokens.find(text.words)
    row_of = np.full(len(texts.tokens.words), -1)
    row_of[codes] = rows
    # The last column is for words of passages that the text lacks.
    has = np.zeros((len(texts.tokens), len(text.words) + 1), dtype=bool)
    has[texts.tokens.owners, row_of[texts.tokens.codes]] = True
    return np.asarray(has[matches.passages, text.codes[matches.places]])


def measure(
    segments: Segments,
    weights: Floats,
    same_form: NDArray[np.bool_],
    in_order: Floats,
    analysis: Analysis,
    texts: CandidateTexts,
    idf: Floats,
    vectors: "PassageVectors | None",
) -> Floats:
    """The features of segments that are made of shared words, shape (n, len(MEASURED)).

    Args:
        segments: n of them; `begins` and `ends` point into the matches.
        weights: The weight of each match, shape (matches,).
        same_form: Whether each match is in the same form, shape (matches,).
        in_order: Weight of the aligned words of each segment, less what is skipped; shape (n,).
        analysis: The words of the text.
        texts: The passages.
        idf: idf of each word of the text, shape (words,).
        vectors: Vectors of passages; without them the cosines are 0.
    """
    matched = sums(weights, segments)
    whole = texts.lemmas.counts
    of_passage = whole.sums(texts.weights[whole.codes] * whole.counts)[segments.passages]
    of_text = _sums_of_words(idf, segments)
    lengths = np.diff(texts.lemmas.offsets)[segments.passages]
    cosine, context = _cosines(segments, analysis, texts, vectors)
    rivals = rivalry(segments, len(analysis.tokens))
    columns = (
        np.log1p(matched),
        np.log1p(sums(np.where(same_form, weights, 0.0), segments)),
        np.log1p(_greatest(weights, segments)),
        _share(matched, of_passage),
        _share(matched, of_text),
        *order_columns(in_order, matched),
        cosine,
        context,
        cosine - best_rival(segments, cosine, len(analysis.tokens)),
        _share(segments.scores, rivals),
        np.log(segments.lasts - segments.firsts + 1.0),
        np.log1p(lengths.astype(np.float64)),
    )
    return np.column_stack(columns)


def order_columns(in_order: Floats, matched: Floats) -> tuple[Floats, Floats]:
    """The columns `in-order` and `order-share`.

    Args:
        in_order: Weight of the aligned words, less what is skipped, shape (n,).
        matched: Weight of the matches, shape (n,).
    """
    return np.log1p(in_order), _share(in_order, matched)


def rivalry(segments: Segments, words: int) -> Floats:
    """The best score of any segment at each word of a segment, on average; shape (n,)."""
    best = np.zeros(words)
    lengths = segments.lasts - segments.firsts + 1
    np.maximum.at(best, ranges(segments.firsts, lengths), np.repeat(segments.scores, lengths))
    return np.asarray(_sums_of_words(best, segments) / lengths)


def best_rival(segments: Segments, values: Floats, words: int) -> Floats:
    """The greatest value of any other segment at the middle word of each, shape (n,); 0 if none.

    Args:
        segments: n segments.
        values: One for each; below 0 counts as 0.
        words: Words of the text.
    """
    numbers = np.flatnonzero(values > 0)
    numbers = numbers[np.argsort(values[numbers], kind="stable")]
    lengths = segments.lasts[numbers] - segments.firsts[numbers] + 1
    places = ranges(segments.firsts[numbers], lengths)
    # At each word the segments that cover it, those of the greatest values last.
    order = np.argsort(places, kind="stable")
    covering = np.repeat(numbers, lengths)[order]
    ends = np.cumsum(np.bincount(places, minlength=words))
    starts = np.concatenate(([0], ends[:-1]))
    best, second = np.zeros(words), np.zeros(words)
    owner = np.full(words, -1)
    one, two = ends > starts, ends > starts + 1
    owner[one] = covering[ends[one] - 1]
    best[one] = values[owner[one]]
    second[two] = values[covering[ends[two] - 2]]
    middles = (segments.firsts + segments.lasts) // 2
    is_own = owner[middles] == np.arange(len(segments))
    return np.asarray(np.where(is_own, second[middles], best[middles]))


def _cosines(
    segments: Segments,
    analysis: Analysis,
    texts: CandidateTexts,
    of_passages: "PassageVectors | None",
) -> tuple[Floats, Floats]:
    """Cosines of the segments, without and with the words around, with their passages."""
    if of_passages is None or not len(segments):
        return np.zeros(len(segments)), np.zeros(len(segments))
    numbers, where = np.unique(segments.passages, return_inverse=True)
    passages = of_passages.of(texts, numbers)
    vectors = _sums_of_vectors(analysis, of_passages.citations)
    last = len(analysis.tokens)
    firsts, ends = segments.firsts, segments.lasts + 1
    before, after = np.maximum(firsts - CONTEXT, 0), np.minimum(ends + CONTEXT, last)
    theirs = passages[where]
    found = []
    for begin, end in ((firsts, ends), (before, after)):
        mine = vectors[end] - vectors[begin]
        lengths = np.sqrt(np.einsum("ij,ij->i", mine, mine))
        products = np.einsum("ij,ij->i", mine, theirs)
        # A stretch without a known word is zero except for rounding.
        cosines = np.divide(products, lengths, out=np.zeros(len(mine)), where=lengths > _NOTHING)
        found.append(cosines)
    return found[0], found[1]


def _sums_of_vectors(analysis: Analysis, citations: CitationVectors) -> Floats:
    """Sums of the vectors of the words before each place, shape (words + 1, dimension).

    The difference of two is the vector of the stretch between them, where a word counts as often
    as it occurs (in `CitationVectors.text_vectors` by the root of that): thousands of stretches
    cost no more than two look-ups each.
    """
    words: list[Word] = list(zip(analysis.tokens, analysis.lemmas, strict=True))
    distinct = list(dict.fromkeys(words))
    numbers = {word: number for number, word in enumerate(distinct)}
    each = citations.known_word_vectors(distinct)[[numbers[word] for word in words]]
    sums = np.zeros((len(words) + 1, citations.dimension))
    np.cumsum(each, axis=0, out=sums[1:])
    return sums


class PassageVectors:
    """Citation vectors of passages, as `CitationVectors.text_vectors` gives them.

    The last ones are kept, since the parts of a text have most of their candidates in common.

    Args:
        citations: The vectors of words that they are made of.

    Attributes:
        citations: As given.
    """

    def __init__(self, citations: CitationVectors) -> None:
        self.citations = citations
        self._cache: RowCache[str] = RowCache(citations.dimension, _KEPT)

    def of(self, texts: CandidateTexts, numbers: Integers) -> Singles:
        """The vectors of some passages, shape (len(numbers), dimension).

        Args:
            texts: Passages, always of the same index.
            numbers: Which of them, each once.
        """
        ids = [texts.ids[number] for number in numbers.tolist()]
        number_of = dict(zip(ids, numbers.tolist(), strict=True))

        def compute(new: Sequence[str]) -> Singles:
            return self._compute(texts, np.array([number_of[each] for each in new]))

        return self._cache.rows(ids, compute)

    def _compute(self, texts: CandidateTexts, numbers: Integers) -> Singles:
        offsets = texts.lemmas.offsets
        lengths = offsets[numbers + 1] - offsets[numbers]
        at = ranges(offsets[numbers], lengths)
        # Words are pairs of a token and a lemma, here as one number; each pair of a passage counts
        # by the root of how often it has it.
        size = max(len(texts.lemmas.words), 1)
        keys, words = np.unique(
            texts.tokens.codes[at] * size + texts.lemmas.codes[at], return_inverse=True
        )
        owners = np.repeat(np.arange(len(numbers)), lengths)
        pairs, counts = np.unique(owners * max(len(keys), 1) + words, return_counts=True)
        owners, words = np.divmod(pairs, max(len(keys), 1))
        tokens, lemmas = texts.tokens.words, texts.lemmas.words
        vectors = self.citations.known_word_vectors(
            [(tokens[key // size], lemmas[key % size]) for key in keys.tolist()]
        )
        starts = np.searchsorted(owners, np.arange(len(numbers) + 1))
        return unit(weighted_sums(np.sqrt(counts).astype(np.float32), words, starts, vectors))


def _share(part: Floats, whole: Floats) -> Floats:
    """`part / whole`, at most 1; 0 where the whole is 0."""
    shares = np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
    return np.asarray(np.minimum(shares, 1.0))


def sums(values: Floats, segments: Segments) -> Floats:
    """Sums over the matches of each segment, shape (n,)."""
    total = np.concatenate(([0.0], np.cumsum(values)))
    return np.asarray(total[segments.ends] - total[segments.begins])


def _sums_of_words(values: Floats, segments: Segments) -> Floats:
    """Sums over the words of the text that each segment covers, shape (n,)."""
    total = np.concatenate(([0.0], np.cumsum(values)))
    return np.asarray(total[segments.lasts + 1] - total[segments.firsts])


def _greatest(values: Floats, segments: Segments) -> Floats:
    """The greatest value among the matches of each segment, shape (n,)."""
    if not len(segments):
        return np.zeros(0)
    # `reduceat` over begin, end, begin, end …: every second result is that of a segment.
    ends = np.column_stack((segments.begins, segments.ends)).ravel()
    return np.asarray(np.maximum.reduceat(np.append(values, 0.0), ends)[::2])
