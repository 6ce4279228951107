"""Span annotations from files of any supported format.

`read_spans` finds out the format of each file, reads it, and checks that the files agree with each
other. brat and WebAnno have modules of their own; JSON lines and tables are read here.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from allusion_es.annotation.formats.brat import read_brat
from allusion_es.annotation.formats.webanno import HEAD, read_webanno
from allusion_es.annotation.spans import SpanAnnotation
from allusion_es.annotation.store import is_store, spans
from allusion_es.core.errors import InputError
from allusion_es.core.records import checked
from allusion_es.corpora.passage_files import LONGEST_ID
from allusion_es.corpora.tables import read_lines, read_rows, shortened

MOST_TOKENS = 10_000_000
"""Most tokens that a text may have, far more than any real one; larger numbers are mistakes."""

_RESERVED_NAMES = {
    "CURATION_USER": "the curation, which is made from the annotations",
    "CORRECTION_USER": "the correction of a text that was annotated before",
    "INITIAL_CAS": "the document before anybody annotated it",
}
"""Names that INCEpTION and WebAnno use for files that are nobody's annotation."""

_RESERVED_NAME = re.compile(rf"(?<![A-Z])(?:{'|'.join(_RESERVED_NAMES)})(?![A-Z])")

_SKIPPED_FOLDERS = {
    "curation": "below the folder of curations",
    "curation_ser": "below the folder of curations",
    "annotation_ser": "below the folder of annotations in another format",
    "__macosx": "put there by the program that packed the folder",
}
"""Folders of an export, and beside it, that hold no annotations of their own."""

_SUFFIXES = frozenset({".ann", ".tsv", ".csv", ".jsonl"})
_NEEDED = ("instance", "annotator", "start", "end")
_ADVICE = f"name each of {', '.join(_NEEDED)}, or give JSON lines, brat or WebAnno TSV 3 files"
_YES = frozenset({"true", "yes", "1"})
_NO = frozenset({"false", "no", "0", ""})

_Number = Annotated[int | None, Meta(description="a whole number")]


class _SpanRecord(Struct):
    """A line of JSON or a row of a table, without what it leaves empty."""

    instance: str = ""
    annotator: str = ""
    start: _Number = None
    end: _Number = None
    doubt: bool = False
    type: str = ""
    tokens: _Number = None
    anchor: str | None = None


