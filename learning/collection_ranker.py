"""A ranker for one collection, learned from a user's own links and tested on parts of them."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.files import writing
from allusion_es.core.progress import Progress, silent
from allusion_es.learning.examples import LinkExample, best_rank, link_examples, thinned
from allusion_es.learning.learn import sources
from allusion_es.learning.links import KnownLink
from allusion_es.learning.ranker import Example, feature_scales, learn_weights
from allusion_es.learning.validation import Figures, folds_by_work
from allusion_es.rerankers._shared.features import (
    CROSS_ENCODER,
    ENCODER,
    GROUP,
    CandidateFeatures,
    group_of,
)
from allusion_es.rerankers.learned import Learned, RankerSet, weights_of_words, write_model
from allusion_es.retrieval.citation_models import RANKER
from allusion_es.retrieval.defaults import DEFAULTS
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.reranking import Collection
from allusion_es.scanning.measured import LEARNED

LEAST_LINKS = 50
"""Different links that are needed for a ranker: fewer say little even of a few weights."""

PENALTY = 0.1
"""Of the squared weights, chosen on the parallels of Valerius Flaccus and Lucan."""

_FIRST, _SOME = 120, 60
"""Candidates that are learned from besides the relevant ones, as in `examples.thinned`."""

_BLOCK = 20
"""Queries in a row that stay together where all links come from one work: neighbours are alike."""

_MOST_GROUPS, _LEAST_PASSAGES = 200, 20
"""Groups of passages that may have a weight of their own, and how many passages they need."""

_KIND = "words"
"""The kind of ranker: for an index without citation vectors."""


@dataclass(frozen=True, slots=True)
class RankerFigures:
    """How well queries are answered with the present ranker and with a learned one.

    Attributes:
        work: The work that the queries are from, "" for all.
        before: With the ranker that the index has.
        after: With one that was learned from the other parts of the links.
    """

    work: str
    before: Figures
    after: Figures


class RankerLearner:
    """Learns how to rank the passages of an index, from links to it.

    A linear ranker on the features of `rerankers.learned`. The links that people have are few, so
    only few weights are learned: that of the score by the weights for a Bible without citation
    vectors, and those of features which that does not have. These are the rank in the first stage,
    lemmas that begin alike, the rarest two shared lemmas; the group of passages that a candidate
    belongs to (`features.group_of`: a work, or a book of one), since authors allude to some works
    more than to others; and what models of the user's say: the cosine of the index's encoder, if it
    has one, and the rank by a cross-encoder. Weights of all features, learned from the parallels of
    one poet, were worse than BM25 for another.

    Args:
        index: The index; it must have no citation vectors.
        groups: Learn weights of groups; without, the ranker fits other collections too.
        cross_encoder: A cross-encoder whose ranks are a feature, as `CrossEncoding` takes it; ""
            for none.
        progress: Told of the links whose candidates are looked up.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> RankerLearner(index_texts({"Aen.1.1": "arma uirumque cano"})).groups
        []
    """

    def __init__(
        self,
        index: CandidateIndex,
        *,
        groups: bool = True,
        cross_encoder: str = "",
        progress: Progress = silent,
    ) -> None:
        self._index = index
        self._cross_encoder = cross_encoder
        self._progress = progress
        self._now = Learned()
        self.groups = _groups(index.ids()) if groups else []

    def known(self, links: Sequence[KnownLink]) -> int:
        """How many of the links the present ranker may have been learned from, by their source."""
        told = self._now.about(Collection(self._index)).get("sources", "")
        return sum(bool(link.link.source) and link.link.source in told for link in links)

    def examples(self, links: Sequence[KnownLink]) -> list[LinkExample]:
        """Each link with its candidates and their features; one without candidates is left out."""
        found = link_examples(
            links,
            self._index,
            DEFAULTS.candidates,
            groups=self.groups,
            encoder=self._has_encoder,
            cross_encoder=self._cross_encoder,
        )
        return list(self._progress(found, "Looking up candidates", len(links)))

    def validate(self, examples: Sequence[LinkExample], folds: int) -> list[RankerFigures]:
        """Figures of rankers on the parts of the links that they were not learned from.

        Parts are works; where there is but one, blocks of queries in a row. They are of all
        links, and of each work where there are several.

        Args:
            examples: What `examples` gave.
            folds: How many parts.
        """
        ranks = np.full((2, len(examples)), np.inf)
        for part in parts_of(examples, folds):
            tested = set(part)
            rest = [one for number, one in enumerate(examples) if number not in tested]
            if not rest or not part:
                continue
            ranker = self.learn(rest)
            for number in part:
                ranks[:, number] = self._ranks(examples[number], ranker)
        works = [one.link.link.work for one in examples]
        shown = sorted(set(works))
        chosen = ["", *(shown if len(shown) > 1 else [])]
        rows = [(work, [n for n, of in enumerate(works) if work in ("", of)]) for work in chosen]
        return [
            RankerFigures(work, Figures.of(ranks[0, numbers]), Figures.of(ranks[1, numbers]))
            for work, numbers in rows
        ]

    def learn(self, examples: Sequence[LinkExample]) -> RankerSet:
        """The ranker that is learned from examples.

        Raises:
            InputError: No relevant passage is among the candidates of its query.
        """
        names = examples[0].names
        before = weights_of_words(names)
        chosen = [n for n, name in enumerate(names) if _is_learned(name)]
        short = [thinned(one, text, _FIRST, _SOME) for text, one in _by_query(examples)]
        few = [
            Example(
                np.column_stack((one.values @ before.astype(np.float32), one.values[:, chosen])),
                one.relevant,
            )
            for one in short
        ]
        scales = feature_scales(few)
        found = learn_weights(few, scales, PENALTY) / scales
        weights = found[0] * before
        weights[chosen] += found[1:]
        scales = feature_scales(short)
        return RankerSet(names, scales, weights * scales)

    def save(
        self, folder: Path, links: Sequence[KnownLink], ranker: RankerSet, scan: bytes = b""
    ) -> str:
        """Write a ranker into the folder of models; returns its name, a hash of its content.

        Args:
            folder: The folder.
            links: What it was learned from, which is told in the file.
            ranker: The ranker.
            scan: The model of scans with it, which is written beside it; empty for none.

        Raises:
            StorageError: It cannot be written.
        """
        path = folder / f"new{RANKER}"
        facts = about(links, self._index.name)
        if self._cross_encoder:
            facts[CROSS_ENCODER] = self._cross_encoder
        write_model(path, facts, {_KIND: ranker})
        name = hashlib.sha256(path.read_bytes() + scan).hexdigest()[:16]
        if scan:
            with writing(folder / f"{name}{LEARNED}") as file:
                file.write(scan)
        path.replace(folder / f"{name}{RANKER}")
        return name

    @property
    def _has_encoder(self) -> bool:
        return "dense" in self._index.capabilities and self._index.encoder is not None

    def _ranks(self, example: LinkExample, ranker: RankerSet) -> tuple[float, float]:
        """The best ranks of a relevant passage with the present ranker and with another."""
        values = example.example.values.astype(np.float64)
        features = CandidateFeatures(example.names, values)
        now = self._now.weigh(features, Collection(self._index))
        then = values @ (ranker.linear / ranker.scales)
        relevant = example.example.relevant
        return best_rank(now, relevant), best_rank(then, relevant)


def about(links: Sequence[KnownLink], index: str) -> dict[str, str]:
    """Facts about what a ranker was learned from, as they stand in its file."""
    titles = sorted({link.link.work for link in links} - {""})
    licences = sorted({link.link.licence for link in links} - {""})
    return {
        "text": f"{len(links)} links to {index}, from {', '.join(titles[:5]) or 'unnamed works'}"
        + (f" and {len(titles) - 5} more" if len(titles) > 5 else ""),
        "sources": "; ".join(sources([link.link.source for link in links])),
        "licences": "; ".join(licences) or "not stated",
        "candidates": str(DEFAULTS.candidates),
        "penalty": str(PENALTY),
        "program": version("allusion-es"),
    }


def figure_rows(figures: Sequence[RankerFigures]) -> list[dict[str, Any]]:
    """Figures as rows of plain values, in hundredths: one before and one after for each work."""
    return [
        {
            "work": one.work or "all",
            "ranker": name,
            "queries": found.queries,
            **{
                measure: round(100 * getattr(found, measure), 1)
                for measure in ("mrr", "p10", "p20", "r100")
            },
        }
        for one in figures
        for name, found in (("now", one.before), ("learned", one.after))
    ]


def _groups(ids: Iterable[str]) -> list[str]:
    """The groups of passages that get a weight, sorted; none where there is but one."""
    counts: dict[str, int] = {}
    for name in ids:
        group = group_of(name)
        counts[group] = counts.get(group, 0) + 1
    found = sorted(group for group, count in counts.items() if group and count >= _LEAST_PASSAGES)
    return found if 1 < len(found) <= _MOST_GROUPS else []


# Of a cross-encoder the rank alone: it reads only the first candidates, and gives the others scores
# that say nothing but their order.
_LEARNED = (
    "first-stage/rank",
    "stage-stems/best",
    "rarest-pair",
    ENCODER,
    f"{CROSS_ENCODER}/rank",
)


def _is_learned(name: str) -> bool:
    """Whether a feature has a weight that is learned by itself."""
    return name in _LEARNED or name.startswith(GROUP)


def _by_query(examples: Sequence[LinkExample]) -> list[tuple[str, Example]]:
    """One example for each query: several links may have the same words, and so candidates."""
    found: dict[tuple[str, str, str], tuple[str, Example]] = {}
    for one in examples:
        query = one.link.link.query
        key = query.before, query.text, query.after
        if key in found:
            text, other = found[key]
            relevant: NDArray[np.bool_] = other.relevant | one.example.relevant
            found[key] = text, replace(other, relevant=relevant)
        else:
            found[key] = query.text, one.example
    return list(found.values())


def parts_of(examples: Sequence[LinkExample], folds: int) -> list[list[int]]:
    """The numbers of the examples in each part; all links of a query are in one."""
    places = {id(one.link): number for number, one in enumerate(examples)}
    links = [one.link for one in examples]
    if len({link.link.work for link in links}) > 1:
        parts = folds_by_work(links, folds)
        return [[places[id(link)] for link in part] for part in parts]
    blocks: dict[str, int] = {}
    found: list[list[int]] = [[] for _ in range(folds)]
    for number, link in enumerate(links):
        place = blocks.setdefault(link.link.query.text, len(blocks))
        found[place // _BLOCK % folds].append(number)
    return found
