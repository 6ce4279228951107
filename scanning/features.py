"""Features of segments: numbers that tell allusions from chance, for a model to weigh."""

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.language.citations.vectors import CitationVectors, unit
from allusion_es.language.citations.word_parts import Word
from allusion_es.language.latin.analysis import Analysis
from allusion_es.scanning.alignment import Alignments
from allusion_es.scanning.evidence import CITING, COMPARED
from allusion_es.scanning.segments import CandidateTexts, Matches, Segments, find_matches

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


def equal_forms(
    analysis: Analysis, texts: CandidateTexts, matches: Matches, near: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Whether the passage of each match has the word in the same form, shape (matches,).

    Args:
        analysis: The words of the text.
        texts: The passages.
        matches: Words of the text, each with a passage.
        near: As `find_matches` takes it.
    """
    size = max(len(analysis.tokens), 1)
    forms = find_matches(analysis.tokens, texts.tokens, near=near)
    keys = matches.passages * size + matches.places
    # Both are sorted, so that a binary search serves, many times as fast as `np.isin`.
    known = np.append(forms.passages * size + forms.places, -1)
    return np.asarray(known[np.searchsorted(known[:-1], keys)] == keys)


def measure(
    segments: Segments,
    weights: Floats,
    same_form: NDArray[np.bool_],
    alignments: Alignments,
    analysis: Analysis,
    texts: CandidateTexts,
    idf: Floats,
    citations: CitationVectors | None,
) -> Floats:
    """The features of segments that are made of shared words, shape (n, len(MEASURED)).

    Args:
        segments: n of them; `begins` and `ends` point into the matches.
        weights: The weight of each match, shape (matches,).
        same_form: Whether each match is in the same form, shape (matches,).
        alignments: Of each segment.
        analysis: The words of the text.
        texts: The passages.
        idf: idf of each word of the text, shape (words,).
        citations: Vectors of texts; without them the cosines are 0.
    """
    matched = sums(weights, segments)
    whole = texts.lemmas.counts
    of_passage = whole.sums(texts.weights[whole.codes] * whole.counts)[segments.passages]
    of_text = _sums_of_words(idf, segments)
    lengths = np.diff(texts.lemmas.offsets)[segments.passages]
    cosine, context = _cosines(segments, analysis, texts, citations)
    rivals = rivalry(segments, len(analysis.tokens))
    in_order = alignments.scores.astype(np.float64)
    columns = (
        np.log1p(matched),
        np.log1p(sums(np.where(same_form, weights, 0.0), segments)),
        np.log1p(_greatest(weights, segments)),
        _share(matched, of_passage),
        _share(matched, of_text),
        np.log1p(in_order),
        _share(in_order, matched),
        cosine,
        context,
        cosine - best_rival(segments, cosine, len(analysis.tokens)),
        _share(segments.scores, rivals),
        np.log(segments.lasts - segments.firsts + 1.0),
        np.log1p(lengths.astype(np.float64)),
    )
    return np.column_stack(columns)


def rivalry(segments: Segments, words: int) -> Floats:
    """The best score of any segment at each word of a segment, on average; shape (n,)."""
    best = np.zeros(words)
    # Painted from the lowest score to the highest, so that at each word the highest stays.
    order = np.argsort(segments.scores, kind="stable")
    for number in order.tolist():
        best[segments.firsts[number] : segments.lasts[number] + 1] = segments.scores[number]
    return np.asarray(_sums_of_words(best, segments) / (segments.lasts - segments.firsts + 1))


def best_rival(segments: Segments, values: Floats, words: int) -> Floats:
    """The greatest value of any other segment at the middle word of each, shape (n,); 0 if none.

    Args:
        segments: n segments.
        values: One for each; below 0 counts as 0.
        words: Words of the text.
    """
    # Painted from the lowest value up: at each word the two highest stay, and who has the highest.
    best, second = np.zeros(words), np.zeros(words)
    owner = np.full(words, -1)
    for number in np.argsort(values, kind="stable").tolist():
        if values[number] > 0:
            covered = slice(segments.firsts[number], segments.lasts[number] + 1)
            second[covered] = best[covered]
            best[covered] = values[number]
            owner[covered] = number
    middles = (segments.firsts + segments.lasts) // 2
    is_own = owner[middles] == np.arange(len(segments))
    return np.asarray(np.where(is_own, second[middles], best[middles]))


def _cosines(
    segments: Segments, analysis: Analysis, texts: CandidateTexts, citations: CitationVectors | None
) -> tuple[Floats, Floats]:
    """Cosines of the segments, without and with the words around, with their passages."""
    if citations is None or not len(segments):
        return np.zeros(len(segments)), np.zeros(len(segments))
    numbers, where = np.unique(segments.passages, return_inverse=True)
    passages = citations.text_vectors(
        [_passage_words(texts, number) for number in numbers.tolist()]
    )
    vectors = _sums_of_vectors(analysis, citations)
    last = len(analysis.tokens)
    firsts, ends = segments.firsts, segments.lasts + 1
    before, after = np.maximum(firsts - CONTEXT, 0), np.minimum(ends + CONTEXT, last)
    own = unit((vectors[ends] - vectors[firsts]).astype(np.float32))
    around = unit((vectors[after] - vectors[before]).astype(np.float32))
    theirs = passages[where]
    both = (np.einsum("ij,ij->i", each, theirs).astype(np.float64) for each in (own, around))
    cosine, context = both
    return cosine, context


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


def _passage_words(texts: CandidateTexts, number: int) -> list[Word]:
    return list(zip(texts.tokens.text(number), texts.lemmas.text(number), strict=True))


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
