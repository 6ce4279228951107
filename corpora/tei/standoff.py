"""Findings beside a text: a TEI `standOff`, in a file of its own or in the text's header."""

from collections.abc import Iterable, Iterator
from urllib.parse import quote
from xml.sax.saxutils import escape

from allusion_es.core.errors import UsageError
from allusion_es.corpora.findings import Finding, check_findings, passage_uri
from allusion_es.corpora.source import SourceText
from allusion_es.corpora.tei.rules import TEI
from allusion_es.corpora.tei.write import Insertion, attribute, free_prefix, without_controls


def pointer(source: SourceText, start: int, end: int, *, inside: bool = False) -> str:
    """A URI of a stretch of a text.

    In TEI it is a `string-range` of the innermost element around the stretch: from how many
    characters on, and how many, counted in the element's whole text, notes and blanks included. In
    plain files it is `char=` (RFC 5147), counted from 0.

    Args:
        source: The text.
        start: The first character.
        end: The one after the last.
        inside: Whether the pointer stands in the file itself.

    Raises:
        UsageError: There are no such characters, or the file is a page or a document, in which
            nothing can point to characters.
    """
    if source.kind in ("html", "docx"):
        raise UsageError(
            f"{source.path} is {source.kind.upper()}, to whose characters TEI cannot point; use "
            "another format"
        )
    file = "" if inside else quote(source.path.name)
    if source.kind == "text":
        return f"{file}#char={start},{end}"
    place = source.place(start, end)
    return f"{file}#string-range(xpath({place.xpath}),{place.offset},{place.length})"


def standoff_lines(source: SourceText, findings: Iterable[Finding]) -> Iterator[str]:
    """The lines of a TEI file of its own that annotates a source with findings.

    Args:
        source: The file that it points to, by its name: keep both in one folder.
        findings: What was found in it.

    Raises:
        UsageError: A finding is not of this text.
    """
    title = escape(without_controls(source.title or source.path.name))
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<TEI xmlns="{TEI}">'
    yield "  <teiHeader><fileDesc>"
    yield f"    <titleStmt><title>Allusions in: {title}</title></titleStmt>"
    yield "    <publicationStmt><p>Made by allusion-es.</p></publicationStmt>"
    yield f"    <sourceDesc><p>{escape(without_controls(source.path.name))}</p></sourceDesc>"
    yield "  </fileDesc></teiHeader>"
    for line in _standoff(source, findings, inside=False, prefix=""):
        yield f"  {line}"
    yield "</TEI>"


def standoff_markup(source: SourceText, findings: Iterable[Finding]) -> list[Insertion]:
    """The `standOff` as markup that goes into the source itself, after its header.

    Raises:
        UsageError: The source is no TEI file, has no header, or a finding is not of its text.
    """
    if source.insert_at < 0:
        raise UsageError(
            f"{source.path}: there is no teiHeader after which a standOff could go; write it into "
            "a file of its own"
        )
    lines = list(_standoff(source, findings, inside=True, prefix=source.prefix))
    return [Insertion(source.insert_at, "\n".join(["", *lines]))] if lines else []


def _standoff(
    source: SourceText, findings: Iterable[Finding], *, inside: bool, prefix: str
) -> Iterator[str]:
    ordered = check_findings(source, findings)
    name = free_prefix(source)
    if not ordered:
        # A list without annotations is not valid TEI.
        if not inside:
            yield f"<{prefix}standOff><{prefix}note>No allusion was found.</{prefix}note>" + (
                f"</{prefix}standOff>"
            )
        return
    yield f'<{prefix}standOff><{prefix}listAnnotation type="allusions">'
    if not all(found.calibrated for found in ordered):
        yield "  <!-- cert is not calibrated for this scan: it only ranks the findings -->"
    for number, found in enumerate(ordered, start=1):
        target = pointer(source, found.start, found.end, inside=inside)
        yield f'  <{prefix}annotation xml:id="{name}-{number}"' + (
            attribute("target", target)
            + attribute("motivation", "linking")
            + attribute("n", found.reference)
            + attribute("cert", f"{found.probability:.2f}")
            + ">"
        )
        yield from (f"    {line}" for line in _body(found, prefix))
        yield f"  </{prefix}annotation>"
    yield f"</{prefix}listAnnotation></{prefix}standOff>"


def _body(found: Finding, prefix: str) -> Iterator[str]:
    yield _reference(prefix, found.kind, found.passages, found.reference)
    for other in found.alternatives:
        yield _reference(prefix, "alternative", other.passages, other.reference)
    words = escape(without_controls(" ".join(found.text.split())))
    yield f'<{prefix}note type="text">{words}</{prefix}note>'


def _reference(prefix: str, kind: str, passages: tuple[str, ...], reference: str) -> str:
    target = " ".join(map(passage_uri, passages))
    start = f"<{prefix}ref{attribute('type', kind)}{attribute('target', target)}>"
    return f"{start}{escape(without_controls(reference))}</{prefix}ref>"
