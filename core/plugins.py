"""Plug-ins: classes that packages register as entry points."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from allusion_es.core.errors import AllusionError, PluginError


def plugins(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name, sorted; nothing is imported.

    Raises:
        PluginError: Two packages register the same name.
    """
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        known = found.setdefault(entry.name, entry)
        if known.value != entry.value:
            raise PluginError(
                f"two packages register {entry.name!r} in {group} ({known.value} and "
                f"{entry.value}); uninstall one"
            )
    return dict(sorted(found.items()))


def load_plugin(group: str, name: str) -> Any:  # noqa: ANN401 - the group decides what it is
    """What `name` refers to in `group`, usually a class.

    Raises:
        PluginError: Nothing is registered under `name` (the message says what is), or it
            cannot be imported.
    """
    known = plugins(group)
    if name not in known:
        kind = group.rpartition(".")[2]
        raise PluginError(f"no {kind} plug-in {name!r}; there are: {', '.join(known) or 'none'}")
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
