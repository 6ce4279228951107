"""What a hostile server answers: the answers of a true one, with something else in one of them."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
from elastic_transport import ConnectionError as NoAnswer
from fuzz_mutate import mutate_json_lines, mutate_value
from fuzz_reader import Files, Reader, finite, printable
from fuzz_saved import ask, little_index

from allusion_es.es import connection
from allusion_es.es.address import find_address
from allusion_es.es.catalogue import alias_of, list_indexes, terms_of
from allusion_es.es.connection import Server, StrictJson
from allusion_es.es.documents import pack_statistics, pack_words
from allusion_es.es.index import open_index
from allusion_es.es.kibana.pushed_runs import ALIAS, RunSummary, list_runs
from allusion_es.es.meta import KEY, PASSAGE_FIELDS, STATISTICS, Extent, Meta
from allusion_es.es.partial import Partial
from allusion_es.local.index import LocalIndex
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.types import FIELDS

_NAME = "little"
_CONCRETE = f"{alias_of(_NAME)}-20260131120000-1a2b3c4d"
_RUN = f"{ALIAS}-20260131120000-1a2b3c4d"
_HEADERS = {"x-elastic-product": "Elasticsearch", "content-type": "application/json"}
_SHARDS = {"total": 3, "successful": 3, "skipped": 0, "failed": 0}


class TrueServer:
    """Answers what lists, `open_index` and an open index ask, from an index in this process.

    Its scores are none: they only fall.
    """

    def __init__(self, index: LocalIndex) -> None:
        self._index = index
        self.said: list[bytes] = []

    def perform_request(self, method: str, path: str, body: bytes | None, **_: object) -> Any:  # noqa: ANN401
        """As a transport does; keeps what it said, a line each."""
        lines = [json.loads(line) for line in (body or b"").splitlines()]
        answer = self._answer(path.partition("?")[0], lines)
        self.said.append(json.dumps({"status": 200, "body": answer}).encode())
        return SimpleNamespace(status=200, headers=_HEADERS), answer

    def _answer(self, path: str, lines: list[Any]) -> dict[str, Any]:
        if path.endswith("/_msearch"):
            return {"responses": [self._found(body) for body in lines[1::2]]}
        if path.endswith("/_search"):
            buckets = [{"key": book, "doc_count": 1} for book in sorted(self._index.books())]
            return {"aggregations": {"books": {"buckets": buckets}}, "_shards": _SHARDS}
        if path.endswith("/_mget"):
            known = self._term if terms_of(_CONCRETE) in path else self._passage
            return {"docs": [{"_id": name, **known(name)} for name in lines[0]["ids"]]}
        if path.endswith("/_count"):
            return {"count": len(self._index), "_shards": _SHARDS}
        if path.startswith(f"/{ALIAS}"):
            run = RunSummary("r", "2026-01-31T12:00:00.000Z", 1, 2, "bm25")
            return _described(_RUN, ALIAS, {KEY: asdict(run)}, creation_date="1769860800000")
        meta = self._meta().to_json()
        return _described(_CONCRETE, alias_of(_NAME), meta, max_result_window="10000")

    def _meta(self) -> Meta:
        index = self._index
        statistics = {field: index.statistics(field, ()) for field in FIELDS}
        extents = {field: Extent(s.passages, 3 * s.passages) for field, s in statistics.items()}
        settings = IndexSettings(index.settings.analysis, "little", citations="little")
        more = index.capabilities - {"knn", "citations"}
        return Meta(
            _NAME, settings, len(index), extents, terms_of(_CONCRETE), 4, "flat", 4, frozenset(more)
        )

    def _found(self, body: dict[str, Any]) -> dict[str, Any]:
        scored = len(body["sort"]) > 1
        ids = [name for name in self._index.ids() if [name] > body.get("search_after", [])]
        hits: list[dict[str, Any]] = []
        for place, name in enumerate(ids[: body["size"]]):
            hits.append({"sort": [1 - place / 8, name] if scored else [name]})
            if "docvalue_fields" in body:
                both = self._of(name)
                numbers = [
                    self._index.statistics(field, words)
                    for field, words in zip(FIELDS, both, strict=True)
                ]
                df, cf = (
                    np.concatenate([getattr(each, part) for each in numbers])
                    for part in ("df", "cf")
                )
                packed = {"words": [pack_words(*both)], STATISTICS: [pack_statistics(df, cf)]}
                hits[-1]["fields"] = packed
        return {"hits": {"hits": hits}, "_shards": _SHARDS, "status": 200, "timed_out": False}

    def _of(self, name: str) -> tuple[list[str], list[str]]:
        tokens, lemmas = (list(self._index.texts(field, [name]).text(0)) for field in FIELDS)
        return tokens, lemmas

    def _passage(self, name: str) -> dict[str, Any]:
        (passage,) = self._index.passages([name])
        tokens, lemmas = map(" ".join, self._of(name))
        source = {field: getattr(passage, field) for field in PASSAGE_FIELDS}
        words = {"token": tokens, "lemma": lemmas, "parallels": ["Gen.1.1"]}
        return {"found": True, "_source": source | words}

    def _term(self, name: str) -> dict[str, Any]:
        field, _, word = name.partition(":")
        statistics = self._index.statistics("lemma" if field == "lemma" else "token", [word])
        df, cf = int(statistics.df[0]), int(statistics.cf[0])
        return {"found": df > 0, "_source": {"df": df, "cf": cf, "max_tf": 1}}


def _described(concrete: str, alias: str, meta: dict[str, Any], **settings: str) -> dict[str, Any]:
    """How a server describes an index."""
    mappings, aliases = {"_meta": meta}, {alias: dict[str, Any]()}
    return {concrete: {"aliases": aliases, "mappings": mappings, "settings": {"index": settings}}}


class Replay:
    """Gives the answers of a file, in their order, whatever is asked; then the line is dead."""

    def __init__(self, path: Path) -> None:
        self._lines: Iterator[bytes] = iter(path.read_bytes().splitlines())

    def perform_request(self, *_: object, **__: object) -> Any:  # noqa: ANN401 - as a transport does
        """The next answer."""
        line = next(self._lines, None)
        if line is None:
            raise NoAnswer("closed")
        try:
            said = dict(json.loads(line))
        except (ValueError, TypeError, RecursionError):
            said = {"body": None}
        status = said.get("status")
        known = type(status) is int and 200 <= status < 600
        # What is no JSON, such as NaN, or no text is refused here as in a true transport.
        body = StrictJson().loads(json.dumps(said.get("body")).encode())
        return SimpleNamespace(status=status if known else 500, headers=_HEADERS), body


def _mutate(data: bytes, rng: Random, words: tuple[bytes, ...]) -> bytes:
    """Something else at any depth of one to three answers; now and then, other bytes."""
    if rng.random() < 0.1:
        return mutate_json_lines(data, rng, words)
    lines = data.splitlines()
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = rng.randrange(len(lines))
        said = json.loads(lines[place])
        name = "status" if rng.random() < 0.05 else "body"
        said[name] = _elsewhere(said[name], rng)
        lines[place] = json.dumps(said).encode()
    return b"\n".join(lines) + b"\n"


def _elsewhere(value: Any, rng: Random) -> Any:  # noqa: ANN401 - any JSON
    """A JSON value with something else somewhere, most often deep inside."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.05:
        return mutate_value(value, rng)
    place = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
    value[place] = _elsewhere(value[place], rng)
    return value


