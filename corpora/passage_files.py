"""Passages read from files: tables, JSON lines, TEI editions, texts of Tesserae, lines, pages.

`read_passages` chooses the reader by the name and first bytes of the file, unless the caller names
the kind; `read_files` takes several files, or a folder.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from msgspec import Struct

from allusion_es.core.characters import shorten
from allusion_es.core.errors import InputError, UsageError, VerseError
from allusion_es.core.records import checked, parse_json
from allusion_es.corpora.bible.references import (
    format_reference,
    is_verse_id,
    parse_references,
    parse_verse_id,
)
from allusion_es.corpora.documents import document_of
from allusion_es.corpora.formats import (
    JSON_SUFFIXES,
    PASSAGE_SUFFIXES,
    TABLE_SUFFIXES,
    TESS_SUFFIX,
    check_plain,
    kind_of,
)
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.tables import (
    OnBad,
    check_length,
    raise_bad,
    read_lines,
    read_rows,
    shortened,
    split_lines,
)
from allusion_es.corpora.tei.reader import read_cited_tei

Kind = Literal["table", "lines", "verses", "tei", "tess", "jsonl"]
"""The layout of a file of passages: a table, one passage a line, one verse a line, a TEI edition,
a text of Tesserae, or JSON lines."""

KINDS: tuple[Kind, ...] = get_args(Kind)

_NO_NAMES: Mapping[str, str] = MappingProxyType({})
_NEEDED = ("id", "text")
_OPTIONAL = ("work", "author", "tokens", "lemmas")

LONGEST_ID = 512
"""Most bytes of an id, the limit of Elasticsearch for `_id`."""

_LONGEST_TITLE = 40
"""Most characters of a title in a reference."""

_IN_FOLDERS = PASSAGE_SUFFIXES | {
    ".xml", ".tei", ".txt", ".text", ".html", ".htm", ".xhtml", ".docx",
}  # fmt: skip
"""The suffixes of the files that are read of a folder."""

# Tesserae names its files `vergil.aeneid.tess`, or `vergil.aeneid.part.1.tess`.
_TESS_NAME = re.compile(r"([a-z_0-9-]+)\.([a-z_0-9-]+)(?:\.part\..+)?")
_TAG = re.compile(r"\s*<([^<>]{1,200})>\s*(.*)", re.DOTALL)


def read_files(
    paths: Sequence[Path],
    *,
    kind: Kind | None = None,
    work: str | None = None,
    author: str | None = None,
    columns: Mapping[str, str] = _NO_NAMES,
    on_bad: OnBad = raise_bad,
) -> Iterator[Passage]:
    r"""Yield the passages of several files or folders as one collection, one at a time.

    Args:
        paths: Files, and folders of which all files with the suffixes of texts are read, in the
            order of their names; hidden files and those of Perseus' catalogue (`__cts__.xml`) are
            not.
        kind: As for `read_passages`, and of all files.
        work: The title of all of them; by default each has its own.
        author: The author of all of them, likewise.
        columns: A table's own names of its columns.
        on_bad: Called with the error of a record, or of one file of several, that cannot be read.

    Raises:
        InputError: No passage can be read, or there is no such file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "vergil.aeneid.tess").write_text("<verg. aen. 1.1>\tArma")
        ...     _ = Path(folder, "lucan.bellum_civile.tess").write_text("<luc. 1.1>\tBella per")
        ...     [(each.id, each.author, each.work) for each in read_files([Path(folder)])]
        [('luc._1.1', 'lucan', 'bellum civile'), ('verg._aen._1.1', 'vergil', 'aeneid')]
    """
    files = collection_files(paths)
    if len(files) == 1:
        yield from read_passages(
            files[0], kind=kind, work=work, author=author, columns=columns, on_bad=on_bad
        )
        return
    names = _distinct_names(files)
    where_seen: dict[str, Path] = {}
    order = 0
    problem: InputError | None = None
    for path in files:
        passages = read_passages(
            path,
            kind=kind,
            work=work,
            author=author,
            columns=columns,
            on_bad=on_bad,
            prefix=names[path],
        )
        try:
            for passage in passages:
                first = where_seen.setdefault(passage.id, path)
                if first != path:
                    on_bad(
                        InputError(
                            f"{path}: the id {shortened(passage.id)} is in {first} too; "
                            "give each passage an id of its own"
                        )
                    )
                    continue
                yield replace(passage, order=order)
                order += 1
        except InputError as error:
            problem = error
            on_bad(error)
    if not order:
        raise problem or InputError(
            f"{', '.join(map(str, paths))}: there is no file with passages in it; give TEI, .tess, "
            "tables, JSON lines or texts"
        )


def collection_files(paths: Sequence[Path]) -> list[Path]:
    """The files that are given, and the texts in the folders that are, in the order of names."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = (each for each in path.rglob("*") if each.suffix.lower() in _IN_FOLDERS)
        found += sorted(
            each
            for each in inside
            if each.is_file()
            and not each.name.startswith("__")
            and not any(part.startswith(".") for part in each.relative_to(path).parts)
        )
    return list(dict.fromkeys(found))