_COLUMNS = _SpanRecord.__struct_fields__
_OPTIONAL = tuple(name for name in _COLUMNS if name not in _NEEDED)


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file among annotations that is no annotation, and was not read.

    Attributes:
        where: The file.
        name: The annotator that its name would stand for, or "".
        why: Why it was left out.
    """

    where: str
    name: str
    why: str


def read_spans(
    paths: Iterable[Path], layer: str | None = None, skipped: list[SkippedFile] | None = None
) -> list[SpanAnnotation]:
    r"""Read the annotations of all files, in their order.

    The format is found out from each file's name and first bytes:

    - a store that `allusion-es annotate` made;
    - brat stand-off, `NAME.ann` beside `NAME.txt` (see `annotation.formats.brat`);
    - WebAnno TSV 3, from WebAnno or INCEpTION (see `annotation.formats.webanno`);
    - JSON lines with `instance`, `annotator`, `start` and `end` (numbers, or null where no span was
      given), and if wanted `doubt` (true or false), `type`, `tokens` (how many the text has), and
      `anchor` (the word that the span had to include; "" where there was none);
    - else a table, CSV or TSV as `corpora.tables.read_rows` reads them, with columns of these names
      (`start` and `end` empty where no span was given, `doubt` true, yes or 1).

    Of a folder, all `.ann`, `.tsv`, `.csv` and `.jsonl` files in it and below are read, in the
    order of their names, but hidden ones and those of an export's folders for curation. What
    INCEpTION and WebAnno keep under the names `CURATION_USER`, `CORRECTION_USER` and `INITIAL_CAS`
    is nobody's annotation and left out everywhere. `start` and `end` count tokens from 0, `end`
    exclusive. Not for a store that this process has open: it would lose its locks.

    Args:
        paths: Files and folders.
        layer: Which span layer of WebAnno files to read, if there are several.
        skipped: Files that are left out are added to this list.

    Raises:
        InputError: A file cannot be read, all files were left out, an instance is annotated
            twice by the same annotator, or two annotations give its text different lengths, or
            one an anchor and another none; the message says where.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "spans.tsv")
        ...     _ = path.write_text("instance\tannotator\tstart\tend\nb-1\tanna\t2\t6\n")
        ...     [(row.instance, row.start, row.end) for row in read_spans([path])]
        [('b-1', 2, 6)]
    """
    found: list[SpanAnnotation] = []
    seen: dict[tuple[str, str], str] = {}
    tokens: dict[str, tuple[int, str]] = {}
    anchors: dict[str, tuple[bool, str]] = {}
    # One entry for each file and name, however many rows they have.
    left_out: dict[tuple[str, str], SkippedFile] = {}
    for path in paths:
        for file in _files(path):
            if other := _no_annotation(file, path):
                left_out[other.where, other.name] = other
                continue
            for row in _read(file, layer):
                if why := _why_reserved(row.annotator):
                    left_out[str(file), row.annotator] = SkippedFile(str(file), row.annotator, why)
                    continue
                where = f"{file}:{row.line}" if row.line else str(file)
                _check(row, where, seen, tokens, anchors)
                found.append(row)
    if left_out and not found:
        first = next(iter(left_out.values()))
        raise InputError(
            f"{first.where}: left out, since it is {first.why}, and there is nothing else; give "
            "the annotators' files"
        )
    if skipped is not None:
        skipped += left_out.values()
    return found


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(p for p in path.rglob("*") if p.suffix.lower() in _SUFFIXES and p.is_file())
    if not files:
        raise InputError(f"{path}: no .ann, .tsv, .csv or .jsonl file in this folder; name another")
    return files


def _no_annotation(file: Path, given: Path) -> SkippedFile | None:
    """The file with a reason, if its name or folders say that it is nobody's annotation.

    Args:
        file: The file.
        given: The file or folder that the user named; folders above it do not matter.
    """
    is_brat = file.suffix.lower() == ".ann"
    name = file.absolute().parent.name if is_brat else file.stem
    if why := _why_reserved(name):
        return SkippedFile(str(file), name, why)
    if file == given:
        return None
    parts = file.relative_to(given).parts
    if any(part.startswith(".") for part in parts):
        return SkippedFile(str(file), "", "hidden")
    for number, part in enumerate(parts[:-1]):
        why = _SKIPPED_FOLDERS.get(part.lower(), "")
        beside = given.joinpath(*parts[:number], "annotation")
        # Elsewhere an annotator, or a document, may have such a name.
        if why and (part.lower() == "__macosx" or beside.is_dir()):
            return SkippedFile(str(file), "", why)
    return None


def _why_reserved(name: str) -> str:
    """The reason why a name is no annotator's, also inside another (`s_CURATION_USER`); or ""."""
    match = _RESERVED_NAME.search(name.upper())
    return _RESERVED_NAMES[match[0]] if match else ""


