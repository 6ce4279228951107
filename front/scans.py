"""Scans from Python: `scan`, and what it gives."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from allusion_es.core.errors import InputError, UsageError
from allusion_es.core.locks import scratch_folder
from allusion_es.corpora.findings import Finding, finding_record
from allusion_es.corpora.source import read_source
from allusion_es.corpora.source_text import SOURCE_KINDS, SourceText
from allusion_es.front.answers import names, one_of
from allusion_es.front.frames import data_frame
from allusion_es.front.indexes import Index, index_of
from allusion_es.front.queries import is_path
from allusion_es.reports.notebook import cell, note, table
from allusion_es.reports.report import write_report
from allusion_es.reports.scanned import (
    calibration_note,
    place_label,
    scan_meta,
    scanned_findings,
)
from allusion_es.retrieval.options import search_filter_of
from allusion_es.retrieval.pipeline import index_analyser
from allusion_es.scanning.model import MOST, ScanOptions
from allusion_es.scanning.scanner import Scanner

if TYPE_CHECKING:
    import pandas

_COLUMNS = (
    "start", "end", "page", "line", "section", "text", "reference", "passages", "kind",
    "probability", "score", "words", "calibrated",
)  # fmt: skip
"""The columns of a data frame: those of `scan --format tsv` but for alternatives and path."""

_SHOWN = 200
"""Findings that a notebook shows; more would fill its page."""


class Scan(Sequence[Finding]):
    """The findings of a scan, in the order of the text.

    It is a sequence of findings. In a notebook it shows itself as a table.

    Args:
        source: The text.
        findings: The findings in it.
        scanner: Who found them.
        index: Where their passages are.

    Attributes:
        source: The text, as it was read.
        findings: The findings, in its order.
        threshold: The probability that they needed.
        precision: The share of such findings that are right, as it was measured; None where
            nothing was measured that holds for this scan.
        recall: The share of the allusions that are found so, likewise.
        notes: What a reader of the probabilities should know, and what was left out of the file.
    """

    def __init__(
        self, source: SourceText, findings: Iterable[Finding], scanner: Scanner, index: Index
    ) -> None:
        self.source = source
        self.findings = tuple(findings)
        self.threshold: float = scanner.threshold
        self.precision = scanner.measured.precision if scanner.measured else None
        self.recall = scanner.measured.recall if scanner.measured else None
        method = "Scan, fast" if scanner.options.fast else "Scan"
        notes = [each for each in (calibration_note(scanner.unmeasured), scanner.own_note) if each]
        self._meta = scan_meta(source, index.name, method, notes)
        self.notes: tuple[str, ...] = self._meta.notes
        self._index = index

    def __len__(self) -> int:
        """How many findings there are."""
        return len(self.findings)

    @overload
    def __getitem__(self, number: int) -> Finding: ...

    @overload
    def __getitem__(self, number: slice) -> tuple[Finding, ...]: ...

    def __getitem__(self, number: int | slice) -> Finding | tuple[Finding, ...]:
        """The finding of a number, from 0."""
        return self.findings[number]

    def __repr__(self) -> str:
        """The text's name, and how many findings of which probability."""
        noun = "finding" if len(self) == 1 else "findings"
        return (
            f"<Scan of {self.source.path.name}: {len(self)} {noun} of probability "
            f"{self.threshold:g} or more>"
        )

    def _repr_html_(self) -> str:
        """The table that notebooks show."""
        rows = [
            [
                (cell(self._place(found)), False),
                (cell(" ".join(found.text.split())), False),
                (cell(found.reference), False),
                (f"{found.probability:.2f}", True),
                (cell(found.kind), False),
                (cell(self._passage(found)), False),
            ]
            for found in self.findings[:_SHOWN]
        ]
        heads = ("place", "words", "passage", "prob.", "kind", "text of the passage")
        title = self.source.title or self.source.path.name
        shown = table(heads, rows, title) if rows else note(f"{title}: nothing found")
        more = len(self) - _SHOWN
        return shown + (note(f"and {more} more") if more > 0 else "")

    def to_dict(self) -> list[dict[str, Any]]:
        """The objects that `allusion-es scan --format json` prints, one for each finding."""
        return [finding_record(self.source, found) for found in self]

    def to_pandas(self) -> "pandas.DataFrame":
        """A data frame with a row for each finding.

        Raises:
            UsageError: pandas is not installed.
        """
        rows = []
        for found in self:
            record = {"page": "", "line": "", "section": "", **finding_record(self.source, found)}
            record["passages"], record["words"] = " ".join(found.passages), " ".join(found.words)
            rows.append({name: record[name] for name in _COLUMNS})
        return data_frame(rows, _COLUMNS)

    def to_html(self, path: str | Path) -> None:
        """Write the report of `allusion-es scan --html`.

        Raises:
            StorageError: The file cannot be written.
        """
        index = self._index.candidates
        findings = scanned_findings(self.source, self.findings, index, index_analyser(index))
        write_report(Path(path), list(findings), self._meta)

    def _place(self, found: Finding) -> str:
        label = place_label(self.source.place(found.start, found.end))
        return label or f"{found.start}–{found.end}"

    def _passage(self, found: Finding) -> str:
        return " ".join(one.text for one in self._index.candidates.passages(found.passages))