def _distinct_names(files: Sequence[Path]) -> dict[Path, str]:
    """A name for each file, with which the ids of its passages begin: its own, or with folders."""
    names = {path: path.stem for path in files}
    for depth in range(2, max((len(path.parts) for path in files), default=0) + 1):
        counts = Counter(names.values())
        for path in files:
            if counts[names[path]] > 1:
                names[path] = ".".join((*path.parts[-depth:-1], path.stem))
    return names


def read_passages(
    path: Path,
    *,
    kind: Kind | None = None,
    work: str | None = None,
    author: str | None = None,
    columns: Mapping[str, str] = _NO_NAMES,
    on_bad: OnBad = raise_bad,
    prefix: str = "",
) -> Iterator[Passage]:
    """The passages of a file, one at a time; memory holds the ids and some lines.

    Of a TEI edition it holds the text.

    Args:
        path: A UTF-8 file, TEI, HTML or DOCX. TEI and the suffixes `.tess`, `.jsonl` (`.ndjson`,
            `.json`), `.tsv`, `.tab` and `.csv` tell the kind, others are one passage a line or
            paragraph, unless `kind` says otherwise.
        kind: `table`, `lines`, `verses` (a reference, a tab, the text), `tei`, `tess` or `jsonl`.
        work: The work's title; without one, that in a TEI header, or the file's name without its
            suffix. What a table or a line of JSON says goes before it.
        author: The work's author, likewise.
        columns: A table's own names of its columns, where they are not `id` and `text`.
        on_bad: Called with the error of a record that cannot be read; by default it is raised.
        prefix: What the ids of a file begin with that has none of its own (TEI, lines). By
            default TEI has the name of the edition or file, and lines have nothing.

    Raises:
        InputError: The file cannot be read as that kind; the message says where and why.
        UsageError: There is no such kind.
    """
    if kind is not None and kind not in KINDS:
        raise UsageError(f"there is no kind of file {kind!r}; use one of {', '.join(KINDS)}")
    found = kind or passage_kind(path)
    if found == "tei":
        return read_tei_passages(path, work=work, author=author, on_bad=on_bad, prefix=prefix)
    if found == "tess":
        return read_tess(path, work=work, author=author, on_bad=on_bad)
    if found == "jsonl":
        return read_json_passages(path, work=work, author=author, on_bad=on_bad)
    if found == "table":
        return read_table(path, work=work, author=author, columns=columns, on_bad=on_bad)
    if found == "verses":
        return read_verse_lines(path, work=work, author=author or "")
    document = found if found == "html" or found == "docx" else None
    check = kind is None and document is None
    return read_text_lines(
        path, work=work, author=author or "", kind=document, check=check, prefix=prefix
    )


