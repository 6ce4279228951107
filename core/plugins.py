"""Plug-ins: classes that packages register as entry points, and the parameters users set."""

import inspect
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from allusion_es.core.errors import AllusionError, PluginError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Settings = Mapping[str, Mapping[str, str]]
"""For each plug-in the parameters that the user set, as text."""

_TYPES = {int: "a whole number", float: "a number", str: "text", bool: "yes or no"}
_CHOSEN_BY = {
    "generators": "first_stage",
    "rerankers": "rerank",
    "lemmatisers": "lemmatiser",
    "vectors": "vectors",
}
"""The arguments that choose a plug-in of each kind."""

_TRUTH = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a plug-in.

    Attributes:
        name: As in the class.
        type: int, float, str or bool.
        default: Its value where it is not set.
    """

    name: str
    type: type
    default: Any


def parse_settings(texts: Sequence[str]) -> dict[str, dict[str, str]]:
    """The settings behind texts such as `soft-cosine.power=5`.

    Raises:
        UsageError: A text has not this form, or sets a parameter twice.

    Example:
        >>> parse_settings(["soft-cosine.power=3", "wmd.exact=yes"])
        {'soft-cosine': {'power': '3'}, 'wmd': {'exact': 'yes'}}
    """
    settings: dict[str, dict[str, str]] = {}
    for text in texts:
        left, equals, value = text.partition("=")
        plugin, dot, name = left.strip().partition(".")
        if not (equals and dot and plugin and name):
            raise UsageError(f"{text!r}: write it as plugin.parameter=value", argument="set")
        if name in settings.setdefault(plugin, {}):
            raise UsageError(f"{text!r}: {plugin}.{name} is set twice", argument="set")
        settings[plugin][name] = value.strip()
    return settings


def parameters_of(plugin: type) -> list[Parameter]:
    """The parameters of a plug-in's class that have a default of a simple type."""
    found = []
    for name, parameter in inspect.signature(plugin).parameters.items():
        kind = type(parameter.default)
        if kind in _TYPES:
            found.append(Parameter(name, kind, parameter.default))
    return found


def make_plugin(
    plugin: type,
    name: str,
    values: Mapping[str, str],
    *arguments: object,
) -> Any:  # noqa: ANN401 - the class decides what it is
    """An instance of a plug-in's class with the parameters that the user set.

    Args:
        plugin: The class; its parameters have defaults of the types int, float, str or bool.
        name: The plug-in's name, for messages.
        values: Parameters as text.
        arguments: What the class takes before its parameters.

    Raises:
        UsageError: There is no such parameter, or its value is of another type.
        PluginError: The class fails.

    Example:
        >>> class Window:
        ...     def __init__(self, size: int = 3) -> None:
        ...         self.size = size
        >>> make_plugin(Window, "window", {"size": "5"}).size
        5
    """
    known = {parameter.name: parameter for parameter in parameters_of(plugin)}
    for key in values:
        if key not in known:
            there = ", ".join(known) or "none"
            raise UsageError(f"{name} has no parameter {key!r}; there are: {there}", argument="set")
    converted = {key: _convert(name, known[key], text) for key, text in values.items()}
    try:
        return plugin(*arguments, **converted)
    except AllusionError as error:
        if type(error) is UsageError and converted and not error.argument:
            raise UsageError(error.reason, argument="set") from None
        raise
    except Exception as error:
        raise PluginError(
            f"plug-in {name!r} cannot be started ({type(error).__name__}: {error})"
        ) from error


def check_range(plugin: str, name: str, value: float, least: float, most: float = math.inf) -> None:
    """Refuse a number outside `least` to `most`, both allowed; NaN and infinity too.

    Raises:
        UsageError: The message names the plug-in, the parameter, its value and the range.

    Example:
        >>> check_range("soft-cosine", "power", 0, 1)
        Traceback (most recent call last):
            ...
        allusion_es.core.errors.UsageError: soft-cosine.power must be at least 1, not 0
    """
    if math.isfinite(value) and least <= value <= most:
        return
    allowed = f"at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"
    raise UsageError(f"{plugin}.{name} must be {allowed}, not {value}")


def check_choice(plugin: str, name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a text that is not among `choices`.

    Raises:
        UsageError: The message names the plug-in, the parameter, its value and the choices.

    Example:
        >>> check_choice("wmd", "solver", "simplex", ("pot", "pyemd"))
        Traceback (most recent call last):
            ...
        allusion_es.core.errors.UsageError: wmd.solver must be pot or pyemd, not 'simplex'
    """
    if value not in choices:
        raise UsageError(f"{plugin}.{name} must be {' or '.join(choices)}, not {value!r}")


def _convert(plugin: str, parameter: Parameter, text: str) -> object:
    try:
        if parameter.type is bool:
            return _TRUTH[text.lower()]
        return parameter.type(text)
    except (KeyError, ValueError):
        raise UsageError(
            f"{plugin}.{parameter.name} must be {_TYPES[parameter.type]}, not {text!r}",
            argument="set",
        ) from None


@lru_cache(maxsize=1)
def _registered(path: tuple[str, ...]) -> "Callable[..., Iterable[EntryPoint]]":
    """Gives the entry points of a `group`, of the packages in some folders: read once for all."""
    from importlib.metadata import entry_points  # 10 ms, which no `--help` should take

    return entry_points().select


def plugins(group: str) -> "dict[str, EntryPoint]":
    """The entry points of a group by name, sorted; nothing is imported.

    Raises:
        PluginError: Two packages register the same name.
    """
    found: dict[str, EntryPoint] = {}
    for entry in _registered(tuple(sys.path))(group=group):
        known = found.setdefault(entry.name, entry)
        if known.value != entry.value:
            raise PluginError(
                f"two packages register {entry.name!r} in {group} ({known.value} and "
                f"{entry.value}); uninstall one"
            )
    return dict(sorted(found.items()))


def load_plugin(group: str, name: str) -> Any:  # noqa: ANN401 - the group decides what it is
    """The object that is registered as `name` in `group`, usually a class.

    Raises:
        PluginError: Nothing is registered under `name` (the message says what is), or it
            cannot be imported.
    """
    known = plugins(group)
    if name not in known:
        kind = group.rpartition(".")[2]
        raise PluginError(
            f"no {kind} plug-in {name!r}; there are: {', '.join(known) or 'none'}",
            argument=_CHOSEN_BY.get(kind, ""),
        )
    try:
        return known[name].load()
    except Exception as error:
        raise PluginError(
            f"plug-in {name!r} ({known[name].value}) cannot be loaded: {error}"
        ) from error


def start_plugin(group: str, name: str) -> Any:  # noqa: ANN401 - the group decides what it is
    """An instance of the class that is registered under `name` in `group`.

    Raises:
        PluginError: As `load_plugin`, or the class fails.
    """
    plugin = load_plugin(group, name)
    try:
        return plugin()
    except AllusionError:
        raise
    except Exception as error:
        raise PluginError(
            f"plug-in {name!r} cannot be started ({type(error).__name__}: {error})"
        ) from error
