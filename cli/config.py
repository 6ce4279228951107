"""The configuration file: values of options that a folder gives, so that nobody has to type them.

It is `allusion-es.toml` of the working folder, or else the table `[tool.allusion-es]` of its
`pyproject.toml`. Keys are options without their dashes. Those at the top hold for every command
that has such an option, those in a table named like a command for that command alone:

    es = "http://localhost:9200"

    [query]
    top = 20

    [candidates.push]
    rerank = "learned,soft-cosine"

The command line goes before the environment, that before the file, and the file before the
program's own defaults. All of the file is checked, whatever command is given.
"""

import difflib
import inspect
import json
import os
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

from allusion_es.core.characters import shorten
from allusion_es.core.errors import InputError, UsageError
from allusion_es.core.files import decode

FILE, PROJECT_FILE, TABLE = "allusion-es.toml", "pyproject.toml", "allusion-es"

_SECRETS = {"password": "ALLUSION_ES_PASSWORD", "api-key": "ALLUSION_ES_API_KEY"}
"""Options that no file may hold, since such files are shared, and the variables to use instead."""

_LOGIN = re.compile(r"//[^/@]*:[^/@]*@")
"""A user and a password in a URL."""


@dataclass(frozen=True, slots=True)
class Config:
    """What a configuration file says.

    Attributes:
        path: The file.
        options: Values of options by name, and tables of them by names of commands.
    """

    path: Path
    options: Mapping[str, Any]


def read_config(folder: Path = Path()) -> Config | None:
    """The configuration file of a folder; None if it has none.

    Args:
        folder: By default the working folder.

    Raises:
        InputError: It is not TOML, or cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "allusion-es.toml").write_text("[query]" + chr(10) + "top = 20")
        ...     read_config(Path(folder)).options
        {'query': {'top': 20}}
    """
    own, project = folder / FILE, folder / PROJECT_FILE
    # Not `Path.is_file`, which raises an error where the folder may not be looked into.
    if os.path.isfile(own):
        return Config(own, _toml(_bytes(own), own))
    data = _bytes(project) if os.path.isfile(project) else b""
    # Most projects' files have nothing for this program: a broken one is not its business.
    if TABLE.encode() not in data:
        return None
    options = _toml(data, project).get("tool", {}).get(TABLE)
    if options is None:
        return None
    if not isinstance(options, Mapping):
        raise InputError(f"{project}: 'tool.{TABLE}' is no table; give options in [tool.{TABLE}]")
    return Config(project, options)


def configured_defaults(config: Config, program: Any) -> dict[str, Any]:  # noqa: ANN401 - click's
    """The values of options for each command, as click's `default_map` has them.

    Args:
        config: The file.
        program: The group of all commands.

    Raises:
        UsageError: A key is no option, its value is of the wrong type, or it is a secret; the
            message names file and key.
    """
    return _group_defaults(config, program, config.options, {}, ())


def _group_defaults(
    config: Config,
    group: Any,  # noqa: ANN401 - click's
    options: Mapping[str, Any],
    above: Mapping[str, Any],
    words: tuple[str, ...],
) -> dict[str, Any]:
    """The defaults of the commands of a group.

    Args:
        config: The file, for messages.
        group: The group.
        options: The table of the group.
        above: Keys of the tables above it, which hold here too.
        words: The group's name, () for the program.
    """
    own = {key: value for key, value in options.items() if not isinstance(value, Mapping)}
    for key in options.keys() - own.keys() - group.commands.keys():
        near = _near(key, group.commands)
        raise _wrong(config, (*words, key), f"there is no command of that name{near}")
    known = {name for _, command in _leaves(group) for name in _options(command)}
    for key in own.keys() - known:
        if key in group.commands:
            told = f"it is a command; give its options in [{'.'.join((*words, key))}]"
            raise _wrong(config, (*words, key), told)
        what = f"'{' '.join(words)}'" if words else "any command"
        raise _wrong(config, (*words, key), f"it is no option of {what}{_near(key, known)}")
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        table = options.get(name, {})
        if not isinstance(table, Mapping):
            table = {}  # an option that is called as a command is
        inherited = {**above, **own}
        if hasattr(command, "commands"):
            found[name] = _group_defaults(config, command, table, inherited, (*words, name))
        else:
            found[name] = _command_defaults(config, command, table, inherited, (*words, name))
    return found


