"""Tesserae with WMD as backoff, chosen by an oracle: for evaluation only."""

from collections.abc import Collection as Ids
from collections.abc import Mapping

from allusion_es.core.errors import InputError
from allusion_es.rerankers.tesserae import Tesserae
from allusion_es.rerankers.wmd import WordMoversDistance
from allusion_es.retrieval.reranking import Candidates, Collection, Explanation, Reranker
from allusion_es.retrieval.types import AnalysedQuery, Floats


class TesseraeWmdOracle:
    """The paper's T+WMD: for each query the model that suits its gold passage.

    All candidates of a query are ranked by Tesserae where a relevant passage among them shares
    two or more types with the query, else by Word Mover's Distance. It knows the answer, so its
    figures are those of a perfect scale between the two models and a bound for
    `TesseraeWithBackoff`. Source: Manjavacas et al. 2019, section 5.3.

    Not a plug-in, since it needs gold links.

    Args:
        gold: For each query id the ids of its relevant passages.
        tesserae: The model for queries with shared types.
        wmd: The model for the others.

    Raises:
        InputError: When scoring, where a query has no gold links.
    """

    def __init__(
        self,
        gold: Mapping[str, Ids[str]],
        tesserae: Tesserae | None = None,
        wmd: WordMoversDistance | None = None,
    ) -> None:
        self._gold = gold
        self._tesserae = tesserae or Tesserae()
        self._wmd = wmd or WordMoversDistance()

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """See `Reranker.score`."""
        return self._model(query, candidates).score(query, candidates, collection)

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        """See `Reranker.explain`."""
        return list(self._model(query, candidates).explain(query, candidates, collection))

    def _model(self, query: AnalysedQuery, candidates: Candidates) -> Reranker:
        name = query.query.query_id
        if name not in self._gold:
            raise InputError(f"query {name!r} has no gold link, which the oracle needs")
        pool, _ = candidates.pool
        types = set(query.words(candidates.field))
        overlaps = (
            len(types & set(pool.texts.text(number)))
            for number, identifier in enumerate(pool.ranking.ids)
            if identifier in self._gold[name]
        )
        return self._tesserae if max(overlaps, default=0) > 1 else self._wmd