def passage_kind(path: Path) -> Kind | Literal["html", "docx"]:
    """The layout of a file, by its name or its first bytes; `lines` where nothing tells another.

    Raises:
        InputError: It cannot be opened, or is of a kind that is not read.
    """
    suffix = path.suffix.lower()
    found = kind_of(path, tables=suffix in PASSAGE_SUFFIXES)
    if found != "text":
        return found if found != "passages" else "lines"
    if suffix in TABLE_SUFFIXES:
        return "table"
    if suffix in JSON_SUFFIXES:
        return "jsonl"
    return "tess" if suffix == TESS_SUFFIX else "lines"


def read_tei_passages(
    path: Path,
    *,
    work: str | None = None,
    author: str | None = None,
    on_bad: OnBad = raise_bad,
    prefix: str = "",
) -> Iterator[Passage]:
    """Yield the passages of a TEI edition: what its citations name, such as a verse or a section.

    An id is the name of the edition, or else of the file, a full stop, and the citation; title and
    author are those of the header. In a `teiCorpus` each text has its own header, and ids without
    the name of an edition have that of the text (`xml:id`, or its number) after the file's.
    `tei.citations` says what is cited.

    Args:
        path: A TEI file.
        work: The work's title; by default that in the header, or else the file's name.
        author: Its author; by default that in the header.
        on_bad: Called with the error of a passage that is too long.
        prefix: What ids begin with if the file does not name the edition.

    Raises:
        InputError: The file is no TEI, or has no Latin text.

    Example:
        >>> import tempfile
        >>> tei = '<TEI><text><body><div n="1"><l n="1">Arma virumque</l><l n="2">Troiae</l></div>'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "Aeneis.xml")
        ...     _ = path.write_text(tei + "</body></text></TEI>")
        ...     [(each.id, each.text, each.reference) for each in read_tei_passages(path)]
        [('Aeneis.1.1', 'Arma virumque', 'Aeneis 1.1'), ('Aeneis.1.2', 'Troiae', 'Aeneis 1.2')]
    """
    source, texts = read_cited_tei(path)
    seen, order = SeenIds(), 0
    for each in texts:
        title = work or each.title or path.stem
        by = each.author if author is None else author
        of_file = ".".join(filter(None, [prefix or path.stem, each.name]))
        name = "_".join((each.urn or of_file).split())
        for unit in each.units:
            where = f"{path}:{unit.line}"
            identifier = ".".join(filter(None, [name, "_".join(unit.citation.split())]))
            text = " ".join(source.text[unit.start : unit.end].split())
            try:
                check_length(text, f"{where}: {unit.citation or 'the text, which has no numbers,'}")
                seen.add(identifier, unit.line, f"{where}: the id")
            except InputError as error:
                on_bad(error)
                continue
            reference = f"{shorten(title, _LONGEST_TITLE)} {unit.citation}".strip()
            yield Passage(identifier, text, title, order=order, reference=reference, author=by)
            order += 1
    if not order:
        raise InputError(f"{path}: no passage of it can be read")


def read_tess(
    path: Path, *, work: str | None = None, author: str | None = None, on_bad: OnBad = raise_bad
) -> Iterator[Passage]:
    r"""Yield the passages of a text of Tesserae, whose lines are a tag and the words.

    The tag (`<verg. aen. 1.1>`) is the reference, and with `_` for blanks the id. Author and title
    are those in the file's name (`vergil.aeneid.tess`). A tag that comes again at once goes on.

    Args:
        path: A UTF-8 text file; blank lines and lines that begin with `#` are ignored.
        work: The work's title; by default as the file's name has it.
        author: Its author, likewise.
        on_bad: Called with the error of a line that has no tag or no words.

    Raises:
        InputError: The file cannot be read, or has no passage.
    """
    named = _TESS_NAME.fullmatch(path.stem.lower())
    by, title = (each.replace("_", " ") for each in named.groups()) if named else ("", path.stem)
    title, by = work or title, by if author is None else author
    seen, order = SeenIds(), 0
    held: Passage | None = None
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        where = f"{path}:{number}"
        try:
            tag, text = _tagged(line, where)
            identifier = "_".join(tag.split())
            if held is not None and identifier == held.id:
                held = replace(held, text=f"{held.text} {text}")
                check_length(held.text, f"{where}: the passage {tag}")
                continue
            seen.add(identifier, number, f"{where}: the tag")
        except InputError as error:
            on_bad(error)
            continue
        if held is not None:
            yield held
            order += 1
        held = Passage(identifier, text, title, order=order, reference=tag, author=by)
    if held is None:
        raise InputError(f"{path}: the file has no passage; write '<tag>', a tab, the words")
    yield held


