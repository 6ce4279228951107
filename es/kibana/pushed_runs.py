"""Candidates of runs on a server, to be looked at in Kibana: pushed, listed, deleted.

Each run is an index of its own, and one alias leads to all of them. So a run that is pushed
again takes the place of what was there in a single step, and nothing is ever there by half.
"""

import contextlib
import re
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from allusion_es.core.errors import (
    AllusionError,
    IndexMissingError,
    InputError,
    ServerRefusedError,
    ServerUnavailableError,
    UsageError,
)
from allusion_es.es.alias_swap import at_work_on, delete_locks, is_left_behind
from allusion_es.es.answers import Count, check_answer
from allusion_es.es.bulk import Document, count_documents, index_documents
from allusion_es.es.catalogue import ConcreteIndex, create_index, delete_concrete, describe_indexes
from allusion_es.es.connection import Server
from allusion_es.es.kibana.candidate import (
    Candidate,
    StageNames,
    candidates_body,
    describe_candidate,
)

ALIAS = "allusion_candidates"
"""Leads to the candidates of all runs; no index of passages can have this name."""

KEY = "allusion_es"
"""Where in an index's `_meta` its run is described."""

MAX_RUN_ID = 200
"""Characters of a run's id."""

_TRIES = 5
_SUMMARY = {"run_id": str, "time": str, "queries": Count, "documents": Count, "method": str}

_PROPER = re.compile(rf"{ALIAS}-\d{{14}}-[0-9a-f]{{8}}")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run whose candidates are on a server.

    Attributes:
        run_id: Its id.
        time: When it was pushed, ISO 8601 in UTC.
        queries: How many queries have a document.
        documents: How many documents it has: candidates, and gold passages that are none.
        method: How the candidates were found and ranked, for people to read.
    """

    run_id: str
    time: str
    queries: int
    documents: int
    method: str


@dataclass(frozen=True, slots=True)
class _RunIndex:
    """An index with the candidates of a run.

    Attributes:
        concrete: Its name.
        current: Whether the alias leads to it.
        created: When it was created, in milliseconds of the server's clock.
        summary: The run, once it is complete.
    """

    concrete: str
    current: bool
    created: int
    summary: RunSummary | None


def push_candidates(
    server: Server,
    run_id: str,
    candidates: Iterable[Candidate],
    stages: StageNames,
    *,
    method: str = "",
) -> RunSummary:
    """Write a run's candidates; a run of the same id that is there is replaced by this one.

    Whatever goes wrong, the server is left as it was.

    Args:
        server: Where to write them.
        run_id: Names the run.
        candidates: Read once, and kept only until they are sent; for each query together.
        stages: The first stages and rerankers that they have ranks and scores of.
        method: How the candidates were found and ranked, for people to read.

    Raises:
        UsageError: The run id cannot be used.
        InputError: A query has the same passage twice, there are no candidates, or the server
            cannot take one; the message names its document (`run/query/passage`) and says why.
        ServerRefusedError: The server is read-only, full or overloaded, or lost documents.
        ServerUnavailableError: The server no longer answers.
    """
    check_run_id(run_id)
    concrete = f"{ALIAS}-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    counted = _Counted(run_id, now, candidates)
    with at_work_on(concrete):
        try:
            _delete_stale(server, concrete)
            create_index(server, concrete, candidates_body(stages))
            _delete_stale(server, concrete)  # by age too, now that the server's time is known
            written = index_documents(server, concrete, counted)
            summary = RunSummary(run_id, now, counted.queries, written, method)
            _check_count(server, concrete, written)
            _make_current(server, concrete, summary)
        except BaseException:
            _give_up(server, concrete)
            raise
    return summary


def check_run_id(run_id: str) -> str:
    """`run_id` itself, if it can name a run.

    Raises:
        UsageError: It is empty, too long, or has characters that cannot be printed.
    """
    if not run_id.strip() or len(run_id) > MAX_RUN_ID or not run_id.isprintable():
        raise UsageError(
            f"run id {run_id[:60]!r}: use 1 to {MAX_RUN_ID} printable characters, not only blanks"
        )
    return run_id


def list_runs(server: Server) -> list[RunSummary]:
    """The runs whose candidates are there, by id."""
    found = (one.summary for one in _find_all(server) if one.current and one.summary)
    return sorted(found, key=lambda summary: summary.run_id)


def delete_run(server: Server, run_id: str) -> RunSummary:
    """Delete the candidates of a run, and tell what was deleted.

    Raises:
        IndexMissingError: There are none; the message lists the runs that there are.
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


