"""What a scan has done so far, in a file, so that one that was stopped goes on."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from allusion_es.core.code import code_hash
from allusion_es.core.errors import StorageError
from allusion_es.corpora.findings import Alternative, Finding
from allusion_es.corpora.source import SourceText
from allusion_es.scanning.options import ScanOptions

SUFFIX = ".scan"
"""How the names of journals end."""

_PARTS = ("core", "language", "retrieval", "es", "corpora", "scanning")


def scan_key(source: SourceText, options: ScanOptions, fingerprint: str) -> str:
    """Another one for everything that could change the findings.

    Args:
        source: The text.
        options: What is looked for.
        fingerprint: That of the index.
    """
    within = options.within
    chosen = [
        options.threshold, options.precision, options.fast, options.top,
        sorted(within.books), sorted(within.testaments), sorted(within.works),
    ]  # fmt: skip
    text = hashlib.sha256(source.text.encode("utf-8", "surrogatepass")).hexdigest()
    what = json.dumps([code_hash(*_PARTS), text, chosen, fingerprint])
    return hashlib.sha256(what.encode()).hexdigest()


class Journal:
    """The findings of the blocks of a text that are done, a line each.

    Args:
        path: Where; the first line says what for.
        key: What for; see `scan_key`.
        resume: Keep what the file has for the same; otherwise it is begun anew.

    Attributes:
        done: The findings of each block that is done, by its number.

    Raises:
        StorageError: It cannot be written.
    """

    def __init__(self, path: Path, key: str, *, resume: bool) -> None:
        self.path = path
        lines = list(_sound_lines(path, key)) if resume else []
        self.done: dict[int, list[Finding]] = dict(lines)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: TextIO = path.open("w", encoding="utf-8")
        except OSError as error:
            raise _unwritten(path, error) from error
        self._write({"key": key})
        for number, found in lines:
            self.add(number, found)

    def add(self, number: int, found: list[Finding]) -> None:
        """Keep the findings of a block.

        Raises:
            StorageError: The file cannot be written.
        """
        self._write({"block": number, "findings": [asdict(finding) for finding in found]})

    def remove(self) -> None:
        """Everything is done and written elsewhere."""
        self.close()
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Leave the file for a later scan."""
        self._file.close()

    def _write(self, record: dict[str, object]) -> None:
        try:
            self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
            self._file.flush()
        except OSError as error:
            raise _unwritten(self.path, error) from error


def _unwritten(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: cannot be written ({error.strerror or error})")


def _sound_lines(path: Path, key: str) -> Iterator[tuple[int, list[Finding]]]:
    """What was kept for this key, up to the line at which writing was cut off."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    try:
        if not lines or json.loads(lines[0]) != {"key": key}:
            return
        for line in lines[1:]:
            record = json.loads(line)
            yield int(record["block"]), [_finding(one) for one in record["findings"]]
    except (ValueError, KeyError, TypeError):
        return


def _finding(record: dict[str, Any]) -> Finding:
    others = tuple(
        Alternative(**{**other, "passages": tuple(other["passages"])})
        for other in record["alternatives"]
    )
    parts = {"passages": tuple(record["passages"]), "words": tuple(record["words"])}
    return Finding(**{**record, **parts, "alternatives": others})
