"""What a gold link is: words that allude, and the passages that they allude to."""

from dataclasses import dataclass, field

from allusion_es.retrieval.types import Query


@dataclass(frozen=True, slots=True)
class GoldLink:
    """A query that is known to allude, and to what.

    Attributes:
        query: The words, with their context and anchor where the source has them.
        relevant: Ids of the passages that it alludes to, each once; at least one.
        type: Kind of link (`allusion`, `quotation`, …), or "".
        author: Who wrote the query's words, or "".
        title: In which work they stand, or "".
        source_ids: Ids of the passages that the query's own words are, if it is itself part of
            a collection, as in links from the New Testament to the Old.
        source: Where the link comes from, or "".
        licence: Under which terms, or "".
        translation: A translation of the relevant passages, to show to annotators, or "".
        line: Its line in the file that it was read from, 0 if it was read from none.

    Example:
        >>> GoldLink(Query("omni scientiae", "b-1"), ("Eph.3.19",), author="Bernard").work
        'Bernard'
    """

    query: Query
    relevant: tuple[str, ...]
    type: str = ""
    author: str = ""
    title: str = ""
    source_ids: tuple[str, ...] = ()
    source: str = ""
    licence: str = ""
    translation: str = ""
    line: int = field(default=0, compare=False)

    @property
    def work(self) -> str:
        """The work that it comes from, by which links are grouped; "" where it is not known."""
        return (
            f"{self.author}, {self.title}"
            if self.author and self.title
            else (self.title or self.author)
        )
