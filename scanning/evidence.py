"""Evidence for segments from citing texts, and from words compared by their citation vectors.

What `retrieval.citing_evidence` and `rerankers._shared.citation_words` are for one query and its
candidates, this is for the thousands of segments of a block, each with a passage of its own.
"""

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Integers, Singles, padded_ranges, ranges
from allusion_es.language.citations.citing_texts import CitingTexts
from allusion_es.language.latin.analysis import Analysis
from allusion_es.scanning.segments import CandidateTexts, LemmaCosines, Matches, Segments

CITED_SHARE = 1.5
"""Worth of a word that all texts that cite a passage have: its idf times this, more than that of a
word that the passage has itself; chosen on development links."""

_FEW = 2
"""Texts that are added to those that cite a passage, so that one text's words count for little."""

_LEAST = 0.75
"""Worth below which a word is no match: it would not pay for one word between two matches."""

_RARE = 2.5
"""idf above which a lemma is looked for, as in `segments.similar_words`."""


def cited_matches(
    analysis: Analysis,
    texts: CandidateTexts,
    weights: Floats,
    citing: CitingTexts,
    known: Matches,
    near: NDArray[np.bool_],
) -> tuple[Matches, Floats]:
    """Words of a text that passages lack, but texts that cite them have.

    So an allusion makes a segment that shares no word with its passage.

    Args:
        analysis: The words of the text.
        texts: The passages.
        weights: idf of each word of the text, shape (words,).
        citing: Texts that are known to cite passages.
        known: Matches with the words of the passages, which are left out.
        near: Which word of the text may match which passage, shape (words, passages).

    Returns:
        The matches, with code -1 and likeness 0, since no word of the passage matches; and the
        worth of each: `CITED_SHARE` idf (texts with it) / (texts + `_FEW`).
    """
    words = citing.words_by_passage()
    ids = citing.places(texts.ids)
    passages = np.flatnonzero(ids >= 0)
    starts, counts = words.offsets[ids[passages]], np.diff(words.offsets)[ids[passages]]
    owners = np.repeat(np.arange(len(passages)), counts)
    at = ranges(starts, counts)
    # The places of the text's lemmas, by the lemma's number in `words`.
    numbers = citing.numbers(analysis.lemmas)
    places = np.flatnonzero((numbers >= 0) & (weights > _RARE))
    places = places[np.argsort(numbers[places], kind="stable")]
    edges = np.searchsorted(numbers[places], np.arange(len(words.words) + 1))
    # What is worth too little, most of it, is left out before it is looked for in the text.
    idf = np.zeros(len(words.words))
    idf[numbers[places]] = weights[places]
    share = words.counts[at] / (words.texts[ids[passages]][owners] + _FEW)
    worth = CITED_SHARE * share * idf[words.lemmas[at]]
    kept = worth >= _LEAST
    owners, lemmas, worth = passages[owners[kept]], words.lemmas[at[kept]], worth[kept]
    found = np.diff(edges)[lemmas]
    place = places[ranges(edges[lemmas], found)]
    passage, worth = np.repeat(owners, found), np.repeat(worth, found)
    size = len(analysis.lemmas)
    keys, old = passage * size + place, np.append(known.passages * size + known.places, -1)
    is_known = old[np.searchsorted(old[:-1], keys)] == keys
    kept = near[place, passage] & ~is_known
    passage, place, worth = passage[kept], place[kept], worth[kept]
    order = np.argsort(passage * size + place)
    none = np.full(len(order), -1)
    return Matches(passage[order], place[order], none, np.zeros(len(order))), worth[order]


def joined_matches(one: Matches, other: Matches) -> tuple[Matches, NDArray[np.int64]]:
    """Both in the order of `Matches`, and from which place of both together each one comes."""
    passages = np.concatenate((one.passages, other.passages))
    places = np.concatenate((one.places, other.places))
    order = np.argsort(passages * (int(places.max(initial=0)) + 1) + places)
    codes = np.concatenate((one.codes, other.codes))[order]
    likeness = np.concatenate((one.likeness, other.likeness))[order]
    return Matches(passages[order], places[order], codes, likeness), order