def _command_defaults(
    config: Config,
    command: Any,  # noqa: ANN401 - click's
    table: Mapping[str, Any],
    above: Mapping[str, Any],
    words: tuple[str, ...],
) -> dict[str, Any]:
    """The defaults of a command, by the names of its parameters."""
    options = _options(command)
    for key in table.keys() - options.keys():
        near = _near(key, options)
        raise _wrong(config, (*words, key), f"it is no option of '{' '.join(words)}'{near}")
    found = {}
    for key, value in {**above, **table}.items():
        if key not in options:
            continue
        _check_secret(config, (*words, key) if key in table else (key,), value)
        parameter, kind, info = options[key]
        if why := _misfit(value, kind, info):
            if key in table:
                raise _wrong(config, (*words, key), f"{why}, not {_shown(value)}")
            raise _wrong(
                config,
                (key,),
                f"for '{' '.join(words)}' {why}, not {_shown(value)}; give it to the commands "
                "that it is for, in tables such as [query]",
            )
        found[parameter] = value
    return found


def _options(command: Any) -> dict[str, tuple[str, Any, Any]]:  # noqa: ANN401 - click's
    """The options of a command, by name without dashes: parameter, type, and Typer's facts."""
    found = {}
    hints = inspect.signature(command.callback).parameters
    for parameter in command.params:
        if parameter.param_type_name != "option" or parameter.name not in hints:
            continue
        kind, info = hints[parameter.name].annotation, None
        if get_origin(kind) is Annotated:
            kind, info, *_ = get_args(kind)
        name = max(parameter.opts, key=len).lstrip("-")
        found[name] = (parameter.name, kind, info)
    return found


def _leaves(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401
    """All commands below a group that have no commands themselves, each with its words."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _leaves(command, (*words, name))
        else:
            yield (*words, name), command


def _misfit(value: object, kind: Any, info: Any) -> str:  # noqa: ANN401 - any annotation
    """What an option's value must be, if this one is not; "" if it is.

    Example:
        >>> _misfit("20", int, None), _misfit(20, int | None, None)
        ('it must be a whole number', '')
        >>> _misfit("Ps", list[str] | None, None)
        'it must be a list in brackets'
    """
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(each for each in get_args(kind) if each is not type(None))
    if get_origin(kind) is list:
        inner = get_args(kind)[0]
        if not isinstance(value, list):
            return "it must be a list in brackets"
        return next(filter(None, (_misfit(each, inner, info) for each in value)), "")
    if isinstance(kind, type) and issubclass(kind, Enum):
        choices = [str(each.value) for each in kind]
        return "" if value in choices else f"it must be {', '.join(choices[:-1])} or {choices[-1]}"
    for types_, told in _KINDS:
        if kind in types_:
            allowed = (int, float) if kind is float else (str,) if kind is Path else (kind,)
            # To Python, true is a number, too.
            is_right = isinstance(value, allowed) and (kind is bool or not isinstance(value, bool))
            if not is_right:
                return f"it must be {told}"
            least, most = getattr(info, "min", None), getattr(info, "max", None)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                if least is not None and value < least:
                    return f"it must be at least {least}"
                if most is not None and value > most:
                    return f"it must be at most {most}"
    return ""


_KINDS: Sequence[tuple[tuple[type, ...], str]] = (
    ((bool,), "true or false"),
    ((int,), "a whole number"),
    ((float,), "a number"),
    ((str, Path), "a text in quotes"),
)
"""Types of options, and what their values are called."""


def _check_secret(config: Config, words: tuple[str, ...], value: object) -> None:
    """Refuse a password or key in a file that is shared."""
    if words[-1] in _SECRETS:
        raise _wrong(
            config, words, f"a secret does not belong in such a file; set {_SECRETS[words[-1]]}"
        )
    if isinstance(value, str) and _LOGIN.search(value):
        raise _wrong(
            config, words, "a password does not belong in such a file; set ALLUSION_ES_PASSWORD"
        )


def _shown(value: object) -> str:
    """A value nearly as TOML has it, not too long."""
    return shorten(json.dumps(value, ensure_ascii=False, default=str), 60)


def _wrong(config: Config, words: tuple[str, ...], why: str) -> UsageError:
    return UsageError(f"{config.path}: '{'.'.join(words)}': {why}")


def _near(key: str, known: Any) -> str:  # noqa: ANN401 - any names
    """A question after the name that may have been meant, or ""."""
    near = difflib.get_close_matches(key.replace("_", "-"), list(known), 1)
    return f"; did you mean '{near[0]}'?" if near else ""


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def _toml(data: bytes, path: Path) -> dict[str, Any]:
    import tomllib  # needed only where there is such a file

    try:
        return tomllib.loads(decode(data, str(path)))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path}: not TOML ({error})") from error