def _tagged(line: str, where: str) -> tuple[str, str]:
    """The tag of a line of Tesserae, and its words."""
    match = _TAG.fullmatch(line)
    if match is None or not match[1].strip():
        raise InputError(
            f"{where}: no tag before {shortened(line.strip())}; write '<verg. aen. 1.1>', a tab, "
            "the words"
        )
    tag, text = " ".join(match[1].split()), " ".join(match[2].split())
    if not text:
        raise InputError(f"{where}: {shortened(tag)} has no words; leave out the line")
    check_length(text, f"{where}: the line")
    return tag, text


class _PassageRecord(Struct):
    """A passage in a line of JSON; `seg_id` as locisimiles has it, `series` as passim."""

    text: str
    id: str | int = ""
    seg_id: str | int = ""
    work: str = ""
    title: str = ""
    series: str = ""
    author: str = ""
    tokens: list[str] = []
    lemmas: list[str] = []


def read_json_passages(
    path: Path, *, work: str | None = None, author: str | None = None, on_bad: OnBad = raise_bad
) -> Iterator[Passage]:
    r"""Yield the passages of JSON lines, an object with `id` (or `seg_id`) and `text` each.

    They may have `work` (or `title`, or `series`), `author`, `tokens` and `lemmas` as well; other
    fields are ignored, so that the input files of passim and locisimiles can be read.

    Args:
        path: A UTF-8 file.
        work: The work's title where a line has none; else the file's name without suffix.
        author: The author, likewise.
        on_bad: Called with the error of a line that cannot be read.

    Raises:
        InputError: The file cannot be read, or has no passage.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "poems.jsonl")
        ...     _ = path.write_text('{"seg_id": "verg 1", "text": "Arma virumque"}\n')
        ...     [(each.id, each.work) for each in read_json_passages(path)]
        [('verg 1', 'poems')]
    """
    seen, order = SeenIds(), 0
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            record = parse_json(line, where)
            if not isinstance(record, dict):
                raise InputError(f"{where}: {shortened(line)} is no object; give one a line")
            given = {k: v for k, v in record.items() if v is not None}
            row = checked(given, _PassageRecord, where)
            identifier = str(row.id or row.seg_id)
            seen.add(identifier, number, f"{where}: field 'id'")
            title = row.work or row.title or row.series or work or path.stem
            check_length(row.text, f"{where}: field 'text'")
            passage = _passage(
                identifier, row.text, title, row.author or author or "", order,
                row.tokens, row.lemmas, f"{where}: field",
            )  # fmt: skip
        except InputError as error:
            on_bad(error)
            continue
        yield passage
        order += 1
    if not order:
        raise InputError(f"{path}: the file has no passage; give an object with id and text a line")


def _passage(
    identifier: str,
    text: str,
    work: str,
    author: str,
    order: int,
    tokens: Sequence[str],
    lemmas: Sequence[str],
    where: str,
) -> Passage:
    """The passage of a record, checked; `where` says where it stands, up to a field's name."""
    if not text.strip():
        raise InputError(
            f"{where} 'text' of {shortened(identifier)} is empty; "
            "give it a text or leave out the row"
        )
    if lemmas and len(tokens) != len(lemmas):
        raise InputError(
            f"{where} 'lemmas' of {shortened(identifier)} has {len(lemmas)} words, "
            f"{where.rpartition(' ')[2]} 'tokens' {len(tokens)}; give one lemma for each token"
        )
    if is_verse_id(identifier):
        passage = verse_passage(identifier, text, work, order)
    else:
        passage = Passage(identifier, text, work, order=order, reference=identifier)
    return replace(
        passage, author=author, tokens=tuple(tokens) or None, lemmas=tuple(lemmas) or None
    )