CITING = ("citing-own", "citing-own-three", "citing-around", "citing-around-three", "cited")
"""The columns of `citing_features`."""

COMPARED = ("maxsim", "maxsim-cubed", "maxsim-passage-cubed", "alike", "alike-rarest")
"""The columns of `compared_features`."""

_AROUND = 10
"""Words before and after a segment that count too, each `_LESS`, where words around texts do."""

_LESS = 0.2
"""How much a lemma around the segment counts beside one of its own."""

_BEST = 3
"""Citing texts of a passage that are taken together, as in `CitingTexts.evidence`."""

_ALIKE = 0.5
"""Cosine from which a word of the segment counts as having a partner in the passage."""

_LONGEST = 40
"""Words of a segment, and twice as many of a passage, that are compared at most."""

_TOGETHER = 128
"""Segments that are compared at once, so that memory stays bounded."""


def citing_features(
    segments: Segments, analysis: Analysis, texts: CandidateTexts, citing: CitingTexts | None
) -> Floats:
    """How like segments are to the texts that are known to cite their passages.

    Args:
        segments: n of them.
        analysis: The words of the text.
        texts: The passages.
        citing: The citing texts; None if none are known.

    Returns:
        BM25 of the segment's lemmas with the passage's most similar citing text, and with its best
        three; the same of the segment with the words around it and the texts with those around
        them; and how many texts cite the passage. All as logarithms, shape (n, len(CITING)).
    """
    result = np.zeros((len(segments), len(CITING)))
    if citing is None or not len(segments):
        return result
    numbers, owner = np.unique(segments.passages, return_inverse=True)
    places = citing.places([texts.ids[number] for number in numbers.tolist()])
    cited_by, offsets = citing.texts_citing(places)
    counts = np.diff(offsets)[owner]
    # A pair is a segment and a text that cites its passage; pairs stand in the order of segments.
    segment = np.repeat(np.arange(len(segments)), counts)
    at = ranges(offsets[:-1][owner], counts)
    known, local = np.unique(cited_by, return_inverse=True)
    text = local[at]
    lemmas, own, around = _lemma_weights(segments, analysis)
    for column, weights, wide in ((0, own, False), (2, around, True)):
        rows, codes, parts = citing.parts(lemmas, known, around=wide)
        scores = _pair_scores(segment, text, weights, rows, codes, parts, len(known))
        best = _best_scores(segment, scores, len(segments))
        result[:, column] = np.log1p(best[:, 0])
        result[:, column + 1] = np.log1p(best.mean(axis=1))
    result[:, 4] = np.log1p(counts)
    return result


def _lemma_weights(
    segments: Segments, analysis: Analysis
) -> tuple[list[str], NDArray[np.float32], NDArray[np.float32]]:
    """The distinct lemmas of a text; which a segment has, and with those around it, weighed.

    Both have the shape (segments, lemmas).
    """
    lemmas = list(dict.fromkeys(analysis.lemmas))
    numbers = {lemma: number for number, lemma in enumerate(lemmas)}
    words = len(analysis.lemmas)
    seen = np.zeros((words + 1, len(lemmas)), dtype=np.int32)
    seen[np.arange(1, words + 1), [numbers[lemma] for lemma in analysis.lemmas]] = 1
    seen = np.cumsum(seen, axis=0, dtype=np.int32)
    firsts, ends = segments.firsts, segments.lasts + 1
    own = (seen[ends] > seen[firsts]).astype(np.float32)
    before, after = np.maximum(firsts - _AROUND, 0), np.minimum(ends + _AROUND, words)
    near = (seen[after] > seen[before]).astype(np.float32)
    return lemmas, own, np.maximum(own, np.float32(_LESS) * near)


