"""Time per query of every reranker, at 500 candidates and at all passages of the Vulgate.

    python benchmarks/rerankers.py [NAME …]

The ten best are wanted, as `allusion-es query` asks for; times are medians over queries, each
with nothing remembered of earlier ones.
"""

import statistics
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from timing import median_ms, report

from allusion_es.core.plugins import plugins
from allusion_es.language.latin.analysis import Analyser
from allusion_es.local.index import LocalIndex
from allusion_es.local.library import Library
from allusion_es.retrieval.generators import load_generator
from allusion_es.retrieval.reranking import GROUP, Candidates, Collection, load_reranker
from allusion_es.retrieval.types import AnalysedQuery, Query, Ranking, SearchFilter

QUERIES = (
    "gustate et videte quoniam suavis est dominus",
    "in principio erat verbum et vidit deus lucem quod esset bona",
    "qui seminant in lacrimis in gaudio metent cum venerit dominus ad iudicium",
)


def analysed(index: LocalIndex) -> list[AnalysedQuery]:
    """The queries and their words."""
    settings = index.settings.analysis
    analyser = Analyser(settings.lemmatiser, settings.stop_words)
    return [AnalysedQuery(Query(text), analyser.analyse(text)) for text in QUERIES]


def best(index: LocalIndex, query: AnalysedQuery, count: int) -> Candidates:
    """The best candidates by BM25 over lemmas."""
    ranking = load_generator("bm25").rank([query], index, "lemma", count, SearchFilter())[0]
    return Candidates(ranking, "lemma", index.texts("lemma", ranking.ids))


def everything(index: LocalIndex) -> Candidates:
    """All passages."""
    ids = tuple(passage.id for passage in Library().vulgate())
    return Candidates(Ranking(ids, np.zeros(len(ids))), "lemma", index.texts("lemma", ids))


def main() -> None:
    index = Library().open()
    queries = analysed(index)
    whole = everything(index)
    for name in sys.argv[1:] or plugins(GROUP):
        reranker = load_reranker(name)
        for pools, runs in (([best(index, q, 500) for q in queries], 5), ([whole] * 3, 1)):
            times = [
                median_ms(
                    lambda q=query, p=pool: reranker.score(q, p.want(10), Collection(index)),  # type: ignore[misc] # noqa: B023
                    runs,
                )
                for query, pool in zip(queries, pools, strict=True)
            ]
            report(f"{name}, {len(pools[0])} candidates", statistics.median(times), "ms")


if __name__ == "__main__":
    main()
