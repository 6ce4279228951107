"""The paper's experiments: which methods on which queries, and the paper's own figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.methods import ORACLE, PAPER_NAMES, Method
from allusion_es.evaluation.paper import printed_figures
from allusion_es.evaluation.paper.windows import window
from allusion_es.evaluation.runner import QuerySet
from allusion_es.retrieval.types import FIELDS, Field

MANUAL = "manual"
"""The query set of the annotated spans, in the paper's word."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table: a method, the queries that it answers, what to call it.

    Attributes:
        method: The method.
        set: Number of the query set.
        labels: What is printed before the figures.
        printed: The paper's figures (MRR, P@10, P@20), or None where it has none.
    """

    method: Method
    set: int
    labels: Mapping[str, str]
    printed: printed_figures.Triple | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is to be run for a table.

    Attributes:
        title: What the table shows.
        sets: Query sets.
        lines: The table's lines.
    """

    title: str
    sets: tuple[QuerySet, ...]
    lines: tuple[Line, ...]


def free_choice(
    links: Sequence[GoldLink], rerankers: Iterable[str], fields: Iterable[Field], base: Method
) -> Experiment:
    """Any rerankers on any input.

    Args:
        links: The gold links.
        rerankers: Their names; `none` is the first stage alone.
        fields: The inputs.
        base: First stage, candidates and settings.
    """
    methods = [
        replace(base, reranker=None if name == "none" else name, field=field)
        for name in rerankers
        for field in fields
    ]
    lines = tuple(Line(method, 0, _labels(method)) for method in methods)
    return Experiment("Methods", (spans(links),), lines)


def table2(links: Sequence[GoldLink], base: Method) -> Experiment:
    """All models of the paper, on tokens and on lemmas.

    WordNet knows only lemmas, so `soft-cosine-wordnet` has no line for tokens.
    """
    lines = tuple(
        Line(
            replace(base, reranker=name, field=field),
            0,
            {"method": name, "model": label, "input": field},
            printed_figures.MODELS.get((name, field)),
        )
        for name, label in PAPER_NAMES.items()
        for field in FIELDS
        if (name, field) in printed_figures.MODELS
    )
    return Experiment("Table 2: all models", (spans(links),), lines)


def table3(links: Sequence[GoldLink], base: Method, vectors: Mapping[Field, str]) -> Experiment:
    """Soft cosine by where the similarities of words come from.

    Args:
        links: The gold links.
        base: First stage and candidates.
        vectors: For each input the path of word2vec vectors.
    """
    lines = []
    for label, name in (
        ("SC_emb", "soft-cosine"),
        ("SC_w2v", "soft-cosine"),
        ("SC_rnd", "soft-cosine-random"),
    ):
        for field in FIELDS:
            settings = {name: {"vectors": vectors[field]}} if label == "SC_w2v" else {}
            method = replace(base, reranker=name, field=field, settings=settings, label=label)
            labels = {"method": name, "model": label, "input": field}
            lines.append(Line(method, 0, labels, printed_figures.SIMILARITIES[label, field]))
    return Experiment("Table 3: sources of word similarity", (spans(links),), tuple(lines))


def table4(links: Sequence[GoldLink], base: Method, sizes: Sequence[int]) -> Experiment:
    """One method on annotated spans and on windows around the anchor.

    Args:
        links: The gold links.
        base: The method.
        sizes: Words on each side of the anchor.
    """
    sets = [spans(links)]
    for size in dict.fromkeys(sizes):
        queries = tuple(window(link.query, size) for link in links)
        sets.append(QuerySet(str(size), queries))
    lines = [
        Line(
            replace(base, field=field),
            number,
            {"method": base.name, "input": field, "window": each.name},
            printed_figures.WINDOWS.get((each.name, field))
            if base.reranker == "soft-cosine"
            else None,
        )
        for number, each in enumerate(sets)
        for field in FIELDS
    ]
    return Experiment(
        f"Table 4: {base.name} on windows around the anchor", tuple(sets), tuple(lines)
    )


def spans(links: Sequence[GoldLink]) -> QuerySet:
    """The queries as they are."""
    return QuerySet(MANUAL, tuple(link.query for link in links))


def _labels(method: Method) -> dict[str, str]:
    return {"method": method.name, "input": method.field}


__all__ = [
    "MANUAL",
    "ORACLE",
    "Experiment",
    "Line",
    "free_choice",
    "spans",
    "table2",
    "table3",
    "table4",
]
