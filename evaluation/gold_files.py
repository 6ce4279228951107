"""Gold links in files: JSON lines, tables with tabs, TREC qrels with their topics."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TextIO, get_args

from allusion_es.core.errors import InputError, UsageError
from allusion_es.core.files import read_text, write_lines
from allusion_es.evaluation.gold import GoldLink
from allusion_es.evaluation.gold_fields import make_link, values_of
from allusion_es.evaluation.gold_table import read_table, table_lines
from allusion_es.evaluation.trec import (
    Judgement,
    read_qrels,
    read_topics,
    topic_line,
    write_qrels,
)

GoldKind = Literal["jsonl", "tsv", "trec"]
"""How gold links are written down."""

GOLD_KINDS: tuple[GoldKind, ...] = get_args(GoldKind)

_NO_NAMES: Mapping[str, str] = MappingProxyType({})
_SUFFIXES: dict[str, GoldKind] = {
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "tsv",
    ".qrels": "trec",
    ".qrel": "trec",
}


def read_gold(
    path: Path,
    kind: str | None = None,
    topics: Path | None = None,
    columns: Mapping[str, str] = _NO_NAMES,
) -> list[GoldLink]:
    r"""The gold links of a file, in its order.

    JSON lines: one object a line, with `text` and `relevant`, and any other of
    `gold_fields.COLUMNS`. Tables: the same columns, with a header, and with tabs or as a `.csv`;
    in `relevant` and `source_ids`, ids or references with blanks or semicolons between them.
    TREC: qrels, and topics beside them. A link without `query_id` is named by its line. Other
    fields are passed over.

    Args:
        path: A UTF-8 file; `.jsonl`, `.tsv`, `.csv` and `.qrels` are known by their names.
        kind: One of `GOLD_KINDS`, where the file's name does not say.
        topics: The topics of qrels; by default the file of the same name that ends in `.topics`.
        columns: What a table calls its columns, where it is another name.

    Returns:
        The links, with `relevant` as the file has it: ids, or references such as `Ps 22,1-3`,
        which `gold_check.resolve` turns into ids.

    Raises:
        InputError: A line cannot be read, a query has no words or nothing relevant, or a query
            id or link is there twice; the message names file, line and field.
        UsageError: There is no such kind, or the name does not say which it is.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "links.tsv")
        ...     _ = path.write_text("text\trelevant\nin principio erat\tGen 1,1; Ioh 1,1\n")
        ...     [(link.query.query_id, link.relevant) for link in read_gold(path)]
        [('2', ('Gen 1,1', 'Ioh 1,1'))]
    """
    chosen = kind or _SUFFIXES.get(path.suffix.lower(), "")
    if chosen not in GOLD_KINDS:
        told = f"no kind of gold file is {kind!r}" if kind else f"{path}: its name does not say"
        raise UsageError(f"{told}; say that it is one of {', '.join(GOLD_KINDS)}")
    if topics is not None and chosen != "trec":
        raise UsageError(f"topics go with TREC qrels, but {path} is read as {chosen}")
    if chosen == "trec":
        links = list(_read_trec(path, topics or path.with_suffix(".topics")))
    else:
        links = list(read_table(path, columns) if chosen == "tsv" else _read_json_lines(path))
    if not links:
        raise InputError(f"{path}: there is no gold link in it; give at least one")
    _check_ids(links, path)
    return links


def write_gold(target: Path | TextIO, links: Iterable[GoldLink]) -> None:
    """Write links as JSON lines, which `read_gold` reads as the same links.

    Args:
        target: A file, written whole or not at all, or an open stream.
        links: What to write; fields that are empty are left out.

    Raises:
        StorageError: The file cannot be written.

    Example:
        >>> import sys
        >>> from allusion_es.retrieval.types import Query
        >>> write_gold(sys.stdout, [GoldLink(Query("omni scientiae", "b-1"), ("Eph.3.19",))])
        {"query_id": "b-1", "text": "omni scientiae", "relevant": ["Eph.3.19"]}
    """
    write_lines(target, map(_json_line, links))


def write_table(target: Path | TextIO, links: Iterable[GoldLink]) -> None:
    """Write links as a table with tabs; see `gold_table.table_lines`.

    Raises:
        UsageError: An id contains blanks or semicolons.
        StorageError: The file cannot be written.
    """
    write_lines(target, table_lines(links))


def write_trec(
    qrels: Path, links: Iterable[GoldLink], note: Callable[[str], None] = lambda _: None
) -> Path:
    """Write links as qrels, and their words as topics (`id TAB text`) beside them.

    Args:
        qrels: Where the qrels go; the topics get the same name, ending in `.topics`.
        links: What to write; only ids and words are kept.
        note: Called with a note if ids were escaped, since they contain blanks or `%`.

    Returns:
        Where the topics are.

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


def _json_line(link: GoldLink) -> str:
    return json.dumps(
        {name: value for name, value in values_of(link).items() if value}, ensure_ascii=False
    )


def _read_json_lines(path: Path) -> Iterator[GoldLink]:
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}:{number}: not JSON ({error}); give one object a line") from (
                error
            )
        if not isinstance(record, dict):
            raise InputError(f"{path}:{number}: {line[:40]!r} is no object; give one a line")
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


def _check_ids(links: Iterable[GoldLink], path: Path) -> None:
    seen: dict[str, int] = {}
    for link in links:
        query_id = link.query.query_id
        if query_id in seen:
            raise InputError(
                f"{path}:{link.line}: query_id {query_id!r} is also on line {seen[query_id]}; "
                "give each query one line, with all its passages"
            )
        seen[query_id] = link.line
