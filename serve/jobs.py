"""Jobs: searches that run in threads, with their findings, until they are forgotten.

A job is remembered after its end, so that its findings can be saved as files and its page reloaded.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal

from allusion_es.core.errors import AllusionError
from allusion_es.corpora.findings import Finding
from allusion_es.reports.report import ReportFinding, ReportMeta
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.serve.texts import StoredText
from allusion_es.web.guard import RefusedError

MOST_RUNNING = 2
"""Searches that run at the same time, over all clients; each can fill a processor."""

_MOST_AT_WORK = 2 * MOST_RUNNING
"""Threads at the same time: those of stopped searches end the block that they read, in a second."""

MOST_FOUND = 10_000
"""Most findings of one search, all of which the page must show."""

LARGEST_JOB = 32 * 2**20
"""Most characters of JSON of one search's findings, a measure of the memory that it takes."""

KEPT_SECONDS = 3600.0
"""How long a finished search is remembered after it was last used."""

_START_POLL_SECONDS = 0.01

_FIRST_FINDING_SECONDS = 0.5
"""How long an answer waits for a first finding, or a failure that gives it another status."""

_KEPT = 12
"""Finished searches that are remembered."""

_KEPT_CHARACTERS = 4 * LARGEST_JOB
"""Characters of JSON of all finished searches that are remembered."""

