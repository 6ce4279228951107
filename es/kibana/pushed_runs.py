"""Runs on a server whose candidates can be looked at in Kibana: pushed, listed and deleted.

Each run is a concrete index of its own, and one alias points to all of them. So a run that is
pushed again replaces the old one by a single alias swap, and Kibana never shows half a run.
"""

import re
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from allusion_es.core.errors import (
    IndexMissingError,
    InputError,
    ServerRefusedError,
    UsageError,
)
from allusion_es.es.alias_swap import (
    at_work_on,
    created,
    delete_locks,
    discard,
    is_left_behind,
    swap_alias,
)
from allusion_es.es.answers import RUN, check_answer
from allusion_es.es.bulk import Document, count_documents, index_documents
from allusion_es.es.catalogue import ConcreteIndex, create_index, delete_concrete, describe_indexes
from allusion_es.es.connection import Server
from allusion_es.es.kibana.candidate import (
    Candidate,
    StageNames,
    candidates_body,
    describe_candidate,
)
from allusion_es.es.meta import KEY

ALIAS = "allusion_candidates"
"""The alias of all runs; its `_` keeps it apart from aliases of passages, which have `-` there."""

MAX_RUN_ID = 200
"""Most characters of a run's id. It is part of the id of every document, which is limited too."""

