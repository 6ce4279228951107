"""Fit the common scale of Tesserae and WMD that `rerankers/tesserae_wmd.py` keeps.

    python benchmarks/calibrate_backoff.py LINKS.jsonl …

Each line of the files has `text` (a query) and `relevant` (ids of passages it alludes to). For
each query with a relevant passage among its 500 best BM25 candidates (lemmas), candidate i has
the utility `a + b T_i` where Tesserae is defined, and `c W_i`, W = 1 - WMD, elsewhere; a, b and c
maximise the likelihood that the relevant one is chosen, `exp(u_i) / sum_j exp(u_j)`. Fitted
on one half of the queries, the figure is told for the other; the printed numbers are of all.
"""

import json
import sys
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from allusion_es.core.arrays import Floats
from allusion_es.local.library import Library
from allusion_es.rerankers.tesserae import Tesserae
from allusion_es.rerankers.wmd import WordMoversDistance
from allusion_es.retrieval.generators import load_generator
from allusion_es.retrieval.pipeline import Retriever
from allusion_es.retrieval.reranking import UNDEFINED, Candidates, Collection
from allusion_es.retrieval.types import (
    AnalysedQuery,
    Query,
    SearchFilter,
)

Example = tuple[Floats, Floats, Floats]
"""Tesserae scores, WMD scores, and which candidates are relevant."""


def examples(paths: list[Path]) -> list[Example]:
    index = Library().open()
    analyser, collection = Retriever(index).analyser, Collection(index)
    generator = load_generator("bm25")
    tesserae, wmd = Tesserae(query_side="collection"), WordMoversDistance()
    found = []
    for line in (line for path in paths for line in path.read_text().splitlines()):
        link = json.loads(line)
        query = AnalysedQuery(Query(link["text"]), analyser.analyse(link["text"]))
        ranking = generator.rank([query], index, "lemma", 500, SearchFilter())[0]
        relevant = np.isin(ranking.ids, link["relevant"]).astype(np.float64)
        if relevant.any():
            candidates = Candidates(ranking, "lemma", index.texts("lemma", ranking.ids))
            scores = [r.score(query, candidates, collection) for r in (tesserae, wmd)]
            found.append((scores[0], scores[1], relevant))
    return found


def utilities(numbers: Floats, example: Example) -> Floats:
    a, b, c = numbers
    tesserae, wmd, _ = example
    return np.asarray(np.where(tesserae == UNDEFINED, c * wmd, a + b * tesserae))


def loss(numbers: Floats, sample: list[Example]) -> float:
    total = 0.0
    for example in sample:
        u = utilities(numbers, example)
        u = u - u.max()
        total += np.log(np.exp(u).sum()) - np.log(np.exp(u) @ example[2])
    return float(total / len(sample))


def fit(sample: list[Example]) -> Floats:
    start = np.array([8.0, 1.0, 8.0])
    return np.asarray(minimize(loss, start, (sample,), method="Nelder-Mead").x)


def mean_reciprocal_rank(numbers: Floats, sample: list[Example]) -> float:
    ranks = []
    for example in sample:
        u = utilities(numbers, example)
        ranks.append(1 + np.count_nonzero(u > u[example[2] > 0].max()))
    return float(np.mean(1 / np.array(ranks)))


def main() -> None:
    found = examples([Path(path) for path in sys.argv[1:]])
    half = fit(found[::2])
    print(f"half: {half.round(3).tolist()}, loss on the other half {loss(half, found[1::2]):.4f}")
    print(f"MRR on the other half {mean_reciprocal_rank(half, found[1::2]):.4f}")
    never, always = np.array([1e6, 1, 1]), np.array([-1e6, 1, 1])
    print(f"  Tesserae always first {mean_reciprocal_rank(never, found[1::2]):.4f}")
    print(f"  WMD always first {mean_reciprocal_rank(always, found[1::2]):.4f}")
    print(f"all {len(found)} queries: a, b, c = {fit(found).round(3).tolist()}")


if __name__ == "__main__":
    main()
