"""Doing what `allusion-es scan` asks for, one text after the other."""

import functools
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from allusion_es.cli.options import ServerOptions, open_candidate_index
from allusion_es.cli.progress import progress
from allusion_es.corpora.findings import Finding
from allusion_es.corpora.source import SourceText
from allusion_es.scanning.options import ScanOptions

if TYPE_CHECKING:
    from allusion_es.es.partial import Partial
    from allusion_es.retrieval.index import CandidateIndex
    from allusion_es.scanning.blocks import Block
    from allusion_es.scanning.journal import Journal
    from allusion_es.scanning.scanner import Scanned

_ALONE = 4
"""Blocks from which more than one process is worth its start."""


class Job:
    """Scans texts with the same options.

    Args:
        name: Name of the index.
        server: Where it is.
        options: What to look for.
        workers: Processes.
        resume: Go on where a scan was stopped.
        partial: See `es.index.open_index`.

    Attributes:
        index: The index, opened.
        options: What to look for.
        scanner: What scans in this process.
        partial: As given.
    """

    def __init__(
        self,
        name: str,
        server: ServerOptions,
        options: ScanOptions,
        workers: int,
        *,
        resume: bool,
        partial: "Partial | None" = None,
    ) -> None:
        from allusion_es.scanning.scanner import Scanner

        self._open = functools.partial(open_candidate_index, name, server, partial)
        self.index: CandidateIndex = self._open()
        self.options = options
        self.partial = partial
        self.scanner: Scanner = Scanner(self.index, options)
        self._workers = workers
        self._resume = resume
        self._journal: Journal | None = None
        self._kept: list[Path] = []

    def scan(self, source: SourceText, journal: Path | None) -> list[Finding]:
        """All findings of a text, in its order.

        Args:
            source: The text.
            journal: Where what is done is kept meanwhile, or None.
        """
        from allusion_es.scanning.blocks import cut
        from allusion_es.scanning.scanner import seamless

        self._warn(source)
        blocks = list(cut(source.text))
        if self.partial is not None:
            journal = None  # what lacks something must not be taken up later
        kept = self._journal = None if journal is None else self._open_journal(source, journal)
        done = dict(kept.done) if kept else {}
        missing = [block for block in blocks if block.number not in done]
        scanned = progress(self._scanned(missing), f"Scanning {source.path.name}", len(missing))
        for block, findings in scanned:
            done[block.number] = findings
            if kept is not None:
                kept.add(block.number, findings)
        self._put_aside()
        return list(seamless(done[number] for number in sorted(done)))

    def _open_journal(self, source: SourceText, path: Path) -> "Journal":
        from allusion_es.scanning.journal import Journal, scan_key

        was_there = path.exists()
        key = scan_key(source, self.options, self.index.fingerprint)
        journal = Journal(path, key, resume=self._resume)
        if self._resume and was_there and not journal.done:
            print(
                f"{path}: nothing in it can be used for this text, index, version and options; "
                "begun anew",
                file=sys.stderr,
            )
        return journal

    def _put_aside(self) -> None:
        """Close the journal; one in which something was done stays until all files are written."""
        journal, self._journal = self._journal, None
        if journal is None:
            return
        journal.close()
        if journal.done:
            self._kept.append(journal.path)
        else:
            journal.path.unlink(missing_ok=True)

    def _scanned(self, blocks: "Sequence[Block]") -> "Iterable[Scanned]":
        from allusion_es.scanning.scanner import scan_in_processes

        workers = min(self._workers, len(blocks) // _ALONE)
        if workers > 1:
            return scan_in_processes(self._open, self.options, blocks, workers)
        return self.scanner.blocks(blocks)

    def finish(self) -> None:
        """All files are written: nothing is left to go on from."""
        for path in self._kept:
            path.unlink(missing_ok=True)

    def leave(self) -> str:
        """Stop before all is written; gives what to tell of what is kept, or ""."""
        self._put_aside()
        if not self._kept:
            return ""
        return f"what was done is kept in {', '.join(map(str, self._kept))}; --resume goes on"

    def tell(self, source: SourceText, count: int) -> None:
        """Say on stderr how many findings there are, and how far to trust them."""
        noun = "finding" if count == 1 else "findings"
        threshold = self.scanner.threshold
        print(
            f"{source.path}: {count} {noun} of probability {threshold:g} or more ({self._trust()})",
            file=sys.stderr,
        )

    def _trust(self) -> str:
        """What was measured of such a scan, or why nothing was."""
        if self.scanner.unmeasured:
            wanted = self.options.precision
            asked = f"; nor is the precision of {wanted:g}" if wanted is not None else ""
            return f"{self.scanner.unmeasured}{asked}"
        if self.partial is not None and self.partial.worst is not None:
            return "not calibrated for a part of the collection, only for the whole"
        threshold, point = self.scanner.threshold, self.scanner.measured
        if point is None:
            return f"nothing was measured at {threshold:g}"
        where = "" if point.threshold == threshold else f" at {point.threshold:g}"
        return f"measured{where}: precision {point.precision:.2f}, recall {point.recall:.2f}"

    def _warn(self, source: SourceText) -> None:
        """Say on stderr if a text is hardly one in the language of the index."""
        from allusion_es.retrieval.latin import text_doubt
        from allusion_es.retrieval.pipeline import index_analyser

        if doubt := text_doubt(source.text, self.index, index_analyser(self.index)):
            print(f"{source.path}: {doubt}", file=sys.stderr)
