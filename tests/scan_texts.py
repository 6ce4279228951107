"""Texts written for the tests of `allusion-es scan`, and what is to be found in them.

`scan_texts/sermo.txt` is a letter in the manner of a sermon: ordinary Latin with quotations
`{q Ps.33.9|words}` and paraphrases `{p Luke.15.20|words}`; `scan_texts/iter.txt` alludes nowhere.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from allusion_es.corpora.findings import Finding

FOLDER = Path(__file__).with_name("scan_texts")
_MARK = re.compile(r"\{([qp]) ([\w.]+)\|([^}]*)\}")


@dataclass(frozen=True)
class Known:
    """Words that are known to allude.

    Attributes:
        start: The first character.
        end: The one after the last.
        verse: What they allude to.
        quoted: Whether they are a quotation; else a paraphrase.
    """

    start: int
    end: int
    verse: str
    quoted: bool

    def is_found(self, finding: Finding) -> bool:
        """Whether a finding overlaps the words and names their verse, at least among others."""
        named = {*finding.passages, *(p for other in finding.alternatives for p in other.passages)}
        return finding.start < self.end and finding.end > self.start and self.verse in named


def unmarked(marked: str) -> tuple[str, list[Known]]:
    """A text without its marks, and what they say."""
    parts: list[str] = []
    known: list[Known] = []
    length = done = 0
    for mark in _MARK.finditer(marked):
        before, words = marked[done : mark.start()], mark[3]
        length += len(before)
        known.append(Known(length, length + len(words), mark[2], mark[1] == "q"))
        parts += before, words
        length += len(words)
        done = mark.end()
    parts.append(marked[done:])
    return "".join(parts), known


def sermon() -> tuple[str, list[Known]]:
    """Some two thousand words with 20 quotations and 20 paraphrases, and where these are."""
    return unmarked((FOLDER / "sermo.txt").read_text("utf-8"))


def campaign() -> str:
    """Some five hundred words in the manner of Caesar and Cicero, which allude to nothing."""
    return (FOLDER / "iter.txt").read_text("utf-8")


def found(known: Sequence[Known], findings: Sequence[Finding]) -> list[tuple[Known, Finding]]:
    """What is known, each with the first finding that is right."""
    pairs = []
    for each in known:
        right = next((finding for finding in findings if each.is_found(finding)), None)
        if right is not None:
            pairs.append((each, right))
    return pairs
