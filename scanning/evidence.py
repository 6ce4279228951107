"""Evidence for segments from citing texts, and from words compared by their citation vectors.

What `retrieval.citing_evidence` and `rerankers._shared.citation_words` are for one query and its
candidates, this is for the thousands of segments of a block, each with a passage of its own.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Integers, Singles
from allusion_es.language.citations.citing_texts import CitingTexts
from allusion_es.language.citations.vectors import CitationVectors, unit
from allusion_es.language.latin.analysis import Analysis
from allusion_es.scanning.segments import CandidateTexts, Matches, Segments

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
    ends = np.cumsum(counts)
    owners = np.repeat(np.arange(len(passages)), counts)
    at = np.arange(len(owners)) + np.repeat(starts - (ends - counts), counts)
    # The places of the text's lemmas, by the lemma's number in `words`.
    numbers = citing.numbers(analysis.lemmas)
    places = np.flatnonzero((numbers >= 0) & (weights > _RARE))
    places = places[np.argsort(numbers[places], kind="stable")]
    edges = np.searchsorted(numbers[places], np.arange(len(words.words) + 1))
    found = np.diff(edges)[words.lemmas[at]]
    entry = np.repeat(np.arange(len(at)), found)
    shift = np.arange(len(entry)) - np.repeat(np.cumsum(found) - found, found)
    place = places[edges[words.lemmas[at[entry]]] + shift]
    kept = near[place, passages[owners[entry]]]
    place, entry = place[kept], entry[kept]
    owner = owners[entry]
    share = words.counts[at[entry]] / (words.texts[ids[passages]][owner] + _FEW)
    worth = CITED_SHARE * share * weights[place]
    passage = passages[owner]
    size = len(analysis.lemmas)
    keys, old = passage * size + place, np.append(known.passages * size + known.places, -1)
    is_known = old[np.searchsorted(old[:-1], keys)] == keys
    kept = (worth >= _LEAST) & ~is_known
    passage, place, worth = passage[kept], place[kept], worth[kept]
    order = np.lexsort((place, passage))
    none = np.full(len(order), -1)
    return Matches(passage[order], place[order], none, np.zeros(len(order))), worth[order]


def joined_matches(one: Matches, other: Matches) -> tuple[Matches, NDArray[np.int64]]:
    """Both in the order of `Matches`, and from which place of both together each one comes."""
    passages = np.concatenate((one.passages, other.passages))
    places = np.concatenate((one.places, other.places))
    order = np.lexsort((places, passages))
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

_TOGETHER = 256
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
    ends = np.cumsum(counts)
    at = np.arange(len(segment)) + np.repeat(offsets[:-1][owner] - (ends - counts), counts)
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
    ends = np.cumsum(counts)
    pair = np.repeat(np.arange(len(text)), counts)
    at = np.arange(len(pair)) + np.repeat(starts[:-1][text] - (ends - counts), counts)
    values = weights[segment[pair], codes[at]] * parts[at]
    sums = np.bincount(pair, weights=values, minlength=len(text))
    return sums.astype(np.float64, copy=False)  # whole numbers where there is no pair


def _best_scores(segment: Integers, scores: Floats, segments: int) -> Floats:
    """The highest `_BEST` scores of each segment, 0 where it has fewer; shape (segments, _BEST)."""
    best = np.zeros((segments, _BEST))
    order = np.lexsort((-scores, segment))
    starts = np.searchsorted(segment, np.arange(segments))
    rank = np.arange(len(segment)) - starts[segment]
    kept = rank < _BEST
    best[segment[order][kept], rank[kept]] = scores[order][kept]
    return best


def compared_features(
    segments: Segments,
    analysis: Analysis,
    texts: CandidateTexts,
    weights: Floats,
    citations: CitationVectors | None,
) -> Floats:
    """How near the words of segments are to those of their passages, one by one.

    Args:
        segments: n of them.
        analysis: The words of the text.
        texts: The passages.
        weights: idf of each word of the text, shape (words,).
        citations: The vectors by which lemmas are compared; None for none.

    Returns:
        Mean over the segment's words, by idf, of the cosine to the nearest word of the passage
        (MaxSim: Khattab and Zaharia 2020), and of its cube; the latter from the passage's words
        to the segment's; the share of the segment's idf with a cosine of at least `_ALIKE`, and
        the idf of the heaviest such word as a logarithm. Shape (n, len(COMPARED)).
    """
    result = np.zeros((len(segments), len(COMPARED)))
    if citations is None or not len(segments):
        return result
    offsets = texts.lemmas.offsets
    cosines, row_of, column_of = _cosines(segments, analysis, texts, citations)
    for begin in range(0, len(segments), _TOGETHER):
        part = slice(begin, begin + _TOGETHER)
        passages, firsts = segments.passages[part], segments.firsts[part]
        lengths = np.minimum(segments.lasts[part] + 1 - firsts, _LONGEST)
        rows, inside = _ranges(firsts, lengths)
        theirs = np.minimum(offsets[passages + 1] - offsets[passages], 2 * _LONGEST)
        columns, there = _ranges(offsets[passages], theirs)
        codes = texts.lemmas.codes[columns]
        near = cosines[row_of[rows][:, :, None], column_of[codes][:, None, :]]
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


def _ranges(starts: Integers, lengths: Integers) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Numbers from each start on, 0 behind the end, and where they are inside; (n, longest)."""
    steps = np.arange(int(lengths.max(initial=1)))
    inside = steps < lengths[:, None]
    return np.where(inside, starts[:, None] + steps, 0), inside


def _cosines(
    segments: Segments, analysis: Analysis, texts: CandidateTexts, citations: CitationVectors
) -> tuple[Singles, NDArray[np.int64], NDArray[np.int64]]:
    """Cosines of lemmas, at least 0 and 1 for equal ones.

    Returns:
        The cosines, shape (lemmas of the text, lemmas of segments' passages); the row of each
        word of the text; the column of each of `texts.lemmas.words`, 0 for those of no segment.
    """
    lemmas = list(dict.fromkeys(analysis.lemmas))
    numbers = {lemma: number for number, lemma in enumerate(lemmas)}
    is_used = np.zeros(len(texts.ids), dtype=bool)
    is_used[segments.passages] = True
    counts = texts.lemmas.counts
    used = np.unique(counts.codes[is_used[counts.texts]])
    found = [texts.lemmas.words[code] for code in used.tolist()]
    column_of = np.zeros(max(len(texts.lemmas.words), 1), dtype=np.int64)
    column_of[used] = np.arange(len(used))
    cosines = np.maximum(unit_vectors(lemmas, citations) @ unit_vectors(found, citations).T, 0)
    equal = [(numbers[word], n) for n, word in enumerate(found) if word in numbers]
    if equal:
        cosines[tuple(np.array(equal).T)] = 1
    row_of = np.array([numbers[lemma] for lemma in analysis.lemmas], dtype=np.int64)
    return np.minimum(cosines, np.float32(1)), row_of, column_of


def unit_vectors(lemmas: Sequence[str], citations: CitationVectors) -> Singles:
    """Unit citation vectors of lemmas, whatever their forms, shape (len(lemmas), dimension)."""
    return unit(citations.known_word_vectors([(lemma, lemma) for lemma in lemmas]))
