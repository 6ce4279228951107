"""Tesserae, with Word Mover's Distance where Tesserae is undefined."""

from collections.abc import Sequence

import numpy as np

from allusion_es.core.arrays import Floats
from allusion_es.rerankers._shared.word_pairs import shares
from allusion_es.rerankers.tesserae import Tesserae
from allusion_es.rerankers.wmd import WordMoversDistance
from allusion_es.retrieval.explanations import as_contributions
from allusion_es.retrieval.reranking import UNDEFINED, Candidates, Collection, Explanation
from allusion_es.retrieval.types import AnalysedQuery

TESSERAE_SCALE = (11.55, 1.133)
"""a and b of `a + b T`, fitted by `benchmarks/calibrate_backoff.py`."""

WMD_SCALE = 7.859
"""c of `c (1 - WMD)`, fitted with them: together they decide how both models' scores mix."""


class TesseraeWithBackoff:
    """Tesserae where two texts share two types, else Word Mover's Distance, on a common scale.

    `a + b T(s, t)` where T is defined, `c (1 - WMD(s, t))` elsewhere. Source: Manjavacas et
    al. 2019, section 5.3, T+WMD; they leave the scale to an oracle
    (`evaluation/paper/oracle.py`) and say that it is needed in practice.

    The scale: a, b and c maximise the likelihood that the relevant candidate of each query is
    chosen, with probabilities in proportion to exp(score) (conditional logit). They were fitted
    once, by `benchmarks/calibrate_backoff.py`, on 1,077 clauses of Church Fathers (allusions in
    CSEL editions, unmarked ones in the Patrologia Latina) whose verse is among 500 candidates
    from BM25 over lemmas. Fitted on half of them, the scale gave the other half an MRR of
    0.224, as much as with Tesserae always first (0.224; WMD always first 0.083): the common
    scale costs nothing there, and ranks what Tesserae cannot. Frequencies come from the
    collection on both sides, so that the scale does not depend on the other queries of a run.

    A text without words gets `UNDEFINED`. A score is explained by the word pairs of whichever
    model gave it, in their proportion.

    Args:
        solver: As in `WordMoversDistance`.
        vectors: Name or path of word vectors; "" for those of the index.

    Example:
        >>> from allusion_es.rerankers.trial import TrialVectors, trial
        >>> vectors = TrialVectors({"rex": (1, 0), "regina": (0.6, 0.8), "et": (0, 1)})
        >>> trial(TesseraeWithBackoff(), "rex et", ["et rex", "regina", ""], vectors)
        [12.3353, 5.5013, -1000.0]
    """

    nothing = UNDEFINED

    def __init__(self, solver: str = "pot", vectors: str = "") -> None:
        self._tesserae = Tesserae(query_side="collection")
        self._wmd = _Backoff(solver, vectors)

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate, shape (len(candidates),)."""
        scores = self._tesserae.score(query, candidates, collection)
        missing = scores == UNDEFINED
        a, b = TESSERAE_SCALE
        scores[~missing] = a + b * scores[~missing]
        if missing.any():
            # As many of these must be exact as of all: at worst, all of the best are among them.
            rest = candidates.take(np.flatnonzero(missing).tolist()).want(candidates.wanted)
            backoff = self._wmd.score(query, rest, collection)
            scores[missing] = np.where(backoff == UNDEFINED, UNDEFINED, WMD_SCALE * backoff)
        return scores

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        """For each candidate, what each pair of words adds to its score."""
        scores = self.score(query, candidates.want(None), collection).tolist()
        reasons = zip(
            self._tesserae.explain(query, candidates, collection),
            self._wmd.explain(query, candidates, collection),
            scores,
            strict=True,
        )
        return [
            None
            if score == UNDEFINED
            else as_contributions(
                shares(first if first is not None else second, score, ("‹wmd›", "‹wmd›"))
            )
            for first, second, score in reasons
        ]

    def notes(self, collection: Collection) -> Sequence[str]:
        """Notes on the backoff and those of both models."""
        return (
            "tesserae-wmd: Tesserae where two types are shared, else WMD, on a scale fitted on "
            "development links",
            *self._tesserae.notes(collection),
            *self._wmd.notes(collection),
        )


class _Backoff(WordMoversDistance):
    """Word Mover's Distance under the name of this reranker, for messages and settings."""

    name = "tesserae-wmd"
