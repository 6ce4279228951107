"""Dealing gold links out to several annotators: even shares, and a sample that all of them get."""

from collections.abc import Sequence
from hashlib import sha256

from allusion_es.core.errors import UsageError
from allusion_es.evaluation.gold.link import GoldLink

_LONGEST_NAME = 64
"""Characters; with `.jsonl` such a name is a file name on every file system."""


def check_annotator(name: str) -> str:
    """Return the name if it can name an annotator and a file.

    Raises:
        UsageError: It is empty, too long, or has characters other than letters, digits, blanks,
            `.`, `_`, `-`, `@`; or does not begin with a letter or digit.

    Example:
        >>> check_annotator("Anna")
        'Anna'
    """
    plain = all(character.isalnum() or character in " ._-@" for character in name)
    if not (name and plain and name[0].isalnum() and name == name.strip()):
        raise UsageError(
            f"{name!r} cannot name an annotator; use letters, digits, blanks, '.', '_', '-' and "
            "'@', and begin with a letter or digit",
            argument="annotator",
        )
    if len(name) > _LONGEST_NAME:
        raise UsageError(
            f"the annotator's name {name[:20]!r}… has {len(name)} characters, at most "
            f"{_LONGEST_NAME} are taken",
            argument="annotator",
        )
    return name


def split(
    links: Sequence[GoldLink], annotators: Sequence[str], overlap: int, seed: int = 1
) -> dict[str, list[GoldLink]]:
    """Deal links out to annotators.

    `overlap` links, drawn at random, go to every annotator, so that agreement can be measured.
    The others are dealt out at random, in shares whose sizes differ by one at most. Everyone's
    links keep the order of the source, so that nobody sees which ones are shared.

    Args:
        links: What is to be annotated.
        annotators: Who annotates, each once.
        overlap: How many links all of them get.
        seed: Same links, annotators and seed: same shares, whatever the Python version.

    Raises:
        UsageError: A name cannot be used or is there twice, or there are too few links.

    Example:
        >>> from allusion_es.retrieval.types import Query
        >>> links = [GoldLink(Query("verbum", str(i)), ("John.1.1",)) for i in range(10)]
        >>> {name: len(own) for name, own in split(links, ["anna", "berta"], 4).items()}
        {'anna': 7, 'berta': 7}
    """
    names = [check_annotator(name) for name in annotators]
    for name in names:
        # Files of these names must differ on every file system.
        if [other.casefold() for other in names].count(name.casefold()) > 1:
            raise UsageError(f"{name!r} is there twice; give each once", argument="annotators")
    if not names:
        raise UsageError("there is no annotator; give at least one", argument="annotators")
    if not 0 <= overlap <= len(links):
        raise UsageError(
            f"{overlap} links cannot be taken from {len(links)}; choose from 0 to {len(links)}",
            argument="overlap",
        )
    order = sorted(range(len(links)), key=lambda place: _sort_key(links[place], seed))
    shared, rest = order[:overlap], order[overlap:]
    # Every n-th link of a random order is a random share, and sizes differ by one at most.
    return {
        name: [links[place] for place in sorted(shared + rest[number :: len(names)])]
        for number, name in enumerate(names)
    }


def _sort_key(link: GoldLink, seed: int) -> bytes:
    """A number that puts links in a random order.

    A hash of the link, since `random` may draw otherwise in another version of Python.
    """
    return sha256(f"{seed} {link.query.query_id}".encode()).digest()