def _pair_scores(
    segment: Integers,
    text: Integers,
    weights: Singles,
    rows: Integers,
    codes: Integers,
    parts: Singles,
    texts: int,
) -> Floats:
    """The BM25 of each pair of segment and text, shape (pairs,)."""
    starts = np.searchsorted(rows, np.arange(texts + 1))
    counts = np.diff(starts)[text]
    pair = np.repeat(np.arange(len(text)), counts)
    at = ranges(starts[:-1][text], counts)
    values = weights[segment[pair], codes[at]] * parts[at]
    sums = np.bincount(pair, weights=values, minlength=len(text))
    return sums.astype(np.float64, copy=False)  # whole numbers where there is no pair


def _best_scores(segment: Integers, scores: Floats, segments: int) -> Floats:
    """The highest `_BEST` scores of each segment, 0 where it has fewer; shape (segments, _BEST)."""
    best = np.zeros((segments, _BEST))
    owners, starts, counts = np.unique(segment, return_index=True, return_counts=True)
    left = scores.copy()
    for rank in range(_BEST if len(owners) else 0):
        highest = np.maximum.reduceat(left, starts)
        best[owners, rank] = np.maximum(highest, 0)
        # The first of equals is taken away.
        places = np.flatnonzero(left == np.repeat(highest, counts))
        of_which = segment[places]
        left[places[np.flatnonzero(np.diff(of_which, prepend=-1))]] = -1
    return best


def compared_features(
    segments: Segments, texts: CandidateTexts, weights: Floats, compared: LemmaCosines | None
) -> Floats:
    """How near the words of segments are to those of their passages, one by one.

    Args:
        segments: n of them.
        texts: The passages.
        weights: idf of each word of the text, shape (words,).
        compared: The cosines of the lemmas; None for none.

    Returns:
        Mean over the segment's words, by idf, of the cosine to the nearest word of the passage
        (MaxSim: Khattab and Zaharia 2020), and of its cube; the latter from the passage's words
        to the segment's; the share of the segment's idf with a cosine of at least `_ALIKE`, and
        the idf of the heaviest such word as a logarithm. Shape (n, len(COMPARED)).
    """
    result = np.zeros((len(segments), len(COMPARED)))
    if compared is None or not len(segments):
        return result
    cosines, width = compared.cosines.ravel(), compared.cosines.shape[1]
    starts = texts.lemmas.offsets[segments.passages]
    lengths = np.minimum(segments.lasts + 1 - segments.firsts, _LONGEST)
    theirs = np.minimum(texts.lemmas.offsets[segments.passages + 1] - starts, 2 * _LONGEST)
    # Like lengths together, so that little is computed behind the ends of short ones.
    order = np.lexsort((theirs, lengths))
    for begin in range(0, len(segments), _TOGETHER):
        part = order[begin : begin + _TOGETHER]
        rows, inside = padded_ranges(segments.firsts[part], lengths[part])
        columns, there = padded_ranges(starts[part], theirs[part])
        codes = texts.lemmas.codes[columns]
        near = cosines[(compared.rows[rows] * width)[:, :, None] + codes[:, None, :]]
        near *= inside[:, :, None] & there[:, None, :]
        mine, other = weights[rows] * inside, texts.weights[codes] * there
        best, back = near.max(axis=2), near.max(axis=1)
        total = np.maximum(mine.sum(axis=1), 1e-9)
        alike = np.where(best >= _ALIKE, mine, 0.0)
        result[part] = np.column_stack(
            (
                (mine * best).sum(axis=1) / total,
                (mine * best**3).sum(axis=1) / total,
                (other * back**3).sum(axis=1) / np.maximum(other.sum(axis=1), 1e-9),
                alike.sum(axis=1) / total,
                np.log1p(alike.max(axis=1)),
            )
        )
    return result
