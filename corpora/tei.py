"""TEI P5 read for its text: words in their order, with the place of every character.

The header, notes, apparatus and what `tei_rules` lists are left out. In `choice` the correction,
the regularised and the expanded form are read (`corr`, `reg`, `expan`), in `app` the `lem`, or
the first reading where there is none; what else is in an `app` is left out. `supplied`, `add` and
`unclear` are read as they stand; a `gap` is nothing. Blocks (`p`, `l`, `head`, …) are lines of the
plain text; other line ends and blanks in a row are one blank. A break of line or page separates
words unless it says `break="no"`; a word that a hyphen breaks at a line end is one word, without
the hyphen.
"""

from pathlib import Path

from allusion_es.core.errors import InputError
from allusion_es.corpora.left_out import LeftOut, left_out_note
from allusion_es.corpora.source import SourceText
from allusion_es.corpora.source_map import TextMap
from allusion_es.corpora.source_plain import check_latin
from allusion_es.corpora.tei_events import read_events
from allusion_es.corpora.tei_reader import TeiReader


def read_tei(
    path: Path,
    *,
    keep: frozenset[str] = frozenset(),
    languages: frozenset[str] = frozenset(),
) -> SourceText:
    """Read a TEI file.

    It is read as a stream; memory holds its text, some numbers for each line and element, and
    its notes.

    Args:
        path: TEI P5, in UTF-8, UTF-16, ISO-8859-1 or another encoding of one byte a character,
            as the file declares.
        keep: Elements whose words are read although they are left out by default, such as `note`.
        languages: Values of `xml:lang` that are read besides Latin; `all` is every one.

    Raises:
        InputError: It is not well-formed, not TEI, declares entities, or has no Latin text.

    Example:
        >>> import tempfile
        >>> tei = '<TEI><text><body><p>Gusta<lb break="no"/>te <note>Ps 33,9</note>'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo.xml")
        ...     _ = path.write_text(tei + "et videte</p></body></text></TEI>")
        ...     source = read_tei(path)
        ...     source.text, source.place(8, 10).xpath, source.annotations[0].text
        ('Gustate et videte', '/TEI[1]/text[1]/body[1]/p[1]', 'Ps 33,9')
    """
    reader = TeiReader(path, keep, languages)
    facts = read_events(path, reader)
    # A deletion to an id that never comes would leave out all the rest.
    endless: frozenset[str] = frozenset()
    while reader.deletions:
        endless |= reader.deletions.keys()
        reader = TeiReader(path, keep, languages, endless)
        facts = read_events(path, reader)
    text = reader.builder.finished()
    left_out = _left_out(reader, len(text))
    if not text:
        told = left_out_note(left_out)
        raise InputError(
            f"{path}: there is no text outside of its header, notes and apparatus; "
            + (told or "give it some")
        )
    check_latin(text, path)
    runs, nodes = reader.builder.runs, reader.nodes.finished(reader.builder.runs, len(text))
    text_map = TextMap(text, facts.codec, runs, nodes, namespaced=reader.namespaced)
    return SourceText(
        path=path,
        kind="tei",
        text=text,
        map=text_map,
        facts=facts,
        title=reader.header.found("title"),
        author=reader.header.found("author"),
        pages=reader.labels.pages(),
        lines=reader.labels.lines(),
        sections=reader.labels.sections(),
        annotations=reader.notes.annotations(nodes),
        ids=reader.notes.ids(nodes),
        pointers=reader.notes.pointers,
        insert_at=reader.insert_at,
        prefix=reader.prefix,
        reserved=frozenset(reader.notes.reserved),
        left_out=left_out,
        remarks=tuple(reader.remarks),
    )


def _left_out(reader: TeiReader, length: int) -> tuple[LeftOut, ...]:
    """What was left out, in the order of the file, without what has no words."""
    # What stands in a reading that had to give way may point behind the end of the text.
    for omission in reader.omissions:
        omission.start = min(omission.start, length)
    found = (omission.finished() for omission in reader.omissions if omission.words)
    return tuple(sorted(found, key=lambda each: (each.start, each.line)))
