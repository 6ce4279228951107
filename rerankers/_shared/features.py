"""Features of candidates for a learned ranker: scores, ranks, shared words, neighbours."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.language.latin.analysis import Analysis
from allusion_es.rerankers._shared.citation_words import ComparedWords, compare_words
from allusion_es.rerankers._shared.spelling import Spelling
from allusion_es.rerankers.bm25 import Bm25
from allusion_es.rerankers.cross_encoder import CrossEncoding
from allusion_es.rerankers.encoder_cosine import EncoderCosine
from allusion_es.rerankers.local_alignment import LocalAlignment, alignment_scores
from allusion_es.rerankers.soft_cosine import SoftCosine
from allusion_es.rerankers.tesserae import Tesserae
from allusion_es.rerankers.tfidf import TfIdf
from allusion_es.retrieval.citing_evidence import EVIDENCE, citing_evidence
from allusion_es.retrieval.generators import citing_vectors
from allusion_es.retrieval.reranking import (
    UNDEFINED,
    Candidates,
    Collection,
    Explanation,
    Reranker,
)
from allusion_es.retrieval.types import (
    FIELDS,
    AnalysedQuery,
    Field,
)
from allusion_es.retrieval.weighting import idf

RANK_OFFSET = 10
"""A rank r counts as `RANK_OFFSET / (RANK_OFFSET + r)`, so that the first ten differ most."""

STAGES = ("bm25-token", "bm25-lemma", "ngrams", "words", "expansion")
"""Parts of the default first stage whose scores are features: `stage-bm25-token` and so on.

Those of citation vectors and citing texts have features of their own, for all candidates."""

_ALONE = ("alike", "largest")
"""Beginnings of the names of word comparisons that have no share of the best and no rank."""

_WITH_NEIGHBOURS = (
    "bm25-lemma", "local-alignment-lemma", "citations-context", "maxsim", "citing-context-three",
    "first-stage", "stage-expansion",
)  # fmt: skip
"""Scores of which the verses before and after give a feature: an allusion may run over both."""

_WITH_LENGTH = ("bm25-lemma", "soft-cosine", "citations-context")
"""Scores that are also weighed by the query's length: how far to trust them depends on it."""

ENCODER = "encoder-cosine"
"""The score of the index's sentence encoder, for rankers that were learned with it."""

CROSS_ENCODER = "cross-encoder"
"""The score of a cross-encoder, for rankers that were learned with one."""

GROUP = "group:"
"""Beginning of the names of features that say to which group, by `group_of`, a passage belongs."""

_NUMBERS = re.compile(r"([\W_]*\d+)+$")

_UNBROKEN = 100.0
"""A gap price above the weight of any word, which leaves only unbroken runs."""

ByField = dict[Field, Candidates]
"""The same candidates with their tokens and with their lemmas."""

Named = dict[str, Floats]
"""Features or scores by name, one number a candidate."""


@dataclass(frozen=True, slots=True)
class CandidateFeatures:
    """The features of n candidates.

    Attributes:
        names: Names of the features.
        values: Their values, finite, shape (n, len(names)).
    """

    names: tuple[str, ...]
    values: Floats


