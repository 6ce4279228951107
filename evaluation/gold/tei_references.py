"""Bible references as editors write them into notes, apparatus and attributes."""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from allusion_es.core.errors import VerseError
from allusion_es.corpora.bible.references import (
    Piece,
    Reference,
    find_references,
    parse_references,
    reference_in_address,
)

_SAME = re.compile(r"^(?:ibidem|ibid|ib)\b[.,\s]*", re.IGNORECASE)
_NUMBER = r"(?:\d{1,3}[a-e]?|[ivxlc]{1,9}|[IVXLC]{1,9})"
_LOOKS = re.compile(rf"[A-Z][a-z]{{1,20}}\.?,?\s*{_NUMBER}\.?\s*[,.:]\s*(?:[a-z]+\.\s*)?{_NUMBER}")
_BIBLICAL = re.compile(r"^(?:bible|biblia|bibl|osis|vulgate|vulg)\b[:/]?", re.IGNORECASE)

_LONGEST_TARGET = 500
"""Most characters of an attribute in which references are looked for."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A reference as an editor wrote it.

    Attributes:
        written: The reference (`Ps. 33, 9`), readable by `parse_references`.
        confer: Whether `cf.` or the like stands before it.
        line: The number of the printed line that an apparatus entry goes to, or 0.
    """

    written: str
    confer: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class Refused:
    """What may be a reference and is not read.

    Attributes:
        written: The words of the note or attribute.
        reason: Why.
    """

    written: str
    reason: str


def cited_in(text: str, book: str = "") -> list[Cited]:
    """The Bible references in a note, in its order; see `read_note`.

    Example:
        >>> [each.written for each in cited_in("(cf. Ps. XXXIII, 9; Is 7,14)")]
        ['Ps. XXXIII, 9; Is 7,14']
        >>> [(each.line, each.written) for each in cited_in("3 Verg. ecl. 4 9 cf. Rom. 5, 12")]
        [(9, 'Rom. 5, 12')]
        >>> [each.written for each in cited_in("Ibid. III, 2", "Jas")]
        ['Jas III, 2']
    """
    return read_note(text, book)[0]


def read_note(text: str, book: str = "") -> tuple[list[Cited], list[Refused]]:
    """The Bible references in a note, in its order, and what was refused.

    The whole note may be a reference, or references may stand among other words. What names no
    verse, only a chapter or a book, gives no link: a chapter is refused, a mere name passed over.
    References with nothing but a semicolon between them are one.

    Args:
        text: The note's words.
        book: OSIS code of the book that `ibid.` means, or "".

    Example:
        >>> cited, refused = read_note("Gen. 1, 26 et 27; III Esdr. 4, 4")
        >>> [each.written for each in cited], [each.written for each in refused]
        (['Gen. 1, 26 et 27'], ['III Esdr. 4, 4'])
    """
    cited: list[Cited] = []
    refused: list[Refused] = []
    before: Piece | None = None
    for piece in find_references(text, book):
        if piece.reason:
            refused.append(Refused(piece.written, piece.reason))
        elif not all(reference.verse for reference in piece.references):
            refused.append(Refused(piece.written, "it names a whole chapter, and no verse"))
        else:
            if before and _goes_on(text[before.end : piece.start], before, piece):
                cited[-1] = Cited(
                    f"{cited[-1].written}; {_readable(piece)}", piece.confer, piece.line
                )
            else:
                cited.append(Cited(_readable(piece), piece.confer, piece.line))
            before = piece
            continue
        before = None
    return cited, refused


def _goes_on(between: str, before: Piece, piece: Piece) -> bool:
    """Whether nothing but a semicolon stands between two references of one kind."""
    return between.strip(" .\n\t") == ";" and (before.confer, before.line) == (
        piece.confer, piece.line
    )  # fmt: skip


def _readable(piece: Piece) -> str:
    """The words of a reference, or OSIS ids where the words alone mean something else."""
    book = piece.references[0].book
    for written in (piece.written, _SAME.sub(f"{book} ", piece.written)):
        if _read(written) == piece.references:
            return written
    return " ".join(map(str, piece.references))


def _read(text: str) -> tuple[Reference, ...]:
    try:
        return parse_references(text)
    except VerseError:
        return ()


def names_verses(text: str) -> bool:
    """Whether a text is a reference, or a list of them, to verses rather than chapters.

    Example:
        >>> names_verses("Ps 33,9"), names_verses("Ps 33"), names_verses("Verg. ecl. 4, 1")
        (True, False, False)
    """
    found = _read(text)
    return bool(found) and all(reference.verse for reference in found)


def looks_like_reference(text: str) -> bool:
    """Whether a text has what a reference to some work has: a name, and two numbers."""
    return bool(_LOOKS.search(text))


def cited_by(target: str) -> list[Cited]:
    """The references that an attribute names, each in its own way.

    Read are references as people write them (`Ps 33,9`), OSIS ids, and either behind a scheme, a
    path or a URN: `bible:Ps.33.9`, `urn:cts:biblia:Ps.33.9`, `https://…/Ps.33.9`, `#Ps.33.9`,
    `https://…/sap7_26@1-15`. They are read as `parse_references` reads them.

    Example:
        >>> [each.written for each in cited_by("bible:Ps.33.9 bible:Ps.33.10")]
        ['Ps.33.9', 'Ps.33.10']
        >>> cited_by("https://example.org/page/12")
        []
    """
    if len(target) > _LONGEST_TARGET:
        return []
    if found := [reference_in_address(word) for word in target.split()]:
        if all(found):
            return [Cited(written) for written in found]
        if names_verses(plain := unquote(target).strip()):
            return [Cited(plain)]
    return [Cited(written) for written in found if written]


def is_biblical(target: str) -> bool:
    """Whether an attribute says that it names a passage of the Bible, readable or not."""
    return bool(_BIBLICAL.match(target.strip()))
