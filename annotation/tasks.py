"""Instances: a gold link as annotators see it, with its passage cut into words.

A passage around an anchor is shown beside the verses that it may allude to; the annotator marks the
words that allude.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

from allusion_es.core.errors import InputError
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.paper.windows import anchor_words, has_anchor
from allusion_es.language.latin.tokenise import printed_words

_CLOSING = frozenset(".,;:!?")
"""Marks that stand at the end of a word without a blank."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A passage around an anchor, to be held against the verses that it may allude to.

    Attributes:
        link: The gold link that it is made of; its query id is the instance's id.
        passage: The link's `before`, `text` and `after`, with one blank between them, but none
            before a stop or comma.
        words: Start and end (exclusive) of each word, in characters of `passage`. Annotations
            count these words: those of `language.latin.tokenise.printed_words`, in which enclitics
            stay on, and no dictionary has a say.
        own: Place of the first word of the link's `text` in `words`, and the place after its last;
            the words around them are context.
        anchor: Place of the anchor's first word in `words`, and the place after its last; None
            where the link names no anchor. Then any words may be marked.
    """

    link: GoldLink
    passage: str
    words: tuple[tuple[int, int], ...]
    own: tuple[int, int]
    anchor: tuple[int, int] | None

    @property
    def id(self) -> str:
        """The instance's id."""
        return self.link.query.query_id

    def text(self, start: int, end: int) -> str:
        """The words from place `start` to before `end`, as printed."""
        return self.passage[self.words[start][0] : self.words[end - 1][1]]

    def pieces(self) -> list[str]:
        """The passage cut at its words: every second piece, from the second on, is a word.

        The others, such as punctuation and blanks, stand between the words and may be empty.

        Example:
            >>> from allusion_es.retrieval.types import Query
            >>> instance_of(GoldLink(Query("(omni) scientiae.", "b-1"), ("Eph.3.19",))).pieces()
            ['(', 'omni', ') ', 'scientiae', '.']
        """
        cuts = [0, *(place for span in self.words for place in span), len(self.passage)]
        return [self.passage[i:j] for i, j in itertools.pairwise(cuts)]


def instance_of(link: GoldLink, source: str = "") -> Instance:
    """Make an instance of a gold link.

    The anchor is looked for in the link's `text`, whatever its spelling (u or v, i or j, case);
    its first occurrence counts.

    Args:
        link: The link.
        source: The file that it comes from, for messages.

    Raises:
        InputError: The text has no word, or the anchor does not occur in it.

    Example:
        >>> from allusion_es.retrieval.types import Query
        >>> query = Query("supereminet omni scientiae", "b-1", "sed dilectio illa", "", "Scientiæ")
        >>> instance = instance_of(GoldLink(query, ("Eph.3.19",)))
        >>> instance.anchor, instance.text(5, 6), instance.text(*instance.own)
        ((5, 6), 'scientiae', 'supereminet omni scientiae')
    """
    query = link.query
    where = f"{source}:{link.line}" if link.line else source or f"link {query.query_id!r}"
    own = printed_words(query.text)
    if not own:
        raise InputError(f"{where}: field 'text' has no word to annotate; leave the link out")
    if query.anchor.strip() and not has_anchor(link):
        raise InputError(
            f"{where}: field 'anchor': {query.anchor[:40]!r} does not occur in 'text'; give "
            "words of the text"
        )
    before, text, after = (part.strip() for part in (query.before, query.text, query.after))
    # No blank before the mark that ends the text; it breaks words as well.
    blank = "" if after[:1] in _CLOSING else " "
    passage = f"{before} {text}{blank}{after}".strip()
    words = tuple((word.start, word.end) for word in printed_words(passage))
    # The words of `text` follow those of `before`: no word crosses the blank between the two.
    shift = len(printed_words(before))
    anchor = None
    if has_anchor(link):
        first, last = anchor_words(query, own)
        anchor = (shift + first, shift + last + 1)
    return Instance(link, passage, words, (shift, shift + len(own)), anchor)


def instances_of(links: Iterable[GoldLink], source: str = "") -> list[Instance]:
    """Make an instance of each gold link with `instance_of`, in their order."""
    return [instance_of(link, source) for link in links]


def annotated_link(instance: Instance, start: int, end: int) -> GoldLink:
    """The instance's gold link with the marked words as its text.

    The words before and after the span stay as context. The anchor stays; a link without one
    gets none.

    Args:
        instance: What was annotated.
        start: Place of the first marked word.
        end: Place after the last.

    Example:
        >>> from allusion_es.retrieval.types import Query
        >>> query = Query("supereminet omni scientiae", "b-1", "sed illa", "ut ait", "omni")
        >>> annotated_link(instance_of(GoldLink(query, ("Eph.3.19",))), 3, 5).query
        Query(text='omni scientiae', query_id='b-1', before='sed illa supereminet', \
after='ut ait', anchor='omni', work='')
    """
    query = instance.link.query
    first, last = instance.words[start][0], instance.words[end - 1][1]
    marked = replace(
        query,
        text=instance.passage[first:last],
        before=instance.passage[:first].strip(),
        after=instance.passage[last:].strip(),
    )
    return replace(instance.link, query=marked)
