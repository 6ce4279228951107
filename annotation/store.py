"""The store of annotations: one SQLite file, which several processes may use at once.

`Store` is what other modules use; below it stand the functions that read and write rows inside a
transaction, and those that make, open and recognise the file.

Two tables hold annotations: `annotation` the latest mark of each instance and annotator, `history`
every change that led to it. A change is never taken out of the history: undoing a save adds a row
that names the save.
"""

import contextlib
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from allusion_es.annotation.marks import (
    NOTHING,
    Change,
    Mark,
    MarkConflictError,
    MarkRefusedError,
    Saved,
    check_mark,
    mark_of,
)
from allusion_es.annotation.spans import SpanAnnotation
from allusion_es.annotation.tasks import Instance, instance_of
from allusion_es.core.characters import check_characters, lone_surrogate
from allusion_es.core.errors import InputError, StorageError
from allusion_es.evaluation.gold.files import make_link, values_of
from allusion_es.evaluation.gold.link import GoldLink

LONGEST_KEY = 64
"""Most characters of the key that a client gives a change; the page's own have at most 43."""

_SCHEMA = 1
"""Version of the tables; raise it whenever they change."""

_APPLICATION_ID = 0x416C4553
"""SQLite's application id ("AlES" in ASCII), which tells a store from any other database."""

_LOCK_TIMEOUT = 5.0
"""Seconds that a process waits for another one to finish its change."""

_NO_ANCHOR = (0, 0)
"""Columns `anchor_start` and `anchor_end` of an instance without an anchor; no anchor is empty."""

_MAGIC = b"SQLite format 3\0"

_SMALLEST_DATABASE = 512
"""Bytes of SQLite's smallest page, and so of its smallest file."""

# `_check_schema` compares these texts with those in the file, but for blanks and line ends.
_TABLES = (
    """
    CREATE TABLE store (identifier TEXT NOT NULL)
    """,
    """
    CREATE TABLE instance (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        link TEXT NOT NULL,
        words INTEGER NOT NULL,
        anchor_start INTEGER NOT NULL,
        anchor_end INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE annotation (
        instance TEXT NOT NULL REFERENCES instance (id),
        annotator TEXT NOT NULL,
        start INTEGER,
        end INTEGER,
        doubt INTEGER NOT NULL CHECK (doubt IN (0, 1)),
        skipped INTEGER NOT NULL CHECK (skipped IN (0, 1)),
        comment TEXT NOT NULL,
        revision INTEGER NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (instance, annotator),
        CHECK ((start IS NULL) = (end IS NULL) AND (start IS NULL OR 0 <= start AND start < end))
    )
    """,
    """
    CREATE TABLE history (
        number INTEGER PRIMARY KEY,
        instance TEXT NOT NULL REFERENCES instance (id),
        annotator TEXT NOT NULL,
        at TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('save', 'undo')),
        key TEXT NOT NULL,
        undoes INTEGER UNIQUE REFERENCES history (number),
        before TEXT NOT NULL,
        after TEXT NOT NULL,
        UNIQUE (annotator, key)
    )
    """,
    "CREATE INDEX history_of ON history (instance, annotator)",
)

# Every undo takes back one save, so the saves that can still be undone are their difference.
_SAVED = """
    SELECT a.instance, a.annotator, a.revision, a.start, a.end, a.doubt, a.skipped, a.comment,
        i.words, i.anchor_start, i.anchor_end,
        (SELECT coalesce(sum(CASE h.kind WHEN 'save' THEN 1 ELSE -1 END), 0) FROM history AS h
            WHERE h.instance = a.instance AND h.annotator = a.annotator)
    FROM annotation AS a JOIN instance AS i ON i.id = a.instance
"""