def read_table(
    path: Path,
    *,
    work: str | None = None,
    author: str | None = None,
    columns: Mapping[str, str] = _NO_NAMES,
    on_bad: OnBad = raise_bad,
) -> Iterator[Passage]:
    r"""Yield the passages of a table with named columns.

    The columns `id` and `text` are needed; `work`, `author`, `tokens` and `lemmas` may be there;
    others are ignored. Tokens and lemmas are separated by blanks, one lemma for each token. An id
    such as `Ps.22.1` makes the passage that verse, with its book and testament.

    Args:
        path: A UTF-8 table with a header, separated as `read_rows` says.
        work: The work's title where the table has none; else the file's name without suffix.
        author: The author, likewise.
        columns: The table's own names of its columns, where they differ.
        on_bad: Called with the error of a row that cannot be read.

    Raises:
        InputError: The file is not such a table; the message names line and column.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo.tsv")
        ...     _ = path.write_text("id\ttext\ns1\tGustate et videte\n")
        ...     [(passage.id, passage.work) for passage in read_table(path)]
        [('s1', 'sermo')]
    """
    seen, order = SeenIds(), 0
    for number, cells in read_rows(path, _NEEDED, _OPTIONAL, columns, on_bad=on_bad):
        where = f"{path}:{number}"
        if not order and "lemmas" in cells and "tokens" not in cells:
            raise InputError(
                f"{path}:1: column 'lemmas' without a column 'tokens'; give both, one lemma a token"
            )
        try:
            seen.add(cells["id"], number, f"{where}: column 'id'")
            passage = _passage(
                cells["id"],
                cells["text"],
                cells.get("work") or (path.stem if work is None else work),
                cells.get("author") or author or "",
                order,
                cells.get("tokens", "").split(),
                cells.get("lemmas", "").split(),
                f"{where}: column",
            )
        except InputError as error:
            on_bad(error)
            continue
        yield passage
        order += 1
    if not order:
        raise InputError(f"{path}: the table has a header but no rows; give one passage a row")


def read_text_lines(
    path: Path,
    *,
    work: str | None = None,
    author: str = "",
    kind: Literal["html", "docx"] | None = None,
    check: bool = False,
    prefix: str = "",
) -> Iterator[Passage]:
    r"""Yield a passage for each line that is not blank, with the line's number as its id.

    Args:
        path: A UTF-8 text file, or a page or document, of which each paragraph is a line.
        work: The work's title; without one, the file's name without its suffix.
        author: Its author, or "".
        kind: `html` or `docx`, if it is not a text file.
        check: Whether to refuse lines that are markup (`formats.check_plain`).
        prefix: What stands before the number in ids, with a full stop between; or "".

    Raises:
        InputError: The file cannot be read, or has no text.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "Confessiones.txt")
        ...     _ = path.write_text("Magnus es, Domine\n\net laudabilis valde\n")
        ...     [(passage.id, passage.text) for passage in read_text_lines(path)]
        [('1', 'Magnus es, Domine'), ('3', 'et laudabilis valde')]
    """
    order = 0
    lines = _lines(path) if kind is None else iter(document_of(path, kind).text.split("\n"))
    for number, line in enumerate(lines, start=1):
        if text := line.strip():
            check_length(text, f"{path}:{number}: the line")
            if check:
                check_plain(text, f"{path}:{number}", is_line=True)
            title = path.stem if work is None else work
            yield Passage(
                id=f"{prefix}.{number}" if prefix else str(number),
                text=text,
                work=title,
                order=order,
                reference=f"{title} {number}" if prefix else str(number),
                author=author,
            )
            order += 1
    if not order:
        raise InputError(f"{path}: the file has no text; give one passage a line")


