"""Searches that go on: what they have found so far, and when they are forgotten."""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal

from allusion_es.core.errors import AllusionError
from allusion_es.corpora import findings as scans
from allusion_es.reports.finding import ReportFinding, ReportMeta
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.serve.texts import StoredText
from allusion_es.web.guard import RefusedError

MOST_RUNNING = 2
"""Searches that go on at the same time."""

MOST_FOUND = 10_000
"""Findings of one search; longer work is for the command line."""

LARGEST_JOB = 32 * 2**20
"""Most characters of JSON that a search may find."""

KEPT_SECONDS = 3600.0
"""How long a finished search is remembered after it was last asked for."""

_POLL_SECONDS = 0.01
_FIRST_SECONDS = 0.5

_KEPT = 12
_KEPT_CHARACTERS = 4 * LARGEST_JOB

Status = Literal["starting", "running", "done", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class JobItem:
    """Something that a search has found.

    Attributes:
        json: The command line's object for it, as a line.
        shown: What a report shows of it.
        table: Its lines in a table with tabs; of a scan none, see `finding`.
        finding: What a scan found; None for the answer to a query.
    """

    json: str
    shown: ReportFinding
    table: tuple[str, ...] = ()
    finding: scans.Finding | None = None


@dataclass(slots=True)
class SearchJob:
    """A search: one thread adds to it, others look.

    Attributes:
        id: What the server calls it.
        client: Who asked for it.
        kind: `query` or `scan`.
        text: What is scanned, or None.
        meta: What its report says of itself.
        status: Where it stands.
        progress: How much is done, from 0 to 1.
        found: What it has found so far, in order.
        failure: Why it failed.
        left_out: Its queries that could not be answered, though others were: id and reason.
        seen: When it was last asked for, by `time.monotonic`.
    """

    id: str
    client: str
    kind: Literal["query", "scan"]
    text: StoredText | None = None
    meta: ReportMeta = field(default_factory=ReportMeta)
    status: Status = "starting"
    progress: float = 0.0
    found: list[JobItem] = field(default_factory=list)
    failure: Exception | None = None
    left_out: list[tuple[str, str]] = field(default_factory=list)
    seen: float = field(default_factory=time.monotonic)
    characters: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _first: threading.Event = field(default_factory=threading.Event)

    @property
    def is_running(self) -> bool:
        """Whether it goes on."""
        return self.status in ("starting", "running")

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Tell it to stop; what it has found stays."""
        self._stop.set()

    def wait_begun(self) -> None:
        """Wait until it has begun, and a moment longer for the first that it finds."""
        while self.status == "starting":
            time.sleep(_POLL_SECONDS)
        self._first.wait(_FIRST_SECONDS)

    def finish(self, status: Status, failure: Exception | None = None) -> None:
        """Say how it ended."""
        self.failure = failure
        self.seen = time.monotonic()
        self.status = status
        self._first.set()

    def add(self, found: JobItem) -> None:
        """Keep what was found.

        Raises:
            RefusedError: That is too much.
        """
        self.characters += len(found.json)
        if len(self.found) >= MOST_FOUND or self.characters > LARGEST_JOB:
            raise RefusedError(
                422,
                f"more is found than this page keeps ({len(self.found):,} findings); raise the "
                "threshold, or use the command line",
            )
        self.found.append(found)
        self._first.set()

    def row(self) -> dict[str, Any]:
        """The job as people see it."""
        row: dict[str, Any] = {
            "job": self.id,
            "kind": self.kind,
            "status": self.status,
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
"""Sets a job's `meta`, and finds; checks what it is given before the first step."""

Lend = Callable[[], AbstractContextManager[CandidateIndex]]


class Jobs:
    """The searches of all clients.

    Attributes:
        closed: Whether the server is about to end.

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
        lend: Lend,
        text: StoredText | None = None,
    ) -> SearchJob:
        """Start a search in a thread of its own.

        Raises:
            RefusedError: This client has one that goes on, or too many go on.
        """
        with self._lock:
            self._forget()
            running = [job for job in self._jobs.values() if job.is_running]
            if any(job.client == client for job in running):
                raise RefusedError(
                    409, "a search of yours still goes on; stop it, or wait until it is done"
                )
            if len(running) >= MOST_RUNNING:
                raise RefusedError(
                    429, f"{len(running)} searches go on already; try again when one is done"
                )
            job = SearchJob(secrets.token_hex(8), client, kind, text)
            self._jobs[job.id] = job
        # A daemon, so that a long search does not hold up the end of the server.
        threading.Thread(target=_run, args=(job, work, lend), daemon=True).start()
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
            job.seen = time.monotonic()
            return job

    def close(self) -> None:
        """Tell all to stop, since the server is about to end."""
        self.closed = True
        for job in list(self._jobs.values()):
            job.stop()

    def _forget(self) -> None:
        """Forget what is old, and the oldest of what is too much; what goes on stays."""
        finished = sorted(
            (job for job in self._jobs.values() if not job.is_running), key=lambda job: job.seen
        )
        old = time.monotonic() - KEPT_SECONDS
        characters = sum(job.characters for job in finished)
        for number, job in enumerate(finished):
            too_many = len(finished) - number > _KEPT or characters > _KEPT_CHARACTERS
            if job.seen < old or too_many:
                del self._jobs[job.id]
                characters -= job.characters


def _run(job: SearchJob, work: Work, lend: Lend) -> None:
    try:
        with lend() as index:
            steps = work(job, index)
            job.status = "running"
            for found in steps:
                job.add(found)
                if job.stopping:
                    break
        if not job.stopping:
            job.progress = 1.0
        job.finish("stopped" if job.stopping else "done")
    except (AllusionError, RefusedError) as error:
        job.finish("failed", error)
    except Exception:
        logging.getLogger(__name__).exception("a search failed")
        job.finish("failed", RefusedError(500, "a fault of the program; the terminal says more"))
