"""What a scan has done so far, in a file, so that one that was stopped goes on."""

import hashlib
import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from allusion_es.core.code import code_hash
from allusion_es.core.errors import StorageError
from allusion_es.corpora.findings import Alternative, Finding
from allusion_es.corpora.source_text import SourceText
from allusion_es.scanning.model import ScanOptions, calibration_hash

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
    what = json.dumps([code_hash(*_PARTS), calibration_hash(), text, chosen, fingerprint])
    return hashlib.sha256(what.encode()).hexdigest()


class Journal:
    """The findings of the blocks of a text that are done, a line each.

    Args:
        path: Where; the first line says what for.
        key: What for; see `scan_key`.
        resume: Keep what the file has for the same; otherwise it is begun anew.

    Attributes:
        path: Where.
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
            # What is sound stays where it is: a scan may be stopped again at any moment.
            self._file = path.open("r+b" if size else "wb", buffering=0)
            if size:
                self._file.truncate(size)
                self._file.seek(size)
        except OSError as error:
            raise _unwritten(path, error) from error
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
        data = memoryview(_line(record))
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            self.close()
            raise _unwritten(self.path, error) from error

    def _read(self, key: str) -> int:
        """Take over what was kept for this key; gives the bytes up to where writing was cut off."""
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
                record = json.loads(line)
                found = [_finding(one) for one in record["findings"]]
                number = record["block"]
            except (ValueError, KeyError, TypeError, RecursionError):
                break
            if type(number) is not int or not line.endswith(b"\n"):
                break
            self.done[number] = found
            size += len(line)
        return size


def _line(record: dict[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def _unwritten(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: cannot be written ({error.strerror or error})")


def _finding(record: dict[str, Any]) -> Finding:
    """The finding of a record; raises `ValueError`, `KeyError` or `TypeError` if it is none."""
    others = tuple(
        Alternative(**_checked({**other, "passages": tuple(other["passages"])}))
        for other in record["alternatives"]
    )
    parts = {"passages": tuple(record["passages"]), "words": tuple(record["words"])}
    return Finding(**_checked({**record, **parts, "alternatives": others}))


_KINDS: dict[str, tuple[type, ...]] = {
    "start": (int,),
    "end": (int,),
    "text": (str,),
    "passages": (tuple,),
    "reference": (str,),
    "score": (int, float),
    "probability": (int, float),
    "kind": (str,),
    "words": (tuple,),
    "alternatives": (tuple,),
    "calibrated": (bool,),
}


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    """The values, if they are what findings have."""
    for name, value in values.items():
        if type(value) not in _KINDS[name]:
            raise TypeError(name)
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(name)
    texts = (value for value in values.values() if isinstance(value, str))
    "".join((*texts, *values["passages"], *values.get("words", ()))).encode()
    return values