def server_reader() -> Reader:
    """Lists what is on a server, opens an index there, and asks it all that an index is asked."""
    folder = Path(tempfile.mkdtemp())
    local = little_index(folder)
    assert local.citations is not None
    citations, vectors = local.citations, local.vectors
    vector = citations.query_vector([("deus", "deus"), ("gustate", "gusto")])
    vars(connection)["_RETRY_SECONDS"] = ()  # chance must not wait

    server = Server(find_address("http://127.0.0.1:9", environment={}))

    def read(transport: TrueServer | Replay, allowed: bool) -> None:
        server._client = SimpleNamespace(transport=transport)  # type: ignore[assignment]
        for index in list_indexes(server):
            finite(index.passages)
        for run in list_runs(server):
            finite(run.queries, run.documents)
            printable(run.run_id, run.time, run.method)
        assert vectors is not None
        partial = Partial() if allowed else None
        ask(open_index(server, _NAME, lambda: vectors, lambda _: citations, partial), vector)

    seeds: list[Files] = []
    for allowed in (False, True):
        true = TrueServer(local)
        read(true, allowed)
        seeds.append({f"{'partial' if allowed else 'whole'}.jsonl": b"\n".join(true.said) + b"\n"})
    return Reader(
        "server",
        tuple(seeds),
        lambda path: read(Replay(path), path.stem == "partial"),
        mutate=_mutate,
        reads=(folder,),
    )
