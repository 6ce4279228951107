"""Output of results: tables for people, JSON and TSV for programs, runs for TREC tools."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from allusion_es.cli.notes import print_note
from allusion_es.cli.options import TableFormat
from allusion_es.core.characters import visible
from allusion_es.reports.answers import answer_json, answer_tsv, one_line

if TYPE_CHECKING:
    from rich.text import Text

    from allusion_es.language.latin.analysis import Analyser
    from allusion_es.retrieval.pipeline import Answer, Retriever
    from allusion_es.retrieval.types import Hit


class SafeConsole(Console):
    """A console that replaces control characters, since texts come from anywhere.

    Escape sequences, which could move the cursor or change the terminal, and characters that
    change the direction of writing, are shown as `\N{REPLACEMENT CHARACTER}`.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments of a renderable, without control characters in their texts."""
        for segment in super().render(renderable, options):
            if segment.control is None:
                yield Segment(visible(segment.text), segment.style)
            else:
                yield segment

    def on_broken_pipe(self) -> None:
        """Leave a closed pipe to `main.run`, to which it is no failure.

        Raises:
            BrokenPipeError: Always; rich would end the process with status 1.
        """
        raise BrokenPipeError


_PIPE_WIDTH = 120
"""Characters of a line where there is no terminal to say its width."""

_PARALLELS = 6
"""Most parallels of a hit that are printed; the others are counted."""


def console() -> "Console":
    """A console for stdout, as wide as the terminal, or 120 characters in a pipe."""
    plain = not sys.stdout.isatty()
    # Brackets in names of the user's are no markup.
    return SafeConsole(width=_PIPE_WIDTH if plain else None, highlight=False, markup=False)


def print_rows(rows: Sequence[Mapping[str, Any]], format: TableFormat, title: str = "") -> None:
    """Print a listing; JSON is one list, TSV has a header. What is None has an empty cell."""
    if format is TableFormat.json:
        print(json.dumps(list(rows), ensure_ascii=False, indent=2))
    elif format is TableFormat.tsv:
        if rows:
            print("\t".join(rows[0]))
        for row in rows:
            print("\t".join(one_line(cell(value)) for value in row.values()))
    else:
        from rich.table import Table

        table = Table(title=title or None, title_justify="left")
        for name in rows[0] if rows else ():
            table.add_column(name, overflow="fold")
        for row in rows:
            table.add_row(*(visible(cell(value)) for value in row.values()))
        console().print(table if rows else f"{title or 'Listing'}: nothing")


def cell(value: object) -> str:
    """A value as a cell of a table: None is an empty one."""
    return "" if value is None else str(value)


def answer_trec(answer: "Answer", tag: str) -> Iterable[str]:
    """One line a hit: `query_id Q0 passage_id rank score tag`; see `evaluation.trec.run_lines`.

    Raises:
        UsageError: An id or the tag is empty.
    """
    import numpy as np

    from allusion_es.evaluation.trec import run_lines
    from allusion_es.retrieval.types import Ranking

    ids, scores = [hit.id for hit in answer.hits], [hit.score for hit in answer.hits]
    ranking = Ranking(tuple(ids), np.array(scores))
    return run_lines(answer.query.query.query_id, ranking, tag)


def noting_escapes(lines: Iterable[str]) -> Iterable[str]:
    """The lines of a run as they are, and a note on stderr if ids in them are escaped."""
    from allusion_es.evaluation.trec import escape_note

    return escape_note(lines, print_note)


def answer_lines(
    answer: "Answer", format: str, tag: str, partial: Mapping[str, Any] | None = None
) -> Iterable[str]:
    """The answer as lines for programs.

    Args:
        answer: What to print.
        format: `json`, `tsv` or `trec`.
        tag: Name of the run, for `trec`.
        partial: What it lacks, for `json`, or None.
    """
    if format == "json":
        return [answer_json(answer, partial)]
    return answer_tsv(answer) if format == "tsv" else answer_trec(answer, tag)


def print_answers(answers: "Iterable[Answer]", retriever: "Retriever", explain: bool) -> None:
    """Print a table for each answer.

    Passages have those words marked that they share with the query; where the answers are to be
    explained, all words are shaded by what they add to the score.
    """
    from allusion_es.cli.heat import legend, reasons

    to = console()
    colour = to.color_system is not None and not to.no_color
    if explain:
        to.print(legend())
        to.print()
    for answer in map(_visible, answers):
        texts = [
            reasons(answer, hit, retriever.analyser, retriever.compared)
            if explain
            else marked(hit.text, answer, retriever.analyser, colour)
            for hit in answer.hits
        ]
        _print_answer(answer, texts, to)


def _visible(answer: "Answer") -> "Answer":
    """The answer with texts that have as many characters, but none that acts on a terminal."""
    query = replace(answer.query.query, text=visible(answer.query.query.text))
    hits = [replace(h, text=visible(h.text), reference=visible(h.reference)) for h in answer.hits]
    return replace(answer, query=replace(answer.query, query=query), hits=tuple(hits))


def _print_answer(answer: "Answer", texts: "Sequence[Text]", to: "Console") -> None:
    from rich.table import Table
    from rich.text import Text

    to.print(Text(f"{answer.query.query.query_id}: {answer.query.query.text}", style="bold"))
    if answer.failure is not None:
        to.print(Text(f"not answered: {answer.failure}", style="dim"))
        to.print()
        return
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("rank", justify="right")
    table.add_column("passage", no_wrap=True)
    table.add_column("score", justify="right")
    table.add_column("stage 1", justify="right")
    table.add_column("text", ratio=1)
    for hit, text in zip(answer.hits, texts, strict=True):
        table.add_row(
            str(hit.rank), hit.reference, f"{hit.score:.4f}", str(hit.candidate_rank), text
        )
        if hit.parallels:
            table.add_row("", "", "", "", Text(f"= {parallels_of(hit)}", style="dim"))
    to.print(table if answer.hits else Text("no passage found", style="dim"))
    to.print()


def parallels_of(hit: "Hit") -> str:
    """References of the passages that say nearly the same, the first few of them."""
    references = [visible(other.reference) for other in hit.parallels]
    more = len(references) - _PARALLELS
    return "; ".join(references[:_PARALLELS]) + (f" and {more} more" if more > 0 else "")


def marked(text: str, answer: "Answer", analyser: "Analyser", colour: bool) -> "Text":
    """The text with the words marked that share token or lemma with the query.

    Marked by style where there is colour, by asterisks elsewhere.
    """
    from rich.text import Text

    tokens, lemmas = set(answer.query.words("token")), set(answer.query.words("lemma"))
    analysis = analyser.analyse(text)
    result = Text()
    place = 0
    for token, lemma, (start, end) in zip(
        analysis.tokens, analysis.lemmas, analysis.spans, strict=True
    ):
        if token in tokens or lemma in lemmas:
            result.append(text[place:start])
            word = text[start:end]
            result.append(word if colour else f"*{word}*", style="bold green")
            place = end
    result.append(text[place:])
    return result
