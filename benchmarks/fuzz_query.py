"""Queries as the search page's API takes them: checked, answered, and written in every format."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from fuzz_mutate import mutate_json_lines, mutate_value
from fuzz_reader import Files, Reader, finite, printable
from fuzz_saved import little_index

from allusion_es.cli.output import answer_trec
from allusion_es.core.errors import InputError
from allusion_es.core.plugins import load_plugin, parameters_of, plugins
from allusion_es.reports.answers import answer_json, answer_tsv
from allusion_es.retrieval.generators import GROUP as GENERATORS
from allusion_es.retrieval.options import FIELD_CHOICES, generators_of
from allusion_es.retrieval.pipeline import Answer, QueryOptions, Retriever
from allusion_es.retrieval.reranking import GROUP
from allusion_es.serve.requests import read_query_request, read_scan_request
from allusion_es.web.guard import RefusedError

_QUERY = {
    "text": "Gustate et videte, quoniam", "index": "little", "books": ["Ps"], "testaments": ["ot"],
    "first_stage": "bm25", "field": "lemma", "candidates": 5, "rerank": "soft-cosine", "top": 3,
    "set": {"soft-cosine": {"power": "2"}}, "explain": True, "view": "lines",
}  # fmt: skip
_QUERIES = {
    "queries": [{"text": "in principio", "query_id": "a", "before": "et", "anchor": "in"}],
    "rerank": "tesserae", "first_stage": "rrf", "field": "both", "works": ["W"],
}  # fmt: skip
_SCAN = {"text": "Gustate et videte", "threshold": 0.5, "fast": True}
_RECORDS = (_QUERY, _QUERIES, {"text": "dominus regit me", "first_stage": "fused"}, _SCAN)
_RERANKERS = ("none", *plugins(GROUP))
_STAGES = ("rrf", *plugins(GENERATORS))
_ENCODERS = ("encoder-cosine", "cross-encoder", "dense")
"""Methods that are refused without a model of the user's."""

_PARAMETERS = {
    name: [p.name for p in parameters_of(load_plugin(GROUP, name))] for name in plugins(GROUP)
}
_TEXTS = (
    "*:*", '"*:*"', '\\" OR 1==1', "_exists_:x", "deus AND dominus", "{!lucene}", "tok:deus",
    "-deus", "deus " * 300, "a" * 5000, "\u202e\u0000\x1b[2J", "é\u0301\ufb01", "\U0001d56feus",
    "1 2 3", "&&&", "Ἐν ἀρχῇ", "dominus regit me et nihil", "in principio", "gustate",
)  # fmt: skip
_VALUES = (
    "0", "1", "-1", "1e308", "-1e308", "1e-308", "nan", "inf", "1e400", "2", "0.5",
    "1000000000000", "", "x", "token", "lemma", "yes", "floret", "../x", "/etc/passwd",
    "soft-cosine,wmd", "__class__",
)  # fmt: skip


def query_reader() -> Reader:
    """Reads a request, and answers it."""
    folder = Path(tempfile.mkdtemp())
    index = little_index(folder)

    def read(path: Path) -> None:
        try:
            record = dict(json.loads(path.read_bytes()).items())
            if record.get("threshold"):
                read_scan_request(record, "little")
                return
            asked = read_query_request(record, "little")
        except (RefusedError, ValueError, AttributeError, RecursionError) as error:
            raise InputError(str(error)) from error  # `web.guard` refuses what is no JSON object
        retriever = Retriever(
            index,
            QueryOptions(
                generators=generators_of(asked.first_stage),
                fields=FIELD_CHOICES[asked.field],
                candidates=asked.candidates,
                reranker=None if asked.rerank == "none" else asked.rerank,
                top=asked.top,
                search_filter=asked.search_filter,
                explain=True,
                settings=asked.settings,
            ),
        )
        for answer in retriever.answers(asked.queries):
            if answer.failure is not None:
                raise answer.failure
            _check(answer)

    seeds = tuple({"q.json": json.dumps(each).encode()} for each in _RECORDS)
    return Reader("query", (*seeds, *_every_method()), read, mutate=_mutate, reads=(folder,))


def _every_method() -> Iterator[Files]:
    """A request for each method, so that all of the program is loaded."""
    for name in _RERANKERS:
        if name in _ENCODERS:
            continue
        record = {"text": "gustate", "rerank": name, "first_stage": "all", "explain": True}
        yield {"q.json": json.dumps(record).encode()}
    for name in _STAGES:
        if name in _ENCODERS:
            continue
        yield {"q.json": json.dumps({"text": "gustate", "first_stage": name}).encode()}


def _check(answer: Answer) -> None:
    for hit in answer.hits:
        finite(
            hit.score, hit.candidate_score, *(part.contribution for part in hit.contributions or ())
        )
    lines = [answer_json(answer), *answer_tsv(answer)]
    assert all("\n" not in line for line in lines)
    printable(*lines)
    list(answer_trec(answer, "tag"))


def _mutate(data: bytes, rng: Random, words: tuple[bytes, ...]) -> bytes:
    """Another value somewhere, other names and words, or other bytes."""
    if rng.random() < 0.3:
        return mutate_json_lines(data, rng, words)
    record: dict[str, Any] = json.loads(data)
    if rng.random() < 0.1:
        return json.dumps(mutate_value(record, rng)).encode()
    record.pop("threshold", None)
    record.pop("fast", None)
    for field in rng.sample(list(_CHOICES), rng.choice((1, 2, 3))):
        record[field] = rng.choice(_CHOICES[field])
    if "text" in record:
        record.pop("queries", None)
    record.pop("set", None)
    reranker = record.setdefault("rerank", "learned")
    names = _PARAMETERS.get(reranker, ())
    if names and rng.random() < 0.5:
        record["set"] = {reranker: {rng.choice(names): rng.choice(_VALUES)}}
    return json.dumps(record).encode()


_CHOICES: dict[str, tuple[Any, ...]] = {
    "text": _TEXTS,
    "rerank": _RERANKERS,
    "first_stage": _STAGES,
    "field": ("token", "lemma", "both"),
    "candidates": (1, 2, 7, 10_000, 10_001, 0),
    "top": (1, 2, 100, 101),
    "books": ([], ["Gen"], ["Ps", "Joh"], ["x"]),
    "testaments": ([], ["nt"], ["ot", "nt"], ["x"]),
    "works": ([], ["W"], ["x"]),
}