class Store:
    """Instances, each annotator's mark of them, and the history of all changes.

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
            _create(path)
        with self._reading() as database:
            ((identifier,),) = database.execute("SELECT identifier FROM store").fetchall()
            self.identifier = _text(identifier)

    def add(self, instances: Sequence[Instance]) -> None:
        """Add instances; those that are there already stay, with their annotations.

        Raises:
            InputError: One is there with another passage, anchor or verse; then none is added.
            StorageError: The file cannot be written.
        """
        with self._writing() as database:
            for instance in instances:
                _add_instance(database, instance, self.path)

    def instances(self) -> list[Instance]:
        """All instances, in the order in which they were added."""
        with self._reading() as database:
            rows = database.execute("SELECT link FROM instance ORDER BY number")
            return [_instance(link, self.path) for (link,) in rows]

    def save(
        self, instance: str, annotator: str, mark: Mark, key: str, revision: int | None = None
    ) -> Saved:
        """Save an annotator's mark of an instance.

        Args:
            instance: Id of the instance.
            annotator: Name of the annotator.
            mark: The mark.
            key: The client's name for this change. A change whose key is known is not made
                again, so a client that got no answer may repeat its request.
            revision: The revision that the client has seen; None to overwrite any.

        Returns:
            The state that is now on the disk.

        Raises:
            MarkRefusedError: The mark is impossible, or there is no such instance.
            MarkConflictError: The client has not seen the latest revision.
            StorageError: The file cannot be written.
        """
        with self._writing() as database:
            check_mark(mark, *_text_size(database, instance))
            saved = _saved(database, instance, annotator)
            if _is_new(database, annotator, key, saved, revision):
                _record(database, instance, annotator, saved, mark, ("save", key, None))
                saved = Saved(mark, saved.revision + 1, saved.undoable + 1)
        return saved

    def undo(self, instance: str, annotator: str, key: str, revision: int | None = None) -> Saved:
        """Take back the annotator's last save of an instance that is not taken back yet.

        Args:
            instance: Id of the instance.
            annotator: Name of the annotator.
            key: The client's name for this change, as for `save`.
            revision: The revision that the client has seen, as for `save`.

        Raises:
            MarkRefusedError: There is nothing to undo.
            MarkConflictError: The client has not seen the latest revision.
            StorageError: The file cannot be written.
        """
        with self._writing() as database:
            size = _text_size(database, instance)
            saved = _saved(database, instance, annotator)
            if _is_new(database, annotator, key, saved, revision):
                row = database.execute(
                    "SELECT number, before FROM history AS save"
                    " WHERE instance = ? AND annotator = ? AND kind = 'save'"
                    " AND NOT EXISTS (SELECT 1 FROM history WHERE undoes = save.number)"
                    " ORDER BY number DESC LIMIT 1",
                    (instance, annotator),
                ).fetchone()
                if row is None:
                    raise MarkRefusedError(f"there is nothing to undo in {instance[:40]!r}")
                number, before = row[0], _stored_mark(json.loads(row[1]), *size)
                _record(database, instance, annotator, saved, before, ("undo", key, number))
                saved = Saved(before, saved.revision + 1, saved.undoable - 1)
        return saved

    def saved(self, annotator: str) -> dict[str, Saved]:
        """The state of each instance that an annotator has changed, by instance id."""
        with self._reading() as database:
            rows = database.execute(f"{_SAVED} WHERE a.annotator = ?", (annotator,))
            return {_text(row[0]): _saved_of(row) for row in rows}

    def marks(self) -> list[tuple[str, str, Mark]]:
        """Instance id, annotator and mark, by instance in order, then by annotator.

        Instances of which everything was undone are left out.
        """
        with self._reading() as database:
            rows = database.execute(f"{_SAVED} ORDER BY i.number, a.annotator")
            marks = [(_text(row[0]), _text(row[1]), _saved_of(row).mark) for row in rows]
        return [row for row in marks if row[2] != NOTHING]

    def history(self) -> list[Change]:
        """Every change ever made, in order."""
        with self._reading() as database:
            rows = database.execute(
                "SELECT instance, annotator, at, kind, before, after, key,"
                " words, anchor_start, anchor_end"
                " FROM history JOIN instance ON id = instance ORDER BY history.number"
            )
            return [
                Change(
                    instance=_text(row[0]),
                    annotator=_text(row[1]),
                    at=_text(row[2]),
                    kind=_text(row[3]),
                    before=_stored_mark(json.loads(row[4]), row[7], _anchor(*row[8:])),
                    after=_stored_mark(json.loads(row[5]), row[7], _anchor(*row[8:])),
                    key=_text(row[6]),
                )
                for row in rows
            ]

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction that reads; rows that no store has written raise InputError."""
        with contextlib.closing(_connect(self.path)) as database, _damage_told(self.path):
            try:
                database.execute("BEGIN")
                yield database
            except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
                raise InputError(f"{self.path}: cannot be read ({error})") from error

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that writes; it is on the disk when the block is left without an error."""
        with contextlib.closing(_connect(self.path)) as database, _damage_told(self.path):
            try:
                # IMMEDIATE takes the lock at once: what is read here stays true until the commit.
                database.execute("BEGIN IMMEDIATE")
                yield database
                database.execute("COMMIT")
            except sqlite3.Error as error:
                raise StorageError(f"{self.path}: cannot be written ({error})") from error


def spans(path: Path) -> list[SpanAnnotation]:
    """The marks of a store as span annotations, by instance in order, then by annotator.

    Raises:
        InputError: There is no such file, or it is no store.
    """
    store = Store(path)
    known = {instance.id: instance for instance in store.instances()}
    with _damage_told(path):
        return [_span(known[name], annotator, mark) for name, annotator, mark in store.marks()]


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
        has_anchor=instance.anchor is not None,
    )


# Rows: reading and writing them inside a transaction. SQLite stores any type in any column, and a
# store may come from a stranger, so each value is checked as it is read.


@contextlib.contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    """Turn the errors that a malformed row causes into one InputError that names the file."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path}: damaged, a row is not what was written there; restore a copy"
        ) from error


