"""What an annotator can say of an instance, and what a store answers."""

from dataclasses import dataclass

from allusion_es.core.errors import AllusionError, InputError

LONGEST_COMMENT = 2_000
"""Most characters of a comment."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One annotator's judgement of one instance, as it stands.

    Attributes:
        start: Place of the span's first word, from 0, or None without a span.
        end: Place after its last word, or None.
        doubt: Whether the annotator doubts that there is an allusion, or where.
        skipped: Whether it was put off; then there is neither span nor doubt.
        comment: Any words.
    """

    start: int | None = None
    end: int | None = None
    doubt: bool = False
    skipped: bool = False
    comment: str = ""


NOTHING = Mark()
"""What stands before the first save, and after everything is undone."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What the store holds of one instance and annotator.

    Attributes:
        mark: The judgement.
        revision: How many changes, undoing among them, led to it.
        undoable: How many saves can still be undone.
    """

    mark: Mark = NOTHING
    revision: int = 0
    undoable: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the history.

    Attributes:
        instance: Id of the instance.
        annotator: Who made it.
        at: When, in UTC, as ISO 8601 with milliseconds.
        kind: `save` or `undo`.
        before: What stood before.
        after: What stands after.
        key: What the client calls the change; the same key is never applied twice.
    """

    instance: str
    annotator: str
    at: str
    kind: str
    before: Mark
    after: Mark
    key: str


class MarkRefusedError(InputError):
    """A judgement that cannot be: outside the text, without the anchor, too long a comment."""


class MarkConflictError(AllusionError):
    """The instance was changed elsewhere since the client last saw it.

    Attributes:
        saved: What the store holds.
    """

    exit_code = InputError.exit_code

    def __init__(self, message: str, saved: Saved) -> None:
        super().__init__(message)
        self.saved = saved


def check_mark(mark: Mark, words: int, anchor: tuple[int, int]) -> None:
    """Refuse a judgement that the instance cannot have.

    Args:
        mark: The judgement.
        words: How many words the passage has.
        anchor: Place of the anchor's first word, and the place after its last.

    Raises:
        MarkRefusedError: Says what is wrong.

    Example:
        >>> check_mark(Mark(2, 5), 9, (3, 4))
        >>> check_mark(Mark(4, 5), 9, (3, 4))
        Traceback (most recent call last):
        ...
        allusion_es.annotation.marks.MarkRefusedError: the span, words 4 to 5, does not include \
the anchor, words 3 to 4
    """
    if (mark.start is None) != (mark.end is None):
        raise MarkRefusedError("give both start and end of the span, or neither")
    if mark.start is not None and mark.end is not None:
        if not 0 <= mark.start < mark.end <= words:
            raise MarkRefusedError(
                f"the span, words {mark.start} to {mark.end}, does not lie in the text, which has "
                f"words 0 to {words}"
            )
        if not mark.start <= anchor[0] < anchor[1] <= mark.end:
            raise MarkRefusedError(
                f"the span, words {mark.start} to {mark.end}, does not include the anchor, words "
                f"{anchor[0]} to {anchor[1]}"
            )
        if mark.skipped:
            raise MarkRefusedError("an instance that is skipped has no span")
    elif mark.doubt == mark.skipped:
        raise MarkRefusedError("mark a span, or doubt, or skip the instance")
    _check_comment(mark.comment)


def _check_comment(comment: str) -> None:
    if len(comment) > LONGEST_COMMENT:
        raise MarkRefusedError(
            f"the comment has {len(comment)} characters, at most {LONGEST_COMMENT} are taken"
        )
    if not all(character.isprintable() or character in "\n\t" for character in comment):
        raise MarkRefusedError("the comment has control characters; use letters and signs only")
