"""The Clementine Vulgate: 73 books, 35,809 verses, in canonical order."""

import csv
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from allusion_es.core.errors import InputError
from allusion_es.corpora.bible.books import BOOKS
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.passage_files import verse_passage

WORK = "Vulgata"

# Speakers of the Song, Hebrew letters before verses, titles: added by the edition.
_HEADING = re.compile(r"<[^<>]*>")
_LAYOUT = str.maketrans("", "", "[]")


def read_vulgate(path: Path) -> Iterator[Passage]:
    """Yield the verses of the Vulgate in canonical order, with OSIS ids in Vulgate numbering.

    Headings in angle brackets and the brackets that mark poetry are left out of the text.

    Args:
        path: `clem_vulgate.csv` of the package vulgata-spacy.

    Raises:
        InputError: The file has other columns, books or numbers.
    """
    codes = {book.vulgate: (number, book) for number, book in enumerate(BOOKS)}
    with path.open(encoding="utf-8", newline="") as file:
        try:
            rows = [
                (codes[row["book"]], int(row["chapter"]), int(row["verse"]), clean(row["latin"]))
                for row in csv.DictReader(file)
            ]
        except (KeyError, TypeError, ValueError, csv.Error) as error:
            raise InputError(
                f"{path}: not the Vulgate that was fetched ({error}); delete it and run "
                "'allusion-es fetch'"
            ) from error
    rows.sort(key=lambda row: (row[0][0], row[1], row[2]))
    for order, ((_, book), chapter, verse, latin) in enumerate(rows):
        yield verse_passage(f"{book.osis}.{chapter}.{verse}", latin, WORK, order)


def clean(latin: str) -> str:
    """Return a verse without headings and layout brackets, with precomposed letters.

    Example:
        >>> clean("[<Sponsa>Osculetur me osculo oris sui;")
        'Osculetur me osculo oris sui;'
    """
    bare = _HEADING.sub(" ", latin).translate(_LAYOUT)
    return " ".join(unicodedata.normalize("NFC", bare).split())
