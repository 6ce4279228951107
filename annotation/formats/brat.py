r"""Span annotations from brat stand-off files.

A text `NAME.txt` lies beside `NAME.ann`; the folder that holds them names the annotator, so that
each annotator has a folder. Of `NAME.ann`, these lines count:

    T1<TAB>allusion 17 31<TAB>omni scientiae     a span; `allusion` is the kind of link
    A1<TAB>Doubt T1                              the annotator doubts it
    A2<TAB>Instance T1 b-17                      the instance's id; without it, NAME

Places are characters of the text, as brat counts them; a span takes in each word (as
`language.latin.tokenise.printed_words` finds them) of which it holds a part. A span in fragments,
as brat writes one that crosses a line break, is taken as one if no word lies between the fragments,
and refused otherwise. A file without a T line is no annotation: brat makes an empty file for each
text.
"""

import re
from bisect import bisect_left, bisect_right
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from allusion_es.annotation.spans import SpanAnnotation
from allusion_es.core.errors import InputError
from allusion_es.core.files import decode
from allusion_es.corpora.tables import read_lines, shortened
from allusion_es.language.latin.tokenise import printed_words

_SPAN = re.compile(r"(\S+) (\d{1,9} \d{1,9}(?:;\d{1,9} \d{1,9})*)")
_ATTRIBUTE = re.compile(r"(\S+) (\S+)(?: (.+))?")
_OTHER = tuple("RENMW#*")
"""First characters of lines other than spans and attributes: relations, events, notes."""


def read_brat(path: Path) -> Iterator[SpanAnnotation]:
    """Read the annotations of one `.ann` file; the module's docstring names the lines that count.

    Raises:
        InputError: The file or its text cannot be read as that; the message says where.
    """
    spans: dict[str, SpanAnnotation] = {}
    attributes: list[tuple[str, str, str, str]] = []
    text: _Text | None = None
    for number, line in enumerate(read_lines(path), 1):
        where = f"{path}:{number}"
        name, _, rest = line.rstrip("\r\n").partition("\t")
        if not line.strip() or name.startswith(_OTHER):
            continue
        if name.startswith("T"):
            text = text or _text(path.with_suffix(".txt"))
            if name in spans:
                raise InputError(
                    f"{where}: {shortened(name)} is there twice (line {spans[name].line}); "
                    "number the spans differently"
                )
            spans[name] = replace(
                _span(rest, text, where),
                instance=path.stem,
                annotator=path.absolute().parent.name,
                line=number,
            )
        elif name.startswith("A") and (found := _ATTRIBUTE.fullmatch(rest)):
            attributes.append((where, found[1].casefold(), found[2], (found[3] or "").strip()))
        else:
            raise InputError(
                f"{where}: {shortened(line.strip())} is no line of a brat file; check the export"
            )
    for where, attribute, target, value in attributes:
        _apply(where, attribute, target, value, spans)
    yield from spans.values()


@dataclass(frozen=True, slots=True)
class _Text:
    """A text, with the places where its words start and end, in characters."""

    path: Path
    characters: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]


def _text(path: Path) -> _Text:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror or error}); put the text beside its .ann file"
        ) from error
    # brat counts a byte-order mark as a character.
    text = ("\ufeff" if data.startswith(BOM_UTF8) else "") + decode(data, str(path))
    words = printed_words(text)
    return _Text(path, text, tuple(w.start for w in words), tuple(w.end for w in words))


def _span(rest: str, text: _Text, where: str) -> SpanAnnotation:
    """The span of a T line, in words."""
    head, _, covered = rest.partition("\t")
    found = _SPAN.fullmatch(head)
    if found is None:
        raise InputError(
            f"{where}: field 'span' is {shortened(head)}; give a type, a start and an end, "
            "as in 'allusion 17 31'"
        )
    fragments = [tuple(map(int, part.split())) for part in found[2].split(";")]
    words: set[int] = set()
    for start, end in fragments:
        if not start < end <= len(text.characters):
            raise InputError(
                f"{where}: field 'span' is {start} {end}, but {text.path.name} has "
                f"{len(text.characters)} characters; check that it is the text that was annotated"
            )
        # Words that end after the span's start, and start before its end.
        words.update(range(bisect_right(text.ends, start), bisect_left(text.starts, end)))
    marked = " ".join(text.characters[start:end] for start, end in fragments)
    if covered and covered.split() != marked.split():
        raise InputError(
            f"{where}: field 'text' is {shortened(covered)}, but {text.path.name} has "
            f"{shortened(marked)} there; check that it is the text that was annotated"
        )
    if not words:
        raise InputError(f"{where}: field 'span': {shortened(marked)} holds no word; mark one")
    first, last = min(words), max(words) + 1
    if last - first != len(words):
        raise InputError(
            f"{where}: field 'span' is {shortened(found[2])}, with words between its fragments; "
            "mark one stretch of words"
        )
    return SpanAnnotation("", "", first, last, type=found[1], tokens=len(text.starts))


def _apply(
    where: str, attribute: str, target: str, value: str, spans: dict[str, SpanAnnotation]
) -> None:
    """Add an attribute (Doubt, Instance) to the span that it names."""
    if attribute not in ("doubt", "instance") or not target.startswith("T"):
        return
    if target not in spans:
        raise InputError(f"{where}: there is no span {shortened(target)}; check the export")
    if attribute == "doubt":
        spans[target] = replace(spans[target], doubt=True)
    elif not value:
        raise InputError(f"{where}: attribute 'Instance' has no value; give the instance's id")
    else:
        spans[target] = replace(spans[target], instance=value)
