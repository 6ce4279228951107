"""What speaks for each stretch of a text alluding to a passage, as numbers."""

from allusion_es.core.arrays import Floats, Integers
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.language.analysis import Analysis
from allusion_es.retrieval.texts import CodedTexts
from allusion_es.scanning.alignment import Alignments, align
from allusion_es.scanning.matches import Matches
from allusion_es.scanning.segments import Segments


PRICE = 1.0
"""What each word costs that stands between two matches, in units of idf."""

AROUND = 3
"""Words before and after a segment that its alignment may take in."""

_LONGEST = 60
_LONGEST_PASSAGE = 90


@dataclass(frozen=True, slots=True)
class Texts:
    """Passages that may be alluded to, and the weights of words.

    Attributes:
        ids: Their ids.
        tokens: Their tokens.
        lemmas: Their lemmas.
        weights: idf of each of `lemmas.words`, shape (words,).
    """

    ids: tuple[str, ...]
    tokens: CodedTexts
    lemmas: CodedTexts
    weights: Floats


def damped(matches: Matches, texts: Texts, gap: int = 25, share: float = 0.1) -> Floats:
    """What each match is worth: the idf of the passage's word by how alike the words are.

    A word that the text has again within `gap` words, and the passage only once, counts a tenth:
    else a text that turns a word over and over alludes to every passage that has it.
    """
    counts = texts.lemmas.counts
    width = max(len(texts.lemmas.words), 1)
    keys = counts.texts * width + counts.codes
    mine = matches.passages * width + matches.codes
    once = counts.counts[np.searchsorted(keys, mine)] < 2
    order = np.lexsort((matches.places, mine))
    again = np.zeros(len(mine), dtype=bool)
    if len(mine):
        same = np.diff(mine[order]) == 0
        near = np.diff(matches.places[order]) <= gap
        again[order[1:]] = same & near
    worth = texts.weights[matches.codes] * matches.likeness
    return np.where(again & once, share * worth, worth)


def ordered(analysis: Analysis, texts: Texts, segments: Segments) -> tuple[Alignments, Integers]:
    """Segments aligned with their passages word by word; equal forms count most.

    Returns:
        The alignments, and the word of the text at which each stretch starts that was aligned.
    """
    total = len(analysis.tokens)
    starts = np.maximum(segments.firsts - AROUND, 0)
    ends = np.minimum(segments.lasts + 1 + AROUND, total)
    ends = np.minimum(ends, starts + _LONGEST)
    scores = np.zeros(len(segments), dtype=np.float32)
    firsts, lasts = np.zeros(len(segments), dtype=np.int64), np.zeros(len(segments), dtype=np.int64)
    mine = _coded(analysis, texts)
    for begin in range(0, len(segments), 256):
        part = slice(begin, begin + 256)
        gains = _gains(mine, texts, segments.passages[part], starts[part], ends[part])
        found = align(gains, PRICE)
        scores[part], firsts[part], lasts[part] = found.scores, found.firsts, found.lasts
    return Alignments(scores, firsts, lasts), starts


def _coded(analysis: Analysis, texts: Texts) -> tuple[Integers, Integers]:
    """The text's tokens and lemmas as numbers of the passages' words, -1 where they have none."""
    coded = []
    for words, known in ((analysis.tokens, texts.tokens), (analysis.lemmas, texts.lemmas)):
        numbers = {word: number for number, word in enumerate(known.words)}
        coded.append(np.array([numbers.get(word, -1) for word in words], dtype=np.int64))
    return coded[0], coded[1]


def _gains(
    mine: tuple[Integers, Integers],
    texts: Texts,
    passages: Integers,
    starts: Integers,
    ends: Integers,
) -> NDArray[np.float32]:
    rows = starts[:, None] + np.arange(int((ends - starts).max()))
    inside = rows < ends[:, None]
    rows[~inside] = 0
    offsets = texts.lemmas.offsets
    lengths = np.minimum(offsets[passages + 1] - offsets[passages], _LONGEST_PASSAGE)
    columns = offsets[passages, None] + np.arange(int(lengths.max()))
    there = np.arange(columns.shape[1]) < lengths[:, None]
    columns[~there] = 0
    lemmas, tokens = texts.lemmas.codes[columns], texts.tokens.codes[columns]
    same_lemma = mine[1][rows][:, :, None] == lemmas[:, None, :]
    same_token = mine[0][rows][:, :, None] == tokens[:, None, :]
    weights = texts.weights[lemmas].astype(np.float32)[:, None, :]
    gains = np.where(same_lemma, np.float32(0.8) * weights, np.float32(-PRICE))
    gains = np.where(same_token, weights, gains)
    return np.asarray(
        np.where(inside[:, :, None] & there[:, None, :], gains, -PRICE), dtype=np.float32
    )