def _instance(text: str, path: Path) -> Instance:
    """The instance of a link that `_add_instance` wrote."""
    return instance_of(make_link(dict(json.loads(text).items()), path, 0))


def _add_instance(database: sqlite3.Connection, instance: Instance, path: Path) -> None:
    """Add an instance, or renew its link's fields if it is there with the same text.

    Raises:
        InputError: It is there with another passage, anchor or verse.
    """
    anchor = instance.anchor or _NO_ANCHOR
    link = _link_json(instance.link)
    row = database.execute("SELECT link FROM instance WHERE id = ?", (instance.id,)).fetchone()
    if row is None:
        database.execute(
            "INSERT INTO instance (id, link, words, anchor_start, anchor_end)"
            " VALUES (?, ?, ?, ?, ?)",
            (instance.id, link, len(instance.words), *anchor),
        )
        return
    known = _instance(row[0], path)
    if (known.link.relevant, known.passage, known.anchor) != (
        instance.link.relevant,
        instance.passage,
        instance.anchor,
    ):
        raise InputError(
            f"{path}: instance {instance.id!r} is there with another passage, anchor or verse; "
            "use another store, or give the link another query_id"
        )
    # The anchor, too: earlier versions stored the middle word where a link has none.
    database.execute(
        "UPDATE instance SET link = ?, anchor_start = ?, anchor_end = ? WHERE id = ?",
        (link, *anchor, instance.id),
    )


def _link_json(link: GoldLink) -> str:
    values = {name: value for name, value in values_of(link).items() if value}
    return json.dumps(values, ensure_ascii=False)


def _text_size(database: sqlite3.Connection, instance: str) -> tuple[int, tuple[int, int] | None]:
    """Number of words of an instance's passage, and start and end of its anchor, if it has one.

    Raises:
        MarkRefusedError: There is no such instance.
    """
    row = database.execute(
        "SELECT words, anchor_start, anchor_end FROM instance WHERE id = ?", (instance,)
    ).fetchone()
    if row is None:
        raise MarkRefusedError(f"there is no instance {instance[:40]!r}")
    return _number(row[0]), _anchor(*row[1:])


def _anchor(start: object, end: object) -> tuple[int, int] | None:
    """An instance's anchor as the columns hold it; None where it has none.

    Raises:
        TypeError: A column holds no whole number.
    """
    places = (_number(start), _number(end))
    return None if places == _NO_ANCHOR else places


def _saved(database: sqlite3.Connection, instance: str, annotator: str) -> Saved:
    row = database.execute(
        f"{_SAVED} WHERE a.instance = ? AND a.annotator = ?", (instance, annotator)
    ).fetchone()
    return Saved() if row is None else _saved_of(row)


def _saved_of(row: Sequence[object]) -> Saved:
    """The state in a row of the query `_SAVED`."""
    _, _, revision, start, end, doubt, skipped, comment, words, *anchor, undoable = row
    record = {"start": start, "end": end, "doubt": doubt == 1, "skipped": skipped == 1}
    mark = _stored_mark({**record, "comment": comment}, words, _anchor(*anchor))
    return Saved(mark, _number(revision), _number(undoable))


def _stored_mark(
    record: Mapping[str, object], words: object, anchor: tuple[int, int] | None
) -> Mark:
    """A mark as read back, which must be one that `Store.save` would take, or `NOTHING`.

    Raises:
        ValueError, TypeError: It is not.
    """
    mark = mark_of(record)
    check_characters(mark.comment)
    if mark != NOTHING:
        try:
            check_mark(mark, _number(words), anchor)
        except MarkRefusedError as error:
            raise ValueError(str(error)) from error
    return mark


def _text(value: object) -> str:
    """The value of a column of texts.

    Raises:
        ValueError, TypeError: It is no text, or has a lone surrogate.
    """
    if not isinstance(value, str):
        raise TypeError("a column of texts holds something else")
    check_characters(value)
    return value


def _number(value: object) -> int:
    """The value of a column of whole numbers.

    Raises:
        TypeError: It is no whole number.
    """
    if type(value) is not int:
        raise TypeError("a column of numbers holds something else")
    return value