class FeatureMaker:
    """Computes features of candidates.

    A feature `NAME`, `NAME/best` and `NAME/rank` each is a score as it is, divided by the best
    among the candidates, and as a damped reciprocal rank among them. The scores are:

    - those of other rerankers: `scorers`;
    - `first-stage`, and `stage-…` for the rankings that it was fused from (`STAGES`);
    - `citations`, `citations-context`, `citations-window`: cosines of citation vectors with the
      query, with it and the words around it, with both together as one text;
    - `maxsim…`, `aligned…`: words compared one by one, see `ComparedWords.features`;
    - `citing-own`, `citing-whole`, `citing-context`: evidence from citing texts, see
      `citing_evidence`; `…-three` that of a passage's best three.

    Other features: what query and passage share, lengths, the verses before and after
    (`…/neighbour`), and how much of the chapter and the book is near to the query.

    Args:
        parts: The scores to make features of, by the names that `feature_part` gives; None for
            all.
        groups: Groups of passages, by `group_of`, that have a feature each: authors allude to some
            works more than to others.
        encoder: Whether the cosine of the index's encoder is a score, `encoder-cosine`; it is
            where `parts` have it.
        cross_encoder: A cross-encoder whose score is one, `cross-encoder`, as in `CrossEncoding`;
            "" for none.

    Attributes:
        scorers: The rerankers that give scores, with the field whose words they compare.
    """

    def __init__(
        self,
        parts: Iterable[str] | None = None,
        groups: Sequence[str] = (),
        *,
        encoder: bool = False,
        cross_encoder: str = "",
    ) -> None:
        self._groups = groups
        scorers: dict[str, tuple[Field, Reranker]] = {
            "bm25-lemma": ("lemma", Bm25()),
            "bm25-token": ("token", Bm25()),
            "tfidf": ("lemma", TfIdf()),
            "soft-cosine": ("lemma", SoftCosine()),
            "tesserae": ("lemma", Tesserae(query_side="collection")),
            "local-alignment-lemma": ("lemma", LocalAlignment()),
            "local-alignment-token": ("token", LocalAlignment()),
            "run": ("token", LocalAlignment(gap=_UNBROKEN)),
            "spelling": ("token", Spelling()),
            "window": ("lemma", _WindowBm25()),
        }
        wanted = set(scorers if parts is None else parts)
        if encoder or ENCODER in wanted:
            scorers[ENCODER] = ("token", EncoderCosine())
            wanted.add(ENCODER)
        if cross_encoder:
            scorers[CROSS_ENCODER] = ("token", CrossEncoding(cross_encoder))
            wanted.add(CROSS_ENCODER)
        self.scorers = {name: scorer for name, scorer in scorers.items() if name in wanted}

    def features(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> CandidateFeatures:
        """The features of all candidates of a query; all, since their ranks are features too."""
        both = in_both_fields(candidates, collection)
        compared = compared_words(query, both, collection)
        aligned = self._aligned(query, both, compared, collection)
        scores = self._of_words(query, both, aligned, collection)
        scores |= _of_stages(candidates, collection)
        if compared is not None:
            scores |= _of_citations(query, compared, collection)
            scores |= {name: aligned[name] for name in compared.alignments}
        scores |= _of_citing_texts(query, candidates, collection)
        named = _shared(query, both["lemma"], collection)
        named |= _of_groups(self._groups, candidates.ranking.ids)
        for name, values in scores.items():
            named[name] = values
            if not name.startswith(_ALONE):
                named[f"{name}/best"] = _of_best(values)
                named[f"{name}/rank"] = _damped_ranks(values)
        named |= _beside(named, candidates.ranking.ids)
        short = 1 / np.sqrt(max(len(query.words("lemma")), 1))
        for name in _WITH_LENGTH:
            if name in scores:
                named[f"{name}/short"] = short * named[f"{name}/best"]
        if "citations-context" in scores and "bm25-lemma" in scores:
            named["both"] = named["bm25-lemma/best"] * named["citations-context/best"]
        return CandidateFeatures(tuple(named), np.stack(list(named.values()), axis=1))

    def _aligned(
        self,
        query: AnalysedQuery,
        both: ByField,
        compared: ComparedWords | None,
        collection: Collection,
    ) -> Named:
        """The scores of all local alignments, computed at once."""
        found = {
            name: scorer.alignment(query, both[field], collection)
            for name, (field, scorer) in self.scorers.items()
            if isinstance(scorer, LocalAlignment)
        }
        if compared is not None:
            found |= compared.alignments
        if not found:
            return {}
        # A passage has as many lemmas as tokens.
        scores = alignment_scores(list(found.values()), both["token"].texts.offsets)
        return dict(zip(found, scores, strict=True))

    def _of_words(
        self, query: AnalysedQuery, both: ByField, aligned: Named, collection: Collection
    ) -> Named:
        """The scores that other rerankers give, of which some are there already."""
        found = {
            name: aligned[name] if name in aligned else scorer.score(query, both[field], collection)
            for name, (field, scorer) in self.scorers.items()
        }
        if ENCODER in found:
            values = found[ENCODER]
            found[ENCODER] = np.where(values == UNDEFINED, 0.0, values)
        if "tesserae" in found:
            values = found["tesserae"]
            # Tesserae is a logarithm; its power is 0 where it is undefined, and bounded, so that
            # it cannot overflow.
            found["tesserae"] = np.where(values == UNDEFINED, 0.0, np.exp(np.minimum(values, 20.0)))
        return found


def compared_words(
    query: AnalysedQuery, both: ByField, collection: Collection
) -> ComparedWords | None:
    """The words of query and candidates with their citation vectors, None where there are none."""
    vectors = collection.citations
    return compare_words(query, both["token"], both["lemma"], vectors) if vectors else None


def _of_stages(candidates: Candidates, collection: Collection) -> Named:
    """Scores of the first stage and of the rankings that it was fused from."""
    ranking = candidates.ranking
    nothing = np.zeros(len(ranking))
    names = (*STAGES, "stems") if is_uncited(collection) else STAGES
    stages = {f"stage-{name}": ranking.parts.get(name, nothing) for name in names}
    return {"first-stage": ranking.parts.get("fused", ranking.scores), **stages}


def is_uncited(collection: Collection) -> bool:
    """Whether nothing is known of how the collection is cited, which is not the Bible then.

    It has features, and a ranker, of its own.
    """
    return collection.citations is None and not collection.is_bible


def _of_groups(groups: Sequence[str], ids: Sequence[str]) -> Named:
    """For each group of passages, 1 for those of it, 0 for others."""
    if not groups:
        return {}
    found = np.array([group_of(each) for each in ids], dtype=str)
    return {f"{GROUP}{group}": (found == group).astype(np.float64) for group in groups}


def group_of(identifier: str) -> str:
    """The work or the book that a passage belongs to: its id without the numbers at its end.

    Example:
        >>> group_of("verg._aen._1.12"), group_of("Ps.33.9"), group_of("12")
        ('verg._aen', 'Ps', '')
    """
    return _NUMBERS.sub("", identifier)


def _of_citations(query: AnalysedQuery, compared: ComparedWords, collection: Collection) -> Named:
    """Cosines of citation vectors of texts, and comparisons of words by them."""
    vectors = collection.citations
    assert vectors is not None
    asked, texts = citing_vectors(query, vectors), compared.text_vectors()
    return {
        "citations": texts @ asked.own,
        "citations-context": texts @ asked.both,
        "citations-window": texts @ asked.window,
        **compared.features(),
    }


def _of_citing_texts(query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Named:
    """Evidence from citing texts, 0 where none are known; nothing without citation vectors."""
    if collection.citations is None:
        return {}
    nothing = np.zeros(len(candidates))
    found = {f"citing-{name}{end}": nothing for name in EVIDENCE for end in ("", "-three")}
    known = citing_evidence(collection.citations)
    if known is not None:
        for name, evidence in known.of(query, candidates.ranking.ids).items():
            found[f"citing-{name}"] = evidence.best.astype(np.float64)
            found[f"citing-{name}-three"] = evidence.best_three.astype(np.float64)
    return found


def _beside(named: Mapping[str, Floats], ids: Sequence[str]) -> Named:
    """Features of the verses before and after, and of the chapter and book around."""
    before, after = _neighbours(ids)
    found: Named = {}
    for name in _WITH_NEIGHBOURS:
        if name in named:
            values = np.append(named[f"{name}/best"], 0.0)
            found[f"{name}/neighbour"] = np.maximum(values[before], values[after])
    if "citations-context" in named:
        near = np.maximum(named["citations-context"], 0.0) ** 4
        for part, place in (("chapter", 1), ("book", 0)):
            places = [".".join(name.split(".")[: place + 1]) for name in ids]
            _, owners = np.unique(places, return_inverse=True)
            sums = np.bincount(owners, weights=near).astype(np.float64)
            found[part] = sums[owners]
            found[f"{part}/best"] = _of_best(found[part])
    return found


class _WindowBm25:
    """BM25 of the words around the query, without its own."""

    def __init__(self) -> None:
        self._bm25 = Bm25()

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate, shape (len(candidates),)."""
        return self._bm25.score(_window_query(query), candidates, collection)

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> Sequence[Explanation]:
        """For each candidate, what each pair of words adds to its score."""
        return self._bm25.explain(_window_query(query), candidates, collection)


def in_both_fields(candidates: Candidates, collection: Collection) -> ByField:
    """The candidates with their tokens and with their lemmas."""
    ranking = candidates.ranking
    return {
        field: candidates
        if field == candidates.field
        else Candidates(ranking, field, collection.texts(field, ranking.ids))
        for field in FIELDS
    }


def feature_part(name: str) -> str:
    """The score that a feature is made of; the name itself where it is none.

    Example:
        >>> feature_part("run/rank"), feature_part("length")
        ('run', 'length')
    """
    return name.partition("/")[0]


def _window_query(query: AnalysedQuery) -> AnalysedQuery:
    """A query of the words around the query, without its own; empty where it has none around."""
    window = (
        list(zip(query.window.tokens, query.window.lemmas, strict=True)) if query.window else []
    )
    for word in zip(query.words("token"), query.words("lemma"), strict=True):
        if word in window:
            window.remove(word)
    tokens, lemmas = (tuple(word[side] for word in window) for side in (0, 1))
    return AnalysedQuery(query.query, Analysis(tokens, lemmas, ((0, 0),) * len(tokens)))


def _of_best(values: Floats) -> Floats:
    best = float(np.abs(values).max(initial=0.0))
    return values / best if best > 0 else np.zeros(len(values))


def _damped_ranks(values: Floats) -> Floats:
    """Equal values, but for rounding, share the best of their ranks."""
    slack = 1e-6 * float(np.abs(values).max(initial=0.0))
    better = len(values) - np.searchsorted(np.sort(values), values + slack, "right")
    return RANK_OFFSET / (RANK_OFFSET + 1.0 + better)


def _neighbours(ids: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The candidates before and after each one in its chapter, by ids that end in `.NUMBER`.

    Returns:
        Their numbers, -1 where there are none, shape (len(ids),) both.
    """
    places = {identifier: place for place, identifier in enumerate(ids)}
    near = np.full((2, len(ids)), -1)
    for place, identifier in enumerate(ids):
        start, _, last = identifier.rpartition(".")
        if start and last.isdecimal():
            number = int(last)
            near[0, place] = places.get(f"{start}.{number - 1}", -1)
            near[1, place] = places.get(f"{start}.{number + 1}", -1)
    return near[0], near[1]


def _shared(
    query: AnalysedQuery, candidates: Candidates, collection: Collection
) -> dict[str, Floats]:
    """Features of shared words, by weight and number, and of lengths."""
    texts, asked = candidates.texts, set(query.words("lemma"))
    known = collection.statistics("lemma", texts.words)
    weights = idf(known.df, known.passages)
    mine = collection.statistics("lemma", sorted(asked))
    total = float(idf(mine.df, mine.passages).sum())
    is_asked = np.zeros(len(texts.words))
    is_asked[texts.find(sorted(asked))[1]] = 1.0
    counts = texts.counts
    each: NDArray[np.float64] = (weights * is_asked)[counts.codes]
    shared, whole = counts.sums(each), counts.sums(weights[counts.codes])
    rarest = np.zeros(len(texts))
    np.maximum.at(rarest, counts.texts, each)
    below = np.where(each < rarest[counts.texts], each, 0.0)
    second = np.zeros(len(texts))
    np.maximum.at(second, counts.texts, below)
    lengths = np.log1p(np.diff(texts.offsets).astype(np.float64))
    around = len(query.window.lemmas) if query.window is not None else 0
    return {
        "coverage": shared / total if total > 0 else np.zeros(len(texts)),
        "coverage-passage": np.divide(shared, whole, out=np.zeros(len(texts)), where=whole > 0),
        "shared-lemmas": counts.sums(is_asked[counts.codes]),
        "rarest-shared": rarest,
        **({"rarest-pair": rarest * second} if is_uncited(collection) else {}),
        "length": lengths,
        "length-difference": np.abs(lengths - np.log1p(len(query.words("lemma")))),
        # The same for all candidates: only trees can use them, to trust others more or less.
        "query-words": np.full(len(texts), np.log1p(len(query.words("lemma")))),
        "words-around": np.full(len(texts), np.log1p(around)),
    }
