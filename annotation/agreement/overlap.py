"""Overlap of two spans, and of all pairs of spans in a data set.

Source: Manjavacas, Long and Kestemont 2019, "Inter-annotator agreement experiment".
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.annotation.spans import SpanAnnotation
from allusion_es.core.arrays import Integers

Span = tuple[int, int]
"""Start and end (exclusive) in tokens: a span of n tokens is (i, i + n)."""


def longest_common_substring(s: Span, t: Span) -> int:
    """The length of the longest common substring, LCS(s, t), of two spans of one text, in tokens.

    A token is identified by its place in the text, not by its form: a word that the text repeats
    is another token each time, and two annotators who mark different occurrences of `et` agree in
    nothing. So no token occurs twice in a span, a common substring is a run of places that both
    spans hold, and since both are intervals the longest is their whole intersection.

    Example:
        >>> longest_common_substring((2, 6), (4, 9))
        2
        >>> longest_common_substring((2, 4), (4, 6))
        0
    """
    return max(0, min(s[1], t[1]) - max(s[0], t[0]))


def overlap(s: Span, t: Span) -> float:
    """The overlap O(s, t) = LCS / (|s| + |t| - LCS): common tokens as a share of those of either.

    Example:
        >>> overlap((2, 6), (4, 9))
        0.2857142857142857
    """
    common = longest_common_substring(s, t)
    return common / ((s[1] - s[0]) + (t[1] - t[0]) - common)


@dataclass(frozen=True, slots=True)
class SpanTable:
    """Spans as arrays of shape (spans,), sorted by instance, then annotator.

    Attributes:
        instances: Ids of the instances, sorted.
        annotators: Names of the annotators, sorted.
        types: Kinds of links, sorted.
        instance: For each span its place in `instances`.
        annotator: For each span its place in `annotators`.
        type: For each span its place in `types`.
        anchor: For each span 1 where its instance has an anchor, 0 where it has none, -1 where no
            annotation of the instance tells.
        start: Place of its first token.
        end: Place after its last token.
        tokens: Tokens of the instance's text: the most that any annotation of it tells, or, where
            none does, as far as the furthest span reaches.
    """

    instances: tuple[str, ...]
    annotators: tuple[str, ...]
    types: tuple[str, ...]
    instance: Integers
    annotator: Integers
    type: Integers
    anchor: Integers
    start: Integers
    end: Integers
    tokens: Integers

    def rows(self, chosen: Integers) -> "SpanTable":
        """The table of only these spans; `chosen` are row numbers, in ascending order."""
        names = ("instance", "annotator", "type", "anchor", "start", "end", "tokens")
        arrays = {name: getattr(self, name)[chosen] for name in names}
        return SpanTable(self.instances, self.annotators, self.types, **arrays)


def span_table(annotations: Sequence[SpanAnnotation]) -> SpanTable:
    """Annotations as arrays; each must have a span, and each annotator one per instance."""
    rows = sorted(annotations, key=lambda row: (row.instance, row.annotator))
    codes: dict[str, Integers] = {}
    names: dict[str, tuple[str, ...]] = {}
    for field in ("instance", "annotator", "type"):
        values = [getattr(row, field) for row in rows]
        distinct = sorted(set(values))
        code = {value: place for place, value in enumerate(distinct)}
        names[field] = tuple(distinct)
        codes[field] = np.array([code[value] for value in values], dtype=np.int64)
    anchors = {row.instance: row.has_anchor for row in rows if row.has_anchor is not None}
    start = np.array([row.start for row in rows], dtype=np.int64)
    end = np.array([row.end for row in rows], dtype=np.int64)
    reach = np.zeros(len(names["instance"]), dtype=np.int64)
    known = np.array([max(row.tokens, row.end or 0) for row in rows], dtype=np.int64)
    # A text is as long as any annotation of it says, and reaches at least to its last span.
    np.maximum.at(reach, codes["instance"], known)
    return SpanTable(
        names["instance"],
        names["annotator"],
        names["type"],
        **codes,
        anchor=np.array([int(anchors.get(row.instance, -1)) for row in rows], dtype=np.int64),
        start=start,
        end=end,
        tokens=reach[codes["instance"]],
    )


@dataclass(frozen=True, slots=True)
class Pairs:
    """All unordered pairs of spans of one instance, as arrays of shape (pairs,).

    Attributes:
        first: Row of one span in the `SpanTable`.
        second: Row of the other; its annotator's name is the later one.
        agreement: A(s, t) = LCS(s, t), tokens in common.
        disagreement: D(s, t) = |s| + |t| - 2 LCS(s, t), tokens that only one of them marked.
    """

    first: Integers
    second: Integers
    agreement: Integers
    disagreement: Integers

    @property
    def union(self) -> Integers:
        """A + D, tokens that either of them marked."""
        return self.agreement + self.disagreement

    @property
    def overlap(self) -> NDArray[np.float64]:
        """O = A / (A + D) of each pair."""
        return np.asarray(self.agreement / self.union, dtype=np.float64)


def pairs_of(table: SpanTable) -> Pairs:
    """All pairs of spans of a table."""
    first, second = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    # The rows of an instance lie together: all pairs at a distance are found at once.
    for distance in range(1, len(table.annotators)):
        rows = np.flatnonzero(table.instance[:-distance] == table.instance[distance:])
        if not rows.size:
            break
        first.append(rows)
        second.append(rows + distance)
    one, other = np.concatenate(first), np.concatenate(second)
    reach = np.minimum(table.end[one], table.end[other])
    common = np.maximum(0, reach - np.maximum(table.start[one], table.start[other]))
    lengths = table.end - table.start
    return Pairs(one, other, common, lengths[one] + lengths[other] - 2 * common)
