"""The paper's T+WMD: for each query the model that suits its gold passage."""

from collections.abc import Mapping, Sequence

from allusion_es.evaluation.gold import GoldLink
from allusion_es.evaluation.runs import Found, Run
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import AnalysedQuery, Field


def shares_two_types(
    links: Sequence[GoldLink],
    queries: Mapping[str, AnalysedQuery],
    index: CandidateIndex,
    field: Field,
) -> dict[str, bool]:
    """For each query whether a gold passage of it shares two or more types with it.

    Args:
        links: Gold links.
        queries: Their queries by id, analysed.
        index: Where the passages are.
        field: Types of which words.

    Raises:
        VerseError: A gold passage is not in the index.
    """
    shared = {}
    for link in links:
        types = set(queries[link.query.query_id].words(field))
        texts = index.texts(field, link.relevant)
        overlaps = (len(types & set(texts.text(number))) for number in range(len(texts)))
        shared[link.query.query_id] = max(overlaps) > 1
    return shared


def oracle_run(tesserae: Run, wmd: Run, shared: Mapping[str, bool]) -> dict[str, Found]:
    """The ranking by Tesserae where a gold passage shares two types, else that by WMD.

    It knows the answer: its figures are those of a perfect scale between the two models, and a
    bound for the reranker `tesserae-wmd`. A query that the chosen model did not answer is not in
    it. Source: Manjavacas et al. 2019, section 5.3.

    Args:
        tesserae: The run of Tesserae.
        wmd: The run of Word Mover's Distance, of the same queries.
        shared: From `shares_two_types`.
    """
    chosen = {query: tesserae if two else wmd for query, two in shared.items()}
    return {query: run[query] for query, run in chosen.items() if query in run}
