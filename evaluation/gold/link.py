"""Gold links: words that are known to allude, and the passages that they allude to."""

from dataclasses import dataclass, field, replace

from allusion_es.corpora.passage import Work
from allusion_es.retrieval.types import Query


@dataclass(frozen=True, slots=True)
class GoldLink:
    """A query with the passages that it is known to allude to.

    Attributes:
        query: The words, with their context and anchor where the source has them.
        relevant: Ids of the passages that it alludes to, each once; at least one.
        type: Kind of link (`allusion`, `quotation`, …), or "".
        author: Who wrote the query's words, or "".
        title: In which work they stand, or "".
        source_ids: Ids of the passages that the query's own words are, if it is itself part of
            a collection, as in links from the New Testament to the Old.
        source: The publication or file that the link comes from, or "".
        licence: The licence of the link, or "".
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
        """Author and title of the work, by which links are grouped; "" if neither is known."""
        return Work(self.author, self.title).label

    @property
    def asked(self) -> Query:
        """The query with the work that it is from, so that it is not found in that work."""
        return self.query if self.query.work else replace(self.query, work=self.work)
