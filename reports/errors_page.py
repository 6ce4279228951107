"""The page of an evaluation: its figures, the rank of each gold passage, and what lost it."""

from collections.abc import Mapping, Sequence
from typing import Any

from allusion_es.corpora.bible.references import format_reference, is_verse_id
from allusion_es.evaluation.errors import GOOD, loss_rows
from allusion_es.reports.figures_page import figures_data
from allusion_es.reports.page import page

_AFTER_LABELS = "type"
"""The first column of an error row after those that name a method."""


def errors_page(
    rows: Sequence[Mapping[str, Any]],
    title: str = "Errors",
    figures: Mapping[str, Any] | None = None,
) -> str:
    """A self-contained page of the errors of one method or several, to sort and filter.

    Args:
        rows: From `evaluation.errors.ErrorAnalysis.rows`.
        title: The page's heading.
        figures: The figures above them, from `figures_page.figures_data`.

    Returns:
        The page, as HTML.

    Example:
        >>> text = errors_page([])
        >>> text.startswith("<!doctype html>")
        True
    """
    data = {"title": title, "figures": figures or figures_data([]), **errors_data(rows)}
    return page("errors", title, data)


def errors_data(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON that the page's script reads: a link for each query and relevant passage.

    Texts of passages are listed once.

    Example:
        >>> row = {"query_id": "q", "method": "bm25", "type": "", "relevant": "Ps.1.1",
        ...        "rank": None, "candidate_rank": None, "loss": "first stage",
        ...        "shared_tokens": 0, "shared_lemmas": 1, "top": "", "top_is_parallel": False,
        ...        "rank_with_parallels": None, "text": "vir", "relevant_text": "Beatus",
        ...        "top_text": ""}
        >>> data = errors_data([row])
        >>> data["methods"], data["links"][0]["found"], data["counts"][0]["lost_in_first_stage"]
        (['bm25'], [[0, None, None, 'first stage', '', False, None]], 1)
    """
    labels = _labels(rows)
    texts: dict[str, tuple[str, str]] = {}
    methods: dict[str, int] = {}
    links: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        for name in ("relevant", "top"):
            texts[row[name]] = (_reference(row[name]), row[f"{name}_text"])
        link = links.setdefault((row["query_id"], row["relevant"]), _link(row))
        name = _method(row, labels)
        link["found"].append([methods.setdefault(name, len(methods)), *_outcome(row)])
    return {
        "good": GOOD,
        "methods": list(methods),
        "counts": [
            {"method": _method(count, labels), **_without(count, labels)}
            for count in loss_rows(rows, labels)
        ],
        "links": list(links.values()),
        "texts": texts,
    }


def _reference(passage: str) -> str:
    return format_reference(passage) if is_verse_id(passage) else passage


def _labels(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns that name a method."""
    names = list(rows[0]) if rows else []
    return names[1 : names.index(_AFTER_LABELS)] if rows else []


def _method(row: Mapping[str, Any], labels: Sequence[str]) -> str:
    return ", ".join(str(row[label]) for label in labels)


def _without(row: Mapping[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in labels}


def _link(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("query_id", "text", "relevant", "type", "shared_tokens", "shared_lemmas")
    return {**{name: row[name] for name in names}, "found": []}


def _outcome(row: Mapping[str, Any]) -> list[Any]:
    names = ("rank", "candidate_rank", "loss", "top", "top_is_parallel", "rank_with_parallels")
    return [row[name] for name in names]
