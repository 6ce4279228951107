r"""Krippendorff's alpha for units (uα): do annotators cut the same stretches out of a text?

The variant is that of Krippendorff, *Content Analysis*, second edition 2004, section 11.6, and
"Measuring the Reliability of Qualitative Text Analysis Data", *Quality & Quantity* 38 (2004), for
one category. A text of L tokens is a *continuum*. Each of m annotators cuts it into *units* (here
one, the span) and the *gaps* around them. With b and l for a section's begin and length,

    δ²(g, h) = (b_g - b_h)² + (b_g + l_g - b_h - l_h)²   two units that overlap
               l_g²                                      unit g lies wholly in gap h
               l_h²                                      unit h lies wholly in gap g
               0                                         otherwise

    D_o = Σ_i Σ_g Σ_{j≠i} Σ_h δ²(g, h) / (m (m-1) L²)

    D_e = (2/L) Σ_g [ (N-1)/3 (2 l_g³ - 3 l_g² + l_g) + l_g² Σ_h max(0, l_h - l_g + 1) ]
          / ( mL (mL-1) - Σ_g l_g (l_g-1) )

    uα = 1 - D_o / D_e

where g in D_e runs over all N units of all annotators and h over all their gaps: D_e is what D_o
would be if all units were laid anywhere into the text, independently.

Several instances are one continuum: their texts joined end to end, as Krippendorff joins texts.
So the gap after a span runs into the gap before the annotator's next span. Which text comes next
is an accident; each text is therefore joined to itself, as a ring, and an annotator has one gap of
L - l tokens in it. Where no gap is shorter than a unit, that gives the same D_e as any order of the
texts, but for the two ends of the whole. (Gaps cut at the end of each text would leave out all
places that straddle it: with texts of 20 tokens and spans of 5, D_e would be a fifth too small, and
random spans would get -0.2.) D_o is not touched, since no span leaves its text.

Annotators may be missing: an instance with m_i ≥ 2 spans adds its sum of δ² divided by m_i - 1 to
D_o and m_i L_i to the number mL of places, as Krippendorff does for missing values. Where all
annotators are there, this is the formula above. L cancels.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from allusion_es.annotation.agreement.overlap import Pairs, SpanTable
from allusion_es.core.arrays import Floats, Integers


def expected_disagreement(
    unit_lengths: Integers, units: Floats, gap_lengths: Integers, gaps: Floats, places: Floats
) -> Floats:
    """D_e of uα times L, of several data sets at once.

    Args:
        unit_lengths: The distinct lengths of units, shape (u,).
        units: How often a unit of each length occurs, shape (data sets, u).
        gap_lengths: The distinct lengths of gaps, shape (g,).
        gaps: How often a gap of each length occurs, shape (data sets, g).
        places: mL, shape (data sets,).

    Returns:
        Shape (data sets,).

    Example:
        Two units of two tokens and two gaps of two tokens, as where two annotators each marked
        two of four tokens:
        2 (1/3 (6 + 6) + 4 * 2 + 4 * 2) / (8 * 7 - 2 - 2).

        >>> two, once = np.array([2]), np.array([[2.0]])
        >>> expected_disagreement(two, once, two, once, np.array([8.0])).round(4).tolist()
        [0.7692]
    """
    length, gap = unit_lengths.astype(np.float64), gap_lengths.astype(np.float64)
    others = units.sum(axis=1) - 1
    both_units = others / 3 * (units @ (2 * length**3 - 3 * length**2 + length))
    # room[g, u]: the number of places at which a unit of length u fits into a gap of length g.
    room = np.maximum(0.0, gap[:, None] - length + 1)
    in_gaps = ((gaps @ room) * units) @ length**2
    ways = places * (places - 1) - units @ (length * (length - 1))
    return np.asarray(2 * (both_units + in_gaps) / ways, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Continua:
    """Sums that uα is computed from, for each instance with two spans or more.

    Attributes:
        instance: Places of these instances in the table's `instances`, shape (n,).
        observed: Σ δ² over ordered pairs of annotators, divided by m - 1, shape (n,).
        places: m L, shape (n,).
        unit_lengths: The distinct lengths of units, shape (u,).
        units: How often each occurs, sparse, shape (n, u).
        gap_lengths: The distinct lengths of gaps, each L - l, shape (g,).
        gaps: How often each occurs, sparse, shape (n, g).
    """

    instance: Integers
    observed: Floats
    places: Floats
    unit_lengths: Integers
    units: Any
    gap_lengths: Integers
    gaps: Any

    def alpha(self, weights: Floats) -> Floats:
        """Uα of data sets in which each instance occurs as often as its weight says.

        Where D_o is 0, uα is 1, even if D_e is 0 too (texts of one token): all agree.

        Args:
            weights: Shape (data sets, n); no row may be all 0.

        Returns:
            Shape (data sets,).
        """
        places = weights @ self.places
        observed = (weights @ self.observed) / places
        expected = expected_disagreement(
            self.unit_lengths, weights @ self.units, self.gap_lengths, weights @ self.gaps, places
        )
        ratio = np.divide(observed, expected, out=np.zeros_like(observed), where=observed > 0)
        return np.asarray(1 - ratio, dtype=np.float64)


def continua_of(table: SpanTable, pairs: Pairs) -> Continua:
    """The continua of a table of spans, given its pairs."""
    size = len(table.instances)
    annotators = np.bincount(table.instance, minlength=size)
    paired = np.flatnonzero(annotators > 1)
    owners = table.instance[pairs.first]
    delta = np.bincount(owners, weights=_distances(table, pairs), minlength=size)[paired]
    compared = np.bincount(owners, minlength=size)[paired]
    rows = np.flatnonzero(annotators[table.instance] > 1)
    # The paired instances renumbered from 0, as rows of the sparse counts.
    place = np.cumsum(annotators > 1) - 1
    owner = place[table.instance[rows]]
    start, end, tokens = (getattr(table, name)[rows] for name in ("start", "end", "tokens"))
    unit_lengths, units = _counts(owner, end - start, paired.size)
    gap_lengths, gaps = _counts(owner, tokens - (end - start), paired.size)
    return Continua(
        paired,
        # 2 Σ δ² / (m - 1) over unordered pairs, of which there are m (m - 1) / 2.
        annotators[paired] * delta / compared,
        np.bincount(owner, weights=tokens, minlength=paired.size).astype(np.float64),
        unit_lengths,
        units,
        gap_lengths,
        gaps,
    )


def _distances(table: SpanTable, pairs: Pairs) -> Floats:
    """Σ_g Σ_h δ² of two annotators with a unit each, shape (pairs,)."""
    start, end = table.start.astype(np.float64), table.end.astype(np.float64)
    one, other = pairs.first, pairs.second
    moved = (start[one] - start[other]) ** 2 + (end[one] - end[other]) ** 2
    # Units that share nothing lie each in a gap of the other annotator.
    apart = (end[one] - start[one]) ** 2 + (end[other] - start[other]) ** 2
    return np.where(pairs.agreement > 0, moved, apart)


def _counts(owner: Integers, lengths: Integers, size: int) -> tuple[Integers, Any]:
    """The distinct lengths, and how often each owner has them: sparse, shape (size, distinct)."""
    from scipy.sparse import csr_array

    distinct, place = np.unique(lengths, return_inverse=True)
    ones = np.ones(owner.size)
    counts = csr_array((ones, (owner, place.ravel())), shape=(size, distinct.size))
    return distinct, counts
