"""Rows of a store: reading and writing them inside a transaction."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from allusion_es.annotation.marks import Mark, MarkConflictError, MarkRefusedError, Saved
from allusion_es.annotation.tasks import Instance, instance_of
from allusion_es.core.errors import InputError
from allusion_es.core.texts import check_characters
from allusion_es.evaluation.gold import GoldLink
from allusion_es.evaluation.gold_fields import make_link, values_of

LONGEST_KEY = 64
"""Most characters of the key that a client gives a change."""


def read_instance(text: str, path: Path) -> Instance:
    """The instance of a link that `add_instance` wrote.

    Raises:
        InputError: The store holds something else.
    """
    with reading_rows(path):
        return instance_of(make_link(dict(json.loads(text).items()), path, 0))


@contextlib.contextmanager
def reading_rows(path: Path) -> Iterator[None]:
    """Tell in one line that rows of a store are not what was written there.

    Raises:
        InputError: They are not.
    """
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path}: damaged, a row is not what was written there; restore a copy"
        ) from error


def add_instance(database: sqlite3.Connection, instance: Instance, path: Path) -> None:
    """Take an instance in, or renew what is told about it.

    Raises:
        InputError: It is there with another passage, anchor or verse.
    """
    place = (len(instance.words), *instance.anchor)
    row = database.execute(
        "SELECT link, words, anchor_start, anchor_end FROM instance WHERE id = ?", (instance.id,)
    ).fetchone()
    if row is None:
        database.execute(
            "INSERT INTO instance (id, link, words, anchor_start, anchor_end)"
            " VALUES (?, ?, ?, ?, ?)",
            (instance.id, _link_text(instance.link), *place),
        )
        return
    there = read_instance(row[0], path)
    if (there.link.relevant, there.passage, row[1:]) != (
        instance.link.relevant,
        instance.passage,
        place,
    ):
        raise InputError(
            f"{path}: instance {instance.id!r} is there with another passage, anchor or verse; "
            "use another store, or give the link another query_id"
        )
    text = _link_text(instance.link)
    database.execute("UPDATE instance SET link = ? WHERE id = ?", (text, instance.id))


def saved_mark(database: sqlite3.Connection, instance: str, annotator: str) -> Saved:
    """What the store holds of an instance and annotator."""
    row = database.execute(
        "SELECT start, end, doubt, skipped, comment, revision FROM annotation"
        " WHERE instance = ? AND annotator = ?",
        (instance, annotator),
    ).fetchone()
    if row is None:
        return Saved()
    return Saved(to_mark(row), row[5], len(undoable(database, instance, annotator)))


def to_mark(row: tuple[int | None, int | None, int, int, str]) -> Mark:
    """The judgement in the columns start, end, doubt, skipped, comment.

    Raises:
        TypeError: The columns hold something else.
    """
    return _checked(Mark(row[0], row[1], bool(row[2]), bool(row[3]), row[4]))


def mark_from_json(text: str) -> Mark:
    """The judgement that `record` wrote into the history.

    Raises:
        ValueError, TypeError: It is something else.
    """
    return _checked(Mark(**json.loads(text)))


def text_of(value: object) -> str:
    """A column that holds a text, which SQLite does not see to.

    Raises:
        TypeError: It holds something else.
        ValueError: It has half a character.
    """
    if not isinstance(value, str):
        raise TypeError("a column of texts holds something else")
    check_characters(value)
    return value


def _checked(mark: Mark) -> Mark:
    places = (mark.start, mark.end)
    if not all(place is None or type(place) is int for place in places):
        raise TypeError("start or end")
    if (mark.start is None) != (mark.end is None):
        raise ValueError("start without end, or end without start")
    if mark.start is not None and mark.end is not None and not 0 <= mark.start < mark.end:
        raise ValueError("start and end hold no word")
    if type(mark.doubt) is not bool or type(mark.skipped) is not bool:
        raise TypeError("doubt or skipped")
    text_of(mark.comment)
    return mark


def undoable(database: sqlite3.Connection, instance: str, annotator: str) -> list[tuple[int, Mark]]:
    """Number of each save that is not undone, and what stood before it; the latest is last."""
    rows = database.execute(
        "SELECT number, before FROM history AS save WHERE instance = ? AND annotator = ?"
        " AND kind = 'save' AND NOT EXISTS (SELECT 1 FROM history WHERE undoes = save.number)"
        " ORDER BY number",
        (instance, annotator),
    ).fetchall()
    return [(number, mark_from_json(before)) for number, before in rows]


def is_known(database: sqlite3.Connection, annotator: str, key: str) -> bool:
    """Whether the annotator's change of that key was made.

    Raises:
        MarkRefusedError: Nothing can have that key.
    """
    if not 0 < len(key) <= LONGEST_KEY:
        raise MarkRefusedError(f"the key of a change has 1 to {LONGEST_KEY} characters")
    row = database.execute(
        "SELECT 1 FROM history WHERE annotator = ? AND key = ?", (annotator, key)
    ).fetchone()
    return row is not None


def check_revision(now: Saved, revision: int | None) -> None:
    """Refuse a change by someone who has not seen the latest.

    Raises:
        MarkConflictError: `revision` is not the stored one.
    """
    if revision is not None and revision != now.revision:
        raise MarkConflictError(
            f"the instance was changed elsewhere: revision {now.revision} is stored, "
            f"{revision} was seen",
            now,
        )


def record(
    database: sqlite3.Connection,
    instance: str,
    annotator: str,
    now: Saved,
    mark: Mark,
    change: tuple[str, str, int | None],
) -> None:
    """Write a change (its kind, its key, the number of what it undoes) and what it leads to."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    before, after = (json.dumps(asdict(it), ensure_ascii=False) for it in (now.mark, mark))
    database.execute(
        "INSERT INTO history (instance, annotator, at, kind, key, undoes, before, after)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (instance, annotator, at, *change, before, after),
    )
    database.execute(
        "INSERT OR REPLACE INTO annotation"
        " (instance, annotator, start, end, doubt, skipped, comment, revision, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(instance, annotator, mark.start, mark.end, mark.doubt, mark.skipped, mark.comment),
            *(now.revision + 1, at),
        ),
    )


def _link_text(link: GoldLink) -> str:
    values = {name: value for name, value in values_of(link).items() if value}
    return json.dumps(values, ensure_ascii=False)
