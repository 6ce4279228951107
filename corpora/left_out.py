"""Words of a file that are left out of its text: notes, front matter, other languages.

`Omission` collects them while a file is read; `LeftOut` is the result, which an editor can check.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Cause = Literal["element", "part", "language", "deletion", "variant"]
"""Why words are left out.

`element`: it stands in an element whose words are not the text's (`note`, `fw`); `part`: in a
whole part of the file
(`front`, `div type="translation"`), `variant` a reading or spelling beside the one that is read.
"""

_LONGEST_EXCERPT = 80  # characters, about a line of a terminal
_MOST_NAMED = 6  # kinds of omissions that a note of one line names; the others are only counted


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Words of a file that are not part of its text.

    Attributes:
        what: The name of what is left out: an element (`note`, `div type="translation"`), or a
            language (`xml:lang="de"`).
        cause: The reason.
        start: Their offset, in characters of the text, if they were read.
        words: The number of words.
        text: Their beginning, at most 80 characters.
        line: The line of the file on which they begin.
        xpath: The path to the element left out; for a variant, to the element around it.
        option: The option of the command line that reads them (`--keep note`), or "".
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
    """Words that are left out, collected while the file is read; `finished` gives the result.

    The attributes are those of `LeftOut`; `inside_word` says whether the last character added was
    part of a word, so that a word that arrives in two pieces is counted once.
    """

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
        """Add characters that are left out."""
        words = data.split()
        goes_on = self.inside_word and not data[:1].isspace()
        if words:
            self.words += len(words) - goes_on
        if words and len(self.excerpt) <= _LONGEST_EXCERPT:
            self.excerpt += ("" if goes_on else " ") + " ".join(words)[: 2 * _LONGEST_EXCERPT]
        if data:
            self.inside_word = not data[-1].isspace()

    def border(self) -> None:
        """End a word here, whether or not a blank follows."""
        if self.inside_word:
            self.add(" ")

    def finished(self) -> LeftOut:
        """Return the words left out, with an excerpt of at most 80 characters."""
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
    """Return a line that says what was left out of a text, how much and where; "" for nothing.

    Other readings and spellings of words that are read are not counted.

    Args:
        left_out: The omissions.
        causes: The reasons that are mentioned.
        with_options: Whether to name the command-line options that would read the words.

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
    parts = [_amount(what, listed) for what, listed in order[:_MOST_NAMED]]
    if more := order[_MOST_NAMED:]:
        words = sum(each.words for _, listed in more for each in listed)
        parts.append(f"{len(more)} other kinds ({words:,} words)")
    options = dict.fromkeys(
        listed[0].option for _, listed in order[:_MOST_NAMED] if listed[0].option
    )
    if not options or not with_options:
        return f"left out: {', '.join(parts)}"
    reads = "reads it" if len(options) == 1 else "read them"
    return f"left out: {', '.join(parts)}; {', '.join(options)} {reads}"


def _amount(what: str, listed: list[LeftOut]) -> str:
    words = sum(each.words for each in listed)
    amount = f"{words:,} word" + ("" if words == 1 else "s")
    if len(listed) == 1:
        return f"{what} ({amount}, line {listed[0].line})"
    return f"{what} ({amount} in {len(listed)} places, from line {listed[0].line})"
