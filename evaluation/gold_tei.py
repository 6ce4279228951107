"""Gold links from the references that a TEI edition encodes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from allusion_es.core.errors import VerseError
from allusion_es.corpora.references import parse_references
from allusion_es.corpora.source import Annotation, SourceText
from allusion_es.evaluation.gold import GoldLink
from allusion_es.evaluation.gold_ids import ReferenceReader
from allusion_es.evaluation.tei_references import (
    Cited,
    cited_by,
    cited_in,
    is_biblical,
    looks_like_reference,
)
from allusion_es.evaluation.tei_words import Chosen, WordChooser
from allusion_es.retrieval.types import Query

LINK_TYPES = ("quotation", "paraphrase", "allusion", "reference")
"""Of which type a link may be; an element's own `type` is kept if it is one of them."""

_NOTES = frozenset({"app", "bibl", "note", "ref"})
_AROUND = frozenset({"quote", "q", "seg", "ref", "cit"})


@dataclass(frozen=True, slots=True)
class Unread:
    """A reference that gives no link.

    Attributes:
        line: The line of the file.
        written: The reference, or the beginning of its note.
        reason: Why.
    """

    line: int
    written: str
    reason: str


@dataclass(slots=True)
class TeiGold:
    """What a file's references give.

    Attributes:
        links: Gold links, in the order of the references.
        unread: References that give none.
        without: Notes, and pointers to elsewhere, that have no reference to the Bible.
    """

    links: list[GoldLink] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    without: int = 0


def gold_from_tei(
    source: SourceText,
    reader: ReferenceReader,
    *,
    words: int = 10,
    context: int = 15,
    first: int = 1,
) -> TeiGold:
    """The gold links that a TEI file encodes.

    References are read from `cRef`, `target` and `source`, and from the words of `note`, `bibl`
    and `ref`. What they go to is, where there is any: the words of the element itself (`quote`,
    `q`, `seg`, `ref`), the quotation that it stands in, the `quote` of its `cit`, the quotation or
    at least three words in italics (`hi`) that it follows; else the clause before it, whose last
    word is the anchor. A note that names the printed lines it goes to (`9 cf. Rom. 5, 12`) goes to
    that line of its page and the next.

    A link's type is the element's own `type`, if that is one of `LINK_TYPES`; `allusion` if `cf.`
    stands before the reference; `quotation` for words marked as a quotation; else `reference`.

    Args:
        source: A TEI file.
        reader: Resolves references in the collection.
        words: Most words before a mere mark.
        context: Words before and after, at most.
        first: The number of the first link in its id.
    """
    return _Gatherer(source, reader, words, context, first).gathered()


