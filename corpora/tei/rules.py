"""What a philologist reads in a TEI text: which elements are its words, and where lines end."""

from collections.abc import Mapping

TEI = "http://www.tei-c.org/ns/1.0"
"""The namespace of TEI P5."""

ANNOTATED = frozenset({"app", "bibl", "cit", "note", "q", "quote", "ref", "seg"})
"""Elements that are kept as annotations; `seg` only with a `source` or `corresp`."""

LEFT_OUT = frozenset({
    # about the text
    "teiHeader", "standOff", "facsimile", "sourceDoc", "note", "noteGrp", "bibl", "biblStruct",
    "listBibl", "listApp", "rdgGrp", "wit", "witDetail", "listWit", "index", "interpGrp", "spanGrp",
    "linkGrp", "egXML", "desc", "figDesc", "certainty", "precision", "respons", "metamark",
    # not of the text, or no longer
    "fw", "del", "surplus", "figure", "graphic", "formula", "notatedMusic", "speaker", "stage",
    "binaryObject", "listAnnotation", "annotation", "pubPlace", "idno",
})  # fmt: skip
"""Elements whose words are left out unless they are asked for."""

_OTHER_PARTS = frozenset({"translation", "apparatus", "commentary", "bibliography"})

BLOCKS = frozenset({
    "TEI", "teiCorpus", "text", "group", "front", "body", "back", "floatingText", "titlePage",
    "docTitle", "titlePart", "docImprint", "div", *(f"div{n}" for n in range(1, 8)), "p", "ab", "l",
    "lg", "head", "trailer", "argument", "epigraph", "opener", "closer", "salute", "signed",
    "dateline", "byline", "list", "item", "table", "row", "cell", "sp", "note", "postscript",
})  # fmt: skip
"""Elements that begin and end a line of the plain text."""

BREAKS = frozenset({"lb", "pb", "cb", "gb"})
"""Breaks of line, page, column and gathering: between words, but with `break="no"`."""

CHOSEN = {"corr": 2, "reg": 2, "expan": 2, "lem": 2, "sic": 0, "orig": 0, "abbr": 0}
"""In `choice` and `app` the first child of the highest number is read; others have 1."""

ATOMS = frozenset({"#cdata", "am", "c", "ex", "formula", "g", "geo", "idno", "locus", "pc"})
"""Inline elements that hold characters, but in which TEI All allows no `seg`."""

CONTAINERS = frozenset({
    "TEI", "teiCorpus", "address", "app", "argument", "back", "body", "choice", "cit", "div",
    *(f"div{n}" for n in range(1, 8)), "docTitle", "epigraph", "floatingText", "front", "group",
    "lg", "list", "postscript", "row", "sp", "subst", "table", "text", "titlePage",
})  # fmt: skip
"""Elements that hold no characters but in their children."""

NO_QUOTE = frozenset({
    "bibl", "byline", "closer", "date", "dateline", "docImprint", "line", "m", "opener", "time",
    "w",
})  # fmt: skip
"""Elements in which TEI All allows `seg` but no `quote`."""


def is_left_out(name: str, attributes: Mapping[str, str], keep: frozenset[str]) -> bool:
    """Whether the words of an element are left out.

    Besides the elements of `LEFT_OUT`, these are an `app` that points to its words (`from`,
    `loc`), since its `lem` repeats them; a `ref` that is the mark of a note; and a `div` that is
    a translation, an apparatus, a commentary or a bibliography.

    Args:
        name: Its local name.
        attributes: Its attributes.
        keep: Elements whose words are asked for.

    Example:
        >>> is_left_out("note", {}, frozenset()), is_left_out("note", {}, frozenset({"note"}))
        (True, False)
    """
    if name in keep:
        return False
    if name == "app":
        return "from" in attributes or "loc" in attributes
    if name == "ref":
        return attributes.get("type", "") in {"noteAnchor", "footnote", "note"}
    if name == "div":
        return attributes.get("type", "") in _OTHER_PARTS
    return name in LEFT_OUT
