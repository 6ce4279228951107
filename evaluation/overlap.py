"""Words that queries share with the passages they allude to: the paper's Table 1 and Figure 2."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import FIELDS, AnalysedQuery, Field


@dataclass(frozen=True, slots=True)
class Overlap:
    """The words that a query shares with one passage that it alludes to.

    Attributes:
        link: The gold link of the pair.
        passage: Id of the passage.
        shared: Number of types that both have, by field.
        jaccard: Shared types / all types of both, by field; 0 where neither has any.
        source_length: Tokens of the query.
        passage_length: Tokens of the passage.
    """

    link: GoldLink
    passage: str
    shared: Mapping[Field, int]
    jaccard: Mapping[Field, float]
    source_length: int
    passage_length: int


def overlaps(
    links: Sequence[GoldLink], queries: Mapping[str, AnalysedQuery], index: CandidateIndex
) -> list[Overlap]:
    """The overlap of each query with each of its relevant passages, in the order of the links.

    Args:
        links: Gold links.
        queries: Their queries by id, analysed.
        index: The index that has the passages.

    Raises:
        VerseError: A passage is not in the index.
    """
    ids = list(dict.fromkeys(passage for link in links for passage in link.relevant))
    numbers = {passage: number for number, passage in enumerate(ids)}
    texts = {field: index.texts(field, ids) for field in FIELDS}
    found = []
    for link in links:
        query = queries[link.query.query_id]
        for passage in link.relevant:
            sides = {f: (query.words(f), texts[f].text(numbers[passage])) for f in FIELDS}
            source, target = sides["token"]
            shared = {f: len(set(a) & set(b)) for f, (a, b) in sides.items()}
            jaccard = {f: jaccard_similarity(a, b) for f, (a, b) in sides.items()}
            found.append(Overlap(link, passage, shared, jaccard, len(source), len(target)))
    return found


def jaccard_similarity(left: Collection[str], right: Collection[str]) -> float:
    """Types of both texts / types of either, from 0 to 1; 0 where there are none.

    Example:
        >>> jaccard_similarity(["et", "lux", "et"], ["lux", "erat"])
        0.3333333333333333
    """
    either = len(set(left) | set(right))
    return len(set(left) & set(right)) / either if either else 0.0


def overlap_table(found: Sequence[Overlap]) -> list[dict[str, Any]]:
    """The rows of the paper's Table 1: means and standard deviations by link type, then of all.

    Deviations are those of a sample (n - 1), 0 for a single link.
    """
    groups: dict[str, list[Overlap]] = {}
    for each in found:
        groups.setdefault(each.link.type or "untyped", []).append(each)
    if len(groups) > 1:
        groups["all"] = list(found)
    rows = []
    for group, members in groups.items():
        columns = {
            "jaccard_token": [each.jaccard["token"] for each in members],
            "jaccard_lemma": [each.jaccard["lemma"] for each in members],
            "source_length": [float(each.source_length) for each in members],
            "ref_length": [float(each.passage_length) for each in members],
        }
        row: dict[str, Any] = {"group": group}
        for name, values in columns.items():
            mean, deviation = mean_and_deviation(values)
            row[name], row[f"{name}_sd"] = round(mean, 4), round(deviation, 4)
        rows.append({**row, "count": len(members)})
    return rows


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and standard deviation of a sample (n - 1; 0 for fewer than two values).

    Example:
        >>> mean_and_deviation([1, 3])
        (2.0, 1.4142135623730951)
    """
    # fsum rounds once, so that the figures do not depend on the order of the links.
    mean = math.fsum(values) / len(values) if values else 0.0
    squares = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else 0.0


def overlap_histogram(found: Sequence[Overlap]) -> list[dict[str, Any]]:
    """The rows of the paper's Figure 2: number of links that share 0, 1, 2, … types, by field."""
    rows = []
    for field in FIELDS:
        counts = Counter(each.shared[field] for each in found)
        rows += [
            {"input": field, "shared": shared, "links": counts[shared]}
            for shared in range(max(counts, default=-1) + 1)
        ]
    return rows
