"""The history: texts that were searched from the page, and what was found, kept in the data folder.

An entry is a folder: the text as it was sent, the findings, and last `entry.json`, without which it
is no entry. Its id is a hash of the text and of the choices, so that the same search has one entry.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from allusion_es.core.errors import InputError, StorageError
from allusion_es.core.files import writing
from allusion_es.corpora.findings import Finding
from allusion_es.corpora.source import read_source
from allusion_es.corpora.source_text import SourceText
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.serve.requests import ScanRequest
from allusion_es.web.guard import RefusedError

KEPT = 200
"""Entries that are kept; the oldest go first."""

_ID = re.compile(r"[0-9a-f]{16}")
_ENTRY, _FINDINGS, _TEXT = "entry.json", "findings.jsonl", "text"


class Entry(Struct, frozen=True):
    """A search that was kept.

    Attributes:
        id: Its id, part of a URL.
        kind: `scan` or `query`.
        title: What the list calls it: the work, or the first words.
        when: When it ended, in ISO 8601, UTC.
        words: Words of the text.
        found: How many findings, or for a query how many passages.
        status: `done` or `stopped`.
        text_key: Key of the text, by which its judgements are kept.
        request: The request, without the text.
        text: The words of a query, or "".
    """

    id: str
    kind: Literal["scan", "query"]
    title: str
    when: str
    words: int
    found: int
    status: str
    text_key: str
    request: dict[str, Any]
    text: str = ""


class History:
    """The entries of a data folder.

    Args:
        folder: Their folder; it is made with the first entry.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def entries(self) -> list[Entry]:
        """All entries, the latest first; damaged ones are left out."""
        found = []
        for path in self._folder.glob(f"*/{_ENTRY}"):
            with contextlib.suppress(RefusedError):
                found.append(self.entry(path.parent.name))
        return sorted(found, key=lambda each: (each.when, each.id), reverse=True)

    def entry(self, identifier: str) -> Entry:
        """The entry of an id.

        Raises:
            RefusedError: There is none, or it is damaged.
        """
        path = self._of(identifier) / _ENTRY
        try:
            return msgspec.json.decode(path.read_bytes(), type=Entry)
        except (OSError, msgspec.DecodeError) as error:
            raise RefusedError(404, "this search is not kept any more; search again") from error

    def source(self, entry: Entry) -> SourceText:
        """The text of a scan, read again.

        Raises:
            RefusedError: It is not there any more.
            InputError: It cannot be read.
        """
        paths = sorted((self._of(entry.id) / _TEXT).glob("*"))
        if len(paths) != 1:
            raise RefusedError(404, "the text of this search is not kept any more; search again")
        return read_source(paths[0])

    def scan(self, entry: Entry) -> "StoredScan":
        """A scan function (`serve.work.Scan`) that gives what was found, without searching."""
        return StoredScan(self._of(entry.id) / _FINDINGS)

    def add(
        self, entry: Entry, source: SourceText | None = None, findings: Iterable[Finding] = ()
    ) -> None:
        """Keep a search, in the place of an earlier one of the same id.

        Args:
            entry: What is told of it.
            source: The text of a scan.
            findings: What was found in it.

        Raises:
            StorageError: It cannot be written.
        """
        folder = self._of(entry.id)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            (folder / _ENTRY).unlink()
        if source is not None:
            path = folder / _TEXT / source.path.name
            if path != source.path:
                with writing(path) as file:
                    file.write(source.path.read_bytes())
            with writing(folder / _FINDINGS) as file:
                file.writelines(msgspec.json.encode(each) + b"\n" for each in findings)
        with writing(folder / _ENTRY) as file:
            file.write(msgspec.json.encode(entry))
        for old in self.entries()[KEPT:]:
            self.forget(old.id)

    def forget(self, identifier: str) -> None:
        """Delete an entry with its text and findings.

        Raises:
            StorageError: It cannot be deleted.
        """
        folder = self._of(identifier)
        try:
            # First: a folder without it is no entry, should the program end here.
            (folder / _ENTRY).unlink(missing_ok=True)
            if folder.exists():
                shutil.rmtree(folder)
        except OSError as error:
            raise StorageError(
                f"{folder}: cannot be deleted ({error.strerror or error})"
            ) from error

    def _of(self, identifier: str) -> Path:
        if not _ID.fullmatch(identifier):
            raise RefusedError(404, "there is no such search")
        return self._folder / identifier


class StoredScan:
    """Gives the findings of a file in place of a scanner.

    Args:
        path: The file, a finding a line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(
        self,
        source: SourceText,
        index: CandidateIndex,
        request: ScanRequest,
        stop: Callable[[], bool],
        progress: Callable[[float], None],
    ) -> Iterator[Finding]:
        """The findings, as `serve.work.Scan` says.

        Raises:
            InputError: The file is damaged, or not of this text.
        """
        try:
            lines = self._path.read_bytes().splitlines()
            findings = [msgspec.json.decode(line, type=Finding) for line in lines]
        except (OSError, msgspec.DecodeError) as error:
            raise InputError("what was found is damaged; search again") from error
        for found in findings:
            if source.text[found.start : found.end] != found.text:
                raise InputError("what was found is of another text; search again")
        progress(1.0)
        return iter(findings)


def now() -> str:
    """The time, in ISO 8601 and UTC, to the second.

    The variable SOURCE_DATE_EPOCH replaces it, so that pictures of the page can be made again.
    """
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    time = datetime.fromtimestamp(int(fixed), UTC) if fixed else datetime.now(UTC)
    return time.isoformat(timespec="seconds")
