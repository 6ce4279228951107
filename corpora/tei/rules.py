"""Rules for TEI elements: which of them hold words of the text, and which end lines or words.

Each table follows the TEI P5 guidelines and the practice of real editions; a new entry changes what
is read of all files. `docs/tei.md` explains the rules to editors.
"""

import re
from collections.abc import Mapping

from allusion_es.core.errors import VerseError
from allusion_es.corpora.bible.references import parse_references

TEI = "http://www.tei-c.org/ns/1.0"
"""The namespace of TEI P5."""

ANNOTATED = frozenset({"app", "bibl", "cit", "note", "q", "quote", "ref", "said", "seg"})
"""Elements that become annotations; `said` and `seg` only with a `source` or `corresp`."""

LEFT_OUT = frozenset({
    # about the text
    "teiHeader", "standOff", "facsimile", "sourceDoc", "note", "noteGrp", "bibl", "biblStruct",
    "listBibl", "listApp", "listPerson", "listPlace", "listOrg", "msDesc", "wit", "witDetail",
    "listWit", "index", "interpGrp", "spanGrp",
    "linkGrp", "egXML", "desc", "figDesc", "certainty", "precision", "respons", "metamark",
    # not of the text, or no longer
    "fw", "del", "surplus", "figure", "graphic", "formula", "notatedMusic", "speaker", "stage",
    "binaryObject", "listAnnotation", "annotation", "pubPlace", "idno",
})  # fmt: skip
"""Elements whose words are left out unless `--keep` names them."""

PARTS = frozenset({"front", "back"})
"""Parts around the text, mostly an editor's or printer's; left out unless `--keep` names them."""

_OTHER_PARTS = frozenset({
    "translation", "apparatus", "commentary", "bibliography", "index", "contents", "toc", "notes",
    "footnotes", "endnotes", "sigla", "abbreviations",
})  # fmt: skip

BLOCKS = frozenset({
    "TEI", "teiCorpus", "text", "group", "front", "body", "back", "floatingText", "titlePage",
    "docTitle", "titlePart", "docImprint", "div", *(f"div{n}" for n in range(1, 8)), "p", "ab", "l",
    "lg", "head", "trailer", "argument", "epigraph", "opener", "closer", "salute", "signed",
    "dateline", "byline", "list", "item", "table", "row", "cell", "sp", "note", "postscript",
})  # fmt: skip
"""Elements that begin and end a line of the plain text."""

BREAKS = frozenset({"lb", "pb", "cb", "gb"})
"""Breaks of line, page, column and gathering; they separate words, except with `break="no"`."""

BORDERS = frozenset({
    "anchor", "caesura", "figure", "formula", "gap", "milestone", "notatedMusic", "space",
})  # fmt: skip
"""Elements that separate words even without a blank, except inside a `w`."""

UNITS = frozenset({"cl", "label", "pc", "phr", "s"})
"""Elements whose start and end separate words."""

ELEMENTS_ONLY = frozenset({"app", "choice", "rdgGrp", "subst"})
"""Elements that hold elements only; characters directly in them are indentation, not words."""

CHOSEN = {
    "corr": 2, "reg": 2, "expan": 2, "ex": 2, "lem": 2, "sic": 0, "orig": 0, "abbr": 0, "am": 0
}  # fmt: skip
"""Ranks of the children of `choice` and `app`: the first of the highest rank is read.

Elements that are not listed have rank 1.
"""

SURENESS = {"high": 2, "low": 0, "unknown": 0}
"""Ranks of the values of `cert`, which decides between children of a `choice` of equal rank."""

# `und` (undetermined) and `mul` (several) stand in files whose text is Latin.
_LATIN = frozenset({"", "la", "lat", "latin", "und", "mul"})
_TOKENS = frozenset({"word", "w", "token"})
_JOINING = frozenset({"inword", "worddiv"})
_LETTERS_AND_FIGURES = re.compile(
    r"(?:cf\.?\s+)?(?:(?:[1-4]|I{1,3}|IV)\.?\s+)?[A-Z][A-Za-z\u00e6\u0153]*"
    r"(?:\.(?:\s+[A-Za-z]+\.)*,?|,)?\s+[IVXLC]+\b[\s,.:;IVXLCivxlc-]*"
)
_SAME_BOOK = re.compile(r"(?:ibid\b|ibidem\b|ib\.|id\.|loc\.\s*cit|l\.\s*c\.)", re.IGNORECASE)
_LONGEST_REFERENCE = 200  # characters; parsing a whole `ref` of prose would cost time for nothing

