"""Marks: an annotator's judgement of an instance, and the one place where it is checked.

`mark_of` makes a mark of what came from elsewhere (a request, a row of a store) and checks types.
`check_mark` then holds it against the instance's text. Both the page's server and the store use
these two, so that nothing can be read back that could not have been saved.
"""

from dataclasses import dataclass

from allusion_es.core.errors import AllusionError, InputError
from allusion_es.core.records import checked

LONGEST_COMMENT = 2_000
"""Most characters of a comment; a request of the page (64 KiB) holds it in any encoding."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One annotator's judgement of one instance.

    Attributes:
        start: Place of the span's first word, from 0, or None without a span.
        end: Place after its last word, or None.
        doubt: Whether the annotator doubts that there is an allusion, or where.
        skipped: Whether the annotator put it off; then there is neither span nor doubt.
        comment: Free text.
    """

    start: int | None = None
    end: int | None = None
    doubt: bool = False
    skipped: bool = False
    comment: str = ""


NOTHING = Mark()
"""The mark before the first save, and after everything is undone."""


@dataclass(frozen=True, slots=True)
class Saved:
    """The state of one instance for one annotator.

    Attributes:
        mark: The judgement.
        revision: How many changes led to it; undoing counts as a change.
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
        before: The mark before the change.
        after: The mark after it.
        key: The client's name for the change; the same key is never applied twice.
    """

    instance: str
    annotator: str
    at: str
    kind: str
    before: Mark
    after: Mark
    key: str


class MarkRefusedError(InputError):
    """Raised for an impossible mark: outside the text, without the anchor, too long a comment."""


class MarkConflictError(AllusionError):
    """Raised where an instance was changed elsewhere since the client last saw it.

    Attributes:
        saved: What the store holds.
    """

    exit_code = InputError.exit_code

    def __init__(self, message: str, saved: Saved) -> None:
        super().__init__(message)
        self.saved = saved


def mark_of(record: object) -> Mark:
    """The mark that an object of JSON describes; fields that are missing have their defaults.

    Only names and types are checked: whether the mark fits an instance says `check_mark`.

    Raises:
        ValueError: It is no object, or a field is unknown or of another type.

    Example:
        >>> mark_of({"start": 2, "end": 5})
        Mark(start=2, end=5, doubt=False, skipped=False, comment='')
        >>> mark_of({"start": True})
        Traceback (most recent call last):
        ...
        ValueError: field 'start' must be a whole number or null, not True
    """
    names = Mark.__dataclass_fields__.keys()
    if not isinstance(record, dict) or record.keys() - names:
        raise ValueError(f"field 'mark' must be an object with {', '.join(names)}")
    return checked(record, Mark, error=ValueError)


def check_mark(mark: Mark, words: int, anchor: tuple[int, int] | None) -> None:
    """Refuse a mark that the instance cannot have.

    Args:
        mark: The mark.
        words: How many words the passage has.
        anchor: Place of the anchor's first word, and the place after its last; None where the
            link names none, so that the span may lie anywhere.

    Raises:
        MarkRefusedError: Says what is wrong.

    Example:
        >>> check_mark(Mark(2, 5), 9, (3, 4))
        >>> check_mark(Mark(4, 5), 9, None)
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
        if anchor is not None and not mark.start <= anchor[0] < anchor[1] <= mark.end:
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
