"""Reasons in the terminal: words shaded by what they add to a score, and the pairs behind them."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.text import Text

from allusion_es.reports.heat import HeatedPair, HeatedWord, heat_of, level
from allusion_es.retrieval.types import Contribution

if TYPE_CHECKING:
    from allusion_es.language.latin.analysis import Analyser
    from allusion_es.retrieval.pipeline import Answer
    from allusion_es.retrieval.types import Field, Hit

_MARKS = ("", "¹", "²", "³")
# One hue from light to dark; ink and ground are both set, so that any terminal shows them alike.
_STYLES = ("", "black on #c6dbef", "black on #6baed6", "bold white on #08519c")
_PAIRS = 8
"""Word pairs that a table shows for each hit; JSON has all."""

_AROUND = 60
"""Characters of a text that are shown beside a shaded word, where no other is near."""


def reasons(answer: "Answer", hit: "Hit", analyser: "Analyser", fields: "Sequence[Field]") -> Text:
    """The passage and the query with their words shaded, and the pairs behind the score.

    Args:
        answer: An answer with its reasons.
        hit: One of its hits.
        analyser: That of the index.
        fields: `Retriever.compared`.
    """
    if hit.contributions is None:
        return Text(hit.text).append("\nthe formula has no value for this passage", "dim")
    heat = heat_of(hit.contributions, answer.query.analysis, analyser.analyse(hit.text), fields)
    text = shaded(hit.text, heat.passage)
    text.append("\n‡ ").append_text(shortened(answer.query.query.text, heat.query))
    if heat.pairs:
        text.append("\n" + _listed(heat.pairs), "dim")
    if heat.apart:
        text.append("\nnot words of the text: " + _listed(heat.apart), "dim")
    return text


def legend() -> Text:
    """The line that says what the marks mean."""
    samples = [
        Text(f"{word}{_MARKS[step]}", _STYLES[step])
        for step, word in enumerate(("", "some", "more", "most"))
    ]
    text = Text("Words add to the score: ").append_text(Text(", ").join(samples[1:]))
    return text.append("; ‡ the query, and below it the word pairs.")


def shaded(text: str, words: Sequence[HeatedWord]) -> Text:
    """The text with its words shaded, and marked by raised figures for where there is no colour.

    Example:
        >>> shaded("Deus dixit", [HeatedWord(0, 4, 2.0, 1.0), HeatedWord(5, 10, 0.4, 0.2)]).plain
        'Deus³ dixit¹'
    """
    result = Text()
    place = 0
    for word in words:
        result.append(text[place : word.start]).append(*_marked(text, word))
        place = word.end
    return result.append(text[place:])


def shortened(text: str, words: Sequence[HeatedWord]) -> Text:
    """The text shaded, without stretches that have no shaded word.

    Example:
        >>> shortened("Deus " + 100 * "et " + "dixit", [HeatedWord(0, 4, 1.0, 1.0)]).plain[-12:]
        'et et et et…'
    """
    marked = [word for word in words if level(word.shade)]
    if not marked:
        return Text(text if len(text) <= 2 * _AROUND else text[: 2 * _AROUND] + "…")
    edges = [0, *(edge for word in marked for edge in (word.start, word.end)), len(text)]
    result = Text()
    for number, (start, end) in enumerate(pairwise(edges)):
        if number % 2:
            result.append(*_marked(text, marked[number // 2]))
        else:
            result.append(_gap(text[start:end], start == 0, end == len(text)))
    return result


def _marked(text: str, word: HeatedWord) -> tuple[str, str]:
    """A word with its mark, and its style."""
    step = level(word.shade)
    return text[word.start : word.end] + _MARKS[step], _STYLES[step]


def _gap(text: str, at_start: bool, at_end: bool) -> str:
    if len(text) <= 2 * _AROUND:
        return text
    left = "" if at_start else text[:_AROUND].rpartition(" ")[0]
    right = "" if at_end else text[-_AROUND:].partition(" ")[2]
    return f"{left}…{right}"


def _listed(pairs: Sequence[HeatedPair]) -> str:
    """The pairs that matter most, one after the other, and what the others add up to."""
    told = [
        str(Contribution(pair.query_word, pair.passage_word, pair.contribution))
        for pair in pairs[:_PAIRS]
    ]
    rest = pairs[_PAIRS:]
    if rest:
        told.append(f"{len(rest)} other pairs {sum(pair.contribution for pair in rest):.4f}")
    return "; ".join(told)
