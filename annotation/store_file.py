"""The file behind a store of annotations: its tables, how it is made, opened and recognised."""

import contextlib
import os
import secrets
import sqlite3
from pathlib import Path
from urllib.parse import quote

from allusion_es.core.errors import InputError, StorageError

SCHEMA = 1
"""Raised whenever the tables change."""

_APPLICATION = 0x416C4553
"""SQLite's application id: what tells a store from any other database."""

_PATIENCE = 5.0
"""Seconds that a process waits for another one to finish its change."""

_MAGIC = b"SQLite format 3\0"

_SMALLEST = 512
"""No database has fewer bytes."""

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


def is_store(path: Path) -> bool:
    """Whether a file is an SQLite database, which among annotations means a store.

    Not for a file that this process has open as a store: it would lose its locks.
    """
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def create(path: Path) -> None:
    """Make a store where there is none; one that is there stays as it is.

    Raises:
        InputError: The file is there, and is no store.
        StorageError: It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise InputError(f"{path}: a folder, not a store of annotations; name a file")
        _check_content(path)
        with contextlib.closing(_open(path, "rwc")) as database:
            database.execute("BEGIN IMMEDIATE")
            (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if not tables:
                for statement in _TABLES:
                    database.execute(statement)
                database.execute("INSERT INTO store VALUES (?)", (secrets.token_hex(8),))
                database.execute(f"PRAGMA application_id = {_APPLICATION}")
                database.execute(f"PRAGMA user_version = {SCHEMA}")
            database.execute("COMMIT")
            _check(database, path)
            # Only now: until then another process would not see what the file is.
            database.execute("PRAGMA journal_mode = WAL")
    except sqlite3.DatabaseError as error:
        if "not a database" in str(error):
            raise _no_store(path) from error
        raise StorageError(f"{path}: cannot be written ({error})") from error
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({error.strerror or error})") from error


def connect(path: Path) -> sqlite3.Connection:
    """A connection to a store; each commit is on the disk when it returns.

    Raises:
        InputError: There is no such file, it is no store, or of a newer version.
    """
    if not path.is_file():
        raise InputError(
            f"{path}: there is no store of annotations; 'allusion-es annotate LINKS' makes one"
        )
    _check_content(path)
    try:
        database = _open(path, "rw")
        try:
            _check(database, path)
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
        timeout=_PATIENCE,
        isolation_level=None,
    )
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA foreign_keys = ON")
    return database


def _check(database: sqlite3.Connection, path: Path) -> None:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise _no_store(path)
    if version != SCHEMA:
        raise InputError(
            f"{path}: a store of version {version}, but this allusion-es reads version {SCHEMA}; "
            "use the allusion-es that made it"
        )
    # Views, triggers and computed columns of a stranger's would run while the store is read.
    rows = database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if {_squeezed(sql) for (sql,) in rows} != {_squeezed(sql) for sql in _TABLES}:
        raise _no_store(path)


def _squeezed(sql: str) -> str:
    return " ".join(str(sql).split())


def _check_content(path: Path) -> None:
    # SQLite takes a file of a few bytes for an empty database, and would write over it. Longer
    # ones it looks into itself: closing a file that we opened would drop SQLite's locks on it.
    if path.exists() and 0 < path.stat().st_size < _SMALLEST:
        raise _no_store(path)


def _no_store(path: Path) -> InputError:
    return InputError(
        f"{path}: not a store of annotations; name the file that 'allusion-es annotate' made, or "
        "a new one"
    )
