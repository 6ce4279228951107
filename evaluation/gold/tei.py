"""Gold links from the references that a TEI edition encodes.

`gold_from_tei` goes through the annotations of a file: it reads the Bible references of each
(`tei_references`), finds the words of the text that they go to (`WordChooser`), and resolves them
in a collection.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from allusion_es.core.errors import VerseError
from allusion_es.corpora.source_text import Annotation, SourceText
from allusion_es.evaluation.gold.ids import ReferenceReader, read_references
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.gold.tei_references import (
    CitedReference,
    RefusedReference,
    is_biblical,
    looks_like_reference,
    references_in_note,
    references_in_target,
)
from allusion_es.language.latin.tokenise import WordSpan, printed_words
from allusion_es.retrieval.types import Query

# The words of the text that a reference goes to.

_QUOTES = frozenset({"quote", "q"})
_FEWEST = 3
"""Least words of a clause; a shorter one ("dicit enim:") is taken with the clause before it."""

_ITALIC = 3
"""Least words in italics that are taken for a quotation; one or two may only be emphasised."""

_LONGEST_WORD = 40
"""Characters of a word with blanks and marks: so much text for each word is looked at."""
_SENTENCE_ENDS = frozenset(".?!;:")


@dataclass(frozen=True, slots=True)
class LinkedWords:
    """The words of the text that a reference goes to.

    Attributes:
        start: Where they start in the text.
        end: Where they end, exclusive.
        quoted: True if they are marked as a quotation.
        anchor: The word at which the reference stands, if nothing else marks the words, or "".
    """

    start: int
    end: int
    quoted: bool = False
    anchor: str = ""


class WordChooser:
    """Finds the words that the references of a source go to.

    Args:
        source: The text with its annotations.
        most: Most words of a clause that is taken before a mere mark.
    """

    def __init__(self, source: SourceText, most: int) -> None:
        self._source = source
        self._text = source.text
        self._most = most
        self._quotes = sorted(
            (each.end, each.start)
            for each in source.annotations
            if each.element in _QUOTES and each.end > each.start
        )
        self._marks = sorted({a.start for a in source.annotations if a.start == a.end})
        # Where several references stand in one quotation, each gets the words since the one before:
        # the end of those that are taken, by the start and end of the quotation.
        self._used: dict[tuple[int, int], int] = {}

    def around(self, annotation: Annotation) -> LinkedWords | None:
        """The quotation that an annotation stands in or is joined to by a `cit`, or None."""
        parent = annotation.parent
        while parent >= 0:
            other = self._source.annotations[parent]
            if other.element in _QUOTES and other.end > other.start:
                return self._part(other.start, other.end, annotation.start)
            if other.element == "cit":
                inner = [each for each in self._quotes if other.start <= each[1] < other.end]
                if inner:
                    return LinkedWords(min(start for _, start in inner), inner[-1][0], quoted=True)
            parent = other.parent
        return None

    def at(self, point: int) -> LinkedWords | None:
        """The words before a mark: a quotation or italics that end there, else the clause."""
        last = point
        while last and not self._text[last - 1].isalnum():
            last -= 1
        if not last:
            return None
        return self._quote_before(last, point) or self._italics(last, point) or self._clause(last)

    def line(self, number: int, point: int) -> LinkedWords | None:
        """A printed line and the next one, on the page that a note stands on, or None.

        Two lines, since an entry of the apparatus may go to words that run over a line's end.
        """
        pages, lines = self._source.pages, self._source.lines
        # A note at the foot of a page stands where the next one begins.
        page = bisect_right(pages.starts, point - 1) - 1
        first = pages.starts[page] if page >= 0 else 0
        for index in range(bisect_left(lines.starts, first), bisect_right(lines.starts, point)):
            if lines.labels[index] == str(number):
                end = min([*lines.starts[index + 2 : index + 3], point])
                chosen = LinkedWords(self._word_start(lines.starts[index]), self._word_end(end))
                return chosen if self._words(chosen.start, chosen.end) else None
        return None

    def _word_start(self, place: int) -> int:
        """The start of the word that a line breaks at a place (`bo-/nus`), or the place itself."""
        while 0 < place < len(self._text) and self._text[place - 1 : place + 1].isalnum():
            place -= 1
        return place

    def _word_end(self, place: int) -> int:
        """The end of the word that a line breaks at a place, or the place itself."""
        while 0 < place < len(self._text) and self._text[place - 1 : place + 1].isalnum():
            place += 1
        return place

    def before(self, place: int, count: int) -> str:
        """The `count` words before a place, as they stand in the text."""
        words = self._words(max(0, place - _LONGEST_WORD * count), place)[-count:] if count else []
        return self.clean(words[0].start, place) if words else ""

    def after(self, place: int, count: int) -> str:
        """The `count` words after a place, as they stand in the text."""
        words = self._words(place, place + _LONGEST_WORD * count)[:count] if count else []
        return self.clean(place, words[-1].end) if words else ""

    def clean(self, start: int, end: int) -> str:
        """A stretch of the text with single blanks, on one line."""
        return " ".join(self._text[start:end].split())

    def _words(self, start: int, end: int) -> list[WordSpan]:
        words = printed_words(self._text[start:end])
        return [WordSpan(word.form, word.start + start, word.end + start) for word in words]

    def _part(self, start: int, end: int, point: int) -> LinkedWords:
        """The words of a quotation up to a reference in it; all, if that is the only reference."""
        inner = bisect_right(self._marks, end) - bisect_right(self._marks, start)
        if inner < 2:
            return LinkedWords(start, end, quoted=True)
        used = self._used.get((start, end), start)
        stop = point if used < point < end else end
        self._used[start, end] = stop
        return LinkedWords(used if used < stop else start, stop, quoted=True)

    def _quote_before(self, last: int, point: int) -> LinkedWords | None:
        """The quotation that ends between the last letter before a mark and the mark."""
        place = bisect_left(self._quotes, (last, -1))
        if place < len(self._quotes) and self._quotes[place][0] <= point:
            end, start = self._quotes[place]
            return LinkedWords(start, end, quoted=True)
        return None

    def _italics(self, last: int, point: int) -> LinkedWords | None:
        """The words in italics before a mark, since the mark before it."""
        text_map = self._source.map
        for node in text_map.nodes.around(text_map.node_of(last - 1)):
            if text_map.nodes.name[node] == "hi":
                start, end = text_map.nodes.start[node], text_map.nodes.end[node]
                used = self._used.get((start, end), start)
                self._used[start, end] = point
                if len(self._words(used, last)) >= _ITALIC:
                    return LinkedWords(used, last, quoted=True)
        return None

    def _clause(self, last: int) -> LinkedWords | None:
        """The words from the last end of a sentence or paragraph on, at most `most`."""
        words = self._words(max(0, last - _LONGEST_WORD * self._most), last)[-self._most :]
        if not words:
            return None
        start = words[0].start
        for index in range(len(words) - 1, 0, -1):
            last_before, first = words[index - 1].end - 1, words[index].start
            between = self._text[last_before + 1 : first]
            ends = len(words) - index >= _FEWEST and _SENTENCE_ENDS.intersection(between)
            verse = self._in_verse(last_before) and self._in_verse(first)
            if ends or ("\n" in between and not verse):
                start = first
                break
        anchor = self._text[words[-1].start : words[-1].end]
        return LinkedWords(start, words[-1].end, anchor=" ".join(anchor.split()))

    def _in_verse(self, place: int) -> bool:
        """True if a character stands in a line of verse, over whose end a clause may go."""
        text_map = self._source.map
        names = (text_map.nodes.name[n] for n in text_map.nodes.around(text_map.node_of(place)))
        return "l" in names


# The links.

LINK_TYPES = ("quotation", "paraphrase", "allusion", "reference")
"""The types of links; an element's own `type` is kept if it is one of them."""

