"""The journal of a scan: a file with the findings so far, so that a stopped scan can go on."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import msgspec

from allusion_es.core.code import code_hash
from allusion_es.core.errors import StorageError
from allusion_es.corpora.findings import Finding
from allusion_es.corpora.source_text import SourceText
from allusion_es.scanning.model import ScanOptions, calibration_hash

SUFFIX = ".scan"
"""Suffix of the names of journals."""

_PARTS = ("core", "language", "retrieval", "rerankers", "es", "corpora", "scanning")
"""Packages on whose code findings depend: after a change of one no journal is gone on from."""


def scan_key(source: SourceText, options: ScanOptions, fingerprint: str) -> str:
    """A hash of everything that could change the findings of a text.

    Args:
        source: The text.
        options: The options of the scan.
        fingerprint: The fingerprint of the index.
    """
    chosen = [
        options.threshold, options.precision, options.fast, options.top,
        options.search_filter.as_lists(),
    ]  # fmt: skip
    text = hashlib.sha256(source.text.encode("utf-8", "surrogatepass")).hexdigest()
    what = json.dumps([code_hash(*_PARTS), calibration_hash(), text, chosen, fingerprint])
    return hashlib.sha256(what.encode()).hexdigest()


class _Block(msgspec.Struct, forbid_unknown_fields=True):
    """A line of a journal: the findings of one block."""

    block: int
    findings: list[Finding]


class Journal:
    """A file of the blocks of a text that are done, one JSON line each with its findings.

    Args:
        path: The file; its first line has the key.
        key: The hash of the scan that it belongs to, from `scan_key`.
        resume: Keep the findings that the file has for the same key; otherwise it is begun anew.

    Attributes:
        path: As given.
        done: The findings of each block that is done, by its number.

    Raises:
        StorageError: It cannot be written.
    """

    def __init__(self, path: Path, key: str, *, resume: bool) -> None:
        self.path = path
        self.done: dict[int, list[Finding]] = {}
        size = self._read(key) if resume else 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Sound lines stay in place, not copied: a scan may be stopped again at any moment.
            # Unbuffered, so that a block that was added is in the file even if this is killed.
            self._file = path.open("r+b" if size else "wb", buffering=0)
            if size:
                self._file.truncate(size)
                self._file.seek(size)
        except OSError as error:
            raise _write_error(path, error) from error
        if not size:
            self._write({"key": key})

    def add(self, number: int, found: list[Finding]) -> None:
        """Keep the findings of a block.

        Raises:
            StorageError: The file cannot be written.
        """
        self.done[number] = found
        self._write({"block": number, "findings": [asdict(finding) for finding in found]})

    def close(self) -> None:
        """Leave the file for a later scan."""
        self._file.close()

    def _write(self, record: dict[str, object]) -> None:
        """Append a line; an unbuffered file may take only part of it at once."""
        data = memoryview(_line(record))
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            self.close()
            raise _write_error(self.path, error) from error

    def _read(self, key: str) -> int:
        """Read the blocks that were kept for this key; returns the size of the sound lines.

        The last line may be cut off, where the scan was killed while it wrote.
        """
        try:
            lines = self.path.read_bytes().splitlines(keepends=True)
        except OSError:
            return 0
        head = _line({"key": key})
        if lines[:1] != [head]:
            return 0
        size = len(head)
        for line in lines[1:]:
            try:
                # This reader refuses NaN and lone surrogates, which would fail later, in writing.
                done = msgspec.json.decode(line, type=_Block)
            except (ValueError, RecursionError):
                break
            if not line.endswith(b"\n"):
                break
            self.done[done.block] = done.findings
            size += len(line)
        return size


def _line(record: dict[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def _write_error(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: cannot be written ({error.strerror or error})")
