"""Export of a store: gold links whose query is the marked words, or a table of annotations."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from allusion_es.annotation.marks import Mark
from allusion_es.annotation.store import Store
from allusion_es.annotation.tasks import annotated_link
from allusion_es.core.errors import UsageError
from allusion_es.evaluation.gold.link import GoldLink


@dataclass(frozen=True, slots=True)
class Exported:
    """Gold links made of annotations, and how many instances gave none.

    Attributes:
        links: One for each instance that has a span, in the store's order.
        doubted: How many were left out because an annotator doubts.
        unmarked: How many have no span.
        apart: How many have spans, but no single run of words that more than half marked.
        merged: How many of `links` come from spans that differ between annotators.
        without_anchor: How many of `links` have no anchor.
    """

    links: tuple[GoldLink, ...]
    doubted: int
    unmarked: int
    apart: int
    merged: int
    without_anchor: int


def export_links(
    store: Store, annotators: Collection[str] = (), *, doubts: bool = False
) -> Exported:
    """Make a gold link of each instance whose words were marked.

    Where several annotators marked an instance, `agreed_span` decides. An instance that one of
    them doubts is left out, as in the paper, whatever the others say.

    Args:
        store: The store.
        annotators: Count only the annotations of these; by default those of all.
        doubts: Count the spans of those who doubt like any other.

    Raises:
        UsageError: An annotator has no annotation in the store.
    """
    marks: dict[str, list[Mark]] = {}
    for name, _, mark in _marks(store, annotators):
        marks.setdefault(name, []).append(mark)
    links: list[GoldLink] = []
    counts: Counter[str] = Counter()
    for instance in store.instances():
        given = marks.get(instance.id, [])
        spans = [(m.start, m.end) for m in given if m.start is not None and m.end is not None]
        if not doubts and any(mark.doubt for mark in given):
            counts["doubted"] += 1
        elif not spans:
            counts["unmarked"] += 1
        elif (span := agreed_span(spans)) is None:
            counts["apart"] += 1
        else:
            counts["merged"] += len(set(spans)) > 1
            counts["without_anchor"] += instance.anchor is None
            links.append(annotated_link(instance, *span))
    return Exported(
        tuple(links),
        doubted=counts["doubted"],
        unmarked=counts["unmarked"],
        apart=counts["apart"],
        merged=counts["merged"],
        without_anchor=counts["without_anchor"],
    )


def agreed_span(spans: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """The span of the words that more than half of the annotators marked, or None.

    Spans that include an anchor always have one, which includes it. Without an anchor there may
    be no such word, or two runs of them, neither of which is what the annotators mean. Of two
    annotators, both must have marked a word.

    Args:
        spans: Start and end (exclusive) of each annotator's span; at least one.

    Example:
        >>> agreed_span([(2, 9), (4, 7), (3, 12)]), agreed_span([(2, 9), (4, 12)])
        ((3, 9), (4, 9))
        >>> agreed_span([(0, 2), (5, 7)]), agreed_span([(0, 9), (0, 2), (5, 9)])
        (None, None)
    """
    votes = Counter(place for span in spans for place in range(*span))
    agreed = sorted(place for place, count in votes.items() if 2 * count > len(spans))
    if not agreed or agreed[-1] - agreed[0] >= len(agreed):
        return None
    return agreed[0], agreed[-1] + 1


def annotation_rows(
    store: Store, annotators: Collection[str] = (), *, doubts: bool = False
) -> list[dict[str, str | int]]:
    """Every annotation as a row: by instance in the store's order, then by annotator.

    Args:
        store: The store.
        annotators: Only the annotations of these; by default those of all.
        doubts: Include those in doubt.

    Returns:
        Rows with `instance`, `annotator`, `start` and `end` (places of words, end exclusive;
        empty without a span), `doubt` and `skipped` (1 or 0), `type`, `anchor` (its words; empty
        where the link names none), `text` and `comment`.

    Raises:
        UsageError: An annotator has no annotation in the store.
    """
    instances = {instance.id: instance for instance in store.instances()}
    rows = []
    for name, annotator, mark in _marks(store, annotators):
        if mark.doubt and not doubts:
            continue
        row: dict[str, str | int] = {"instance": name, "annotator": annotator}
        if mark.start is None or mark.end is None:
            row |= {"start": "", "end": ""}
            text = ""
        else:
            row |= {"start": mark.start, "end": mark.end}
            text = instances[name].text(mark.start, mark.end)
        row |= {"doubt": int(mark.doubt), "skipped": int(mark.skipped)}
        anchor = instances[name].anchor
        row |= {
            "type": instances[name].link.type,
            "anchor": "" if anchor is None else instances[name].text(*anchor),
            "text": text,
            "comment": mark.comment,
        }
        rows.append(row)
    return rows


def _marks(store: Store, annotators: Collection[str]) -> list[tuple[str, str, Mark]]:
    """Instance id, annotator and mark, of these annotators only if any are named."""
    marks = store.marks()
    known = sorted({annotator for _, annotator, _ in marks})
    for name in annotators:
        if name not in known:
            there = ", ".join(known) or "nobody yet"
            raise UsageError(
                f"{name!r} has annotated nothing in {store.path}; there are: {there}",
                argument="annotator",
            )
    return [mark for mark in marks if not annotators or mark[1] in annotators]