_NOTES = frozenset({"app", "bibl", "note", "ref"})
"""Elements whose own words are about the text, and are read for references."""

_AROUND = frozenset({"quote", "q", "said", "seg", "ref", "cit"})
"""Elements that may stand around the words of the text that their reference goes to."""

_APPARATUS = 'div type="apparatus"'
"""How a source names an apparatus as a part that is left out."""

_NUMBERED = re.compile(
    r"[A-Za-z]{2,}\.?,?\s*\d|\d+\s*[,.:]\s*\d|^(?:et|&|ac|u|cf|par|suiv|and|und|-|\u2013)?\.?\s*\d+$"
)
"""Numbers in a note that are more than the number of a printed line.

A name with a number, two numbers, or a number after "et" or the like: perhaps a reference that
was not read."""


_MARKS = " \t\n()[].,;"
"""Characters around a reference that are no part of it."""


@dataclass(frozen=True, slots=True)
class UnreadReference:
    """A reference that gives no link.

    Attributes:
        line: The line of the file.
        written: The reference, or the beginning of its note.
        reason: Why it gives no link.
        element: The element that has it.
        text: All words of the element, as far as they are no part of the text.
        xpath: The path to the element.
    """

    line: int
    written: str
    reason: str
    element: str = ""
    text: str = ""
    xpath: str = ""