Status = Literal["starting", "running", "done", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class JobItem:
    """One result of a search: a finding of a scan, or the answer to a query.

    Attributes:
        json: The command line's object for it, as a line.
        shown: The same result as a finding of a report.
        table: The lines of an answer in a table with tabs; empty for a scan.
        finding: The finding of a scan; None for the answer to a query.
    """

    json: str
    shown: ReportFinding
    table: tuple[str, ...] = ()
    finding: Finding | None = None


@dataclass(slots=True)
class SearchJob:
    """A search and its findings so far; one thread adds to it, others read it.

    Attributes:
        id: Its id in the API.
        client: Name of the client that started it.
        kind: `query` or `scan`.
        text: The text that is scanned, or None.
        key: Key of the text, by which judgements of it are kept.
        history: Id of its entry in the history, or "" where it is not to be kept.
        meta: Title and notes of its report.
        status: Whether it is starting, running or has ended, and how.
        progress: The part that is done, from 0 to 1.
        found: Its findings so far, in order.
        failure: The error that ended it, or None.
        left_out: Id and error of each query that failed while others were answered.
        last_used: When it was last used, by `time.monotonic`.
        characters: Characters of JSON of all its findings.
    """

    id: str
    client: str
    kind: Literal["query", "scan"]
    text: StoredText | None = None
    key: str = ""
    history: str = ""
    meta: ReportMeta = field(default_factory=ReportMeta)
    status: Status = "starting"
    progress: float = 0.0
    found: list[JobItem] = field(default_factory=list)
    failure: Exception | None = None
    left_out: list[tuple[str, str]] = field(default_factory=list)
    last_used: float = field(default_factory=time.monotonic)
    characters: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _found_or_ended: threading.Event = field(default_factory=threading.Event)

    @property
    def is_running(self) -> bool:
        """True until it has ended, or was told to stop: then nothing is added any more."""
        return self.status in ("starting", "running") and not self.stopping

    @property
    def is_at_work(self) -> bool:
        """True while its thread computes; a stopped one ends the block of text that it reads."""
        return self.status in ("starting", "running")

    @property
    def stopping(self) -> bool:
        """True once it was told to stop."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Stop it; what it has found stays, and nothing is added."""
        self._stop.set()

    def wait_begun(self) -> None:
        """Wait until it is running, and a moment longer for its first finding or its failure."""
        while self.status == "starting" and not self.stopping:
            time.sleep(_START_POLL_SECONDS)
        self._found_or_ended.wait(_FIRST_FINDING_SECONDS)

    def finish(self, status: Status, failure: Exception | None = None) -> None:
        """Set how it ended."""
        self.failure = failure
        self.last_used = time.monotonic()
        # Last, since other threads read the rest once the job is not running any more.
        self.status = status
        self._found_or_ended.set()

    def add(self, found: JobItem) -> None:
        """Add a finding.

        Raises:
            RefusedError: There are too many, or they are too large.
        """
        self.characters += len(found.json)
        if len(self.found) >= MOST_FOUND or self.characters > LARGEST_JOB:
            raise RefusedError(
                422,
                f"more is found than this page keeps ({len(self.found):,} findings); raise the "
                "threshold, or use the command line",
            )
        self.found.append(found)
        self._found_or_ended.set()

    def row(self) -> dict[str, Any]:
        """The job as the API shows it."""
        row: dict[str, Any] = {
            "job": self.id,
            "kind": self.kind,
            "status": "stopped" if self.is_at_work and self.stopping else self.status,
            "progress": round(self.progress, 4),
            "found": len(self.found),
            "notes": list(self.meta.notes),
        }
        if self.left_out:
            row["left_out"] = [
                {"query_id": name, "error": reason} for name, reason in list(self.left_out)
            ]
        return {**row, "error": str(self.failure)} if self.failure else row


Work = Callable[[SearchJob, CandidateIndex], Iterator[JobItem]]
"""Sets the job's `meta`, and returns an iterator that searches; checks options before that."""


class Jobs:
    """The searches of all clients.

    Attributes:
        closed: True once the server is about to end.

    Example:
        >>> from contextlib import nullcontext
        >>> from allusion_es.local.memory import index_texts
        >>> def work(job, index):
        ...     return iter([JobItem("{}", ReportFinding("1", "vir"))])
        >>> jobs, index = Jobs(), index_texts({"Ps.1.1": "Beatus vir"})
        >>> job = jobs.start("anna", "query", work, lambda: nullcontext(index))
        >>> while job.is_running:
        ...     time.sleep(0.01)
        >>> job.status, len(job.found), jobs.get(job.id) is job
        ('done', 1, True)
    """

    def __init__(self) -> None:
        self._jobs: dict[str, SearchJob] = {}
        self._lock = threading.Lock()
        self.closed = False

    def start(
        self,
        client: str,
        kind: Literal["query", "scan"],
        work: Work,
        acquire: Callable[[], AbstractContextManager[CandidateIndex]],
        text: StoredText | None = None,
        key: str = "",
        history: str = "",
        at_end: Callable[[SearchJob], None] | None = None,
    ) -> SearchJob:
        """Start a search in a thread of its own.

        Args:
            client: Name of the client, which may run one search at a time.
            kind: `query` or `scan`.
            work: The search.
            acquire: Gives the index for the time of the search.
            text: The text that is scanned.
            key: Key of the text.
            history: Id of its entry in the history, or "".
            at_end: Called in its thread when it is done or was stopped, before its status says so.

        Raises:
            RefusedError: The client has a running search, or too many run.
        """
        # Checked and entered under one lock: of two requests, only one may get the last place.
        with self._lock:
            self._forget()
            running = [job for job in self._jobs.values() if job.is_running]
            if any(job.client == client for job in running):
                raise RefusedError(
                    409, "a search of yours still goes on; stop it, or wait until it is done"
                )
            at_work = sum(job.is_at_work for job in self._jobs.values())
            if len(running) >= MOST_RUNNING or at_work >= _MOST_AT_WORK:
                raise RefusedError(
                    429, f"{at_work} searches go on already; try again when one is done"
                )
            job = SearchJob(secrets.token_hex(8), client, kind, text, key, history)
            self._jobs[job.id] = job
        # A daemon, so that a long search does not hold up the end of the server.
        threading.Thread(target=_run, args=(job, work, acquire, at_end), daemon=True).start()
        return job

    def get(self, identifier: str) -> SearchJob:
        """The job of an id.

        Raises:
            RefusedError: There is none; it may have been forgotten.
        """
        with self._lock:
            self._forget()
            job = self._jobs.get(identifier)
            if job is None:
                raise RefusedError(404, "there is no such search any more; search again")
            job.last_used = time.monotonic()
            return job

    def keeping(self, history: str) -> bool:
        """Whether a search still runs that the history will keep under this id."""
        with self._lock:
            return any(j.is_at_work and j.history == history for j in self._jobs.values())

    def close(self) -> None:
        """Stop all searches, since the server is about to end."""
        self.closed = True
        for job in list(self._jobs.values()):
            job.stop()

    def _forget(self) -> None:
        """Forget finished jobs that are old, and the oldest if there are too many."""
        finished = sorted(
            (job for job in self._jobs.values() if not job.is_at_work),
            key=lambda job: job.last_used,
        )
        old = time.monotonic() - KEPT_SECONDS
        characters = sum(job.characters for job in finished)
        for number, job in enumerate(finished):
            too_many = len(finished) - number > _KEPT or characters > _KEPT_CHARACTERS
            if job.last_used < old or too_many:
                del self._jobs[job.id]
                characters -= job.characters


def _run(
    job: SearchJob,
    work: Work,
    acquire: Callable[[], AbstractContextManager[CandidateIndex]],
    at_end: Callable[[SearchJob], None] | None,
) -> None:
    """Run a search to its end, in its thread; an error is kept in the job."""
    try:
        with acquire() as index:
            items = work(job, index)
            job.status = "running"
            for item in items:
                if job.stopping:
                    break
                job.add(item)
        stopped = job.stopping
        if not stopped:
            job.progress = 1.0
        if at_end is not None:
            at_end(job)
        job.finish("stopped" if stopped else "done")
    except (AllusionError, RefusedError) as error:
        job.finish("failed", error)
    except Exception:
        logging.getLogger(__name__).exception("a search failed")
        job.finish("failed", RefusedError(500, "a fault of the program; the terminal says more"))