def _is_new(
    database: sqlite3.Connection, annotator: str, key: str, saved: Saved, revision: int | None
) -> bool:
    """True if the change of that key is still to be made; False if it was made before.

    Raises:
        MarkRefusedError: The key cannot be used.
        MarkConflictError: It is new, and its sender has not seen the revision that is stored.
    """
    if not 0 < len(key) <= LONGEST_KEY or lone_surrogate(key):
        raise MarkRefusedError(f"the key of a change has 1 to {LONGEST_KEY} characters")
    if database.execute(
        "SELECT 1 FROM history WHERE annotator = ? AND key = ?", (annotator, key)
    ).fetchone():
        return False
    if revision is not None and revision != saved.revision:
        raise MarkConflictError(
            f"the instance was changed elsewhere: revision {saved.revision} is stored, "
            f"{revision} was seen",
            saved,
        )
    return True


def _record(
    database: sqlite3.Connection,
    instance: str,
    annotator: str,
    saved: Saved,
    mark: Mark,
    change: tuple[str, str, int | None],
) -> None:
    """Write a change into the history, and the mark that it leads to.

    Args:
        database: A connection, in a transaction.
        instance: Id of the instance.
        annotator: Name of the annotator.
        saved: The state before the change.
        mark: The mark after it.
        change: Its kind, its key, and the number in the history of the save that it undoes.
    """
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    before, after = (json.dumps(asdict(each), ensure_ascii=False) for each in (saved.mark, mark))
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
            *(saved.revision + 1, at),
        ),
    )


# The file: how it is recognised, made and opened.


def is_store(path: Path) -> bool:
    """True if a file is an SQLite database, which among annotations means a store.

    Not for a file that this process has open as a store: closing it again would drop SQLite's
    locks on it.
    """
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _create(path: Path) -> None:
    """Make a store where there is none; one that is there stays as it is.

    Raises:
        InputError: The file is there, and is no store.
        StorageError: It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise InputError(f"{path}: a folder, not a store of annotations; name a file")
        _check_file_size(path)
        with contextlib.closing(_open(path, "rwc")) as database:
            database.execute("BEGIN IMMEDIATE")
            (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if not tables:
                for statement in _TABLES:
                    database.execute(statement)
                database.execute("INSERT INTO store VALUES (?)", (secrets.token_hex(8),))
                database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                database.execute(f"PRAGMA user_version = {_SCHEMA}")
            database.execute("COMMIT")
            _check_schema(database, path)
            # Only now: until then another process would not see what the file is.
            database.execute("PRAGMA journal_mode = WAL")
    except sqlite3.DatabaseError as error:
        if "not a database" in str(error):
            raise _no_store(path) from error
        raise StorageError(f"{path}: cannot be written ({error})") from error
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({error.strerror or error})") from error


def _connect(path: Path) -> sqlite3.Connection:
    """Open a store; each commit is on the disk when it returns.

    Raises:
        InputError: There is no such file, it is no store, or of a newer version.
    """
    if not path.is_file():
        raise InputError(
            f"{path}: there is no store of annotations; 'allusion-es annotate LINKS' makes one"
        )
    _check_file_size(path)
    try:
        database = _open(path, "rw")
        try:
            _check_schema(database, path)
        except BaseException:
            database.close()
            raise
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if "not a database" in str(error):
            raise _no_store(path) from error
        raise InputError(f"{path}: cannot be read ({error})") from error
    return database


def _open(path: Path, mode: str) -> sqlite3.Connection:
    # A store on a medium that cannot be written: no other process can be at work on it.
    fixed = mode == "rw" and not os.access(path.parent, os.W_OK)
    database = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode={mode}{'&immutable=1' if fixed else ''}",
        uri=True,
        timeout=_LOCK_TIMEOUT,
        isolation_level=None,
    )
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA foreign_keys = ON")
    return database


def _check_schema(database: sqlite3.Connection, path: Path) -> None:
    """Refuse databases of other programs, other versions, and stores that were tampered with."""
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION_ID:
        raise _no_store(path)
    if version != _SCHEMA:
        raise InputError(
            f"{path}: a store of version {version}, but this allusion-es reads version {_SCHEMA}; "
            "use the allusion-es that made it"
        )
    # Views, triggers and computed columns of a stranger's would run while the store is read.
    rows = database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if {_squeezed(sql) for (sql,) in rows} != {_squeezed(sql) for sql in _TABLES}:
        raise _no_store(path)


def _squeezed(sql: str) -> str:
    return " ".join(str(sql).split())


def _check_file_size(path: Path) -> None:
    # SQLite takes a file of a few bytes for an empty database, and would write over it. Longer
    # ones it looks into itself: closing a file that we opened would drop SQLite's locks on it.
    if path.exists() and 0 < path.stat().st_size < _SMALLEST_DATABASE:
        raise _no_store(path)


def _no_store(path: Path) -> InputError:
    return InputError(
        f"{path}: not a store of annotations; name the file that 'allusion-es annotate' made, or "
        "a new one"
    )