@dataclass(slots=True)
class TeiGold:
    """The gold links of a TEI file, and the notes that give none.

    Attributes:
        links: Gold links, in the order of the references.
        unread: References that give none.
        others: Notes, and pointers to elsewhere, in which no reference to the Bible can be read.
        in_part: Notes that have more numbers than those that could be read.
    """

    links: list[GoldLink] = field(default_factory=list)
    unread: list[UnreadReference] = field(default_factory=list)
    others: list[UnreadReference] = field(default_factory=list)
    in_part: list[UnreadReference] = field(default_factory=list)

    @property
    def without(self) -> int:
        """Number of notes and pointers that have no reference to the Bible."""
        return len(self.others)

    def all_unread(self) -> list[UnreadReference]:
        """All notes that were not read, or not whole, in the order of the file."""
        return sorted([*self.unread, *self.others, *self.in_part], key=lambda each: each.line)


def gold_from_tei(
    source: SourceText,
    reader: ReferenceReader,
    *,
    words: int = 10,
    context: int = 15,
    first: int = 1,
) -> TeiGold:
    """The gold links that a TEI file encodes, and the notes that give none.

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
        words: Most words of a clause that is taken before a mere mark.
        context: Most words of context before and after a query.
        first: Number of the first link, for query ids.

    Returns:
        The links, and every note, bibl, ref, quotation and source that gives none, or gives less
        than it names.
    """
    return _LinkGatherer(source, reader, words, context, first).gathered()


