"""The passage: the unit that is indexed and retrieved."""

from dataclasses import dataclass
from typing import NamedTuple

from allusion_es.core.characters import shorten

_SHOWN = 60
"""Characters of a passage that its `repr` has."""


class Work(NamedTuple):
    """A work of a collection.

    Attributes:
        author: Its author, or "".
        title: Its title, the `work` of its passages, or "".
    """

    author: str = ""
    title: str = ""

    @property
    def label(self) -> str:
        """Author and title, for people.

        Example:
            >>> Work("Lucan", "Bellum civile").label, Work(title="Psalterium").label
            ('Lucan, Bellum civile', 'Psalterium')
        """
        return ", ".join(filter(None, self))


@dataclass(frozen=True, slots=True)
class Passage:
    """A verse, a line, or a window of a text, as a reader found it.

    Attributes:
        id: Unique in its collection; for verses the OSIS id (`Ps.33.9`, Vulgate numbering).
        text: The words as printed; results mark words in it.
        work: The work that it belongs to (`Vulgata`, or a title that the user gives).
        book: OSIS code of the book (`Ps`), or "" outside the Bible.
        chapter: Chapter number, or 0 where there is none.
        verse: Verse number, or 0 where there is none.
        order: Position in the collection, from 0, in canonical order.
        testament: `ot`, `nt`, or "" outside the Bible.
        reference: What people read (`Ps 33,9`); the id where there is nothing better.
        tokens: Tokens that the user brought, used as they are but for spelling; or None.
        lemmas: Lemmas that the user brought, one for each token; or None.
        author: The author of the work, or "".
    """

    id: str
    text: str
    work: str = ""
    book: str = ""
    chapter: int = 0
    verse: int = 0
    order: int = 0
    testament: str = ""
    reference: str = ""
    tokens: tuple[str, ...] | None = None
    lemmas: tuple[str, ...] | None = None
    author: str = ""

    def __repr__(self) -> str:
        """Reference and first words, for the prompt.

        Example:
            >>> Passage("Ps.22.1", "Dominus regit me", reference="Ps 22,1")
            <Passage Ps 22,1: Dominus regit me>
        """
        text = shorten(" ".join(self.text.split()), _SHOWN)
        return f"<Passage {self.reference or self.id}: {text}>"