class _Gatherer:
    def __init__(
        self, source: SourceText, reader: ReferenceReader, words: int, context: int, first: int
    ) -> None:
        self._source = source
        self._reader = reader
        self._context = context
        self._number = first
        self._choose = WordChooser(source, words)
        self._gold = TeiGold()
        self._book = ""
        self._by_id = {each.id: each for each in source.annotations if each.id}

    def gathered(self) -> TeiGold:
        children: dict[int, list[Annotation]] = {}
        for each in self._source.annotations:
            children.setdefault(each.parent, []).append(each)
        continued = {each.next for each in self._by_id.values() if each.next}
        for number, annotation in enumerate(self._source.annotations):
            if annotation.id and annotation.id in continued:
                continue
            parent = annotation.parent
            if parent >= 0 and self._source.annotations[parent].element in _NOTES:
                continue
            self._gather(annotation, children.get(number, []))
        return self._gold

    def _gather(self, annotation: Annotation, children: Sequence[Annotation]) -> None:
        if annotation.element in _AROUND and annotation.end > annotation.start:
            cited = self._named(annotation)
            if cited:
                quoted = annotation.element not in ("ref", "seg")
                chosen = Chosen(annotation.start, self._last(annotation).end, quoted)
                self._add(annotation, cited, [chosen] * len(cited))
            elif annotation.element == "ref":
                self._gold.without += 1
            return
        if annotation.element not in _NOTES or (
            annotation.element == "app" and not annotation.text
        ):
            return
        named = self._named(annotation)
        for child in children:
            named += [each for each in self._named(child) if each not in named]
        cited = cited_in(annotation.text, self._book) or named
        self._book = _last_book(cited)
        if not cited:
            self._miss(annotation)
            return
        self._add(annotation, cited, list(self._words(annotation, cited)))

    def _last(self, annotation: Annotation) -> Annotation:
        """The last element of those that `next` joins."""
        seen = {annotation.id}
        while annotation.next in self._by_id and annotation.next not in seen:
            annotation = self._by_id[annotation.next]
            seen.add(annotation.id)
        return annotation

    def _named(self, annotation: Annotation) -> list[Cited]:
        target = annotation.target
        if target.startswith("#") and target[1:] in self._source.ids:
            return []
        cited = cited_by(target)
        if not cited and is_biblical(target):
            self._gold.unread.append(
                Unread(annotation.line, target[:80], "cannot be read as verses")
            )
        return cited

    def _miss(self, annotation: Annotation) -> None:
        if looks_like_reference(annotation.text) or annotation.element == "bibl":
            reason = "names no verse of the Bible that can be read"
            written = annotation.text or annotation.target
            self._gold.unread.append(Unread(annotation.line, written[:80], reason))
        else:
            self._gold.without += 1

    def _words(self, annotation: Annotation, cited: Sequence[Cited]) -> Iterator[Chosen | None]:
        """The words that each reference of a note goes to."""
        point, span = annotation.start, None
        pointed = annotation.target.removeprefix("#").split(" ")[0]
        if annotation.target.startswith("#") and pointed in self._source.ids:
            start, point = self._source.ids[pointed]
            span = Chosen(start, point) if start < point else None
        elif annotation.id in self._source.pointers:
            point = self._source.pointers[annotation.id]
        mark = span or self._choose.around(annotation) or self._choose.at(point)
        for each in cited:
            yield self._choose.line(each.line, annotation.start) if each.line else mark

    def _add(
        self, annotation: Annotation, cited: Sequence[Cited], chosen: Sequence[Chosen | None]
    ) -> None:
        """Links for references: one for those that go to the same words in the same way."""
        groups: dict[tuple[Chosen, str], list[Cited]] = {}
        for each, words in zip(cited, chosen, strict=True):
            if words is None:
                what = f"line {each.line} is not on its page" if each.line else "no words before it"
                self._gold.unread.append(Unread(annotation.line, each.written, what))
                continue
            kind = _kind(annotation, each, words)
            groups.setdefault((words, kind), []).append(each)
        for (words, kind), listed in groups.items():
            relevant = list(self._resolved(annotation, listed))
            if relevant:
                self._gold.links.append(self._link(annotation, words, kind, relevant))

    def _resolved(self, annotation: Annotation, cited: Sequence[Cited]) -> Iterator[str]:
        seen: set[str] = set()
        for each in cited:
            try:
                passages = self._reader.passages(each.written)
            except VerseError as error:
                self._gold.unread.append(Unread(annotation.line, each.written, str(error)))
                continue
            for passage in passages:
                if passage not in seen:
                    seen.add(passage)
                    yield passage

    def _link(
        self, annotation: Annotation, words: Chosen, kind: str, relevant: Sequence[str]
    ) -> GoldLink:
        source, choose = self._source, self._choose
        query = Query(
            text=choose.clean(words.start, words.end),
            query_id=f"{source.path.stem}-{self._number}",
            before=choose.before(words.start, self._context),
            after=choose.after(words.end, self._context),
            anchor=words.anchor,
        )
        self._number += 1
        return GoldLink(
            query=query,
            relevant=tuple(relevant),
            type=kind,
            author=source.author,
            title=source.title or source.path.stem,
            source=f"{source.path.name}:{annotation.xpath}",
            line=annotation.line,
        )


def _kind(annotation: Annotation, cited: Cited, words: Chosen) -> str:
    if annotation.type in LINK_TYPES:
        return annotation.type
    if cited.confer:
        return "allusion"
    return "quotation" if words.quoted else "reference"


def _last_book(cited: Sequence[Cited]) -> str:
    """The book that `ibid.` in the next note means."""
    return parse_references(cited[-1].written)[-1].book if cited else ""
