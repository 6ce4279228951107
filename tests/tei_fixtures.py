"""TEI files written for tests, in the manner of several editions."""

import re
from collections.abc import Callable
from pathlib import Path

HEADER = (
    "<teiHeader><fileDesc><titleStmt><title>{title}</title><author>{author}</author></titleStmt>"
    "<publicationStmt><p>For tests.</p></publicationStmt><sourceDesc><p>Made up.</p></sourceDesc>"
    "</fileDesc></teiHeader>"
)

_PREFIXES = re.compile(r"<encodingDesc><listPrefixDef>.*?</listPrefixDef></encodingDesc>")


def without_prefixes(text: str) -> str:
    """A marked file without the definition of the pointers' prefixes, which it must have once."""
    assert len(_PREFIXES.findall(text)) == 1
    return _PREFIXES.sub("", text)


Tei = Callable[[str], Path]


def document(body: str, *, title: str = "Sermo", author: str = "Anonymus") -> str:
    """A whole TEI document around what is in its `body`."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<TEI xmlns="http://www.tei-c.org/ns/1.0">'
        + HEADER.format(title=title, author=author)
        + f"<text><body>{body}</body></text></TEI>\n"
    )
