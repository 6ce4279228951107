"""Links that would give away what they are tested on."""

import re
from collections.abc import Iterable, Sequence

from allusion_es.language.normalise import fold
from allusion_es.language.word_parts import Word
from allusion_es.learning.links import KnownLink, LearningCollection

RUN = 6
"""Two texts that share so many words in a row are copies of one text."""


def without_leaks(
    links: Sequence[KnownLink],
    held_out: Sequence[KnownLink],
    collection: LearningCollection,
    run: int = RUN,
) -> list[KnownLink]:
    """The links that share neither work nor wording with those held out.

    A link is left out where its title is that of a link held out, or where it shares `run` words
    in a row with one, before and after its own words included; runs of words that the collection
    itself has do not count, since everybody quotes it.

    Args:
        links: What is to be learned from.
        held_out: What is tested on.
        collection: What both cite.
        run: How many words in a row are too many.
    """
    titles = {title_key(link.link.title) for link in held_out} - {""}
    own = set(_runs([[word for text in collection.texts for word in text]], run))
    shared = set(_runs([link.words for link in held_out], run)) - own
    return [
        link
        for link in links
        if title_key(link.link.title) not in titles and shared.isdisjoint(_runs([link.words], run))
    ]


def title_key(title: str) -> str:
    """A title as it is compared: letters and digits only.

    Example:
        >>> title_key("De civitate Dei, lib. 2")
        'de ciuitate dei lib 2'
    """
    words = re.findall(r"[^\W\d_]+|\d+", title)
    return " ".join(word if word.isdigit() else fold(word) for word in words)


def _runs(texts: Iterable[Sequence[Word]], size: int) -> Iterable[tuple[str, ...]]:
    for text in texts:
        tokens = [token for token, _ in text]
        for start in range(len(tokens) - size + 1):
            yield tuple(tokens[start : start + size])