def read_verse_lines(path: Path, *, work: str | None = None, author: str = "") -> Iterator[Passage]:
    r"""Yield the verses of a file whose lines are a reference, a tab, and the text.

    Args:
        path: A UTF-8 text file; blank lines and lines that begin with `#` are ignored. References
            may be in any style.
        work: The work's title; without one, the file's name without its suffix.
        author: Its author, or "".

    Raises:
        InputError: The file cannot be read, or a line is not a reference, a tab and a text.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "Psalmi.txt")
        ...     _ = path.write_text("Ps 22,1\tDominus regit me\n")
        ...     [(passage.id, passage.reference) for passage in read_verse_lines(path)]
        [('Ps.22.1', 'Ps 22,1')]
    """
    seen, order = SeenIds(), 0
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        where = f"{path}:{number}"
        reference, tab, text = line.strip("\r\n").partition("\t")
        if not tab:
            raise InputError(
                f"{where}: no tab in {shortened(line.strip())}; write 'Ps 22,1', a tab, the text"
            )
        identifier = _verse_id(reference, where)
        seen.add(identifier, number, f"{where}: the reference")
        if not text.strip():
            raise InputError(f"{where}: the text of {identifier} is empty; leave out the line")
        check_length(text, f"{where}: the text")
        title = path.stem if work is None else work
        yield replace(verse_passage(identifier, text.strip(), title, order), author=author)
        order += 1
    if not order:
        raise InputError(f"{path}: the file has no verses; write 'Ps 22,1', a tab, the text")


def verse_passage(identifier: str, text: str, work: str, order: int) -> Passage:
    """Return the passage of a verse, with the book, chapter and verse that its OSIS id names.

    Raises:
        VerseError: The id is not that of a verse.

    Example:
        >>> verse_passage("Ps.22.1", "Dominus regit me", "Psalterium", 0).testament
        'ot'
    """
    verse = parse_verse_id(identifier)
    return Passage(
        id=identifier,
        text=text,
        work=work,
        book=verse.book.osis,
        chapter=verse.chapter,
        verse=verse.verse,
        order=order,
        testament=verse.book.testament,
        reference=format_reference(identifier),
    )


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file, also of one whose lines end as on old Macs."""
    for line in read_lines(path):
        yield from split_lines(line.removesuffix("\n").removesuffix("\r"))


def _verse_id(reference: str, where: str) -> str:
    """The OSIS id of a reference to one verse."""
    try:
        identifiers = [str(found) for found in parse_references(reference)]
        return str(parse_verse_id(identifiers[0] if len(identifiers) == 1 else reference))
    except VerseError as error:
        raise InputError(
            f"{where}: {shortened(reference)} is not the reference of one verse: {error}"
        ) from error


class SeenIds:
    """The ids of the passages read so far; refuses an id that is repeated or cannot be used."""

    def __init__(self) -> None:
        """Start without ids."""
        self._lines: dict[str, int] = {}

    def add(self, identifier: str, line: int, where: str) -> None:
        """Check an id and remember it.

        Args:
            identifier: The id.
            line: The number of the line that it stands on.
            where: The start of the message: file, line, and column.

        Raises:
            InputError: It is empty, repeated, too long, or has control characters.
        """
        if not identifier:
            raise InputError(f"{where} is empty; give each passage an id")
        if not identifier.isprintable():
            raise InputError(
                f"{where} is {shortened(identifier)}, with a control character or line break; "
                "use printable characters only"
            )
        if len(identifier.encode()) > LONGEST_ID:
            raise InputError(
                f"{where} is {shortened(identifier)}, longer than {LONGEST_ID} bytes; shorten it"
            )
        if (first := self._lines.setdefault(identifier, line)) != line:
            raise InputError(
                f"{where} is {shortened(identifier)}, as on line {first}; "
                "give each passage an id of its own"
            )
