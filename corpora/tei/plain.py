"""A plain text as a TEI file, so that what was found in it can be saved as TEI too."""

import re
from collections.abc import Iterable
from dataclasses import replace
from html import escape
from pathlib import Path

from allusion_es.core.errors import InputError
from allusion_es.corpora.findings import Finding
from allusion_es.corpora.source_text import SourceText
from allusion_es.corpora.tei.reader import read_tei
from allusion_es.corpora.tei.write import without_controls


def as_tei(
    source: SourceText, findings: Iterable[Finding], path: Path
) -> tuple[SourceText, list[Finding]]:
    r"""Write a text as a TEI file, and return it as read again, with the findings moved there.

    Paragraphs become `p`; other lines begin with `lb`, numbered as in the text.

    Args:
        source: A text of any kind.
        findings: The findings in it.
        path: The file to write.

    Raises:
        InputError: The text has words that TEI cannot hold as they are.

    Example:
        >>> import tempfile
        >>> from allusion_es.corpora.source import read_source
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo.txt")
        ...     _ = path.write_text("Et  gustate\net videte.")
        ...     words = "gustate\net"
        ...     found = Finding(4, 14, words, ("Ps.33.9",), "Ps 33,9", 2.5, 0.9, "allusion")
        ...     tei, (moved,) = as_tei(read_source(path), [found], Path(folder, "sermo.xml"))
        >>> tei.text, moved.start, moved.text
        ('Et gustate et videte.', 3, 'gustate et')
    """
    path.write_text(_file(source), encoding="utf-8")
    tei = read_tei(path)
    # TEI gathers blanks, allows no control characters, and joins words that a hyphen breaks at the
    # end of a line: what is the same in both is letters and digits.
    before, after = _letters(source.text), _letters(tei.text)
    if [source.text[place] for place in before] != [tei.text[place] for place in after]:
        raise InputError(f"{source.path.name}: cannot be written as TEI; save another format")
    moved = dict(zip(before, after, strict=True))
    return tei, [_moved(found, tei.text, moved) for found in findings]


def _letters(text: str) -> list[int]:
    """Places of the letters and digits of a text."""
    return [place for place, character in enumerate(text) if character.isalnum()]


def _moved(found: Finding, text: str, moved: dict[int, int]) -> Finding:
    letters = [place for place in range(found.start, found.end) if place in moved]
    start, end = moved[letters[0]], moved[letters[-1]] + 1
    return replace(found, start=start, end=end, text=text[start:end])


def _file(source: SourceText) -> str:
    title = escape(without_controls(source.title or source.path.stem))
    author = f"<author>{escape(without_controls(source.author))}</author>" if source.author else ""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<TEI xmlns="http://www.tei-c.org/ns/1.0">\n'
        f"<teiHeader><fileDesc><titleStmt><title>{title}</title>{author}</titleStmt>\n"
        "<publicationStmt><p>Not published.</p></publicationStmt>\n"
        "<sourceDesc><p>A plain text, marked up by allusion-es.</p></sourceDesc></fileDesc>"
        f"</teiHeader>\n<text><body>\n{_body(source.text)}</body></text>\n</TEI>\n"
    )


def _body(text: str) -> str:
    """The paragraphs: what stands between empty lines."""
    parts: list[str] = []
    number = 0
    for block in re.split(r"(\n(?:[^\S\n]*\n)+)", text):
        lines = [(number + n, line) for n, line in enumerate(block.split("\n"), start=1)]
        number += block.count("\n")
        inked = [
            f'<lb n="{n}"/>{escape(without_controls(line), quote=False)}\n'
            for n, line in lines
            if line.strip()
        ]
        if inked:
            parts.append(f"<p>{''.join(inked)}</p>\n")
    return "".join(parts)
