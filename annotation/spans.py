"""A span annotation: which words of a text one annotator marked, if any.

The common form of annotations from all sources: the project's own store, brat, WebAnno, tables.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SpanAnnotation:
    """One annotator's judgement of one instance.

    Attributes:
        instance: Id of the instance, a place in a text together with a verse.
        annotator: Who judged.
        start: Place of the span's first token in the instance's text, from 0; None where the
            instance was judged but no span given (skipped, or a doubt).
        end: Place after its last token; None where `start` is.
        doubt: Whether the annotator doubted that there is an allusion, or where.
        type: Kind of link (`allusion`, `quotation`, …), or "".
        line: Its line in the file that it was read from, 0 if it was read from none.
        tokens: How many tokens the instance's text has, 0 where that is not known.
        has_anchor: Whether the text had an anchor that the span had to include; None where that
            is not known.

    Example:
        >>> SpanAnnotation("b-1", "anna", 3, 7).length
        4
        >>> SpanAnnotation("b-1", "berta", None, None, doubt=True).length
        0
    """

    instance: str
    annotator: str
    start: int | None
    end: int | None
    doubt: bool = False
    type: str = ""
    line: int = field(default=0, compare=False)
    tokens: int = 0
    has_anchor: bool | None = None

    def __post_init__(self) -> None:
        """Refuse an impossible span; readers check before, to name file, line and field."""
        if (self.start is None) != (self.end is None):
            raise ValueError("give both start and end, or neither")
        if self.start is not None and self.end is not None and not 0 <= self.start < self.end:
            raise ValueError(f"start {self.start} and end {self.end} hold no token")

    @property
    def length(self) -> int:
        """Number of marked tokens; 0 without a span."""
        return 0 if self.start is None or self.end is None else self.end - self.start
