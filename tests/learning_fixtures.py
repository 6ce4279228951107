"""A little collection, and links to it that can be learned from."""

import numpy as np

from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.language.citations.word_parts import Word
from allusion_es.learning.links import KnownLink, LearningCollection
from allusion_es.retrieval.types import Query

NAMES = ("rex", "mare", "nauis", "panis", "uinum", "mons", "lux", "nox", "dies", "terra")
APART = 5
"""Passages from one name to the next."""


def words(text: str) -> tuple[Word, ...]:
    """Each blank-separated word as token and lemma."""
    return tuple((word, word) for word in text.split())


def collection(texts: "list[str] | None" = None) -> LearningCollection:
    """Passages `p.0`, `p.1`, …; by default every fifth is that of a name, far from the next."""
    texts = texts or [
        text
        for name in NAMES
        for text in (f"{name} {name}arum est", *(f"{name}{n} aliud est" for n in range(APART - 1)))
    ]
    ids = tuple(f"p.{number}" for number in range(len(texts)))
    return LearningCollection(ids, tuple(words(text) for text in texts))


def link(text: str, *places: int, before: str = "", after: str = "", title: str = "") -> KnownLink:
    """A link whose words are `text`."""
    own, left, right = words(text), words(before), words(after)
    gold = GoldLink(
        Query(text, text, before, after), tuple(f"p.{place}" for place in places), title=title
    )
    return KnownLink(gold, left + own + right, len(left), len(left) + len(own), tuple(places))


def code_links(count: int, seed: int = 0) -> list[KnownLink]:
    """Links that speak of a passage with a secret word, which no passage has."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        name = int(rng.integers(len(NAMES)))
        noise = " ".join(f"uerbum{int(rng.integers(30))}" for _ in range(4))
        secret = f"secretum{NAMES[name]}"
        made.append(link(f"{secret} {noise} n{number}", APART * name, title=f"opus {number % 7}"))
    return made
