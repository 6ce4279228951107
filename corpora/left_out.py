"""What a file has besides the text that is read of it: notes, front matter, other languages."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Cause = Literal["element", "part", "language", "deletion", "variant"]
"""Why words are left out.

`element` is one that holds no words of the text (`note`, `fw`), `part` a whole part of the file
(`front`, `div type="translation"`), `variant` a reading or spelling beside the one that is read.
"""

_LONGEST_EXCERPT = 80
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Words of a file that are not part of its text.

    Attributes:
        what: What they are: an element (`note`, `div type="translation"`), or a language
            (`xml:lang="de"`).
        cause: Why they are left out.
        start: Where they would stand in the text.
        words: How many they are.
        text: Their beginning, at most 80 characters.
        line: The line of the file on which they begin.
        xpath: The path to the element that they are; of variants, to that around them.
        option: What reads them too (`--keep note`), or "".
    """

    what: str
    cause: Cause
    start: int
    words: int
    text: str
    line: int
    xpath: str
    option: str = ""


@dataclass(slots=True, eq=False)
class Omission:
    """Words that are left out, while the file is being read."""

    what: str
    cause: Cause
    start: int
    line: int
    xpath: str
    option: str = ""
    words: int = 0
    excerpt: str = ""
    inside_word: bool = False

    def add(self, data: str) -> None:
        """Characters are left out."""
        words = data.split()
        goes_on = self.inside_word and not data[:1].isspace()
        if words:
            self.words += len(words) - goes_on
        if words and len(self.excerpt) <= _LONGEST_EXCERPT:
            self.excerpt += ("" if goes_on else " ") + " ".join(words)[: 2 * _LONGEST_EXCERPT]
        if data:
            self.inside_word = not data[-1].isspace()

    def border(self) -> None:
        """Words end here, blank or not."""
        if self.inside_word:
            self.add(" ")

    def finished(self) -> LeftOut:
        """What is told of them."""
        text = " ".join(self.excerpt.split())
        if len(text) > _LONGEST_EXCERPT:
            text = text[: _LONGEST_EXCERPT - 1] + "\u2026"
        return LeftOut(
            what=self.what,
            cause=self.cause,
            start=self.start,
            words=self.words,
            text=text,
            line=self.line,
            xpath=self.xpath,
            option=self.option,
        )


def left_out_note(
    left_out: Iterable[LeftOut],
    causes: frozenset[Cause] = frozenset({"element", "part", "language", "deletion"}),
    *,
    with_options: bool = True,
) -> str:
    """One line that says what was left out of a text, how much and where; "" if nothing was.

    Other readings and spellings of words that are read are not counted.

    Args:
        left_out: What was left out.
        causes: The reasons that are told.
        with_options: Whether to name the options of the command line that read it.

    Example:
        >>> note = LeftOut("note", "element", 7, 2, "Ps 33,9", 31, "", "--keep note")
        >>> left_out_note([note, note])
        'left out: note (4 words in 2 places, from line 31); --keep note reads it'
    """
    groups: dict[str, list[LeftOut]] = {}
    for each in left_out:
        if each.words and each.cause in causes:
            groups.setdefault(each.what, []).append(each)
    if not groups:
        return ""
    order = sorted(groups.items(), key=lambda item: -sum(each.words for each in item[1]))
    told = [_amount(what, listed) for what, listed in order[:_MOST_NAMED]]
    if more := order[_MOST_NAMED:]:
        words = sum(each.words for _, listed in more for each in listed)
        told.append(f"{len(more)} other kinds ({words:,} words)")
    options = dict.fromkeys(
        listed[0].option for _, listed in order[:_MOST_NAMED] if listed[0].option
    )
    if not options or not with_options:
        return f"left out: {', '.join(told)}"
    reads = "reads it" if len(options) == 1 else "read them"
    return f"left out: {', '.join(told)}; {', '.join(options)} {reads}"


def _amount(what: str, listed: list[LeftOut]) -> str:
    words = sum(each.words for each in listed)
    amount = f"{words:,} word" + ("" if words == 1 else "s")
    if len(listed) == 1:
        return f"{what} ({amount}, line {listed[0].line})"
    return f"{what} ({amount} in {len(listed)} places, from line {listed[0].line})"
