"""The words that stand in and around verse references, in the languages of editions.

Words are compared in lower case, without accents and without the dot of an abbreviation.
"""

FOLLOWING = {
    **dict.fromkeys(
        ("f", "fol", "folg", "s", "sq", "seq", "sequ", "suiv", "suivant", "sg", "seg"), 1
    ),
    **dict.fromkeys(
        ("ff", "ss", "sqq", "seqq", "suivants", "sgg", "segg", "folgende", "following"), 2
    ),
}
"""How many verses more a mark of what follows stands for.

`sq.` is the next verse. The plural names no end: it is read as two verses more, the fewest that
a plural can mean, and `gold check` lists the cells that have one.
"""

AND = frozenset({
    "et", "ac", "atque", "necnon", "vel", "uel", "aut", "siue", "sive", "seu", "and", "or", "und",
    "oder", "bzw", "sowie", "e", "ed", "o", "ou", "y", "item", "deinde", "also", "auch", "etiam",
    "aussi", "anche",
})  # fmt: skip
"""Words between one number or reference and the next."""

CONFER = frozenset({
    "cf", "cfr", "cft", "conf", "confer", "comp", "compare", "cp", "uide", "vide", "uid", "vid",
    "videas", "see", "vgl", "vergl", "vergleiche", "siehe", "voir", "vd", "vedi",
})  # fmt: skip
"""Words that send the reader to a passage."""

VERSE = frozenset({
    "vv", "vs", "vss", "vers", "versus", "versu", "versum", "versibus", "versiculo", "uers",
    "uersus", "uersu", "uersum", "uersibus", "uu", "ver", "verse", "verses", "verset", "versets",
    "verso", "versi", "versetto", "versetti", "versen", "v",
})  # fmt: skip
"""Words before the number of a verse; `v` may also be a Roman five."""

CHAPTER = frozenset({
    "c", "cap", "capp", "cc", "ch", "chap", "chaps", "caput", "capite", "capitulo", "capita",
    "kap", "kapitel", "chapter", "chapters", "chapitre", "capitolo", "cp",
})  # fmt: skip
"""Words before the number of a chapter; `c` may also be a Roman hundred."""

TO = frozenset({"bis", "to", "usque", "through"})
"""Words between the ends of a range."""

PARALLELS = frozenset({
    "par", "parr", "parall", "parallel", "parallels", "paralleli", "passim", "al", "alibi", "etc",
    "saepius",
})  # fmt: skip
"""Words after a verse that say that there are other passages, which they do not name."""

BEFORE = frozenset({
    "s", "u", "v", "ex", "aus", "nach", "from", "eg", "ie", "e", "g", "z", "b", "passim", "bible",
    "biblia", "bibel", "bibbia", "bibl", "vulgate", "vulgata", "vulg", "vg", "lxx", "propheta",
    "scriptura", "scr", "alludit", "allusio", "alluditur", "respicit", "spectat", "ait", "dicit",
    "dixit", "inquit", "legitur", "scriptum", "scribit", "est", "esp", "bes", "ferner", "ebenso",
    "dazu", "ibid", "ibidem", "nb", "hinc", "unde", "as", "quotes", "citat", "citatur", "cites",
    "citing", "quoting", "zitiert", "zit", "loc", "locus", "loci", "apostolus", "paulus", "paul",
    "supra", "infra",
})  # fmt: skip
"""Words, beside those above, before which a book's name stays that of a book of the Bible.

Any other word there may be an author or a title (`adv. Marc. 2, 4`), so the name is refused.
"""

PAGE = frozenset({"p", "pp", "pag", "page", "pages", "seite", "seiten", "pagina", "n", "nr", "nt"})
"""Words before numbers that are no verses: pages and notes."""

SAME = frozenset({"ibid", "ibidem", "ib"})
"""Words for the book named before."""

