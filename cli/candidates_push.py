"""What `allusion-es candidates push` does once its options are read."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from allusion_es.cli.options import ServerOptions, open_candidate_index
from allusion_es.cli.progress import progress
from allusion_es.cli.queries import read_queries
from allusion_es.cli.query import Fields, InputFormat
from allusion_es.core.errors import UsageError, VerseError
from allusion_es.core.parameters import Settings
from allusion_es.es.candidate_documents import Candidate, StageNames
from allusion_es.es.candidates import MAX_RUN_ID, check_run_id, push_candidates
from allusion_es.evaluation.gold import GoldLink
from allusion_es.evaluation.gold_files import read_gold
from allusion_es.evaluation.gold_ids import resolve, resolve_known
from allusion_es.evaluation.inspected import run_candidates, traced_candidates
from allusion_es.evaluation.trec import read_run, read_topics
from allusion_es.retrieval.choices import generators_of, within_of
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.traces import Trace, Tracer
from allusion_es.retrieval.types import FIELDS, Field, Query
from allusion_es.retrieval.unanswered import Unanswered, left_out


@dataclass(frozen=True, slots=True)
class Choices:
    """The options of the command; see there."""

    run: Path | None
    queries: str | None
    run_id: str | None
    gold: Path | None
    topics: Path | None
    skip_unknown: bool
    first_stages: tuple[str, ...]
    field: Fields
    candidates: int
    rerankers: tuple[str, ...]
    settings: Settings
    books: tuple[str, ...]
    testaments: tuple[str, ...]
    works: tuple[str, ...]
    explain: int
    input_format: InputFormat | None
    index: str
    local: bool
    server: ServerOptions


@dataclass(frozen=True, slots=True)
class _Job:
    """What is to be pushed; `unanswered` grows while `candidates` is read."""

    run_id: str
    method: str
    stages: StageNames
    candidates: Iterator[Candidate]
    queries: int = 0
    unanswered: list[Unanswered] = field(default_factory=list)


def push_run(choices: Choices) -> None:
    """Push the run, and tell what was pushed."""
    if (choices.run is None) == (choices.queries is None):
        raise UsageError("give either a TREC run or --from-query FILE, and not both")
    if choices.server.url is None:
        raise UsageError("candidates are kept on a server; name it with --es URL")
    if choices.run_id is not None:
        check_run_id(choices.run_id)
    index = open_candidate_index(
        choices.index, ServerOptions(None) if choices.local else choices.server
    )
    job = _from_run(choices, index) if choices.run else _from_queries(choices, index)
    with choices.server.connect() as server:
        summary = push_candidates(server, job.run_id, job.candidates, job.stages, method=job.method)
        print(
            f"run {summary.run_id!r}: {summary.documents} candidates of {summary.queries} queries "
            f"in {server.url}",
            file=sys.stderr,
        )
    if job.unanswered:
        raise left_out(job.unanswered, job.queries)


def _from_run(choices: Choices, index: CandidateIndex) -> _Job:
    assert choices.run is not None
    run = read_run(choices.run)
    links = _gold(choices, index, choices.gold)
    texts = {name: link.query.text for name, link in links.items()}
    if choices.topics:
        texts |= read_topics(choices.topics)
    return _Job(
        choices.run_id or check_run_id(choices.run.stem[:MAX_RUN_ID]),
        f"TREC run {choices.run.name}",
        StageNames(),
        _placed(progress(run_candidates(run, links, texts, index), "Pushing"), str(choices.run)),
    )


def _from_queries(choices: Choices, index: CandidateIndex) -> _Job:
    assert choices.queries is not None
    queries = read_queries(choices.queries, choices.input_format)
    links = _gold(choices, index, choices.gold or _gold_in(choices, queries))
    generators = tuple(name for stage in choices.first_stages for name in generators_of(stage))
    fields: tuple[Field, ...] = FIELDS
    if choices.field is not Fields.both:
        fields = ("token",) if choices.field is Fields.token else ("lemma",)
    tracer = Tracer(
        index,
        generators=generators,
        fields=fields,
        candidates=choices.candidates,
        rerankers=choices.rerankers,
        within=within_of(choices.books, choices.testaments, choices.works),
        settings=choices.settings,
    )
    relevant = {name: link.relevant for name, link in links.items()}
    unanswered: list[Unanswered] = []
    traces = progress(tracer.traces(queries, choices.explain, relevant), "Querying", len(queries))
    source = "stdin" if choices.queries == "-" else Path(choices.queries).stem
    method = _method(choices)
    return _Job(
        choices.run_id or check_run_id(f"{source}.{method}"[:MAX_RUN_ID]),
        f"{method}, {choices.candidates} candidates, index {choices.index}",
        StageNames(generators, choices.rerankers),
        traced_candidates(_answered(traces, unanswered, len(queries)), links, index),
        len(queries),
        unanswered,
    )


def _answered(
    traces: Iterable[Trace | Unanswered], unanswered: list[Unanswered], total: int
) -> Iterator[Trace]:
    """The traces; queries without one are told of and added to `unanswered`.

    Their gold passages are not pushed: no stage has lost them.
    """
    for trace in traces:
        if isinstance(trace, Unanswered):
            if total == 1:
                raise trace.error
            query_id = trace.query.query_id
            print(f"query {query_id}: left out: {trace.error}", file=sys.stderr)
            unanswered.append(trace)
        else:
            yield trace
    if len(unanswered) == total:  # and so nothing takes the place of an earlier run
        raise left_out(unanswered, total)


def _method(choices: Choices) -> str:
    """What distinguishes runs of the same queries, as far as it is not the default."""
    parts = ["+".join(choices.first_stages), choices.field.value, "+".join(choices.rerankers)]
    parts += [
        f"{plugin}.{name}={value}"
        for plugin, values in sorted(choices.settings.items())
        for name, value in sorted(values.items())
    ]
    parts += [*choices.books, *choices.testaments, *choices.works]
    return ".".join(part or "none" for part in parts)


def _gold_in(choices: Choices, queries: list[Query]) -> Path | None:
    """The file of the queries, if it tells what they allude to."""
    path = Path(choices.queries or "")
    if choices.queries == "-" or path.suffix != ".jsonl" or not path.is_file():
        return None
    text = path.read_text(encoding="utf-8-sig")
    return path if '"relevant"' in text else None


def _gold(choices: Choices, index: CandidateIndex, path: Path | None) -> Mapping[str, GoldLink]:
    if path is None:
        return {}
    topics = choices.topics if path.suffix in (".qrels", ".qrel") else None
    links = read_gold(path, topics=topics)
    if choices.skip_unknown:
        links, unknown = resolve_known(links, index.ids(), source=str(path))
        if unknown:
            print(f"left out {len(unknown)} passages that the index lacks", file=sys.stderr)
    else:
        links = resolve(links, index.ids(), source=str(path))
    return {link.query.query_id: link for link in links}


def _placed(candidates: Iterator[Candidate], source: str) -> Iterator[Candidate]:
    try:
        yield from candidates
    except VerseError as error:
        raise VerseError(f"{source}: {error}; push it with the index that it is a run of") from None
