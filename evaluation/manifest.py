"""Manifests: records of all that an evaluation's figures depend on, to repeat and check it.

A manifest has the options, hashes of the files that were read, facts of the index, versions of the
code, and hashes of the runs and of the table that came out.
"""

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, TypedDict

from allusion_es.core.code import code_hash
from allusion_es.core.errors import InputError
from allusion_es.core.files import read_text, write_lines
from allusion_es.core.records import decoded
from allusion_es.evaluation.runs import Run
from allusion_es.retrieval.index import CandidateIndex

FORMAT: Literal["allusion-es manifest 1"] = "allusion-es manifest 1"
"""The format that a manifest names; another is refused."""

_PACKAGES = (
    "allusion-es", "numpy", "scipy", "gensim", "POT", "pyemd", "simplemma", "mmh3", "elasticsearch",
    "onnxruntime", "tokenizers",
)  # fmt: skip
_CODE = (
    "core", "language", "corpora", "retrieval", "rerankers", "local", "es", "evaluation", "cli",
)  # fmt: skip
"""Packages whose code decides figures, and how they are printed."""


@dataclass(slots=True)
class ResultHashes:
    """The hashes of an evaluation's results.

    Attributes:
        runs: The hash of each run, by the labels of its line in the table.
        table: The hash of all figures, or "" before there are any.
    """

    runs: dict[str, str] = field(default_factory=dict)
    table: str = ""

    def add_table(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Set the hash of the table, given the rows that `--format json` prints."""
        self.table = _hash(json.dumps([dict(row) for row in rows], allow_nan=False))


@dataclass(frozen=True, slots=True)
class Manifest:
    """The record of an evaluation: what it depends on, and the hashes of its results.

    Attributes:
        options: All options of the command, as plain values; no secrets, no addresses.
        inputs: SHA-256 of each file that was read, by its path as it was given.
        index: Name, kind, hash, settings and parts of the index.
        versions: Of the program, its code, Python, the packages that it computes with, the machine.
        runs: As in `ResultHashes`.
        table: As in `ResultHashes`.
    """

    options: Mapping[str, Any]
    inputs: Mapping[str, str]
    index: Mapping[str, Any]
    versions: Mapping[str, str]
    runs: Mapping[str, str] = field(default_factory=dict)
    table: str = ""


class _Record(TypedDict):
    """A manifest's file."""

    format: Literal["allusion-es manifest 1"]
    versions: dict[str, str]
    index: dict[str, Any]
    inputs: dict[str, str]
    options: dict[str, Any]
    runs: dict[str, str]
    table: str


def run_hash(run: Run) -> str:
    """The SHA-256 of a run: each query with its passages, scores and first-stage ranks.

    Example:
        >>> run_hash({})[:8]
        'e3b0c442'
    """
    digest = hashlib.sha256()
    for query_id, found in run.items():
        ranking = found.ranking
        row = [query_id, ranking.ids, ranking.scores.tolist(), found.stage_ranks.tolist()]
        digest.update(json.dumps(row, allow_nan=False).encode() + b"\n")
    return digest.hexdigest()


def file_hashes(paths: Iterable[Path]) -> dict[str, str]:
    """The SHA-256 of files, by their paths as they are given.

    Raises:
        InputError: One cannot be read.
    """
    return {str(path): _file_hash(path) for path in sorted(set(paths))}


def index_facts(index: CandidateIndex, kind: str) -> dict[str, Any]:
    """The facts that tell an index from any other: name, hash, settings, parts, learned files.

    Args:
        index: The index.
        kind: Whether it is in this process or on a server.
    """
    citations = index.citations
    files = citations.path.parent.glob(f"{citations.path.stem}.*") if citations else ()
    return {
        "name": index.name,
        "kind": kind,
        "hash": index.fingerprint,
        "passages": len(index),
        "parts": sorted(index.capabilities),
        "settings": json.loads(json.dumps(index.settings.to_json())),
        "learned": {path.name: _file_hash(path) for path in sorted(files)},
    }


def versions() -> dict[str, str]:
    """Versions of the packages that compute, of Python and the machine, and the hash of the code.

    The machine counts since numpy's sums may differ in the last digit between processors.
    """
    found = {name: _version(name) for name in _PACKAGES}
    return {
        **found,
        "code": code_hash(*_CODE),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{platform.system()} {platform.machine()}",
    }


def differences(then: Mapping[str, Any], now: Mapping[str, Any], what: str) -> list[str]:
    """The differences between two tables of the same kind, each as a short text.

    Example:
        >>> differences({"numpy": "1.26", "b": 1}, {"numpy": "2.0", "b": 1}, "version of")
        ['version of numpy: 1.26 then, 2.0 now']
    """
    return [
        f"{what} {name}: {_shown(then.get(name))} then, {_shown(now.get(name))} now"
        for name in dict.fromkeys([*then, *now])
        if then.get(name) != now.get(name)
    ]


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest, whole or not at all; the same evaluation gives the same bytes.

    Raises:
        StorageError: It cannot be written.
    """
    record: _Record = {
        "format": FORMAT,
        "versions": dict(manifest.versions),
        "index": dict(manifest.index),
        "inputs": dict(manifest.inputs),
        "options": dict(manifest.options),
        "runs": dict(manifest.runs),
        "table": manifest.table,
    }
    write_lines(path, [json.dumps(record, ensure_ascii=False, allow_nan=False, indent=2)])


def read_manifest(path: Path) -> Manifest:
    """The manifest that `write_manifest` wrote.

    Raises:
        InputError: The file cannot be read, or is something else.
    """

    def refused(fault: str) -> InputError:
        return InputError(
            f"{path}: not a manifest ({fault}); 'allusion-es evaluate GOLD --manifest FILE' "
            "writes one"
        )

    record = decoded(read_text(path), _Record, error=refused)
    return Manifest(
        record["options"], record["inputs"], record["index"], record["versions"],
        record["runs"], record["table"],
    )  # fmt: skip


def _shown(value: object) -> str:
    text = str(value)
    return "none" if value is None else text if len(text) <= 24 else f"{text[:12]}…"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _file_hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
