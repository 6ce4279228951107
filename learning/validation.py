"""Validation of learned vectors: figures on works that they were not learned from.

`cross_validate` is the walk: works are divided into folds; for each, vectors are learned from the
others, without links that would give the answers away (`without_leaks`), and ranks are compared
with those of BM25 (`ranks_by_group`).
"""

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array
from allusion_es.core.temporary_files import SpilledArray, TemporaryFiles
from allusion_es.language.citations.vectors import CONTEXT, CitationVectors, to_bytes
from allusion_es.language.citations.word_parts import Word
from allusion_es.language.latin.analysis import STOP_WORDS
from allusion_es.language.latin.fold import fold
from allusion_es.learning.links import KnownLink, LearningCollection
from allusion_es.local.build import expansion_arrays
from allusion_es.local.searchers import ExpansionSearcher
from allusion_es.retrieval.analysed import WINDOW
from allusion_es.retrieval.expansion import ExpansionMaker
from allusion_es.retrieval.fusion import reciprocal_rank_fusion
from allusion_es.retrieval.generators import AROUND
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.posting_lists import PostingListBuilder
from allusion_es.retrieval.types import Ranking, SearchRequest

DEPTH = 1_000
"""Passages that are ranked; others count as not found."""

_TRIGRAM = 3
"""Words in a row by which a query may repeat a learned link, for the group without."""

_FUSION_K = 10
"""k of reciprocal rank fusion, as in the default first stage."""

LearnVectors = Callable[[Sequence[KnownLink]], CitationVectors]
"""Learns citation vectors from links."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Measures of the answers to a group of queries, from 0 to 1.

    Attributes:
        queries: Number of queries.
        mrr: Mean of one divided by the rank of the best relevant passage.
        p10: Share of queries with a relevant passage among the first 10.
        p20: Share with one among the first 20.
        r100: Share with one among the first 100.
        r1000: Share with one among the first 1,000.
    """

    queries: int
    mrr: float
    p10: float
    p20: float
    r100: float
    r1000: float

    @staticmethod
    def of(ranks: NDArray[np.float64]) -> "Figures":
        """The figures of queries whose best relevant passage has these ranks, infinite if none.

        Example:
            >>> figures = Figures.of(np.array([1.0, 4.0, 15.0, np.inf]))
            >>> round(figures.mrr, 4), figures.p10, figures.p20, figures.r1000
            (0.3292, 0.5, 0.75, 0.75)
        """
        if not len(ranks):
            return Figures(0, 0.0, 0.0, 0.0, 0.0, 0.0)
        shares = [float((ranks <= cut).mean()) for cut in (10, 20, 100, 1000)]
        return Figures(len(ranks), float((1 / ranks).mean()), *shares)


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """The figures of one method of search, for one group of queries."""

    group: str
    method: str
    figures: Figures


def folds_by_work(links: Sequence[KnownLink], count: int) -> list[list[KnownLink]]:
    """Links in `count` parts of about one size; the links of a work stay together.

    Links without a work are each a work of their own.
    """
    sizes = Counter(_work(link, number) for number, link in enumerate(links))
    parts: list[list[str]] = [[] for _ in range(count)]
    filled = [0] * count
    for work, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        least = filled.index(min(filled))
        parts[least].append(work)
        filled[least] += size
    fold_of = {work: number for number, part in enumerate(parts) for work in part}
    found: list[list[KnownLink]] = [[] for _ in range(count)]
    for number, link in enumerate(links):
        found[fold_of[_work(link, number)]].append(link)
    return found


def cross_validate(
    links: Sequence[KnownLink],
    collection: LearningCollection,
    index: CandidateIndex,
    learn: LearnVectors,
    count: int = 3,
) -> list[GroupFigures]:
    """Figures of each group and method, from learning on some works and testing on the others.

    Args:
        links: All links.
        collection: The passages of `index`.
        index: The index that is searched.
        learn: Learns vectors.
        count: Number of parts into which the works are divided.
    """
    found: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
    for held_out in folds_by_work(links, count):
        held = {id(link) for link in held_out}
        rest = [link for link in links if id(link) not in held]
        learned = without_leaks(rest, held_out, collection)
        if len(learned) < 2 or not held_out:
            continue
        for key, ranks in ranks_by_group(held_out, learned, collection, index, learn(learned)):
            found.setdefault(key, []).append(ranks)
    return [
        GroupFigures(group, method, Figures.of(np.concatenate(parts)))
        for (group, method), parts in found.items()
    ]


