"""TREC's files: runs, qrels and topics, which trec_eval and its kin read and write."""

import html
import math
import re
from collections.abc import Iterable, Iterator, Mapping
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


@dataclass(frozen=True, slots=True)
class Judgement:
    """A line of a qrels file.

    Attributes:
        query_id: The query.
        passage: Id of the passage that was judged.
        grade: How relevant it is; 0 or less: not at all.
        line: Its line in the file.
    """

    query_id: str
    passage: str
    grade: int
    line: int


def read_run(path: Path) -> dict[str, Ranking]:
    r"""The rankings of a run, by query id, in the order of the file.

    Passages are ranked by score, from high to low, then by id; the column of ranks is passed
    over, as trec_eval does.

    Raises:
        InputError: A line has not six columns, a score is not a finite number, a passage is
            there twice for one query, or the tag changes; the message names file and line.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "run")
        ...     _ = path.write_text("q1 Q0 Ps.1.2 1 0.5 tag\nq1 Q0 Ps.1.1 2 0.5 tag\n")
        ...     read_run(path)["q1"].ids
        ('Ps.1.1', 'Ps.1.2')
    """
    scores: dict[str, dict[str, float]] = {}
    first_tag = ""
    for place, (query_id, _, passage, _, score, tag) in _columns(
        path, "query_id Q0 passage_id rank score tag"
    ):
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

    TREC tools sort by score and break ties in their own way; where our scores are equal, the
    printed ones are made to differ by the least amount that single precision holds.

    Args:
        query_id: The query.
        ranking: Its passages from best to worst.
        tag: Name of the run.

    Raises:
        UsageError: An id or the tag is empty or contains blanks, which the format cannot hold,
            or a score is not finite in single precision.

    Example:
        >>> list(run_lines("q1", Ranking(("Ps.1.1", "Ps.1.2"), np.array([0.5, 0.5])), "bm25"))
        ['q1 Q0 Ps.1.1 1 0.5 bm25', 'q1 Q0 Ps.1.2 2 0.4999999701976776 bm25']
    """
    check_word(query_id, "query id")
    check_word(tag, "tag")
    above = np.float32(math.inf)
    pairs = zip(ranking.ids, ranking.scores.tolist(), strict=True)
    for rank, (passage, score) in enumerate(pairs, start=1):
        check_word(passage, "passage id")
        if not abs(score) <= _LARGEST:
            raise UsageError(f"score {score} of {passage!r} is beyond single precision")
        above = min(np.float32(score), np.nextafter(above, np.float32(-math.inf)))
        yield f"{query_id} Q0 {passage} {rank} {float(above)!r} {tag}"


def write_run(target: Path | TextIO, rankings: Mapping[str, Ranking], tag: str) -> None:
    """Write a run, which `read_run` and trec_eval rank in the same order.

    Args:
        target: A file, written whole or not at all, or an open stream.
        rankings: A ranking for each query id.
        tag: Name of the run.

    Raises:
        UsageError: An id or the tag is empty or contains blanks.
        StorageError: The file cannot be written.
    """
    items = rankings.items()
    write_lines(target, (line for name, each in items for line in run_lines(name, each, tag)))


def read_qrels(path: Path) -> list[Judgement]:
    """The judgements of a qrels file (`query_id 0 passage_id grade`), in its order.

    Raises:
        InputError: A line has not four columns, a grade is not a whole number, or a passage is
            judged twice for one query; the message names file and line.
    """
    seen: dict[tuple[str, str], Judgement] = {}
    for place, (query_id, _, passage, grade) in _columns(path, "query_id 0 passage_id grade"):
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
        UsageError: An id is empty or contains blanks.

    Example:
        >>> list(qrels_lines("q1", ["Ps.1.1"]))
        ['q1 0 Ps.1.1 1']
    """
    check_word(query_id, "query id")
    for passage in relevant:
        check_word(passage, "passage id")
        yield f"{query_id} 0 {passage} 1"


def write_qrels(target: Path | TextIO, relevant: Mapping[str, Iterable[str]]) -> None:
    """Write the relevant passages of each query as qrels.

    Raises:
        UsageError: An id is empty or contains blanks.
        StorageError: The file cannot be written.
    """
    write_lines(
        target, (line for name, each in relevant.items() for line in qrels_lines(name, each))
    )


def read_topics(path: Path) -> dict[str, str]:
    """The queries' words by query id: TREC topics (`<top>`, `<num>`, `<title>`), or `id TAB text`.

    Raises:
        InputError: A topic has no number or no words, or a number is there twice; the message
            names file and line.
    """
    text = read_text(path)
    listed = _tagged(path, text) if text.lstrip().startswith("<") else _tabbed(path, text)
    topics: dict[str, str] = {}
    for place, query_id, words in listed:
        if not query_id or not words:
            missing = "number" if not query_id else "words"
            raise InputError(f"{place}: the topic has no {missing}; give both")
        if query_id in topics:
            raise InputError(f"{place}: topic {query_id!r} is there twice; give each once")
        topics[query_id] = words
    if not topics:
        raise InputError(f"{path}: there is no topic in it; write 'id TAB text', one a line")
    return topics


def check_word(text: str, what: str) -> None:
    """Refuse what cannot stand in a TREC file, where blanks end a column.

    Raises:
        UsageError: It is empty or contains blanks.
    """
    if len(text.split()) != 1 or text != text.strip():
        raise UsageError(
            f"{what} {text!r} cannot stand in a TREC file; it must not be empty or contain blanks"
        )


def _columns(path: Path, form: str) -> Iterator[tuple[str, list[str]]]:
    """The columns of each line that is not empty, with its place."""
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
        value = float(score) if "_" not in score else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{place}: score {score!r} is not a finite number; write one such as 0.5")
    return value


def _ranking(scores: Mapping[str, float]) -> Ranking:
    order = sorted(scores, key=lambda passage: (-scores[passage], passage))
    return Ranking(tuple(order), np.array([scores[passage] for passage in order]))


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
