"""`allusion-es evaluate --manifest`: write the manifest of an evaluation, or repeat one."""

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from allusion_es.cli.evaluate.run import EvaluateOptions, Evaluation
from allusion_es.cli.notes import print_note
from allusion_es.cli.options import ServerOptions
from allusion_es.core.errors import InputError, SettingsMismatchError, UsageError
from allusion_es.evaluation.manifest import (
    Manifest,
    ResultHashes,
    differences,
    file_hashes,
    index_facts,
    read_manifest,
    versions,
    write_manifest,
)
from allusion_es.evaluation.runner import parameter_files

_LEFT_OUT = frozenset({"server"})
"""Options that a manifest lacks: addresses and passwords are no part of a result."""

_NEWER = frozenset(one.name for one in fields(EvaluateOptions) if one.default is not MISSING)
"""Options that manifests did not have from the first."""

_HERE, _SERVER = "in this process", "on Elasticsearch"


def evaluate_gold(choices: EvaluateOptions, path: Path | None, *, force: bool) -> None:
    """Evaluate, print the figures, and write a manifest if there is a path for one.

    Raises:
        UsageError: The file is there, and is not to be overwritten.
    """
    if path is None:
        evaluation = Evaluation(choices)
        evaluation.run()
        evaluation.check_answered()
        return
    if path.exists() and not force:
        raise UsageError(
            f"{path} is there already; give another name, --force to overwrite it, or leave the "
            "gold links out to repeat it"
        )
    evaluation = Evaluation(choices, hashes=True)
    # Facts are taken before the work, so that they are of the files that were read.
    before = _facts(choices, evaluation)
    results = evaluation.run()
    write_manifest(path, replace(before, runs=results.runs, table=results.table))
    print_note(f"{path}: manifest of {len(results.runs)} runs and their table")
    evaluation.check_answered()


def repeat(path: Path, server: ServerOptions, workers: int) -> None:
    """Repeat the evaluation of a manifest, and print or raise whether the results are the same.

    Raises:
        SettingsMismatchError: The index or a file is another one, or something else comes out.
    """
    then = read_manifest(path)
    choices = restored(then.options, path, server, workers)
    if (then.index.get("kind") == _SERVER) != (server.url is not None):
        hint = "give --es" if server.url is None else "leave --es out"
        raise UsageError(f"{path}: its index was {then.index.get('kind')!s:.40}; {hint}")
    changed = differences(then.inputs, file_hashes(map(Path, then.inputs)), "file")
    evaluation = Evaluation(choices, hashes=True) if not changed else None
    if evaluation is not None:
        now = _facts(choices, evaluation)
        changed = differences(then.index, now.index, "index's")
        for told in differences(then.versions, now.versions, "version of"):
            print_note(told)
    if evaluation is None or changed:
        raise SettingsMismatchError(f"{path} cannot be repeated: {'; '.join(changed)}")
    _compare(path, then, evaluation.run())
    evaluation.check_answered()


def _compare(path: Path, then: Manifest, results: ResultHashes) -> None:
    changed = [name for name, each in then.runs.items() if results.runs.get(name) != each]
    changed += [name for name in results.runs if name not in then.runs]
    if then.table != results.table:
        changed.append("the table")
    if changed:
        raise SettingsMismatchError(f"{path}: other results than then: {', '.join(changed)}")
    print_note(f"{path}: identical to the byte, {len(results.runs)} runs and their table")


def _facts(choices: EvaluateOptions, evaluation: Evaluation) -> Manifest:
    """The manifest of an evaluation before it is done: without hashes of results."""
    options = {
        each.name: plain(getattr(choices, each.name))
        for each in fields(EvaluateOptions)
        if each.name not in _LEFT_OUT
    }
    kind = _HERE if choices.server.url is None else _SERVER
    return Manifest(
        options, file_hashes(_input_files(choices)), index_facts(evaluation.index, kind), versions()
    )


def _input_files(choices: EvaluateOptions) -> list[Path]:
    """The files that an evaluation reads: gold, topics, a run, and those that parameters name."""
    named: list[Path | None] = [choices.gold, choices.topics, choices.run, choices.word2vec]
    if choices.topics is None and choices.gold.suffix in (".qrels", ".qrel"):
        named.append(choices.gold.with_suffix(".topics"))
    there = [path for path in named if path is not None and path.is_file()]
    return there + parameter_files(choices.settings)


def plain(value: object) -> object:
    """An option's value as JSON can hold it."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    return list(value) if isinstance(value, tuple) else value


def restored(
    options: Mapping[str, Any], path: Path, server: ServerOptions, workers: int
) -> EvaluateOptions:
    """The options of a manifest's evaluation, but without kept runs and files to write.

    Args:
        options: The options as `plain` made them.
        path: The manifest, for messages.
        server: The server to use now.
        workers: The number of processes to use now.

    Raises:
        InputError: They are not the options of this command.
    """
    kinds = typing.get_type_hints(EvaluateOptions)
    try:
        values = {
            name: _typed(options[name], kinds[name])
            for name in kinds
            # Manifests of older versions lack the options that have a default.
            if name != "server" and (name in options or name not in _NEWER)
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: its options are not those of 'evaluate' ({error})") from error
    now = {"workers": workers, "cache": False, "errors": None, "save_run": None, "figure": None}
    now |= {"html": None, "pairs": None}
    return EvaluateOptions(**{**values, **now}, server=server)


def _typed(value: Any, kind: Any) -> Any:  # noqa: ANN401 - any JSON, any annotation
    """A value from JSON in the type of an annotation; `TypeError` if it does not fit."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if value is None else _typed(value, inner[0])
    if origin is Literal:
        if value not in inner:
            raise TypeError(f"{value!r:.40}")
        return value
    if origin in (tuple, frozenset) and isinstance(value, list):
        return origin(_typed(each, inner[0]) for each in value)
    if origin is not None and issubclass(origin, Mapping):
        return {_typed(k, inner[0]): _typed(each, inner[1]) for k, each in value.items()}
    if kind is Path and isinstance(value, str):
        return Path(value)
    if type(value) is not kind:
        raise TypeError(f"{value!r:.40}")
    return value
