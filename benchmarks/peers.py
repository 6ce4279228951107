"""Ratios against bm25s, gensim and POT in the same run; all of the New Testament against the Old.

    pip install bm25s && python benchmarks/peers.py

Same texts, words and vectors for all, one thread each. gensim's WMD costs are Euclidean distances
of the vectors (ours 1 - cosine), so its ranking is not compared; POT's is, with our costs.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from allusion_es.core.arrays import Floats

# Threads that wait for each other on a busy machine would blur the ratios.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from all_pairs import rank_all
from timing import median_ms, peak_mb, report

from allusion_es.language.latin.analysis import Analyser
from allusion_es.language.vectors.types import WordVectors
from allusion_es.local.index import LocalIndex
from allusion_es.local.library import Library
from allusion_es.rerankers.soft_cosine import SoftCosine
from allusion_es.rerankers.wmd import WordMoversDistance
from allusion_es.retrieval.generators import load_generator
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import (
    AnalysedQuery,
    Query,
    Ranking,
    SearchFilter,
    SearchRequest,
)

QUERY = "qui seminant in lacrimis in gaudio metent cum venerit dominus ad iudicium"


def main() -> None:
    if sys.argv[1:] == ["testaments"]:
        testaments()
        return
    index = Library().open()
    (query, candidates), collection = best(index, 200), Collection(index)
    assert index.vectors is not None
    words(index)
    movers(query, candidates, collection, index.vectors)
    soft(query, candidates, index, index.vectors)
    # A process of its own, so that the peak of memory is its own.
    subprocess.run([sys.executable, __file__, "testaments"], check=True)


def best(index: LocalIndex, count: int) -> tuple[AnalysedQuery, Candidates]:
    """A query and its best candidates by BM25 over lemmas."""
    settings = index.settings.analysis
    analysis = Analyser(settings.lemmatiser, settings.stop_words).analyse(QUERY)
    query = AnalysedQuery(Query(QUERY), analysis)
    ranking = load_generator("bm25").rank([query], index, "lemma", count, SearchFilter())[0]
    return query, Candidates(ranking, "lemma", index.texts("lemma", ranking.ids))


def words(index: LocalIndex) -> None:
    """BM25 of lemmas, the best 250 of all verses, for every hundredth verse as a query."""
    import bm25s

    ids = index.ids()
    texts = index.texts("lemma", ids)
    peer = bm25s.BM25(method="lucene", k1=index.settings.k1, b=index.settings.b)
    peer.index([list(texts.text(number)) for number in range(len(ids))], show_progress=False)
    queries = [list(dict.fromkeys(texts.text(number))) for number in range(0, len(ids), 100)]
    queries = [query for query in queries if query]

    def ours() -> None:
        for query in queries:
            index.search([SearchRequest("bm25", "lemma", 250, dict.fromkeys(query, 1))])

    def theirs() -> None:
        for query in queries:
            peer.retrieve([query], k=250, show_progress=False)

    mine, other = (median_ms(work, 5) / len(queries) for work in (ours, theirs))
    report("BM25 of lemmas, the best 250 of all verses", mine, "ms")
    report("  bm25s", other, "ms")
    report("  times bm25s", mine / other, "x", 1.5)


def movers(
    query: AnalysedQuery, candidates: Candidates, collection: Collection, vectors: WordVectors
) -> None:
    import ot
    from gensim.models import KeyedVectors

    words = list(query.words("lemma"))
    texts = [list(candidates.texts.text(number)) for number in range(len(candidates))]
    left, mine = histogram(words)
    problems = []
    for text in texts:
        right, other = histogram(text)
        cost = np.maximum(1 - vectors.vectors(left).astype(float) @ vectors.vectors(right).T, 0)
        cost[np.array(left)[:, None] == np.array(right)] = 0
        problems.append((other, np.ascontiguousarray(cost)))
    reranker = WordMoversDistance()
    some = candidates.want(10)
    ours = median_ms(lambda: reranker.score(query, some, collection), 15)
    whole = median_ms(lambda: reranker.score(query, candidates, collection), 15)
    each = median_ms(lambda: [ot.emd2(mine, other, cost) for other, cost in problems], 7)
    keyed = KeyedVectors(vectors.dimension)
    known = sorted({word for text in [words, *texts] for word in text})
    keyed.add_vectors(known, vectors.vectors(known))
    gensim = median_ms(lambda: [keyed.wmdistance(words, text) for text in texts], 5)
    report("WMD of 200 candidates, best 10 exact", ours, "ms")
    report("WMD of 200 candidates, all exact", whole, "ms")
    report("  each by ot.emd2, costs given", each, "ms")
    report("  each by gensim's wmdistance", gensim, "ms")
    report("  times faster than ot.emd2 (best 10)", each / ours, "x", 5)
    report("  times faster than ot.emd2 (all)", each / whole, "x", 5)
    report("  times faster than gensim (best 10)", gensim / ours, "x", 20)
    report("  times faster than gensim (all)", gensim / whole, "x", 20)
    exact = 1 - np.array([ot.emd2(mine, other, cost) for other, cost in problems])
    ranked = order(candidates, reranker.score(query, some, collection))[:10]
    same = ranked == order(candidates, exact.round(9))[:10]
    report("  same best ten as ot.emd2 (1 yes, 0 no)", float(same), "")


def histogram(words: list[str]) -> tuple[list[str], Floats]:
    distinct = list(dict.fromkeys(words))
    counts = np.array([words.count(word) for word in distinct], dtype=float)
    return distinct, counts / counts.sum()


def order(candidates: Candidates, scores: Floats) -> list[int]:
    ids = np.array(candidates.ranking.ids)
    return [int(number) for number in np.lexsort((ids, -scores.round(9)))]


def soft(
    query: AnalysedQuery, candidates: Candidates, index: LocalIndex, vectors: WordVectors
) -> None:
    from gensim.corpora import Dictionary
    from gensim.models import KeyedVectors
    from gensim.similarities import (
        SoftCosineSimilarity,
        SparseTermSimilarityMatrix,
        WordEmbeddingSimilarityIndex,
    )

    texts = [list(candidates.texts.text(number)) for number in range(len(candidates))]
    words = list(query.words("lemma"))
    dictionary = Dictionary([*texts, words])
    keyed = KeyedVectors(vectors.dimension)
    keyed.add_vectors(list(dictionary.token2id), vectors.vectors(list(dictionary.token2id)))

    def peer() -> None:
        near = WordEmbeddingSimilarityIndex(keyed, exponent=5)
        matrix = SparseTermSimilarityMatrix(near, dictionary, nonzero_limit=None)
        corpus = [dictionary.doc2bow(text) for text in texts]
        SoftCosineSimilarity(corpus, matrix)[dictionary.doc2bow(words)]

    reranker = SoftCosine()
    ours = median_ms(lambda: reranker.score(query, candidates, Collection(index)), 15)
    gensim = median_ms(peer, 1)
    report("soft cosine of 200 candidates", ours, "ms")
    report("  gensim's SoftCosineSimilarity, matrix included", gensim, "ms")
    report("  times faster", gensim / ours, "x")


def testaments() -> None:
    library = Library()
    index = library.open()
    sides = []
    start = time.perf_counter()
    for testament in ("nt", "ot"):
        ids = tuple(p.id for p in library.vulgate() if p.testament == testament)
        texts = index.texts("lemma", ids)
        sides.append(Candidates(Ranking(ids, np.zeros(len(ids))), "lemma", texts))
    read = time.perf_counter() - start
    start, worked = time.perf_counter(), time.process_time()
    rankings = rank_all(sides[0], sides[1], Collection(index), top=100)
    seconds = time.perf_counter() - start
    report(f"read {len(sides[0])} and {len(sides[1])} verses", read, "s")
    report("each NT verse with all of the OT, soft cosine, top 100", seconds, "s", 5)
    report("  of the processors' time", time.process_time() - worked, "s")
    report("  peak memory of the process", peak_mb(), "MB", 1000)
    report("  hits", float(sum(len(ranking) for ranking in rankings)), "")


if __name__ == "__main__":
    main()