def ranks_by_group(
    tested: Sequence[KnownLink],
    learned: Sequence[KnownLink],
    collection: LearningCollection,
    index: CandidateIndex,
    vectors: CitationVectors,
) -> Iterator[tuple[tuple[str, str], NDArray[np.float64]]]:
    """The ranks of the best relevant passages, for each group of queries and method of search.

    `both` are BM25 and citation vectors; `all` has expansion too, and vectors count twice.
    """
    of_words = _bm25(tested, index)
    of_vectors = _citations(tested, collection, vectors)
    fused = [
        reciprocal_rank_fusion(pair, DEPTH, _FUSION_K)
        for pair in zip(of_words, of_vectors, strict=True)
    ]
    of_expansion = expansion_rankings(tested, collection, vectors, DEPTH)
    every = zip(of_words, of_vectors, of_expansion, strict=True)
    methods = {
        "bm25": of_words,
        "citations": of_vectors,
        "expansion": of_expansion,
        "both, fused": fused,
        "all, fused": [
            reciprocal_rank_fusion(lists, DEPTH, _FUSION_K, (1.0, 2.0, 1.0)) for lists in every
        ],
    }
    for group, chosen in groups(tested, learned, collection).items():
        for method, rankings in methods.items():
            ranks = best_ranks([rankings[number] for number in chosen], [tested[n] for n in chosen])
            yield (group, method), ranks


def groups(
    tested: Sequence[KnownLink], learned: Sequence[KnownLink], collection: LearningCollection
) -> dict[str, list[int]]:
    """The numbers of the queries in each group, from easy to hard ones to learn for.

    `never cited`: no learned link cites a relevant passage. `no shared lemma`: query and relevant
    passages share no lemma but stop words. `no shared trigram`: the query has no three words in a
    row that a learned link to a relevant passage has.
    """
    cited: dict[int, set[tuple[str, ...]]] = {}
    for link in learned:
        for place in link.places:
            cited.setdefault(place, set()).update(_trigrams(link))
    found: dict[str, list[int]] = {
        name: [] for name in ("all", "never cited", "no shared lemma", "no shared trigram")
    }
    for number, link in enumerate(tested):
        found["all"].append(number)
        if not any(place in cited for place in link.places):
            found["never cited"].append(number)
        passages = {lemma for place in link.places for _, lemma in collection.texts[place]}
        if not ({lemma for _, lemma in link.own_words} - STOP_WORDS) & passages:
            found["no shared lemma"].append(number)
        if all(cited.get(place, set()).isdisjoint(_trigrams(link)) for place in link.places):
            found["no shared trigram"].append(number)
    return found


def best_ranks(rankings: Sequence[Ranking], links: Sequence[KnownLink]) -> NDArray[np.float64]:
    """Rank of the first relevant passage of each query, infinite where there is none."""
    found = np.full(len(links), np.inf)
    for number, (ranking, link) in enumerate(zip(rankings, links, strict=True)):
        relevant = set(link.link.relevant)
        ranks = (rank for rank, name in enumerate(ranking.ids, 1) if name in relevant)
        found[number] = next(ranks, np.inf)
    return found


def _bm25(links: Iterable[KnownLink], index: CandidateIndex) -> list[Ranking]:
    """The ranking of each link by BM25 over lemmas."""
    size = min(DEPTH, index.max_candidates)
    requests = [
        # Query words once: repeating them in long queries helps nobody.
        SearchRequest("bm25", "lemma", size, dict.fromkeys((w for _, w in link.own_words), 1))
        for link in links
    ]
    return index.search(requests)


def _citations(
    links: Sequence[KnownLink], collection: LearningCollection, vectors: CitationVectors
) -> list[Ranking]:
    """The ranking of each link by the cosine of its citation vector with those of passages."""
    found = vectors.text_vectors(collection.texts)
    ids = np.array(collection.ids)
    rankings = []
    for link in links:
        scores = found @ vectors.query_vector(link.own_words, link.words, CONTEXT)
        best = np.argpartition(-scores, min(DEPTH, len(ids) - 1))[:DEPTH]
        order = best[np.lexsort((ids[best], -scores[best]))]
        rankings.append(Ranking(tuple(ids[order].tolist()), scores[order].astype(np.float64)))
    return rankings


def _trigrams(link: KnownLink) -> set[tuple[str, ...]]:
    tokens = [token for token, _ in link.own_words]
    return {tuple(tokens[n : n + _TRIGRAM]) for n in range(len(tokens) - _TRIGRAM + 1)}


def _work(link: KnownLink, number: int) -> str:
    return link.link.work or f"\x00{number}"