class _LinkGatherer:
    """Goes through the annotations of one file and collects links and notes without any."""

    def __init__(
        self, source: SourceText, reader: ReferenceReader, words: int, context: int, first: int
    ) -> None:
        self._source = source
        self._reader = reader
        self._context = context
        self._number = first
        self._chooser = WordChooser(source, words)
        self._gold = TeiGold()
        # The book that was cited last, which `ibid.` in the next note means.
        self._book = ""
        self._by_id = {each.id: each for each in source.annotations if each.id}

    def gathered(self) -> TeiGold:
        """The links and unread notes of the whole file."""
        children: dict[int, list[tuple[int, Annotation]]] = {}
        for number, each in enumerate(self._source.annotations):
            children.setdefault(each.parent, []).append((number, each))
        # An element that `next` joins to one before it is read with that one.
        continued = {each.next for each in self._by_id.values() if each.next}
        for number, annotation in enumerate(self._source.annotations):
            if annotation.id and annotation.id in continued:
                continue
            if not self._is_in_a_note(annotation):
                self._gather(annotation, list(_descendants(number, children)))
        return self._gold

    def _is_in_a_note(self, annotation: Annotation) -> bool:
        """True if an annotation stands in a note, with which it is read."""
        parent = annotation.parent
        while parent >= 0:
            around = self._source.annotations[parent]
            if _is_note(around):
                return True
            parent = around.parent
        return False

    def _gather(self, annotation: Annotation, children: Sequence[Annotation]) -> None:
        """Collect the links of one annotation and of those in it."""
        # An element around words of the text: its attributes say what these allude to.
        if annotation.element in _AROUND and annotation.end > annotation.start:
            cited = self._named(annotation)
            if cited:
                quoted = annotation.element not in ("ref", "seg")
                chosen = LinkedWords(annotation.start, self._last(annotation).end, quoted)
                self._add(annotation, cited, [chosen] * len(cited))
            elif not is_biblical(annotation.target) and (
                annotation.target or annotation.element == "ref"
            ):
                self._gold.others.append(
                    _unread(annotation, annotation.target, "names no verse of the Bible")
                )
            return
        # An element that should stand around words, but has none.
        if not _is_note(annotation):
            for each in self._named(annotation):
                self._gold.unread.append(_unread(annotation, each.written, _no_words(annotation)))
            return
        # A note: its words are read, and if they name no verse, its attributes.
        named = self._named(annotation)
        for child in children:
            named += [each for each in self._named(child) if each not in named]
        read, refused = references_in_note(annotation.text, self._book)
        cited = read or named
        self._book = _last_book(cited)
        if not cited:
            self._record_unread(annotation, refused)
            return
        # Where attributes name the verses, what was refused of the words is no loss.
        for miss in refused if read else ():
            self._gold.unread.append(_unread(annotation, miss.written, miss.reason))
        self._record_rest(annotation, [*cited, *refused])
        self._add(annotation, cited, list(self._linked(annotation, cited)))

    def _last(self, annotation: Annotation) -> Annotation:
        """The last of the elements that `next` joins to an annotation."""
        seen = {annotation.id}
        while annotation.next in self._by_id and annotation.next not in seen:
            annotation = self._by_id[annotation.next]
            seen.add(annotation.id)
        return annotation

    def _named(self, annotation: Annotation) -> list[CitedReference]:
        """The references in an annotation's attributes."""
        target = annotation.target
        if target.startswith("#") and target[1:] in self._source.ids:
            return []
        cited = references_in_target(target)
        if not cited and is_biblical(target):
            self._gold.unread.append(_unread(annotation, target, "cannot be read as verses"))
        return cited

    def _record_unread(self, annotation: Annotation, refused: Sequence[RefusedReference]) -> None:
        """Record a note in which no verse is named, and why it gives no link."""
        for each in refused:
            self._gold.unread.append(_unread(annotation, each.written, each.reason))
        if refused:
            return
        written = annotation.text or annotation.target
        if looks_like_reference(annotation.text) or annotation.element == "bibl":
            reason = "names no verse of the Bible that can be read"
            self._gold.unread.append(_unread(annotation, written, reason))
        elif annotation.element != "ref" or not self._is_mark(annotation):
            reason = "has no reference to verses of the Bible"
            self._gold.others.append(_unread(annotation, written, reason))

    def _is_mark(self, annotation: Annotation) -> bool:
        """True if a `ref` is the mark of a note, which is read itself."""
        noted = self._by_id.get(annotation.target.removeprefix("#"))
        return noted is not None and noted.element in _NOTES

    def _record_rest(
        self, annotation: Annotation, found: Sequence[CitedReference | RefusedReference]
    ) -> None:
        """Record numbers in a note beside the references that were found, read or refused."""
        for piece in _rest(annotation.text, found):
            if looks_like_reference(piece):
                reason = "names no verse of the Bible that can be read, beside others that are read"
                self._gold.unread.append(_unread(annotation, piece, reason))
            elif _NUMBERED.search(piece):
                reason = "is not read; other references of the note are"
                self._gold.in_part.append(_unread(annotation, piece, reason))

    def _linked(
        self, annotation: Annotation, cited: Sequence[CitedReference]
    ) -> Iterator[LinkedWords | str]:
        """For each reference of a note the words that it goes to, or why there are none."""
        point, span = annotation.start, None
        pointed = annotation.target.removeprefix("#").split(" ")[0]
        if annotation.target.startswith("#") and pointed in self._source.ids:
            start, point = self._source.ids[pointed]
            span = LinkedWords(start, point) if start < point else None
        elif annotation.id in self._source.pointers:
            point = self._source.pointers[annotation.id]
        elif annotation.left_out:
            # What is before the mark is other text: the end of the body is not what a note on the
            # editor's preface goes to.
            yield from (self._line(annotation, each) for each in cited)
            return
        mark = span or self._chooser.around(annotation)
        if mark is None and annotation.follows and point == annotation.start:
            yield from (f"goes to words that are left out ({annotation.follows})" for _ in cited)
            return
        mark = mark or self._chooser.at(point)
        for each in cited:
            yield self._line(annotation, each) if each.line else mark or "no words before it"

    def _line(self, annotation: Annotation, cited: CitedReference) -> LinkedWords | str:
        """The printed line that a reference goes to, or why there is none."""
        around = annotation.left_out
        # Entries of an apparatus go by line numbers, wherever the apparatus stands.
        if around and not (cited.line and around == _APPARATUS):
            return f"stands in {around}, which is left out, and points to no words of the text"
        found = self._chooser.line(cited.line, annotation.start)
        return found or f"line {cited.line} is not on its page"

    def _add(
        self,
        annotation: Annotation,
        cited: Sequence[CitedReference],
        chosen: Sequence[LinkedWords | str],
    ) -> None:
        """Add links: one for all references that go to the same words and are of the same type."""
        groups: dict[tuple[LinkedWords, str], list[CitedReference]] = {}
        for each, words in zip(cited, chosen, strict=True):
            if isinstance(words, str):
                self._gold.unread.append(_unread(annotation, each.written, words))
                continue
            kind = _link_type(annotation, each, words)
            groups.setdefault((words, kind), []).append(each)
        for (words, kind), listed in groups.items():
            relevant = list(self._resolved(annotation, listed))
            if relevant:
                self._gold.links.append(self._link(annotation, words, kind, relevant))

    def _resolved(self, annotation: Annotation, cited: Sequence[CitedReference]) -> Iterator[str]:
        """The passages of references, each once; those that are unknown are recorded."""
        seen: set[str] = set()
        for each in cited:
            try:
                passages = self._reader.passages(each.written)
            except VerseError as error:
                self._gold.unread.append(_unread(annotation, each.written, str(error)))
                continue
            for passage in passages:
                if passage not in seen:
                    seen.add(passage)
                    yield passage

    def _link(
        self, annotation: Annotation, words: LinkedWords, kind: str, relevant: Sequence[str]
    ) -> GoldLink:
        source, chooser = self._source, self._chooser
        query = Query(
            text=chooser.clean(words.start, words.end),
            query_id=f"{source.path.stem}-{self._number}",
            before=chooser.before(words.start, self._context),
            after=chooser.after(words.end, self._context),
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


def _is_note(annotation: Annotation) -> bool:
    """True if an annotation's words are about the text, and are read for references."""
    if annotation.element == "app" and not annotation.text:
        return False
    has_words = annotation.element in _AROUND and annotation.end > annotation.start
    return annotation.element in _NOTES and not has_words


def _descendants(
    number: int, children: Mapping[int, Sequence[tuple[int, Annotation]]]
) -> Iterator[Annotation]:
    """All annotations in an annotation, in the order of the file."""
    # A list and no recursion: notes can stand inside each other 200 times.
    waiting = list(reversed(children.get(number, [])))
    while waiting:
        inner, annotation = waiting.pop()
        yield annotation
        waiting += reversed(children.get(inner, []))


def _unread(annotation: Annotation, written: str, reason: str) -> UnreadReference:
    return UnreadReference(
        line=annotation.line,
        written=written[:80],
        reason=reason,
        element=annotation.element,
        text=annotation.text,
        xpath=annotation.xpath,
    )


def _no_words(annotation: Annotation) -> str:
    """The reason why an annotation around words of the text has none."""
    if annotation.text:
        return f"its words are left out ({annotation.left_out or annotation.element})"
    return "it has no words"


def _rest(text: str, found: Sequence[CitedReference | RefusedReference]) -> list[str]:
    """The words of a note between the references that were found."""
    pieces = [text]
    for each in found:
        # A list that is written with semicolons is found piece by piece.
        for written in filter(None, each.written.split("; ")):
            for number, piece in enumerate(pieces):
                before, is_there, after = piece.partition(written)
                if is_there:
                    pieces[number : number + 1] = [before, after]
                    break
            else:
                # It was read from an attribute, or completed (`ibid.`).
                return []
    return [piece.strip(_MARKS) for piece in pieces]


def _link_type(annotation: Annotation, cited: CitedReference, words: LinkedWords) -> str:
    if annotation.type in LINK_TYPES:
        return annotation.type
    if cited.confer:
        return "allusion"
    return "quotation" if words.quoted else "reference"


def _last_book(cited: Sequence[CitedReference]) -> str:
    """The OSIS code of the book that was cited last, or ""."""
    references = read_references(cited[-1].written) if cited else ()
    return references[-1].book if references else ""
