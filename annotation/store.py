"""The store of annotations: one SQLite file, which several processes may use at once."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from allusion_es.annotation.marks import (
    NOTHING,
    Change,
    Mark,
    MarkConflictError,
    MarkRefusedError,
    Saved,
    check_mark,
)
from allusion_es.annotation.spans import SpanAnnotation
from allusion_es.annotation.store_file import connect, create
from allusion_es.annotation.tasks import Instance, instance_of
from allusion_es.core.characters import check_characters
from allusion_es.core.errors import InputError, StorageError
from allusion_es.evaluation.gold.files import make_link, values_of
from allusion_es.evaluation.gold.link import GoldLink

# Rows of a store: reading and writing them inside a transaction.


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


class Store:
    """Instances, what each annotator says of them, and how it came to that.

    Every change is on the disk before the method that makes it returns.

    Args:
        path: The file.
        create_missing: Make the file where there is none.

    Raises:
        InputError: There is no such file, it is no store, or of a newer version.
        StorageError: It cannot be written.

    Example:
        >>> import tempfile
        >>> from allusion_es.annotation.tasks import instance_of
        >>> from allusion_es.evaluation.gold.link import GoldLink
        >>> from allusion_es.retrieval.types import Query
        >>> link = GoldLink(Query("supereminet omni scientiae", "b-1"), ("Eph.3.19",))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = Store(Path(folder, "spans.sqlite"), create_missing=True)
        ...     store.add([instance_of(link)])
        ...     store.save("b-1", "anna", Mark(0, 3), "k1").revision
        ...     store.undo("b-1", "anna", "k2").mark == NOTHING
        1
        True
    """

    def __init__(self, path: Path, *, create_missing: bool = False) -> None:
        self.path = path
        if create_missing:
            create(path)
        with self._reading() as database:
            rows = database.execute("SELECT identifier FROM store").fetchall()
        with reading_rows(path):
            ((identifier,),) = rows
            self.identifier = text_of(identifier)

    def add(self, instances: Sequence[Instance]) -> None:
        """Take instances in; those that are there already stay, with their annotations.

        Raises:
            InputError: One is there with another passage, anchor or verse; then none is taken in.
            StorageError: The file cannot be written.
        """
        with self._writing() as database:
            for instance in instances:
                add_instance(database, instance, self.path)

    def instances(self) -> list[Instance]:
        """All instances, in the order in which they came."""
        with self._reading() as database:
            rows = database.execute("SELECT link FROM instance ORDER BY number").fetchall()
        return [read_instance(link, self.path) for (link,) in rows]

    def save(
        self, instance: str, annotator: str, mark: Mark, key: str, revision: int | None = None
    ) -> Saved:
        """Record a judgement.

        Args:
            instance: Id of the instance.
            annotator: Who judges.
            mark: The judgement.
            key: The client's name for this change. A change whose key is known is not made
                again: the answer says what the store holds.
            revision: The revision that the client has seen; None to overwrite any.

        Returns:
            What the store holds now; it is on the disk.

        Raises:
            MarkRefusedError: The judgement cannot be, or there is no such instance.
            MarkConflictError: The client has not seen the latest revision.
            StorageError: The file cannot be written.
        """
        with self._writing() as database:
            row = database.execute(
                "SELECT words, anchor_start, anchor_end FROM instance WHERE id = ?", (instance,)
            ).fetchone()
            if row is None:
                raise MarkRefusedError(f"there is no instance {instance[:40]!r}")
            check_mark(mark, row[0], (row[1], row[2]))
            now = saved_mark(database, instance, annotator)
            if not is_known(database, annotator, key):
                check_revision(now, revision)
                record(database, instance, annotator, now, mark, ("save", key, None))
            return saved_mark(database, instance, annotator)

    def undo(self, instance: str, annotator: str, key: str, revision: int | None = None) -> Saved:
        """Take back the last save that is not taken back yet.

        Args:
            instance: Id of the instance.
            annotator: Whose save.
            key: See `save`.
            revision: See `save`.

        Raises:
            MarkRefusedError: There is nothing to undo.
            MarkConflictError: The client has not seen the latest revision.
            StorageError: The file cannot be written.
        """
        with self._writing() as database:
            now = saved_mark(database, instance, annotator)
            if not is_known(database, annotator, key):
                check_revision(now, revision)
                saves = undoable(database, instance, annotator)
                if not saves:
                    raise MarkRefusedError(f"there is nothing to undo in {instance[:40]!r}")
                number, before = saves[-1]
                record(database, instance, annotator, now, before, ("undo", key, number))
            return saved_mark(database, instance, annotator)

    def saved(self, annotator: str) -> dict[str, Saved]:
        """What the store holds of one annotator, by instance id; others have `Saved()`."""
        with self._reading() as database:
            rows = database.execute(
                "SELECT instance FROM annotation WHERE annotator = ?", (annotator,)
            ).fetchall()
            with reading_rows(self.path):
                return {name: saved_mark(database, name, annotator) for (name,) in rows}

    def marks(self) -> list[tuple[str, str, Mark]]:
        """Instance id, annotator and judgement, by instance in order, then by annotator."""
        with self._reading() as database:
            rows = database.execute(
                "SELECT start, end, doubt, skipped, comment, instance, annotator FROM annotation"
                " JOIN instance ON id = instance ORDER BY number, annotator"
            ).fetchall()
        with reading_rows(self.path):
            marks = [(text_of(row[5]), text_of(row[6]), to_mark(row)) for row in rows]
        return [row for row in marks if row[2] != NOTHING]

    def history(self) -> list[Change]:
        """Every change ever made, in order."""
        with self._reading() as database:
            rows = database.execute(
                "SELECT instance, annotator, at, kind, before, after, key FROM history"
                " ORDER BY number"
            ).fetchall()
        with reading_rows(self.path):
            return [
                Change(
                    *(text_of(name), text_of(who), text_of(at), text_of(kind)),
                    before=mark_from_json(before),
                    after=mark_from_json(after),
                    key=text_of(key),
                )
                for name, who, at, kind, before, after, key in rows
            ]

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(connect(self.path)) as database:
            try:
                database.execute("BEGIN")
                yield database
            except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
                raise InputError(f"{self.path}: cannot be read ({error})") from error

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction; it is on the disk when the block is left without an error."""
        with contextlib.closing(connect(self.path)) as database:
            try:
                database.execute("BEGIN IMMEDIATE")
                yield database
                database.execute("COMMIT")
            except sqlite3.Error as error:
                raise StorageError(f"{self.path}: cannot be written ({error})") from error


def spans(path: Path) -> list[SpanAnnotation]:
    """The judgements of a store, by instance in order, then by annotator.

    Raises:
        InputError: There is no such file, or it is no store.
    """
    store = Store(path)
    known = {instance.id: instance for instance in store.instances()}
    marks = store.marks()
    with reading_rows(path):
        return [_span(known[instance], who, mark) for instance, who, mark in marks]


def _span(instance: Instance, annotator: str, mark: Mark) -> SpanAnnotation:
    tokens = len(instance.words)
    if mark.end is not None and mark.end > tokens:
        raise ValueError(f"a span of {instance.id!r:.60} ends beyond its last word")
    return SpanAnnotation(
        instance.id,
        annotator,
        mark.start,
        mark.end,
        mark.doubt,
        instance.link.type,
        tokens=tokens,
    )