def figure_rows(results: Sequence[GroupFigures]) -> list[dict[str, Any]]:
    """Measured figures as rows of plain values, in hundredths."""
    return [
        {"group": result.group, "method": result.method}
        | {
            name: value if name == "queries" else round(100 * value, 1)
            for name, value in asdict(result.figures).items()
        }
        for result in results
    ]


# Rankings by expansion terms, before an index has them.

_TOGETHER = 1_000
"""Passages that are expanded at once, so that memory stays bounded."""


def expansion_rankings(
    links: Sequence[KnownLink],
    collection: LearningCollection,
    vectors: CitationVectors,
    size: int,
) -> list[Ranking]:
    """For each link, the passages whose expansion terms match it best.

    Args:
        links: The queries, each with the words around it.
        collection: The passages.
        vectors: Citation vectors, with the files of citing words beside them.
        size: Length of a ranking.
    """
    df: Counter[str] = Counter()
    cf: Counter[str] = Counter()
    for text in collection.texts:
        lemmas = [lemma for _, lemma in text]
        cf.update(lemmas)
        df.update(set(lemmas))
    counts = {word: (df[word], total) for word, total in cf.items()}
    filled = sum(1 for text in collection.texts if text)
    maker = ExpansionMaker(vectors, collection.ids, counts, filled)
    rows = to_bytes(vectors.text_vectors(collection.texts))[0]
    arrays = _arrays(maker, collection, rows)
    expansion = ExpansionSearcher(arrays.__getitem__, maker.words, len(collection))
    ids = np.array(collection.ids)
    rankings = []
    for link in links:
        found = expansion.best(searched_lemmas(link), size)
        names = ids[found.places]
        order = np.lexsort((names, -found.scores))[:size]
        rankings.append(
            Ranking(tuple(names[order].tolist()), found.scores[order].astype(np.float64))
        )
    return rankings


def _arrays(
    maker: ExpansionMaker, collection: LearningCollection, vectors: NDArray[np.int8]
) -> dict[str, Array]:
    """The arrays of an expansion index over the collection, as `ExpansionSearcher` reads them."""
    with TemporaryFiles(Path(tempfile.gettempdir())) as files:
        builder = PostingListBuilder(files, len(maker.words), np.uint16)
        for start in range(0, len(collection), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            found = maker.expand(collection.ids[part], collection.texts[part], vectors[part])
            builder.add(np.diff(found.offsets), found.codes, found.bits)
        arrays = expansion_arrays(maker.words, builder.postings())
        return {
            name: array.mapped() if isinstance(array, SpilledArray) else array
            for name, array in arrays.items()
        }


def searched_lemmas(link: KnownLink) -> dict[str, float]:
    """A link's own lemmas, and those around it, which count less.

    As `retrieval.fusion.words_around` has them for a query.
    """
    around = link.words[max(0, link.start - WINDOW) : link.end + WINDOW]
    weights = dict.fromkeys((lemma for _, lemma in link.own_words), 1.0)
    for _, lemma in around:
        weights.setdefault(lemma, AROUND)
    return weights


# Leaks: links that would give away the answers to those that are tested.

RUN = 6
"""Words in a row that two texts share only if one copies the other."""


def without_leaks(
    links: Sequence[KnownLink],
    held_out: Sequence[KnownLink],
    collection: LearningCollection,
    run: int = RUN,
) -> list[KnownLink]:
    """The links that share neither title nor wording with those held out.

    A link is left out where its title is that of a link held out, or where it shares `run` words
    in a row with one, before and after its own words included; runs of words that the collection
    itself has do not count, since everybody quotes it.

    Args:
        links: The links to learn from.
        held_out: The links to test on.
        collection: The passages that both cite.
        run: Number of words in a row that is too many.
    """
    titles = {title_key(link.link.title) for link in held_out} - {""}
    own = set(_runs([[word for text in collection.texts for word in text]], run))
    shared = set(_runs([link.words for link in held_out], run)) - own
    return [
        link
        for link in links
        if title_key(link.link.title) not in titles and shared.isdisjoint(_runs([link.words], run))
    ]


def title_key(title: str) -> str:
    """A title in the form in which titles are compared: letters and digits only.

    Example:
        >>> title_key("De civitate Dei, lib. 2")
        'de ciuitate dei lib 2'
    """
    words = re.findall(r"[^\W\d_]+|\d+", title)
    return " ".join(word if word.isdigit() else fold(word) for word in words)


def _runs(texts: Iterable[Sequence[Word]], size: int) -> Iterable[tuple[str, ...]]:
    for text in texts:
        tokens = [token for token, _ in text]
        for start in range(len(tokens) - size + 1):
            yield tuple(tokens[start : start + size])
