"""TREC files: runs, qrels and topics, as trec_eval and similar tools read and write them.

Blanks end a column in these files. So blanks in ids are escaped as in URLs (`verg.%20aen.%201.1`),
and `%` as `%25`; reading reverses this. Other sequences with `%` are read as they stand.
"""

import html
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from allusion_es.core.errors import InputError, UsageError
from allusion_es.core.files import read_text, write_lines
from allusion_es.retrieval.types import Ranking

_TOPIC = re.compile(r"<top>(.*?)(?:</top>|(?=<top>)|\Z)", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"<num>\s*(?:number:)?\s*([^<\s]+)", re.IGNORECASE)
_TITLE = re.compile(r"<title>\s*(?:topic:)?([^<]*)", re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?[0-9]{1,9}")

_LARGEST = float(np.finfo(np.float32).max)
"""trec_eval holds scores in single precision; those beyond would all be infinite and tied."""

_ESCAPES = {
    character: "".join(f"%{byte:02X}" for byte in character.encode())
    for character in ("%", "\0", *(c for c in map(chr, range(0x3001)) if c.isspace()))
}
"""The escape of each character that ends a column, of `%` itself, and of NUL, which no text has.

All blanks of Unicode lie below U+3001."""

_ESCAPED = {written: character for character, written in _ESCAPES.items()}
_TO_ESCAPE = str.maketrans(_ESCAPES)
_ESCAPE = re.compile("|".join(_ESCAPED), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A line of a qrels file.

    Attributes:
        query_id: The query.
        passage: Id of the passage that was judged.
        grade: How relevant it is; 0 or less means not relevant.
        line: Its line in the file.
    """

    query_id: str
    passage: str
    grade: int
    line: int


def escape(text: str) -> str:
    """The text with blanks escaped, as one column of a TREC file; `unescape` reverses it.

    Example:
        >>> escape("verg. aen. 1.1"), escape("100%"), escape("Ps.33.9")
        ('verg.%20aen.%201.1', '100%25', 'Ps.33.9')
    """
    return text.translate(_TO_ESCAPE)


def unescape(text: str) -> str:
    """The text that `escape` escaped.

    Example:
        >>> unescape("verg.%20aen.%201.1"), unescape("50%"), unescape("%41")
        ('verg. aen. 1.1', '50%', '%41')
    """
    return _ESCAPE.sub(lambda found: _ESCAPED[found[0].upper()], text)


def escape_note(lines: Iterable[str], note: Callable[[str], None]) -> Iterator[str]:
    """The lines of a TREC file, unchanged; calls `note` after the last if ids are escaped.

    Args:
        lines: Lines from `run_lines` or `qrels_lines`.
        note: Called with the note, once, if it is needed.
    """
    first = ""
    for line in lines:
        if not first and "%" in line:
            first = next(word for word in line.split() if "%" in word)
        yield line
    if first:
        note(
            f"blanks and % in ids are escaped in TREC files: {unescape(first)!r} is written {first}"
        )


def read_run(path: Path) -> dict[str, Ranking]:
    r"""The rankings of a run file by query id, in the order of the file.

    Passages are ranked as trec_eval ranks them: by score in single precision, from high to low;
    of equal scores the greater id comes first. The column of ranks is ignored. Ids that `escape`
    wrote are unescaped.

    Raises:
        InputError: A line has not six columns, a score is not a finite number, a passage is
            there twice for one query, or the tag changes; the message names file and line.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "run")
        ...     _ = path.write_text("q1 Q0 Ps.1.2 1 0.5 tag\nq1 Q0 Ps.1.1 2 0.5 tag\n")
        ...     read_run(path)["q1"].ids
        ('Ps.1.2', 'Ps.1.1')
    """
    scores: dict[str, dict[str, float]] = {}
    first_tag = ""
    for place, columns in _columns(path, "query_id Q0 passage_id rank score tag"):
        query_id, _, passage, _, score, tag = map(unescape, columns)
        ranked = scores.setdefault(query_id, {})
        if passage in ranked:
            raise InputError(
                f"{place}: passage {passage!r} is there twice for query {query_id!r}; rank each "
                "passage once"
            )
        ranked[passage] = _number(score, place)
        first_tag = first_tag or tag
        if tag != first_tag:
            raise InputError(f"{place}: tag {tag!r} after {first_tag!r}; give each run a file")
    if not scores:
        raise InputError(f"{path}: there is no ranked passage in it; give one a line")
    return {query_id: _ranking(ranked) for query_id, ranked in scores.items()}


def run_lines(query_id: str, ranking: Ranking, tag: str) -> Iterator[str]:
    """The lines of one ranking in a run: `query_id Q0 passage_id rank score tag`.

    TREC tools sort by score in single precision and break ties in their own way. So scores that
    are equal in single precision are lowered, each by the least step there is, and the order is
    kept. Blanks in ids and in the tag are escaped.

    Args:
        query_id: The query.
        ranking: Its passages from best to worst.
        tag: Name of the run.

    Raises:
        UsageError: An id or the tag is empty, or a score is not finite in single precision.

    Example:
        >>> list(run_lines("q1", Ranking(("Ps.1.1", "Ps.1.2"), np.array([0.5, 0.5])), "bm25"))
        ['q1 Q0 Ps.1.1 1 0.5 bm25', 'q1 Q0 Ps.1.2 2 0.4999999701976776 bm25']
    """
    query_id, tag = _column(query_id, "query id"), _column(tag, "tag")
    above = np.float32(math.inf)
    pairs = zip(ranking.ids, ranking.scores.tolist(), strict=True)
    for rank, (passage, score) in enumerate(pairs, start=1):
        word = _column(passage, "passage id")
        # Nothing comes below the lowest number of single precision.
        if not abs(score) <= _LARGEST or above == -_LARGEST:
            raise UsageError(f"score {score} of {passage!r} is beyond single precision")
        above = min(np.float32(score), np.nextafter(above, np.float32(-math.inf)))
        yield f"{query_id} Q0 {word} {rank} {float(above)!r} {tag}"


def write_run(
    target: Path | TextIO,
    rankings: Mapping[str, Ranking],
    tag: str,
    note: Callable[[str], None] = lambda _: None,
) -> None:
    """Write a run file, which `read_run` and trec_eval rank in the same order.

    Args:
        target: A file, written whole or not at all, or an open stream.
        rankings: A ranking for each query id.
        tag: Name of the run.
        note: Called with a note if ids were escaped.

    Raises:
        UsageError: An id or the tag is empty.
        StorageError: The file cannot be written.
    """
    items = rankings.items()
    lines = (line for name, each in items for line in run_lines(name, each, tag))
    write_lines(target, escape_note(lines, note))


def read_qrels(path: Path) -> list[Judgement]:
    """The judgements of a qrels file (`query_id 0 passage_id grade`), in its order.

    Raises:
        InputError: A line has not four columns, a grade is not a whole number, or a passage is
            judged twice for one query; the message names file and line.
    """
    seen: dict[tuple[str, str], Judgement] = {}
    for place, columns in _columns(path, "query_id 0 passage_id grade"):
        query_id, _, passage, grade = map(unescape, columns)
        if not _INTEGER.fullmatch(grade):
            raise InputError(f"{place}: grade {grade!r} is not a whole number; write 1 or 0")
        line = int(place.rpartition(":")[2])
        judgement = Judgement(query_id, passage, int(grade), line)
        first = seen.setdefault((query_id, passage), judgement)
        if first is not judgement:
            raise InputError(
                f"{place}: passage {passage!r} is judged twice for query {query_id!r} (also on "
                f"line {first.line}); judge it once"
            )
    if not seen:
        raise InputError(f"{path}: there is no judgement in it; give one a line")
    return list(seen.values())


def qrels_lines(query_id: str, relevant: Iterable[str]) -> Iterator[str]:
    """The lines of a qrels file for one query, with grade 1.

    Raises:
        UsageError: An id is empty.

    Example:
        >>> list(qrels_lines("q 1", ["Ps.1.1"]))
        ['q%201 0 Ps.1.1 1']
    """
    query_id = _column(query_id, "query id")
    for passage in relevant:
        yield f"{query_id} 0 {_column(passage, 'passage id')} 1"


def write_qrels(
    target: Path | TextIO,
    relevant: Mapping[str, Iterable[str]],
    note: Callable[[str], None] = lambda _: None,
) -> None:
    """Write a qrels file with the relevant passages of each query.

    Args:
        target: A file, written whole or not at all, or an open stream.
        relevant: Ids of passages for each query id.
        note: Called with a note if ids were escaped.

    Raises:
        UsageError: An id is empty.
        StorageError: The file cannot be written.
    """
    lines = (line for name, each in relevant.items() for line in qrels_lines(name, each))
    write_lines(target, escape_note(lines, note))


def read_topics(path: Path) -> dict[str, str]:
    """The words of the queries by id, from TREC topics or lines `id TAB text`.

    Of TREC topics, `<num>` and `<title>` of each `<top>` are read.

    Raises:
        InputError: A topic has no number or no words, or a number is there twice; the message
            names file and line.
    """
    text = read_text(path)
    listed = _tagged(path, text) if text.lstrip().startswith("<") else _tabbed(path, text)
    topics: dict[str, str] = {}
    for place, written, words in listed:
        query_id = unescape(written)
        if not query_id or not words:
            missing = "number" if not query_id else "words"
            raise InputError(f"{place}: the topic has no {missing}; give both")
        if query_id in topics:
            raise InputError(f"{place}: topic {query_id!r} is there twice; give each once")
        topics[query_id] = words
    if not topics:
        raise InputError(f"{path}: there is no topic in it; write 'id TAB text', one a line")
    return topics


def topic_line(query_id: str, text: str) -> str:
    r"""The line of a topics file for one query, `id TAB text`.

    Raises:
        UsageError: The id is empty.

    Example:
        >>> topic_line("q 1", "in principio")
        'q%201\tin principio'
    """
    return f"{_column(query_id, 'query id')}\t{' '.join(text.split())}"


def _column(text: str, what: str) -> str:
    if not text:
        raise UsageError(f"an empty {what} cannot stand in a TREC file; name it")
    return escape(text)


def _columns(path: Path, form: str) -> Iterator[tuple[str, list[str]]]:
    """The columns of each line that is not empty, with its file and line for messages."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        columns = line.split()
        if len(columns) != len(form.split()) and columns:
            raise InputError(
                f"{path}:{number}: {len(columns)} columns instead of {len(form.split())}; write "
                f"'{form}'"
            )
        if columns:
            yield f"{path}:{number}", columns


def _number(score: str, place: str) -> float:
    try:
        # Python reads 1_0 as 10; other tools do not.
        value = float(score) if "_" not in score else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{place}: score {score!r} is not a finite number; write one such as 0.5")
    if abs(value) > _LARGEST:
        raise InputError(
            f"{place}: score {score!r} is beyond single precision, in which TREC tools compare "
            "scores; scale the scores down"
        )
    return value


def _ranking(scores: Mapping[str, float]) -> Ranking:
    single = {passage: float(np.float32(score)) for passage, score in scores.items()}
    order = sorted(single, key=lambda passage: (single[passage], passage), reverse=True)
    return Ranking(tuple(order), np.array([single[passage] for passage in order]))


def _tagged(path: Path, text: str) -> Iterator[tuple[str, str, str]]:
    for topic in _TOPIC.finditer(text):
        place = f"{path}:{text.count(chr(10), 0, topic.start()) + 1}"
        number, title = _NUMBER.search(topic[1]), _TITLE.search(topic[1])
        words = " ".join(html.unescape(title[1]).split()) if title else ""
        yield place, number[1] if number else "", words


def _tabbed(path: Path, text: str) -> Iterator[tuple[str, str, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            query_id, _, words = line.partition("\t")
            yield f"{path}:{number}", query_id.strip(), words.strip()