def _read(path: Path, layer: str | None) -> Iterable[SpanAnnotation]:
    """The annotations of one file."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    if is_store(path):
        return spans(path)
    if path.suffix.lower() == ".ann":
        return read_brat(path)
    text = head.decode("utf-8-sig", errors="replace").lstrip()
    if not text:
        raise InputError(f"{path}: the file is empty; give annotations")
    if text.startswith(HEAD):
        return read_webanno(path, layer)
    return _json_lines(path) if text.startswith("{") else _table(path)


def _check(
    row: SpanAnnotation,
    where: str,
    seen: dict[tuple[str, str], str],
    tokens: dict[str, tuple[int, str]],
    anchors: dict[str, tuple[bool, str]],
) -> None:
    """Refuse an annotation with odd names, or one that contradicts those read before.

    Args:
        row: The annotation.
        where: File and line, for messages.
        seen: File and line of each instance and annotator so far; is added to.
        tokens: Length of each instance's text and where it was said; is added to.
        anchors: Whether each instance has an anchor, and where it was said; is added to.
    """
    for name, value in (("instance", row.instance), ("annotator", row.annotator)):
        if not value or not value.isprintable() or len(value.encode()) > LONGEST_ID:
            raise InputError(
                f"{where}: field {name!r} is {shortened(value)}; give a name of printable "
                f"characters, at most {LONGEST_ID} bytes"
            )
    if not row.type.isprintable():
        raise InputError(f"{where}: field 'type' is {shortened(row.type)}; give plain text")
    first = seen.setdefault((row.instance, row.annotator), where)
    if first != where:
        raise InputError(
            f"{where}: instance {shortened(row.instance)} was annotated by "
            f"{shortened(row.annotator)} before ({first}); give one annotation for each instance "
            "and annotator"
        )
    if row.has_anchor is not None:
        has_anchor, before = anchors.setdefault(row.instance, (row.has_anchor, where))
        if has_anchor != row.has_anchor:
            here, there = ("an anchor", "none") if row.has_anchor else ("no anchor", "one")
            raise InputError(
                f"{where}: instance {shortened(row.instance)} has {here}, but {there} at "
                f"{before}; annotate the same links"
            )
    if not row.tokens:
        return
    length, before = tokens.setdefault(row.instance, (row.tokens, where))
    if length != row.tokens:
        raise InputError(
            f"{where}: the text of instance {shortened(row.instance)} has {row.tokens} tokens, but "
            f"{length} at {before}; annotate the same text"
        )


def _json_lines(path: Path) -> Iterator[SpanAnnotation]:
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{where}: {shortened(line.strip())} is no JSON ({error}); give one object a line"
            ) from error
        if not isinstance(record, dict):
            raise InputError(f"{where}: {shortened(line.strip())} is no JSON object; give one")
        yield _annotation(record, where, number)


def _table(path: Path) -> Iterator[SpanAnnotation]:
    """The annotations of a table, each row turned into a record as in JSON lines."""
    for number, cells in read_rows(path, _NEEDED, _OPTIONAL, advice=_ADVICE):
        # Rows of empty cells, as spreadsheets leave them, are passed over.
        if any(cells.values()):
            yield _annotation(_typed(cells), f"{path}:{number}", number)


def _typed(cells: Mapping[str, str]) -> dict[str, object]:
    """A table's row with numbers and truth values in place of their texts."""
    record: dict[str, object] = dict(cells)
    for name in ("start", "end", "tokens"):
        cell = cells.get(name, "")
        # Not `int`: it takes blanks, signs and underlines.
        if cell.isascii() and cell.isdecimal() and len(cell) < 20:
            record[name] = int(cell)
        elif not cell:
            record[name] = None
    doubt = cells.get("doubt", "").casefold()
    if doubt in _YES | _NO:
        record["doubt"] = doubt in _YES
    return record


def _annotation(record: Mapping[str, object], where: str, line: int) -> SpanAnnotation:
    """The annotation that a record describes; fields other than `_COLUMNS` are ignored."""
    for name in _NEEDED:
        if name not in record:
            raise InputError(f"{where}: there is no field {name!r}; give {', '.join(_NEEDED)}")
    given = {name: record[name] for name in _COLUMNS if record.get(name) is not None}
    row = checked(given, _SpanRecord, where)
    start, end, tokens = row.start, row.end, row.tokens
    if (start is None) != (end is None):
        raise InputError(
            f"{where}: field 'start' is {start}, field 'end' {end}; give both, or neither where "
            "no span was marked"
        )
    limit = tokens or MOST_TOKENS
    if start is not None and end is not None and not 0 <= start < end <= limit:
        raise InputError(
            f"{where}: field 'start' is {start}, field 'end' {end}; give places with "
            f"0 ≤ start < end ≤ {limit}, the end exclusive"
        )
    if tokens is not None and not 0 <= tokens <= MOST_TOKENS:
        raise InputError(f"{where}: field 'tokens' is {tokens}; give 1 to {MOST_TOKENS}")
    bare = SpanAnnotation(row.instance, row.annotator, start, end, type=row.type)
    has_anchor = None if row.anchor is None else bool(row.anchor.strip())
    return replace(bare, doubt=row.doubt, line=line, tokens=tokens or 0, has_anchor=has_anchor)
