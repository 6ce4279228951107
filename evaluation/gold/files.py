"""Gold links in files: JSON lines, tables with tabs, TREC qrels with their topics.

`read_gold` reads any of them, through `make_link`, which checks a record and says in which field of
which line a fault is. `write_gold`, `write_table` and `write_trec` write them.
"""

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, TextIO, get_args

from msgspec import Meta, Struct

from allusion_es.core.errors import InputError, UsageError
from allusion_es.core.files import read_text, write_lines
from allusion_es.core.records import FilledText, checked, checked_id, parse_json
from allusion_es.corpora.bible.references import find_references
from allusion_es.corpora.tables import read_rows
from allusion_es.evaluation.gold.ids import read_references
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.trec import (
    Judgement,
    read_qrels,
    read_topics,
    topic_line,
    write_qrels,
)
from allusion_es.retrieval.types import Query

GoldKind = Literal["jsonl", "tsv", "trec"]
"""A format of files of gold links."""

GOLD_KINDS: tuple[GoldKind, ...] = get_args(GoldKind)

_QUERY_FIELDS = frozenset({"query_id", "text", "before", "after", "anchor"})
_REQUIRED = ("text", "relevant")

_SUFFIXES: dict[str, GoldKind] = {
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "tsv",
    ".qrels": "trec",
    ".qrel": "trec",
}

_NO_NAMES: Mapping[str, str] = MappingProxyType({})

_OSIS = re.compile(r"\w+(?:\.[0-9]+){1,2}(?:-\w+(?:\.[0-9]+){1,2})?")
"""The form of an OSIS id of a verse or chapter, or of a range of them."""

_Ids = Annotated[str | list[FilledText], Meta(description="a list of strings")]
"""Ids or references, as a list or in one string that `split_ids` cuts."""


class _GoldRecord(Struct):
    """A line of JSON or a row of a table, without what it leaves empty."""

    query_id: str | int | None = None
    text: str = ""
    before: str = ""
    after: str = ""
    anchor: str = ""
    relevant: _Ids = ""
    type: str = ""
    author: str = ""
    title: str = ""
    source_ids: _Ids = ""
    source: str = ""
    licence: str = ""
    translation: str = ""


COLUMNS = _GoldRecord.__struct_fields__
"""The fields of a gold link, in the order in which they are written."""


def read_gold(
    path: Path,
    kind: str | None = None,
    topics: Path | None = None,
    columns: Mapping[str, str] = _NO_NAMES,
) -> list[GoldLink]:
    r"""The gold links of a file, in its order.

    JSON lines: one object a line, with `text` and `relevant`, and any other of
    `COLUMNS`. Tables: the same columns, with a header, and with tabs or as a `.csv`; in `relevant`
    and `source_ids`, ids or references with blanks or semicolons between them. TREC: qrels, and
    topics beside them. The id of a link without `query_id` is the number of its line. Other fields
    are ignored.

    Args:
        path: A UTF-8 file; the endings `.jsonl`, `.tsv`, `.csv` and `.qrels` tell its format.
        kind: Its format, one of `GOLD_KINDS`; by default the name's ending tells it.
        topics: The topics of qrels; by default the file of the same name that ends in `.topics`.
        columns: The table's own names of columns, by the name in `COLUMNS`.

    Returns:
        The links, with `relevant` as the file has it: ids, or references such as `Ps 22,1-3`,
        which `gold.ids.resolve` turns into ids.

    Raises:
        InputError: A line cannot be read, a query has no words or nothing relevant, or a query
            id or link is there twice; the message names file, line and field.
        UsageError: There is no such format, or the file's name does not tell it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "links.tsv")
        ...     _ = path.write_text("text\trelevant\nin principio erat\tGen 1,1; Ioh 1,1\n")
        ...     [(link.query.query_id, link.relevant) for link in read_gold(path)]
        [('2', ('Gen 1,1', 'Ioh 1,1'))]
    """
    chosen = kind or _SUFFIXES.get(path.suffix.lower(), "")
    if not chosen and path.is_file():
        raise UsageError(
            f"{path}: its name does not say what kind of gold file it is; let it end in .jsonl, "
            ".csv, .tsv or .qrels"
        )
    if not chosen:
        raise InputError(f"{path}: there is no such file; give a file of gold links")
    if chosen not in GOLD_KINDS:
        raise UsageError(f"no kind of gold file is {kind!r}; give one of {', '.join(GOLD_KINDS)}")
    if topics is not None and chosen != "trec":
        raise UsageError(
            f"topics go with TREC qrels, but {path} is read as {chosen}", argument="topics"
        )
    if chosen == "trec":
        links = list(_read_trec(path, topics or path.with_suffix(".topics")))
    else:
        links = list(_read_table(path, columns) if chosen == "tsv" else _read_json_lines(path))
    if not links:
        raise InputError(f"{path}: there is no gold link in it; give at least one")
    _check_query_ids(links, path)
    return links


