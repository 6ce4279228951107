"""References in addresses: CTS URNs, links, OSIS ids behind a scheme, parts of file names."""

import re
from urllib.parse import unquote

from allusion_es.corpora.bible.books import match_words, plain_word

_ADDRESS = re.compile(r"[^\s:/#?=@]*[:/#?=@]\S*|#\S+", re.ASCII)
_CTS = re.compile(r"urn:cts:([^:\s]+):([^:\s]+):([^:\s@]+)(?:@\S*)?", re.IGNORECASE)
_TAIL = re.compile(r"[:/#=?&]")
_SCHEME = re.compile(r"[^\W\d]+[:/#=]")
# `sap7_26`, `Icor13_12`, `1_Cor_13_12`: the way of file names, in which blanks cannot stand.
_NAMED = re.compile(
    r"((?:[1-4]_?)?[A-Za-z]{2,20})[_.]?(\d{1,3})_(\d{1,3})(?:-(\d{1,3}(?:_\d{1,3})?))?"
)
_PATH = re.compile(
    r"(?:^|.*/)(?:[^/]*(?:bib|vulg|script)[^/]*/)(?:[^/]+/)*?((?:[1-4][_-]?)?[A-Za-z]{2,20})/"
    r"(\d{1,3})/(\d{1,3}(?:-\d{1,3})?)/?",
    re.IGNORECASE,
)
_NEUTRAL = re.compile(
    r"(?:vulgat[ae]|vulg?|vg|biblia|bible|bibl?|ot|nt|vt|at|stoa\w*|phi\d\w*|clem\w*|"
    r"\w*-?(?:lat|eng|deu|fra|ita|ed)\d*)",
    re.IGNORECASE,
)
# The works of the New Testament in the Thesaurus Linguae Graecae have its order.
_NEW_TESTAMENT = [
    "Matt",
    "Mark",
    "Luke",
    "John",
    "Acts",
    "Rom",
    "1Cor",
    "2Cor",
    "Gal",
    "Eph",
    "Phil",
    "Col",
    "1Thess",
    "2Thess",
    "1Tim",
    "2Tim",
    "Titus",
    "Phlm",
    "Heb",
    "Jas",
    "1Pet",
    "2Pet",
    "1John",
    "2John",
    "3John",
    "Jude",
    "Rev",
]
_NO_FILE_NAMES = frozenset({"ep", "la", "le", "si", "ne", "no", "nr", "fig", "pag", "vol"})
"""Words of file names (`ep5_3`) that would be books' names: letters, articles, numbers."""


def is_address(text: str) -> bool:
    """Whether a text may be an address: one word, with a mark of addresses after a word."""
    return _ADDRESS.fullmatch(text) is not None


def readings(address: str) -> list[str]:
    """What an address may say in words, the longest part first, to be read as references.

    A CTS URN has one reading or none. The part after `@` in other addresses says where in the
    verse, and is left out.

    Example:
        >>> readings("https://example.org/bib/sap7_26@1-15")[-1]
        'sap 7:26'
        >>> readings("urn:cts:greekLit:tlg0031.tlg004:3.16")
        ['John 3:16']
    """
    plain = unquote(address)
    if match := _CTS.fullmatch(plain):
        return _of_urn(match[2], match[3])
    plain = re.sub(r"@[\d\-.,:\w]*$", "", plain)
    if match := _PATH.fullmatch(plain):
        return [f"{match[1].replace('_', ' ').replace('-', ' ')} {match[2]}:{match[3]}"]
    tails = [plain[match.end() :] for match in _TAIL.finditer(plain)]
    tails = [tail for tail in tails if not _SCHEME.match(tail)]
    return [reading for tail in tails for reading in _of_tail(tail)]


def _of_tail(tail: str) -> list[str]:
    named = _NAMED.fullmatch(tail)
    if named:
        name = named[1].replace("_", " ")
        if plain_word(name) in _NO_FILE_NAMES:
            return []
        last = f"-{named[4].replace('_', ':')}" if named[4] else ""
        # A name in small letters is one here, though it is a word elsewhere (`is7_14`).
        name = name if len(name) > 2 and plain_word(name) not in ("col", "act") else name.title()
        return [f"{name} {named[2]}:{named[3]}{last}"]
    words = re.sub(r"(?<=\d)_(?=\d)", ":", tail).replace("_", " ")
    return [words] if words else []


def _of_urn(work: str, passage: str) -> list[str]:
    parts = [part for part in work.split(".") if part]
    passage = passage.replace(".", ":") if re.fullmatch(r"[\d.\-]+", passage) else passage
    if not passage[:1].isdecimal():
        return [passage.replace("_", " ")] if all(map(_is_neutral, parts)) else []
    if re.fullmatch(r"\d+:\d+(?:-(?:\d+:)?\d+)?", passage) is None:
        return []
    if parts[0] == "tlg0031" and len(parts) > 1 and re.fullmatch(r"tlg0[0-2]\d", parts[1]):
        number = int(parts[1][3:])
        return [f"{_NEW_TESTAMENT[number - 1]} {passage}"] if 1 <= number <= 27 else []
    if parts[:2] == ["tlg0527", "tlg027"]:
        return [f"Ps {passage}"]  # other books of the Septuagint count their verses otherwise
    books = [part for part in parts if not _is_neutral(part)]
    if len(books) != 1 or (match := re.fullmatch(r"([1-4]?)([^\W\d]+)", books[0])) is None:
        return []
    book = match_words(match[1], [match[2]])
    return [f"{book.osis} {passage}"] if book else []


def _is_neutral(part: str) -> bool:
    return _NEUTRAL.fullmatch(part) is not None
