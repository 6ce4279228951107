"""Tables for notebooks: fragments of HTML without script, style sheet or anything fetched.

A notebook puts them between its own cells, so that they bring their few styles with them and leave
fonts and colours of the text to it. All texts are escaped.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from allusion_es.core.characters import visible
from allusion_es.language.latin.analysis import Analyser
from allusion_es.reports.heat import heat_of
from allusion_es.retrieval.pipeline import Answer
from allusion_es.retrieval.types import Field, Hit

_LEFT = "text-align:left;vertical-align:top"
_RIGHT = "text-align:right;vertical-align:top;font-variant-numeric:tabular-nums"
_FAINT = "opacity:.7;font-size:90%"
_SHADE = "96,168,224"
"""The blue of the report's shades; its strength says how much a word adds."""

Cell = tuple[str, bool]
"""A cell: HTML, and whether it is set flush right."""


def table(heads: Sequence[str], rows: Iterable[Sequence[Cell]], caption: str = "") -> str:
    """A table as HTML.

    Args:
        heads: The heads of the columns, plain text.
        rows: The cells of each row.
        caption: Plain text above it, or "".

    Example:
        >>> print(table(["verse"], [[(cell("Ps <1>"), False)]]))  # doctest: +ELLIPSIS
        <table><thead><tr><th style="...">verse</th></tr></thead>
        <tr><td style="...">Ps &lt;1&gt;</td></tr></table>
    """
    head = "".join(f'<th style="{_LEFT}">{cell(name)}</th>' for name in heads)
    lines = [
        "<tr>"
        + "".join(f'<td style="{_RIGHT if right else _LEFT}">{html}</td>' for html, right in row)
        + "</tr>"
        for row in rows
    ]
    above = f'<caption style="{_LEFT};font-weight:bold">{cell(caption)}</caption>'
    body = "\n".join(lines)
    return f"<table>{above if caption else ''}<thead><tr>{head}</tr></thead>\n{body}</table>"


def cell(text: str) -> str:
    """A text as HTML, with control characters shown as one sign."""
    return escape(visible(text))


def note(text: str) -> str:
    """A remark below a table, as HTML."""
    return f'<p style="{_FAINT}">{cell(text)}</p>'


def rows_table(rows: Sequence[Mapping[str, Any]], caption: str = "") -> str:
    """Rows of figures or texts as a table; numbers are rounded to two digits.

    Example:
        >>> ">75.00<" in rows_table([{"method": "learned", "mrr": 75.0}])
        True
    """
    names = list(rows[0]) if rows else []
    return table(names, ([_value(row[name]) for name in names] for row in rows), caption)


def _value(value: object) -> Cell:
    if isinstance(value, float):
        return f"{value:.2f}", True
    return cell("" if value is None else str(value)), isinstance(value, int)


def answer_table(answer: Answer, analyser: Analyser, fields: Sequence[Field]) -> str:
    """An answer as the report shows it: rank, passage, score, rank before reranking, text.

    Words of the passages are shaded by what they add to the score, where the answer has reasons;
    else those are marked that they share with the query.

    Args:
        answer: The answer.
        analyser: That of the index (`Retriever.analyser`).
        fields: Fields whose words the reasons name (`Retriever.compared`).
    """
    query = answer.query.query
    if answer.failure is not None:
        return note(f"{query.text}: not answered: {answer.failure}")
    rows = [
        [
            (str(hit.rank), True),
            (cell(hit.reference), False),
            (f"{hit.score:.4f}", True),
            (str(hit.candidate_rank), True),
            (_passage(hit, answer, analyser, fields), False),
        ]
        for hit in answer.hits
    ]
    heads = ("rank", "passage", "score", "stage 1", "text")
    found = table(heads, rows, query.text)
    if not rows:
        found = note(f"{query.text}: no passage found")
    unknown = f"unknown words: {', '.join(answer.unknown)}" if answer.unknown else ""
    return found + "".join(map(note, filter(None, (unknown, answer.doubt))))


def _passage(hit: Hit, answer: Answer, analyser: Analyser, fields: Sequence[Field]) -> str:
    """The text of a hit with its words shaded or marked, and its parallels below it."""
    words = analyser.analyse(hit.text)
    if hit.contributions:
        heat = heat_of(hit.contributions, answer.query.analysis, words, fields)
        shades = {(word.start, word.end): word.shade for word in heat.passage}
    else:
        tokens, lemmas = set(answer.query.words("token")), set(answer.query.words("lemma"))
        shades = {
            span: 0.5
            for token, lemma, span in zip(words.tokens, words.lemmas, words.spans, strict=True)
            if token in tokens or lemma in lemmas
        }
    html = shaded(hit.text, shades)
    if hit.parallels:
        others = "; ".join(other.reference for other in hit.parallels)
        html += f'<br><span style="{_FAINT}">= {cell(others)}</span>'
    return html


def shaded(text: str, shades: Mapping[tuple[int, int], float]) -> str:
    """A text as HTML, some of its words shaded.

    Args:
        text: The text.
        shades: For the first and last (exclusive) character of a word its shade, from 0 to 1.

    Example:
        >>> shaded("Deus dixit", {(0, 4): 1.0})
        '<b style="background:rgba(96,168,224,1.00)">Deus</b> dixit'
    """
    html, place = [], 0
    # Enclitics share the characters of their word: the strongest shade of a stretch counts.
    for (start, end), shade in sorted(shades.items(), key=lambda item: (item[0], -item[1])):
        if start < place or shade <= 0:
            continue
        html.append(cell(text[place:start]))
        html.append(f'<b style="background:rgba({_SHADE},{shade:.2f})">{cell(text[start:end])}</b>')
        place = end
    return "".join(html) + cell(text[place:])