def write_gold(target: Path | TextIO, links: Iterable[GoldLink]) -> None:
    """Write links as JSON lines, which `read_gold` reads as the same links.

    Args:
        target: A file, written whole or not at all, or an open stream.
        links: The links; empty fields are left out.

    Raises:
        StorageError: The file cannot be written.

    Example:
        >>> import sys
        >>> from allusion_es.retrieval.types import Query
        >>> write_gold(sys.stdout, [GoldLink(Query("omni scientiae", "b-1"), ("Eph.3.19",))])
        {"query_id": "b-1", "text": "omni scientiae", "relevant": ["Eph.3.19"]}
    """
    records = ({name: value for name, value in values_of(link).items() if value} for link in links)
    write_lines(target, (json.dumps(record, ensure_ascii=False) for record in records))


def write_table(target: Path | TextIO, links: Iterable[GoldLink]) -> None:
    r"""Write links as a table with tabs and all columns; line ends and tabs become blanks.

    Args:
        target: A file, written whole or not at all, or an open stream.
        links: The links.

    Raises:
        UsageError: An id contains blanks or semicolons, which separate ids in a table.
        StorageError: The file cannot be written.

    Example:
        >>> import io
        >>> from allusion_es.retrieval.types import Query
        >>> file = io.StringIO()
        >>> write_table(file, [GoldLink(Query("in\nprincipio", "q"), ("Gen.1.1",))])
        >>> file.getvalue().split("\n")[1].split("\t")[:6]
        ['q', 'in principio', '', '', '', 'Gen.1.1']
    """
    header = "\t".join(COLUMNS)
    rows = ("\t".join(_cell(value) for value in values_of(link).values()) for link in links)
    write_lines(target, itertools.chain([header], rows))


def write_trec(
    qrels: Path, links: Iterable[GoldLink], note: Callable[[str], None] = lambda _: None
) -> Path:
    """Write links as qrels, and their words as topics (`id TAB text`) beside them.

    Args:
        qrels: Where the qrels go; the topics get the same name, ending in `.topics`.
        links: The links; only ids and words are written.
        note: Called with a note if ids were escaped, since they contain blanks or `%`.

    Returns:
        The path of the topics.

    Raises:
        UsageError: An id is empty, or both files would be the same.
        StorageError: A file cannot be written.
    """
    kept = list(links)
    topics = qrels.with_suffix(".topics")
    if topics == qrels:
        raise UsageError(f"{qrels}: the topics would lie there; name the qrels otherwise")
    if any("" in (link.query.query_id, *link.relevant) for link in kept):
        raise UsageError("an empty id cannot stand in a TREC file; name each query and passage")
    write_lines(topics, (topic_line(link.query.query_id, link.query.text) for link in kept))
    write_qrels(qrels, {link.query.query_id: link.relevant for link in kept}, note)
    return topics


FieldValue = str | tuple[str, ...]
"""The value of a field: a text, or ids."""


def values_of(link: GoldLink) -> dict[str, FieldValue]:
    """The fields of a link, in the order of `COLUMNS`."""
    return {name: getattr(link.query if name in _QUERY_FIELDS else link, name) for name in COLUMNS}


def make_link(record: Mapping[str, object], path: Path, line: int) -> GoldLink:
    """The gold link of a record, checked; fields that are not among `COLUMNS` are ignored.

    Args:
        record: Strings, and for `relevant` and `source_ids` lists of strings, or strings with
            blanks or semicolons between ids. A field that is missing or None is empty; a query id
            that is missing is the number of the line.
        path: The file, for messages.
        line: The number of the line.

    Raises:
        InputError: A field is of another type, the query is empty, nothing is relevant, or a
            passage is relevant twice; the message names file, line and field.
    """
    place = f"{path}:{line}"
    given = {name: record[name] for name in COLUMNS if record.get(name) is not None}
    row = checked(given, _GoldRecord, place)
    query_id = checked_id(line if row.query_id is None else row.query_id, place)
    if not row.text.strip():
        raise InputError(
            f"{place}: field 'text' of query {query_id!r} is empty; give at least one word"
        )
    relevant, source_ids = _ids(row.relevant), _ids(row.source_ids)
    if not relevant:
        raise InputError(f"{place}: field 'relevant' is empty; name at least one passage")
    for name, ids in (("relevant", relevant), ("source_ids", source_ids)):
        if len(set(ids)) < len(ids):
            twice = next(each for each in ids if ids.count(each) > 1)
            raise InputError(
                f"{place}: field {name!r} of query {query_id!r} has {twice!r} twice; name each "
                "passage once"
            )
    query = Query(row.text, query_id, row.before, row.after, row.anchor)
    return GoldLink(
        query, relevant, row.type, row.author, row.title, source_ids, row.source, row.licence,
        row.translation, line,
    )  # fmt: skip


