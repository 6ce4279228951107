"""A ranker learned from gold links: many features of a candidate, weights for each, and trees."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from allusion_es.core.arrays import Floats
from allusion_es.core.errors import InputError
from allusion_es.core.files import writing
from allusion_es.rerankers._shared.features import (
    CROSS_ENCODER,
    GROUP,
    CandidateFeatures,
    FeatureMaker,
    compared_words,
    feature_part,
    in_both_fields,
    is_uncited,
)
from allusion_es.rerankers._shared.trees import Tree, Trees
from allusion_es.rerankers._shared.word_pairs import shares
from allusion_es.retrieval.citing_evidence import citing_evidence
from allusion_es.retrieval.explanations import Parts, as_contributions
from allusion_es.retrieval.reranking import Candidates, Collection, Explanation
from allusion_es.retrieval.types import AnalysedQuery

_SHIPPED = "patristic.ranker"
"""The ranker for the Bible that comes with the program, made by `allusion-es learned-files`."""

_OTHER = "epic.ranker"
"""The one for other collections, whose citations are not known; made by `allusion-es learn`."""

LINEAR = "linear"
"""The name by which the linear part of the ranker that comes along is used without its trees."""

_FLAT = 1e-9
"""The spread of scores below which they are all the same but for rounding."""


class Learned:
    """Features of a candidate, weighed as learned from gold links, and trees over them.

    The sum of two scores, each less its mean over the candidates and divided by its standard
    deviation there. One is linear, `sum over features f of weight_f value_f / scale_f`, the other
    that of gradient-boosted trees over the same features; where a ranker has none, the linear score
    is all, as it is. Source: Cao et al. 2007 (ListNet's top one, for the linear ranker), Burges
    2010 (LambdaMART, for the trees). Features are scores of other rerankers and of the first stage,
    words compared by citation vectors, evidence from texts that cite a passage, what is shared,
    lengths, how well the verses beside fit, and what the words around the query say: see
    `_shared/features.py`. An index without citation vectors has weights of its own.
    `docs/learning.md` says how all was learned, `docs/quality.md` how well it does.

    Scores compare candidates of one query only; they depend on which candidates there are. What
    features add that compare words is divided among pairs of words; the rest stands as pairs such
    as (`‹trees›`, `‹trees›`).

    Args:
        model: "" for the ranker that `allusion-es learn` gave the index, or else that which comes
            with the program, one for the Bible and one for other collections; `linear` for its
            linear part alone; or the path of a ranker.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> from allusion_es.retrieval.pipeline import QueryOptions, Retriever
        >>> index = index_texts({"1": "et lux in tenebris lucet", "2": "fiat lux", "3": "in domo"})
        >>> options = QueryOptions.chosen(rerank="learned")
        >>> Retriever(index, options).answer("lux in tenebris").hits[0].id
        '1'
    """

    name = "learned"
    needs_fused = True

    def __init__(self, model: str = "") -> None:
        self._path = model
        self._rankers: dict[tuple[str, str], _Ranker] = {}

    def _ranker(self, collection: Collection) -> "_Ranker":
        """The ranker that fits a collection: its own, that of the Bible, or that of others."""
        place, kind = self._path, _kind(collection)
        if place in ("", LINEAR):
            if collection.ranker is not None:
                place = str(collection.ranker)
            else:
                place = _OTHER if is_uncited(collection) else _SHIPPED
        ranker = self._rankers.get((place, kind))
        if ranker is None:
            ranker = self._rankers[place, kind] = self._read(place, kind)
        return ranker

    def _read(self, place: str, kind: str) -> "_Ranker":
        model = _shipped(place) if place in (_SHIPPED, _OTHER) else read_model(Path(place))
        if self._path == LINEAR:
            model = model.without_trees()
        names = {name for one in model.sets.values() for name in one.features}
        groups = sorted(name.removeprefix(GROUP) for name in names if name.startswith(GROUP))
        maker = FeatureMaker(
            map(feature_part, names), groups, cross_encoder=model.about.get(CROSS_ENCODER, "")
        )
        return _Ranker(model, kind, maker)

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate, shape (len(candidates),)."""
        pool, numbers = candidates.pool
        ranker = self._ranker(collection)
        features = ranker.maker.features(query, pool, collection)
        return np.asarray(ranker.scores(features)[numbers])

    def weigh(self, features: CandidateFeatures, collection: Collection) -> Floats:
        """The score of each candidate by features that were computed before, shape (n,).

        Features that the ranker does not know are left out.
        """
        ranker = self._ranker(collection)
        known = [n for n, name in enumerate(features.names) if name in ranker.features]
        names = tuple(features.names[n] for n in known)
        return ranker.scores(CandidateFeatures(names, features.values[:, known]))

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        """For each candidate, its score divided as the class docstring says."""
        pool, numbers = candidates.pool
        ranker = self._ranker(collection)
        features = ranker.maker.features(query, pool, collection)
        added = features.values * ranker.weights(features)
        trees = ranker.trees(features)
        linear = added.sum(axis=1)
        if trees is not None:
            added = added / _spread(linear)
        groups: dict[str, list[int]] = {}
        for column, name in enumerate(features.names):
            groups.setdefault(_group(name, ranker.maker), []).append(column)
        divide = _Reasons(query, candidates, collection, ranker.maker)
        totals: list[Parts] = [{} for _ in range(len(candidates))]
        for group, columns in groups.items():
            values = added[numbers][:, columns].sum(axis=1)
            for total, parts in zip(totals, divide.of(group, values), strict=True):
                _add(total, parts)
        if trees is not None:
            mean = -float(linear.mean()) / _spread(linear)
            for total, value in zip(totals, _standard(trees)[numbers].tolist(), strict=True):
                _add(total, {_alone("other candidates"): mean, _alone("trees"): value})
        return [as_contributions(total) for total in totals]

    def about(self, collection: Collection) -> Mapping[str, str]:
        """Facts about what the ranker that fits a collection was learned from, name to text."""
        return self._ranker(collection).model.about

    def notes(self, collection: Collection) -> Sequence[str]:
        """A note on the links behind the weights, and that scores are relative."""
        kind = "with" if collection.citations is not None else "without"
        about = self.about(collection).get("text", "unknown links")
        return (
            f"learned: weights from {about}, {kind} citation vectors; scores compare the "
            "candidates of one query",
        )


def weights_of_words(names: Sequence[str]) -> Floats:
    """The weights of the ranker for a Bible without citation vectors, shape (len(names),).

    They are those of features as they are, and 0 for features that it does not know. Rankers of
    other collections begin with them.
    """
    one = _shipped(_SHIPPED).sets["words"]
    known = dict(zip(one.features, (one.linear / one.scales).tolist(), strict=True))
    return np.array([known.get(name, 0.0) for name in names])


@lru_cache
def _shipped(name: str) -> "LearnedModel":
    """A ranker that comes along, read once: a page has a reranker for each request."""
    with as_file(files("allusion_es.rerankers") / name) as path:
        return read_model(path)


@dataclass(frozen=True, slots=True)
class _Ranker:
    """A learned ranker for one kind of collection, and what makes its features."""

    model: "LearnedModel"
    kind: str
    maker: FeatureMaker

    @property
    def features(self) -> frozenset[str]:
        """Names of the features that it knows."""
        found = self.model.sets.get(self.kind)
        return frozenset(found.features if found else ())

    def weights(self, features: CandidateFeatures) -> Floats:
        """The weight of each feature, shape (features,)."""
        return self.model.weights(self.kind, features.names)

    def scores(self, features: CandidateFeatures) -> Floats:
        """The score of each candidate, shape (n,)."""
        return blended(features.values @ self.weights(features), self.trees(features))

    def trees(self, features: CandidateFeatures) -> Floats | None:
        """The sum of the trees for each candidate, shape (n,); None where there are none."""
        trees = self.model.trees(self.kind, features.names)
        return trees.sums(features.values) if trees is not None else None


def _group(name: str, maker: FeatureMaker) -> str:
    """What explains a feature: a scorer's name, or one of `_Reasons`' groups."""
    part = feature_part(name)
    if name.endswith("/neighbour") or part in ("chapter", "book"):
        return "verses around"
    if part in maker.scorers:
        return part
    for beginnings, group in _GROUPS:
        if part.startswith(beginnings):
            return group
    return "shared words and lengths"


_BY_CITATION, _CITING = "words by citation", "citing texts"

_GROUPS = (
    (("citations", "maxsim", "aligned", "alike", "largest", "both"), _BY_CITATION),
    (("citing",), _CITING),
    (("first-stage", "stage"), "first stage"),
    ((GROUP,), "its work"),
)
"""The beginnings of the names of features, and the group by which they are explained."""


class _Reasons:
    """Divides what groups of features add to the scores of candidates among pairs of words."""

    def __init__(
        self,
        query: AnalysedQuery,
        candidates: Candidates,
        collection: Collection,
        maker: FeatureMaker,
    ) -> None:
        self._query = query
        self._candidates = candidates
        self._collection = collection
        self._both = in_both_fields(candidates, collection)
        self._scorers = maker.scorers

    def of(self, group: str, values: Floats) -> list[Parts]:
        """The parts of each candidate's value, shape (len(candidates),); they sum to it."""
        if group in self._scorers:
            words, scorer = self._scorers[group]
            reasons = scorer.explain(self._query, self._both[words], self._collection)
        elif group == _BY_CITATION:
            reasons = self._by_citation()
        elif group == _CITING:
            reasons = self._citing()
        else:
            return [{_alone(group): value} if value else {} for value in values.tolist()]
        pairs = zip(reasons, values.tolist(), strict=True)
        return [shares(reason, value, _alone(group)) if value else {} for reason, value in pairs]

    def _by_citation(self) -> list[Explanation]:
        """Each word of the query with the word of the candidate that is nearest to it."""
        compared = compared_words(self._query, self._both, self._collection)
        assert compared is not None
        words = self._candidates.field
        return [
            as_contributions(compared.pairs(number, words))
            for number in range(len(self._candidates))
        ]

    def _citing(self) -> list[Explanation]:
        """The query's lemmas that the most similar text has that cites the candidate."""
        vectors = self._collection.citations
        known = citing_evidence(vectors) if vectors is not None else None
        assert known is not None
        shared = known.shared(self._query, self._candidates.ranking.ids)
        return [
            as_contributions({(word, f"‹{_CITING}›"): value for word, value in row.items()})
            for row in shared
        ]


def _kind(collection: Collection) -> str:
    return "words" if collection.citations is None else "citations"


def _alone(name: str) -> tuple[str, str]:
    """The pair that stands for what no word explains."""
    return f"‹{name}›", f"‹{name}›"


def _spread(scores: Floats) -> float:
    """The standard deviation of scores, 1 where they are all the same."""
    spread = float(scores.std()) if len(scores) else 0.0
    return spread if spread > _FLAT * max(1.0, float(np.abs(scores).max(initial=0.0))) else 1.0


def blended(linear: Floats, trees: Floats | None) -> Floats:
    """The scores of candidates from both parts of a ranker; same shape.

    Args:
        linear: The linear score of each, shape (n,).
        trees: The sum of the trees for each, or None where there are none.

    Example:
        >>> blended(np.array([3.0, 1.0]), np.array([0.2, 0.2])).tolist()
        [1.0, -1.0]
    """
    return linear if trees is None else _standard(linear) + _standard(trees)


def _standard(scores: Floats) -> Floats:
    """Scores less their mean, divided by their standard deviation; same shape."""
    return np.asarray((scores - scores.mean()) / _spread(scores)) if len(scores) else scores


def _add(total: Parts, more: Parts) -> None:
    for pair, value in more.items():
        total[pair] = total.get(pair, 0.0) + value


# The file of a ranker: features, scales, weights and trees, as text that people can read.

_FIRST = "allusion-es ranker 2"
"""First line of a ranker's file: kind and version of its format."""


@dataclass(frozen=True, slots=True)
class RankerSet:
    """A linear ranker, and trees over the same features.

    Attributes:
        features: Names of the features, in the order of the file.
        scales: What each is divided by, above 0, shape (features,).
        linear: The weight of each, shape (features,).
        trees: Trees, which may be none.
    """

    features: tuple[str, ...]
    scales: Floats
    linear: Floats
    trees: tuple[Tree, ...] = ()


@dataclass(frozen=True)
class LearnedModel:
    """A learned ranker.

    Attributes:
        about: Facts about the links it was learned from, name to text.
        sets: What it has for indexes with citation vectors (`citations`) and without (`words`).
    """

    about: Mapping[str, str]
    sets: Mapping[str, RankerSet]
    _prepared: dict[tuple[str, tuple[str, ...]], Trees] = field(default_factory=dict)

    def weights(self, kind: str, names: Sequence[str]) -> Floats:
        """The weight of each feature, divided by its scale, shape (len(names),).

        Args:
            kind: `citations` or `words`.
            names: Of the features.

        Raises:
            InputError: The ranker was made for other features.
        """
        one = self._set(kind, names)
        known = dict(zip(one.features, (one.linear / one.scales).tolist(), strict=True))
        return np.array([known[name] for name in names])

    def trees(self, kind: str, names: Sequence[str]) -> Trees | None:
        """The trees, for features in this order; None where it has none.

        Raises:
            InputError: The ranker was made for other features.
        """
        one = self._set(kind, names)
        if not one.trees:
            return None
        key = kind, tuple(names)
        if key not in self._prepared:
            self._prepared[key] = Trees(one.trees, names)
        return self._prepared[key]

    def without_trees(self) -> "LearnedModel":
        """The linear part alone."""
        return LearnedModel(
            self.about,
            {
                kind: RankerSet(one.features, one.scales, one.linear)
                for kind, one in self.sets.items()
            },
        )

    def _set(self, kind: str, names: Sequence[str]) -> RankerSet:
        one = self.sets.get(kind, RankerSet((), np.zeros(0), np.zeros(0)))
        if set(one.features) != set(names):
            other = sorted(set(one.features) ^ set(names))
            raise InputError(
                f"the ranker has other features than this program ({kind}: {', '.join(other)}); "
                "make it again with allusion-es learned-files"
            )
        return one


def write_model(path: Path, about: Mapping[str, str], sets: Mapping[str, RankerSet]) -> None:
    """Write a ranker's file, whole or not at all.

    Lines have cells with tabs between: `about`, name, text; `linear`, kind, feature, scale, weight;
    `node`, kind, tree, node, feature, threshold, left, right; `leaf`, kind, tree, leaf, value. A
    node goes left where the feature is not above the threshold; a leaf n is written -n - 1.

    Args:
        path: The file.
        about: What it was learned from.
        sets: For each kind features, weights and trees.

    Raises:
        StorageError: It cannot be written.
    """
    lines = [_FIRST, *(f"about\t{key}\t{text}" for key, text in about.items())]
    for kind, one in sets.items():
        numbers = zip(one.features, one.scales.tolist(), one.linear.tolist(), strict=True)
        lines += [f"linear\t{kind}\t{name}\t{scale:.6g}\t{w:.6g}" for name, scale, w in numbers]
        for number, tree in enumerate(one.trees):
            nodes = zip(tree.features, tree.thresholds, tree.lefts, tree.rights, strict=True)
            lines += [
                f"node\t{kind}\t{number}\t{node}\t{name}\t{threshold:.9g}\t{left}\t{right}"
                for node, (name, threshold, left, right) in enumerate(nodes)
            ]
            lines += [
                f"leaf\t{kind}\t{number}\t{leaf}\t{value:.6g}"
                for leaf, value in enumerate(tree.leaves)
            ]
    with writing(path) as file:
        file.write(("\n".join(lines) + "\n").encode())


def read_model(path: Path) -> LearnedModel:
    """The ranker in a file.

    Raises:
        InputError: It cannot be read, or is something else; the message names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    if not lines or lines[0] != _FIRST:
        raise InputError(f"{path}:1: not a ranker; it must begin with {_FIRST!r}")
    reader = _ModelReader(path)
    for number, line in enumerate(lines[1:], start=2):
        reader.read(number, line.split("\t"))
    return LearnedModel(reader.about, reader.sets())


class _ModelReader:
    """Reads the lines of a ranker's file.

    Args:
        path: The file, for messages.

    Attributes:
        about: The facts read so far.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.about: dict[str, str] = {}
        self._linear: dict[str, dict[str, tuple[float, float]]] = {}
        self._trees: dict[str, list[tuple[list[tuple[str, float, int, int]], list[float]]]] = {}
        self._read: dict[tuple[str, int], Callable[[list[str]], None]] = {
            ("about", 2): self._about,
            ("linear", 4): self._weight,
            ("node", 7): self._node,
            ("leaf", 4): self._leaf,
        }

    def read(self, number: int, cells: list[str]) -> None:
        """Take in a line.

        Raises:
            InputError: It is none of a ranker's file.
        """
        read = self._read.get((cells[0], len(cells) - 1))
        try:
            if read is None:
                raise ValueError("not a line of a ranker's file")
            read(cells[1:])
        except ValueError as error:
            raise InputError(f"{self._path}:{number}: {error}") from None

    def sets(self) -> dict[str, RankerSet]:
        """All that was read.

        Raises:
            InputError: Trees are none, or ask for features that have no weight.
        """
        found = {}
        for kind, weights in self._linear.items():
            trees = []
            for number, (nodes, leaves) in enumerate(self._trees.get(kind, [])):
                asked, thresholds, lefts, rights = zip(*nodes, strict=True)
                tree = Tree(asked, thresholds, lefts, rights, tuple(leaves))
                unknown = [name for name in tree.features if name not in weights]
                fault = tree.fault() or (f"unknown feature {unknown[0]}" if unknown else "")
                if fault:
                    raise InputError(f"{self._path}: tree {number} of {kind}: {fault}")
                trees.append(tree)
            scales, linear = np.array(list(weights.values())).reshape(-1, 2).T
            found[kind] = RankerSet(tuple(weights), scales, linear, tuple(trees))
        return found

    def _about(self, cells: list[str]) -> None:
        self.about[cells[0]] = cells[1]

    def _weight(self, cells: list[str]) -> None:
        kind, name, *numbers = cells
        scale, weight = map(_number, numbers)
        if scale <= 0:
            raise ValueError("a scale must be above 0")
        self._linear.setdefault(kind, {})[name] = (scale, weight)

    def _node(self, cells: list[str]) -> None:
        kind, tree, node, name, threshold, left, right = cells
        trees = self._trees.setdefault(kind, [])
        if int(node) == 0:
            trees.append(([], []))
        if int(tree) != len(trees) - 1 or int(node) != len(trees[-1][0]):
            raise ValueError("trees and nodes must be numbered in their order, from 0")
        trees[-1][0].append((name, _number(threshold), int(left), int(right)))

    def _leaf(self, cells: list[str]) -> None:
        kind, tree, leaf, value = cells
        trees = self._trees.get(kind, [])
        if int(tree) != len(trees) - 1 or int(leaf) != len(trees[-1][1]):
            raise ValueError("leaves must follow the nodes of their tree, numbered from 0")
        trees[-1][1].append(_number(value))


_MOST = 1e9
"""Real thresholds, weights and leaves are far smaller; larger ones could make a sum infinite."""


def _number(cell: str) -> float:
    """The number in a cell; a `ValueError` says that it is none, or too large."""
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not abs(value) <= _MOST:
        raise ValueError(f"{cell[:40]!r} is no number up to {_MOST:.0e}")
    return value
