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
        merged: How many of `links` come from spans that differ between annotators.
    """

    links: tuple[GoldLink, ...]
    doubted: int
    unmarked: int
    merged: int


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
        else:
            counts["merged"] += len(set(spans)) > 1
            links.append(annotated_link(instance, *agreed_span(spans)))
    return Exported(tuple(links), counts["doubted"], counts["unmarked"], counts["merged"])


def agreed_span(spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The span of the words that more than half of the annotators marked.

    All spans include the anchor, so these words are a span too, and include it: it goes from
    the upper median of the starts to the lower median of the ends. Of two annotators, both must
    have marked a word.

    Args:
        spans: Start and end (exclusive) of each annotator's span; at least one, and all have a
            word in common.

    Example:
        >>> agreed_span([(2, 9), (4, 7), (3, 12)]), agreed_span([(2, 9), (4, 12)])
        ((3, 9), (4, 9))
    """
    starts, ends = sorted(start for start, _ in spans), sorted(end for _, end in spans)
    # More than half of the starts lie at or before the one, more than half of the ends at or
    # after the other.
    return starts[len(starts) // 2], ends[(len(ends) - 1) // 2]


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
        empty without a span), `doubt` and `skipped` (1 or 0), `type`, `text` and `comment`.

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
        row |= {"type": instances[name].link.type, "text": text, "comment": mark.comment}
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