def _ids(value: str | list[FilledText]) -> tuple[str, ...]:
    return split_ids(value) if isinstance(value, str) else tuple(value)


def split_ids(cell: str) -> tuple[str, ...]:
    """The ids or references of a cell, with blanks or semicolons between them.

    A list of references is cut only if each part alone means what it means in the list. A cell
    with a book's name that cannot be read is not cut if a part alone would be a whole book or
    chapter (`Is 7,14; Ps`).

    Example:
        >>> split_ids("Ps.22.1 Isa.7.14"), split_ids("Ps 22,1-3; Is 7,14"), split_ids("b-1; b-2")
        (('Ps.22.1', 'Isa.7.14'), ('Ps 22,1-3', 'Is 7,14'), ('b-1', 'b-2'))
        >>> split_ids("Ps 22,1; 23,2")  # the second belongs to the book of the first
        ('Ps 22,1; 23,2',)
        >>> split_ids("Is. LV")  # not Isaiah and Leviticus
        ('Is. LV',)
    """
    words = tuple(cell.split())
    parts = tuple(part.strip() for part in cell.split(";") if part.strip())
    if all(map(_is_osis, words)):
        return words
    whole = read_references(cell)
    if whole:
        alone = [reference for part in parts for reference in read_references(part)]
        return parts if tuple(alone) == whole else (cell.strip(),)
    if not _names_a_book(cell):
        return parts if ";" in cell else words
    if any(not reference.verse for part in parts for reference in read_references(part)):
        return (cell.strip(),)
    return parts


def _is_osis(word: str) -> bool:
    return _OSIS.fullmatch(word) is not None and bool(read_references(word))


def _names_a_book(cell: str) -> bool:
    """True if a book's name and a number stand in a cell, or it has a book among several words."""
    if find_references(cell):
        return True
    words = cell.split()
    return len(words) > 1 and any(map(read_references, words))


def _read_json_lines(path: Path) -> Iterator[GoldLink]:
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        record = parse_json(line, f"{path}:{number}")
        if not isinstance(record, dict):
            raise InputError(f"{path}:{number}: {line[:40]!r} is no object; give one a line")
        yield make_link(record, path, number)


def _read_table(path: Path, columns: Mapping[str, str]) -> Iterator[GoldLink]:
    others = [name for name in COLUMNS if name not in _REQUIRED]
    for number, cells in read_rows(path, _REQUIRED, others, columns, command="gold convert "):
        # Rows of empty cells, as spreadsheets leave them, are passed over.
        if record := {name: cell for name, cell in cells.items() if cell}:
            yield make_link(record, path, number)


def _read_trec(path: Path, topics: Path) -> Iterator[GoldLink]:
    by_query: dict[str, list[Judgement]] = {}
    for judgement in read_qrels(path):
        if judgement.grade > 0:
            by_query.setdefault(judgement.query_id, []).append(judgement)
    texts = read_topics(topics)
    for query_id, found in by_query.items():
        if query_id not in texts:
            raise InputError(
                f"{path}:{found[0].line}: query {query_id!r} is not in {topics}; add its words "
                "there"
            )
    for query_id, text in texts.items():
        if query_id not in by_query:
            raise InputError(
                f"{topics}: no passage is relevant to query {query_id!r} in {path}; add one, or "
                "leave the topic out"
            )
        relevant = [judgement.passage for judgement in by_query[query_id]]
        record = {"query_id": query_id, "text": text, "relevant": relevant}
        yield make_link(record, path, by_query[query_id][0].line)


def _check_query_ids(links: Iterable[GoldLink], path: Path) -> None:
    seen: dict[str, int] = {}
    for link in links:
        query_id = link.query.query_id
        if query_id in seen:
            raise InputError(
                f"{path}:{link.line}: query_id {query_id!r} is also on line {seen[query_id]}; "
                "give each query one line, with all its passages"
            )
        seen[query_id] = link.line


def _cell(value: FieldValue) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    for name in value:
        if ";" in name or len(name.split()) != 1:
            raise UsageError(
                f"{name!r} cannot stand in a table of gold links; ids must not contain blanks or "
                "semicolons"
            )
    return " ".join(value)
