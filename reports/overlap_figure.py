"""The paper's Figure 2: how many links share how many tokens and lemmas."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from allusion_es.core.errors import UsageError
from allusion_es.reports.figures import histogram, svg

_TITLE = "Types that queries share with what they allude to"


def overlap_svg(rows: Sequence[Mapping[str, Any]]) -> str:
    """The figure as SVG, a panel for tokens and one for lemmas.

    Args:
        rows: From `evaluation.overlap.overlap_histogram`: `input`, `shared`, `links`.

    Example:
        >>> rows = [{"input": "token", "shared": 0, "links": 3}]
        >>> overlap_svg(rows).count("class='bar'")
        1
    """
    panels = [
        histogram(
            [shared - 0.5 for shared in range(len(counts) + 1)],
            counts,
            title=f"{field}s",
            x_label=f"shared {field}s",
            y_label="links",
        )
        for field, counts in _counts(rows).items()
    ]
    total = sum(max(_counts(rows).values(), key=sum, default=[]))
    return svg(panels, title=_TITLE, description=f"Histograms of {total} links.")


def overlap_png(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """The figure as PNG, drawn by matplotlib.

    Raises:
        UsageError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError(
            "PNG figures need matplotlib: pip install 'allusion-es[figures]'; .svg needs nothing"
        ) from error
    counts = _counts(rows)
    figure = Figure(figsize=(4.2 * max(len(counts), 1), 3.2), layout="constrained")
    figure.suptitle(_TITLE)
    for number, (field, heights) in enumerate(counts.items(), start=1):
        axes = figure.add_subplot(1, len(counts), number)
        axes.bar(range(len(heights)), heights, width=1.0, edgecolor="white", color="#3b6ea5")
        axes.set_xlabel(f"shared {field}s")
        axes.set_ylabel("links")
    data = BytesIO()
    figure.savefig(data, format="png", dpi=150, metadata={"Software": None})
    return data.getvalue()


def _counts(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    counts: dict[str, list[int]] = {}
    for row in rows:
        counts.setdefault(row["input"], []).append(row["links"])
    return counts