class _Counted:
    """The documents of candidates, which counts queries and finds what is there twice."""

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
    server.request("POST", f"/{concrete}/_refresh")
    counted = count_documents(server, concrete)
    if counted != written:
        raise ServerRefusedError(
            f"{server.url} holds {counted} of {written} candidates; they were discarded, try again"
        )


def _make_current(server: Server, concrete: str, summary: RunSummary) -> None:
    """Let the alias lead to the run, and to none that it replaces, in a single step."""
    server.change("PUT", f"/{concrete}/_mapping", {"_meta": {KEY: asdict(summary)}})
    for left in reversed(range(_TRIES)):
        replaced = [
            one.concrete for one in _of_run(server, summary.run_id) if one.concrete != concrete
        ]
        actions: list[dict[str, Any]] = [{"remove_index": {"index": name}} for name in replaced]
        actions.append({"add": {"index": concrete, "alias": ALIAS}})
        try:
            server.change("POST", "/_aliases", {"actions": actions})
            break
        except AllusionError as error:
            # The answer may have been lost, or another process may have replaced the same.
            if _is_current(server, concrete):
                break
            if not left or isinstance(error, ServerUnavailableError):
                raise
    # Two processes that pushed the same run at once come to the same decision here.
    runs = sorted(_of_run(server, summary.run_id), key=lambda one: (one.created, one.concrete))
    delete_concrete(server, [one.concrete for one in runs[:-1]])


def _of_run(server: Server, run_id: str) -> list[_RunIndex]:
    return [
        one
        for one in _find_all(server)
        if one.current and one.summary and one.summary.run_id == run_id
    ]


def _is_current(server: Server, concrete: str) -> bool:
    return any(one.concrete == concrete and one.current for one in _find_all(server))


def _give_up(server: Server, concrete: str) -> None:
    """Delete a half-pushed run, without hiding the error that led to this."""
    with contextlib.suppress(AllusionError):
        # The alias may have moved although the answer to that was lost.
        if not _is_current(server, concrete):
            delete_concrete(server, [concrete])


def _find_all(server: Server) -> list[_RunIndex]:
    """All indexes with candidates, by name, finished or not."""
    found = []
    for concrete, description in sorted(describe_indexes(server, f"{ALIAS}-*").items()):
        if _PROPER.fullmatch(concrete):
            created = ConcreteIndex(concrete, concrete, description).setting("creation_date", 0)
            meta = description["mappings"].get("_meta")
            summary = _summary(meta.get(KEY) if isinstance(meta, dict) else None, server.url)
            current = ALIAS in description["aliases"]
            found.append(_RunIndex(concrete, current, created, summary))
    return found


def _summary(meta: object, url: str) -> RunSummary | None:
    """A run's description; None where there is none, or it is not ours."""
    if not isinstance(meta, dict) or meta.keys() != _SUMMARY.keys():
        return None
    check_answer(meta, _SUMMARY, url)
    return RunSummary(**meta)


def _delete_stale(server: Server, concrete: str) -> None:
    """Delete half-pushed runs of processes that were killed."""
    there = _find_all(server)
    now = next((one.created for one in there if one.concrete == concrete), 0)
    others = (one for one in there if not one.current and one.concrete != concrete)
    stale = [one for one in others if is_left_behind(one.concrete, (now - one.created) / 1000)]
    delete_concrete(server, [one.concrete for one in stale])
    delete_locks(ALIAS)