_CONCRETE_NAME = re.compile(rf"{ALIAS}-\d{{14}}-[0-9a-f]{{8}}")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run whose candidates are on a server.

    Attributes:
        run_id: The id of the run.
        time: When it was pushed, ISO 8601 in UTC.
        queries: Number of queries that have a document.
        documents: Number of documents: candidates, and gold passages that no stage found.
        method: How the candidates were found and ranked, for people to read.
    """

    run_id: str
    time: str
    queries: int
    documents: int
    method: str


@dataclass(frozen=True, slots=True)
class _RunIndex:
    """A concrete index with the candidates of a run.

    Attributes:
        concrete: The name of the index.
        current: True if the alias points to it.
        created: When it was created, in seconds of the server's clock.
        summary: The run; None while it is being pushed.
    """

    concrete: str
    current: bool
    created: float
    summary: RunSummary | None


def push_candidates(
    server: Server,
    run_id: str,
    candidates: Iterable[Candidate],
    stages: StageNames,
    *,
    method: str = "",
) -> RunSummary:
    """Write the candidates of a run, which replaces a run of the same id once it is complete.

    If anything fails, the server is left as it was.

    Args:
        server: The server.
        run_id: The id of the run.
        candidates: Read once and sent batch by batch; those of one query come together.
        stages: The first stages and rerankers whose ranks and scores the candidates have.
        method: How the candidates were found and ranked, for people to read.

    Raises:
        UsageError: The run id cannot be used.
        InputError: A query has the same passage twice, there are no candidates, or the server
            cannot index one; the message names its document (`run/query/passage`) and the reason.
        ServerRefusedError: The server is read-only, full or overloaded, or lost documents.
        ServerUnavailableError: The server no longer answers.
    """
    check_run_id(run_id)
    concrete = f"{ALIAS}-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    documents = _Documents(run_id, now, candidates)
    with at_work_on(concrete):
        try:
            _delete_stale(server, concrete)
            create_index(server, concrete, candidates_body(stages))
            # Once more: the new index tells the server's time, so ages can be known.
            _delete_stale(server, concrete)
            written = index_documents(server, concrete, documents)
            summary = RunSummary(run_id, now, documents.queries, written, method)
            _check_count(server, concrete, written)
            _make_current(server, concrete, summary)
        except BaseException:
            discard(server, [concrete], lambda: _is_current(server, concrete))
            raise
    return summary


def check_run_id(run_id: str) -> str:
    """Return a run id if it is valid.

    Raises:
        UsageError: It is empty, too long, or has characters that cannot be printed.
    """
    if not run_id.strip() or len(run_id) > MAX_RUN_ID or not run_id.isprintable():
        raise UsageError(
            f"run id {run_id[:60]!r}: use 1 to {MAX_RUN_ID} printable characters, not only blanks",
            argument="run_id",
        )
    return run_id


def list_runs(server: Server) -> list[RunSummary]:
    """The runs on a server, sorted by id."""
    found = (one.summary for one in _find_all(server) if one.current and one.summary)
    return sorted(found, key=lambda summary: summary.run_id)


def delete_run(server: Server, run_id: str) -> RunSummary:
    """Delete the candidates of a run, and return its summary.

    Raises:
        IndexMissingError: There is no such run; the message lists those that there are.
    """
    there = [one for one in _find_all(server) if one.current and one.summary]
    found = [one for one in there if one.summary and one.summary.run_id == run_id]
    if not found or not found[0].summary:
        names = sorted(repr(one.summary.run_id) for one in there if one.summary)
        known = f"it has {', '.join(names)}" if names else "it has none"
        raise IndexMissingError(
            f"{server.url} has no candidates of run {run_id[:MAX_RUN_ID]!r} ({known}); give the "
            "id of a run that it has"
        )
    delete_concrete(server, [one.concrete for one in found])
    return found[0].summary


class _Documents:
    """An iterable of the documents of candidates, which counts queries and refuses duplicates.

    Attributes:
        queries: Number of queries so far.
    """

    def __init__(self, run_id: str, now: str, candidates: Iterable[Candidate]) -> None:
        self._run_id, self._now, self._candidates = run_id, now, candidates
        self.queries = 0

    def __iter__(self) -> Iterator[Document]:
        query_ids: set[str] = set()
        query_id, passages = None, set[str]()
        for candidate in self._candidates:
            if candidate.query_id != query_id:
                query_id, passages = candidate.query_id, set()
                if query_id in query_ids:
                    raise InputError(f"query {query_id!r} is there twice; give each once")
                query_ids.add(query_id)
                self.queries += 1
            if candidate.verse_id in passages:
                raise InputError(
                    f"query {query_id!r} has passage {candidate.verse_id!r} twice; give each once"
                )
            passages.add(candidate.verse_id)
            yield describe_candidate(self._run_id, self._now, candidate)
        if not query_ids:
            raise InputError("there are no candidates to push; nothing was changed")


def _check_count(server: Server, concrete: str, written: int) -> None:
    """Raise an error unless the server holds all documents that were written."""
    server.request("POST", f"/{concrete}/_refresh")
    counted = count_documents(server, concrete)
    if counted != written:
        raise ServerRefusedError(
            f"{server.url} holds {counted} of {written} candidates; they were discarded, try again"
        )


def _make_current(server: Server, concrete: str, summary: RunSummary) -> None:
    """Describe a complete run in its mapping, and swap the alias from the run that it replaces."""
    server.change("PUT", f"/{concrete}/_mapping", {"_meta": {KEY: asdict(summary)}})

    def of_run() -> list[_RunIndex]:
        there = (one for one in _find_all(server) if one.current and one.summary)
        return [one for one in there if one.summary and one.summary.run_id == summary.run_id]

    def actions() -> list[dict[str, Any]]:
        old = [one.concrete for one in of_run() if one.concrete != concrete]
        return [
            *({"remove_index": {"index": name}} for name in old),
            {"add": {"index": concrete, "alias": ALIAS}},
        ]

    swap_alias(server, actions, lambda: _is_current(server, concrete))
    # This alias has many indexes, so no write index can decide between two processes that push the
    # same run at the same time. Both may have added theirs; then both keep the same one.
    runs = sorted(of_run(), key=lambda one: (one.created, one.concrete))
    delete_concrete(server, [one.concrete for one in runs[:-1]])


def _is_current(server: Server, concrete: str) -> bool:
    return any(one.concrete == concrete and one.current for one in _find_all(server))


def _find_all(server: Server) -> list[_RunIndex]:
    """All concrete indexes of runs, sorted by name, including half-pushed ones."""
    found = []
    for concrete, description in sorted(describe_indexes(server, f"{ALIAS}-*").items()):
        if _CONCRETE_NAME.fullmatch(concrete):
            time_created = created(ConcreteIndex(concrete, concrete, description))
            meta = description["mappings"].get("_meta")
            summary = _summary(meta.get(KEY) if isinstance(meta, dict) else None, server.url)
            current = ALIAS in description["aliases"]
            found.append(_RunIndex(concrete, current, time_created, summary))
    return found


def _summary(meta: object, url: str) -> RunSummary | None:
    """The run that a mapping describes, or None if it describes none of this program's runs."""
    if not isinstance(meta, dict) or meta.keys() != set(RUN.__struct_fields__):
        return None
    check_answer(meta, RUN, url)
    return RunSummary(**meta)


def _delete_stale(server: Server, concrete: str) -> None:
    """Delete the half-pushed runs that killed processes left behind."""
    there = _find_all(server)
    now = next((one.created for one in there if one.concrete == concrete), 0.0)
    others = (one for one in there if not one.current and one.concrete != concrete)
    stale = [one for one in others if is_left_behind(one.concrete, now - one.created)]
    delete_concrete(server, [one.concrete for one in stale])
    delete_locks(ALIAS)