def scan(
    text: str | Path,
    *,
    index: "Index | str | None" = None,
    threshold: float | None = None,
    precision: float | None = None,
    top: int = MOST,
    fast: bool = False,
    book: str | Iterable[str] = (),
    testament: str | Iterable[str] = (),
    work: str | Iterable[str] = (),
    author: str | Iterable[str] = (),
    exclude_work: str | Iterable[str] = (),
    exclude_author: str | Iterable[str] = (),
    own_work: bool = False,
    input_format: str | None = None,
    keep: str | Iterable[str] = (),
    language: str | Iterable[str] = (),
) -> Scan:
    """Find every stretch of a text that alludes, and to which passages, as `allusion-es scan` does.

    Args:
        text: A plain text, TEI, HTML or DOCX file; or the text itself.
        index: An index, its name, or the URL of a server; see `open_index`.
        threshold: The probability that findings need; the measured default otherwise.
        precision: Instead: the threshold at which this precision was measured, such as 0.8.
        top: Passages a finding, with alternatives: 1 to 6.
        fast: Look only for what is clear, several times as fast.
        book: Only this book, by any of its names, or these.
        testament: Only this testament: `ot` or `nt`.
        work: Only this work, or these.
        author: Only works of this author, or these.
        exclude_work: Not this work, or these.
        exclude_author: No work of this author, or these.
        own_work: Search the work that a query is from, too; it is left out otherwise.
        input_format: What a file is: `text`, `tei`, `html` or `docx`; by default as it looks.
        keep: TEI elements that are read too, such as `note`.
        language: Values of `xml:lang` in TEI that are read too, such as `grc`; `all` for every one.

    Raises:
        AllusionError: The text, an argument or the index cannot be used.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> verses = {f"Ps.1.{n}": f"uerbum{n}" for n in range(2, 400)}
        >>> index = Index(index_texts(verses | {"Ps.33.9": "Gustate et uidete quoniam suauis"}))
        >>> found = scan("Dicit: gustate et videte quoniam suavis", index=index, threshold=0.01)
        >>> found[0].text, found[0].passages
        ('gustate et videte quoniam suavis', ('Ps.33.9',))
        >>> found
        <Scan of text: 1 finding of probability 0.01 or more>
    """
    kind = None if input_format is None else one_of("input_format", input_format, SOURCE_KINDS)
    options = ScanOptions(
        threshold=_number("threshold", threshold),
        precision=_number("precision", precision),
        fast=fast,
        top=top,
        search_filter=search_filter_of(
            names(book),
            names(testament),
            names(work),
            authors=names(author),
            excluded_works=names(exclude_work),
            excluded_authors=names(exclude_author),
            own_work=own_work,
        ),
    )
    kept, languages = frozenset(names(keep)), frozenset(names(language))
    if isinstance(text, str) and not is_path(text):
        # Sources are read from files, and checked as such, whatever they are.
        with scratch_folder() as folder:
            path = folder / "text"
            path.write_bytes(text.encode("utf-8", "replace"))
            try:
                read = read_source(path, kind=kind, keep=kept, languages=languages)
            except InputError as error:
                raise InputError(str(error).replace(str(path), "text")) from error
        source = replace(read, path=Path("text"), title="" if read.title == "text" else read.title)
    elif isinstance(text, (str, Path)):
        source = read_source(Path(text), kind=kind, keep=kept, languages=languages)
    else:
        raise UsageError(f"give a text or the path of a file, not {type(text).__name__}")
    opened = index_of(index)
    scanner = Scanner(opened.candidates, options).of_text(source)
    return Scan(source, scanner.scan(source), scanner, opened)


def _number(name: str, value: float | None) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise UsageError(f"{name}: give a number, not {value!r:.40}")
    return value
