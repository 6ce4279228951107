"""Bible references in the notes, apparatus and attributes of TEI editions."""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from allusion_es.corpora.bible.references import Piece, find_references, reference_in_address
from allusion_es.evaluation.gold.ids import read_references

_IBIDEM = re.compile(r"^(?:ibidem|ibid|ib)\b[.,\s]*", re.IGNORECASE)
_NUMBER = r"(?:\d{1,3}[a-e]?|[ivxlc]{1,9}|[IVXLC]{1,9})"
# A name and two numbers, as in "Verg. ecl. 4, 1": of the Bible or of another work.
_LOOKS = re.compile(rf"[A-Z][a-z]{{1,20}}\.?,?\s*{_NUMBER}\.?\s*[,.:]\s*(?:[a-z]+\.\s*)?{_NUMBER}")
_BIBLICAL = re.compile(r"^(?:bible|biblia|bibl|osis|vulgate|vulg)\b[:/]?", re.IGNORECASE)

_LONGEST_TARGET = 500
"""Most characters of an attribute in which references are looked for; longer ones are data."""


@dataclass(frozen=True, slots=True)
class CitedReference:
    """A Bible reference as an editor wrote it.

    Attributes:
        written: The reference (`Ps. 33, 9`), readable by `parse_references`.
        confer: True if `cf.` or the like stands before it.
        line: The number of the printed line that an apparatus entry goes to, or 0.
    """

    written: str
    confer: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class RefusedReference:
    """Words that may be a reference, but give no verses.

    Attributes:
        written: The words.
        reason: Why they are not read.
    """

    written: str
    reason: str


def references_in_note(
    text: str, book: str = ""
) -> tuple[list[CitedReference], list[RefusedReference]]:
    """The Bible references in a note, in its order, and what was refused.

    The whole note may be a reference, or references may stand among other words. References with
    nothing but a semicolon between them are one. A chapter without a verse is refused, since it
    gives no link; the mere name of a book is passed over.

    Args:
        text: The note's words.
        book: OSIS code of the book that `ibid.` means, or "".

    Example:
        >>> cited, refused = references_in_note("Gen. 1, 26 et 27; III Esdr. 4, 4")
        >>> [each.written for each in cited], [each.written for each in refused]
        (['Gen. 1, 26 et 27'], ['III Esdr. 4, 4'])
        >>> [each.written for each in references_in_note("(cf. Ps. XXXIII, 9; Is 7,14)")[0]]
        ['Ps. XXXIII, 9; Is 7,14']
        >>> cited, _ = references_in_note("3 Verg. ecl. 4 9 cf. Rom. 5, 12")
        >>> [(each.line, each.written) for each in cited]
        [(9, 'Rom. 5, 12')]
        >>> [each.written for each in references_in_note("Ibid. III, 2", "Jas")[0]]
        ['Jas III, 2']
    """
    cited: list[CitedReference] = []
    refused: list[RefusedReference] = []
    before: Piece | None = None
    for piece in find_references(text, book):
        reason = piece.reason
        if not reason and not all(reference.verse for reference in piece.references):
            reason = "it names a whole chapter, and no verse"
        if reason:
            refused.append(RefusedReference(piece.written, reason))
            before = None
            continue
        written = _readable(piece)
        if before and _goes_on(text[before.end : piece.start], before, piece):
            written = f"{cited.pop().written}; {written}"
        cited.append(CitedReference(written, piece.confer, piece.line))
        before = piece
    return cited, refused


def _goes_on(between: str, before: Piece, piece: Piece) -> bool:
    """True if nothing but a semicolon stands between two references of one kind."""
    return between.strip(" .\n\t") == ";" and (before.confer, before.line) == (
        piece.confer, piece.line
    )  # fmt: skip


def _readable(piece: Piece) -> str:
    """The words of a reference; OSIS ids if the words, without the note around them, mean another.

    `ibid.` is replaced by the book that it means.
    """
    book = piece.references[0].book
    for written in (piece.written, _IBIDEM.sub(f"{book} ", piece.written)):
        if read_references(written) == piece.references:
            return written
    return " ".join(map(str, piece.references))


def names_verses(text: str) -> bool:
    """True if a text is a reference, or a list of them, to verses rather than chapters.

    Example:
        >>> names_verses("Ps 33,9"), names_verses("Ps 33"), names_verses("Verg. ecl. 4, 1")
        (True, False, False)
    """
    found = read_references(text)
    return bool(found) and all(reference.verse for reference in found)


def looks_like_reference(text: str) -> bool:
    """True if a text has a name and two numbers, as a reference to some work has."""
    return bool(_LOOKS.search(text))


def references_in_target(target: str) -> list[CitedReference]:
    """The Bible references in an attribute such as `target`.

    Read are references as people write them (`Ps 33,9`), OSIS ids, and either behind a scheme, a
    path or a URN: `bible:Ps.33.9`, `urn:cts:biblia:Ps.33.9`, `https://…/Ps.33.9`, `#Ps.33.9`,
    `https://…/sap7_26@1-15`. They are read as `parse_references` reads them.

    Example:
        >>> [each.written for each in references_in_target("bible:Ps.33.9 bible:Ps.33.10")]
        ['Ps.33.9', 'Ps.33.10']
        >>> references_in_target("https://example.org/page/12")
        []
    """
    if len(target) > _LONGEST_TARGET:
        return []
    if found := [reference_in_address(word) for word in target.split()]:
        if all(found):
            return [CitedReference(written) for written in found]
        if names_verses(plain := unquote(target).strip()):
            return [CitedReference(plain)]
    return [CitedReference(written) for written in found if written]


def is_biblical(target: str) -> bool:
    """True if an attribute begins like a reference to the Bible (`bible:`), readable or not."""
    return bool(_BIBLICAL.match(target.strip()))