ATOMS = frozenset({"#cdata", "am", "c", "ex", "formula", "g", "geo", "idno", "locus", "pc"})
"""Inline elements that hold characters, but in which the schema TEI All allows no `seg`."""

CONTAINERS = frozenset({
    "TEI", "teiCorpus", "address", "app", "argument", "back", "body", "choice", "cit", "div",
    *(f"div{n}" for n in range(1, 8)), "docTitle", "epigraph", "floatingText", "front", "group",
    "lg", "list", "postscript", "rdgGrp", "row", "sp", "subst", "table", "text", "titlePage",
})  # fmt: skip
"""Elements that hold characters only in their children."""

NO_QUOTE = frozenset({
    "bibl", "byline", "closer", "date", "dateline", "docImprint", "line", "m", "opener", "time",
    "w",
})  # fmt: skip
"""Elements in which TEI All allows `seg` but no `quote`."""


def left_out_as(name: str, attributes: Mapping[str, str], keep: frozenset[str]) -> str:
    """Return the name under which an element's words are left out, or "" if they are read.

    Besides the elements of `LEFT_OUT` and `PARTS`, left out are an `app` that points to its words
    (`from`, `loc`), since its `lem` repeats them; a `ref` that is the mark of a note; and a `div`
    that is a translation, an apparatus, a commentary, a bibliography, an index or the like.

    Args:
        name: Its local name.
        attributes: Its attributes.
        keep: Elements whose words are read in any case.

    Example:
        >>> left_out_as("note", {}, frozenset()), left_out_as("note", {}, frozenset({"note"}))
        ('note', '')
        >>> left_out_as("div", {"type": "translation"}, frozenset())
        'div type="translation"'
    """
    if name in keep:
        return ""
    kind = attributes.get("type", "")
    if name == "app":
        return name if "from" in attributes or "loc" in attributes else ""
    if name == "ref":
        return name if kind in {"noteAnchor", "footnote", "note"} else ""
    if name.startswith("div") and name in BLOCKS:
        return f'{name} type="{kind}"' if kind.lower() in _OTHER_PARTS else ""
    return name if name in LEFT_OUT or name in PARTS else ""


def is_read_language(language: str, languages: frozenset[str]) -> bool:
    """Whether words of an `xml:lang` are read: Latin, no language, or one that is asked for.

    Args:
        language: The `xml:lang`, or "" if there is none.
        languages: Languages that are read too; `all` means every language.

    Example:
        >>> [is_read_language(each, frozenset({"grc"})) for each in ("la-x-med", "grc-Latn", "de")]
        [True, True, False]
    """
    code = language.strip().lower()
    if code.split("-")[0] in _LATIN or "all" in languages:
        return True
    return any(code == each or code.startswith(f"{each}-") for each in map(str.lower, languages))


def is_word(name: str, attributes: Mapping[str, str]) -> bool:
    """Whether an element is one word: a `w`, or a `seg` that says so."""
    return name == "w" or (name == "seg" and attributes.get("type", "") in _TOKENS)


def joins_words(attributes: Mapping[str, str]) -> bool:
    """Whether a break of line or page is marked as standing within a word."""
    return attributes.get("break") == "no" or attributes.get("type", "").lower() in _JOINING


def is_printed_reference(words: str, *, quoted: bool) -> bool:
    """Whether a `ref` holds a printed reference or the mark of a note, not words of the text.

    Args:
        words: Its words.
        quoted: Whether it stands in a quotation. Quoted Latin has no Arabic figures, so
            any figure there means a reference.

    Example:
        >>> [is_printed_reference(each, quoted=True) for each in ("cf. Psal. XXXIII", "gustate")]
        [True, False]
    """
    bare = words.strip(" \n()[].,;")
    if not any(map(str.isalpha, bare)):
        return True
    if len(words) > _LONGEST_REFERENCE:
        return False
    figures = any(map(str.isdecimal, bare))
    if quoted and (
        figures or _LETTERS_AND_FIGURES.fullmatch(bare) or _SAME_BOOK.match(words.strip(" ([,;"))
    ):
        return True
    # Without a figure or the full stop of an abbreviation it may be a word of the text (`Rom`).
    if not figures and not (quoted and words.rstrip(" )],;").endswith(".")):
        return False
    try:
        return bool(parse_references(re.sub(r"^cfr?\.?\s+", "", bare)))
    except VerseError:
        return False
