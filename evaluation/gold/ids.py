"""Resolution of gold links: references become ids of passages of a collection."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from allusion_es.core.errors import InputError, UsageError, VerseError
from allusion_es.corpora.bible.books import BOOKS
from allusion_es.corpora.bible.numbering import NUMBERINGS, Numbering, to_vulgate
from allusion_es.corpora.bible.references import (
    Reference,
    is_verse_id,
    parse_references,
    parse_verse_id,
)
from allusion_es.corpora.bible.verse_table import VerseTable
from allusion_es.evaluation.gold.link import GoldLink

_BOOK_ORDER = {book.osis: number for number, book in enumerate(BOOKS)}


@dataclass(frozen=True, slots=True)
class UnknownPassage:
    """A passage that a gold link names and the collection lacks.

    Attributes:
        line: The link's line in its file, 0 if it has none.
        query_id: The link's query.
        written: The id or reference as the link has it.
        reason: Why that is no passage of the collection, and what the collection has instead.
    """

    line: int
    query_id: str
    written: str
    reason: str


def resolve(
    links: Iterable[GoldLink],
    ids: Iterable[str],
    numbering: Numbering = "vulgate",
    *,
    source: str = "gold links",
) -> list[GoldLink]:
    """The links with ids of the collection in place of references: each verse of a range, in order.

    Ids of the collection stay. Anything else is read as references, checked against the verses of
    the collection, and mapped where `numbering` is not the Vulgate's. `source_ids` stay as they
    are.

    Args:
        links: From `gold.files.read_gold`.
        ids: All ids of the collection (`CandidateIndex.ids`), in any order.
        numbering: The verse numbering of the links.
        source: The links' file, for messages.

    Raises:
        VerseError: A passage is not in the collection; the message names line, query and verse.
        InputError: Two references of a query mean the same verse.
        UsageError: There is no such numbering.

    Example:
        >>> from allusion_es.retrieval.types import Query
        >>> links = [GoldLink(Query("miserere", "q"), ("Ps 51,1-2",))]
        >>> [link.relevant for link in resolve(links, ["Ps.50.3", "Ps.50.4"], "kjv")]
        [('Ps.50.3', 'Ps.50.4')]
    """
    resolved, unknown = resolve_known(links, ids, numbering, source=source)
    if unknown:
        first = unknown[0]
        more = f"; {len(unknown) - 1} more are unknown" if len(unknown) > 1 else ""
        raise VerseError(
            f"{source}:{first.line}: query {first.query_id!r}, {first.written!r}: "
            f"{first.reason}{more}; 'allusion-es gold check' lists all"
        )
    return resolved


def resolve_known(
    links: Iterable[GoldLink],
    ids: Iterable[str],
    numbering: Numbering = "vulgate",
    *,
    source: str = "gold links",
) -> tuple[list[GoldLink], list[UnknownPassage]]:
    """The resolved links, as `resolve` gives them, and the passages that are unknown.

    Unknown passages are left out of the links, and links that have no others are left out whole.

    Raises:
        InputError, UsageError: As `resolve`.
    """
    reader = ReferenceReader(ids, numbering)
    resolved, unknown = [], []
    for link in links:
        found: dict[str, str] = {}
        for written in link.relevant:
            try:
                passages = reader.passages(written)
            except VerseError as error:
                missed = UnknownPassage(link.line, link.query.query_id, written, str(error))
                unknown.append(missed)
                continue
            for passage in passages:
                # In other numberings two verses may well be one of the Vulgate.
                if numbering == "vulgate" and passage in found:
                    raise InputError(
                        f"{source}:{link.line}: query {link.query.query_id!r}: "
                        f"{found[passage]!r} and {written!r} both mean {passage}; name it once"
                    )
                found[passage] = written
        if found:
            resolved.append(replace(link, relevant=tuple(found)))
    return resolved, unknown


def chosen_links(
    links: Sequence[GoldLink],
    ids: Iterable[str],
    *,
    types: Collection[str] = (),
    numbering: Numbering = "vulgate",
    skip_unknown: bool = False,
    source: str = "gold links",
) -> tuple[list[GoldLink], int]:
    """The resolved links of some types, and how many of their passages were left out.

    Args:
        links: As `resolve`.
        ids: As `resolve`.
        types: Types of links, of which any will do; by default all links.
        numbering: As `resolve`.
        skip_unknown: Leave out passages that the collection lacks.
        source: As `resolve`.

    Raises:
        VerseError: A passage is not in the collection, and is not to be left out.
        InputError: As `resolve`.
        UsageError: There is no link of these types, or none whose passages are known.

    Example:
        >>> from allusion_es.retrieval.types import Query
        >>> links = [GoldLink(Query("miserere", "q"), ("Ps 50,3", "Ps 151,1"), type="quotation")]
        >>> found, left_out = chosen_links(links, ["Ps.50.3"], skip_unknown=True)
        >>> found[0].relevant, left_out
        (('Ps.50.3',), 1)
        >>> chosen_links(links, ["Ps.50.3"], types=["allusion"])
        Traceback (most recent call last):
            ...
        allusion_es.core.errors.UsageError: type: no link of gold links has type allusion
    """
    wanted = [link for link in links if not types or link.type in types]
    if types and not wanted:
        told = f"no link of {source} has type {', '.join(sorted(types))}"
        raise UsageError(told, argument="type")
    if not skip_unknown:
        return resolve(wanted, ids, numbering, source=source), 0
    known, unknown = resolve_known(wanted, ids, numbering, source=source)
    if not known:
        raise UsageError(f"{source}: the index has none of the passages that the links name")
    return known, len(unknown)


def left_out_note(count: int) -> str:
    """The note on passages of gold links that were left out; "" if none were.

    Example:
        >>> left_out_note(2), left_out_note(0)
        ('left out 2 passages that the index lacks', '')
    """
    noun = "passage" if count == 1 else "passages"
    return f"left out {count} {noun} that the index lacks" if count else ""


def canonical(ids: Iterable[str]) -> list[str]:
    """The verses among some ids, in the order of the Bible.

    Example:
        >>> canonical(["Exod.1.1", "Gen.10.1", "sermo-1", "Gen.2.1"])
        ['Gen.2.1', 'Gen.10.1', 'Exod.1.1']
    """
    return sorted(filter(is_verse_id, ids), key=_canonical_key)


def _canonical_key(verse_id: str) -> tuple[int, int, int]:
    verse = parse_verse_id(verse_id)
    return _BOOK_ORDER[verse.book.osis], verse.chapter, verse.verse


@lru_cache(maxsize=1 << 16)
def read_references(text: str) -> tuple[Reference, ...]:
    """The references that a text lists, as `parse_references` reads them; () if it cannot.

    On its way from a file to a run a reference is read when a cell is cut into references and
    again when it is resolved, and gold links name the same verses again and again. So what was
    read is kept.

    Example:
        >>> [str(reference) for reference in read_references("Ps 22,1.3")], read_references("b-1")
        (['Ps.22.1', 'Ps.22.3'], ())
    """
    try:
        return parse_references(text)
    except VerseError:
        return ()


class ReferenceReader:
    """Turns references into ids of a collection's passages.

    Args:
        ids: All ids of the collection, in any order.
        numbering: The verse numbering of the references.

    Raises:
        UsageError: There is no such numbering.
    """

    def __init__(self, ids: Iterable[str], numbering: Numbering = "vulgate") -> None:
        if numbering not in NUMBERINGS:
            known = ", ".join(NUMBERINGS)
            raise UsageError(f"there is no numbering {numbering!r}; use one of {known}")
        self._ids = frozenset(ids)
        self._numbering = numbering

    @cached_property
    def _verses(self) -> VerseTable:
        # Only when a reference has to be read: links that name ids need no table of 35,809 verses.
        return VerseTable(canonical(self._ids))

    def passages(self, written: str) -> Sequence[str]:
        """The ids that an id or a list of references means, in order.

        Raises:
            VerseError: There is no such passage, or it cannot be read.
        """
        if written in self._ids and (self._numbering == "vulgate" or not is_verse_id(written)):
            return (written,)
        # What cannot be read is parsed again, for the error that says why.
        references = read_references(written) or parse_references(written)
        return [passage for each in references for passage in self._expand(each)]

    def _expand(self, reference: Reference) -> Iterator[str]:
        if self._numbering == "vulgate":
            yield from self._verses.expand(reference)
            return
        one_chapter = reference.chapter == reference.last_chapter and not reference.open
        if not (one_chapter and reference.verse and reference.last_verse):
            raise VerseError(
                f"{reference}: chapters, and ranges over their ends, cannot be mapped from "
                f"{self._numbering} numbering; give the verses of each chapter"
            )
        for number in range(reference.verse, reference.last_verse + 1):
            given = f"{reference.book}.{reference.chapter}.{number}"
            for verse in map(parse_verse_id, to_vulgate(given, self._numbering)):
                place = (verse.chapter, verse.verse)
                yield from self._verses.expand(Reference(verse.book.osis, *place, *place))
