"""Where the runs of earlier evaluations lie, so that a second table costs nothing."""

import hashlib
import inspect
import json
from dataclasses import asdict
from pathlib import Path

from allusion_es.core.code import code_hash
from allusion_es.core.plugins import load_plugin
from allusion_es.evaluation.methods import Method
from allusion_es.evaluation.work import Task
from allusion_es.retrieval import generators, reranking
from allusion_es.retrieval.reranking import reranker_names

_PARTS = ("core", "language", "retrieval", "rerankers", "es")
"""Packages whose code decides what a run holds."""


def run_folder(root: Path, task: Task, fingerprint: str, method: Method, number: int) -> Path:
    """Where the pieces of a run lie: another folder for everything that could change it.

    That is the index, the method and its parameters (and the files that these name), the
    queries, the depth, and the code.

    Args:
        root: The folder of all runs.
        task: What is asked.
        fingerprint: That of the index.
        method: How it is answered.
        number: Which query set of the task.
    """
    within = task.within
    what = {
        "code": [code_hash(*_PARTS), *_plugin_code(method)],
        "index": fingerprint,
        "method": [
            method.reranker,
            method.field,
            method.first_stage,
            None if method.whole else method.candidates,
            {name: dict(values) for name, values in method.settings.items()},
        ],
        "files": _named_files(method),
        "depth": task.depth,
        "within": [sorted(within.books), sorted(within.testaments), sorted(within.works)],
        "queries": [asdict(query) for query in task.sets[number].queries],
    }
    data = json.dumps(what, sort_keys=True).encode()
    return root / hashlib.sha256(data).hexdigest()[:32]


def _named_files(method: Method) -> list[tuple[str, int, int]]:
    """Size and time of the files that are among the parameters, such as word vectors."""
    named = [value for values in method.settings.values() for value in values.values()]
    found = []
    for path in (Path(value) for value in sorted(named) if value):
        if path.is_file():
            state = path.stat()
            found.append((str(path), state.st_size, state.st_mtime_ns))
    return found


def _plugin_code(method: Method) -> list[str]:
    """The code of the plug-ins that are used, which may be of other packages."""
    used = [(reranking.GROUP, name) for name in reranker_names(method.reranker or "") if name]
    used += [(generators.GROUP, name) for name in method.first_stage]
    return [
        hashlib.sha256(Path(inspect.getfile(load_plugin(*plugin))).read_bytes()).hexdigest()
        for plugin in used
    ]
