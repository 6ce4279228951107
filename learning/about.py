"""What a model says of itself: what it was learned from, and how."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from allusion_es.learning.links import KnownLink, LearningCollection
from allusion_es.learning.train import CitationTraining
from allusion_es.learning.validation import Result

_SOURCES = 10
"""More sources are told by what their names begin with."""


def about(
    links: Sequence[KnownLink],
    collection: LearningCollection,
    index: str,
    training: CitationTraining,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """The facts that are saved with a model; no date, so that the same links give the same file.

    Args:
        links: What it was learned from.
        collection: What they cite.
        index: The collection's name.
        training: How it was trained.
        more: Other facts.
    """
    return {
        "links": len(links),
        "works": len({link.link.work for link in links}),
        "cited_passages": len({place for link in links for place in link.places}),
        "index": index,
        "passages": len(collection),
        "sources": sources([link.link.source for link in links]),
        "licences": sorted({link.link.licence for link in links} - {""}),
        "training": asdict(training.for_links(len(links))),
        "program": version("allusion-es"),
        **more,
    }


def sources(names: Sequence[str]) -> list[str]:
    """The different sources; where there are many, what they have in common.

    Example:
        >>> sources(["TEI of Bernard", "", "TEI of Bernard"])
        ['TEI of Bernard']
        >>> sources([f"PL {number}" for number in range(221)])
        ['PL … (221 sources)']
    """
    distinct = sorted(set(names) - {""})
    if len(distinct) <= _SOURCES:
        return distinct
    common = distinct[0]
    while not distinct[-1].startswith(common):  # they are sorted: first and last differ most
        common = common[:-1]
    return [f"{common}… ({len(distinct)} sources)"]


def figures(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Measured figures as plain values, in hundredths."""
    return [
        {"group": result.group, "method": result.method}
        | {
            name: value if name == "queries" else round(100 * value, 1)
            for name, value in asdict(result.figures).items()
        }
        for result in results
    ]