EPISTLES = frozenset({
    "Rom", "1Cor", "2Cor", "Gal", "Eph", "Phil", "Col", "1Thess", "2Thess", "1Tim", "2Tim",
    "Titus", "Phlm", "Heb", "Jas", "1Pet", "2Pet", "1John", "2John", "3John", "Jude",
})  # fmt: skip
_PAULINE = EPISTLES - {"Jas", "1Pet", "2Pet", "1John", "2John", "3John", "Jude"}
_GOSPELS = frozenset({"Matt", "Mark", "Luke", "John"})
_PROPHETS = frozenset({
    "Isa", "Jer", "Ezek", "Dan", "Hos", "Joel", "Amos", "Obad", "Jonah", "Mic", "Nah", "Hab",
    "Zeph", "Hag", "Zech", "Mal", "Bar",
})  # fmt: skip
_HISTORIES = frozenset({
    "Josh", "Judg", "Ruth", "1Sam", "2Sam", "1Kgs", "2Kgs", "1Chr", "2Chr", "Ezra", "Neh", "Tob",
    "Jdt", "Esth", "Job", "Wis", "Eccl", "Sir", "Prov", "1Macc", "2Macc", "Ps",
})  # fmt: skip
LEADS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("ep", "epist", "epistola", "epistolae", "epistula", "epistulae", "brief", "epitre"),
        EPISTLES,
    ),
    **dict.fromkeys(("ad", "an", "die", "aux", "ai", "paul", "pauli", "to", "the"), _PAULINE),
    **dict.fromkeys(
        ("ev", "evang", "evangelium", "euang", "euangelium", "eu", "secundum", "sec", "gospel"),
        _GOSPELS,
    ),
    **dict.fromkeys(("s", "st", "sanct", "sancti", "b", "beati"), _GOSPELS | (EPISTLES - _PAULINE)),
    **dict.fromkeys(("lib", "liber", "libri", "libro"), _HISTORIES | _PROPHETS),
    **dict.fromkeys(("proph", "propheta", "prophetia"), _PROPHETS),
}
"""Words that titles put before a name, and the books before which they do."""

NO_NAMES_IN_LOWER_CASE = frozenset({
    "si", "est", "am", "re", "he", "so", "at", "la", "le", "ne", "mi", "ho", "ge", "na", "nu",
    "ap", "ep", "ac", "es", "is", "pro", "sal", "off", "col", "tit", "num", "act", "ex", "os",
    "da", "ag", "ob", "sg", "ri", "ro", "ga", "ru", "za", "hi", "ba", "gl", "gs", "gd", "gb",
    "ec", "ha", "ph", "nam", "jh", "th", "lm", "acta", "actus", "actuum", "as", "fm", "ecl", "pr",
    "mar",
})  # fmt: skip
"""Abbreviations that are words of Latin, or of notes, where they begin with a small letter.

`is` is a pronoun, `col.` a column, `tit.` a title, `ep.` a letter.
"""

VULGATE = frozenset({"vg", "vulg", "vulgata", "vulgate", "vul"})
SEPTUAGINT = frozenset({"lxx", "sept", "septuaginta", "septuagint", "graece", "gr"})
HEBREW = frozenset({"hebr", "heb", "h", "mt", "tm", "hebraice"})
ENGLISH = frozenset({"kjv", "av", "rv", "rsv", "nrsv", "niv", "esv", "nab", "nasb", "asv", "neb"})
LATIN_TEXTS = frozenset({"vl", "itala", "iuxta", "iux", "vetus", "vet", "latina", "lat"})
"""Words after a verse that name an old Latin text, which counts as the Vulgate does."""

TEXTS = VULGATE | SEPTUAGINT | HEBREW | ENGLISH | LATIN_TEXTS
"""Words after a verse that name the text which is cited."""

LABELS = TEXTS | frozenset({
    "sus", "susanna", "bel", "draco", "sec", "secundum", "apud", "ap", "or", "oratio", "azar",
    "ep", "ier", "add",
})  # fmt: skip
"""Words in brackets after a number that name a text or a part of a book, and change nothing."""
