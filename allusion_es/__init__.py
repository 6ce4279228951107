"""Find the passages that a Latin text alludes to, and say why.

    import allusion_es as ae

    ae.find("retia sua relinquentes secuti sunt")

`find` answers clauses, `scan` reads whole texts, `compare` compares two, `open_index` and
`build_index` give indexes of the Vulgate or of your own texts, `evaluate` measures methods on gold
links, and `parse_reference` reads references to verses. Names and defaults are those of the command
line. Every known error is an `AllusionError` whose text is one line.

Attributes:
    __version__: The version of the installed package, such as `0.1.0`.

Example:
    >>> import allusion_es as ae
    >>> ae.__version__.count(".")
    2
    >>> ae.parse_reference("I Reg. II, 3")
    <Reference 1Sam.2.3>
"""

import os
from typing import TYPE_CHECKING

# Python started in a checkout finds this folder before the installed package; the others, which an
# installation puts inside it, lie beside it there.
_FOLDER = os.path.dirname(__file__)
if not os.path.isdir(os.path.join(_FOLDER, "core")):
    __path__.append(os.path.dirname(_FOLDER))

if TYPE_CHECKING:
    from allusion_es.core.errors import (
        AllusionError,
        DownloadError,
        IndexDamagedError,
        IndexMissingError,
        InputError,
        LeftOutError,
        PluginError,
        ServerRefusedError,
        ServerUnavailableError,
        SettingsMismatchError,
        StorageError,
        UsageError,
        VectorError,
        VerseError,
    )
    from allusion_es.corpora.findings import Finding
    from allusion_es.corpora.passage import Passage
    from allusion_es.evaluation.gold.link import GoldLink
    from allusion_es.front.answers import Answer, Answers, find
    from allusion_es.front.comparison import Comparison, Pair, compare
    from allusion_es.front.evaluations import Evaluation, evaluate
    from allusion_es.front.indexes import Index, build_index, open_index, parse_reference
    from allusion_es.front.scans import Scan, scan
    from allusion_es.retrieval.types import Hit, Query

    __version__: str

_PLACES = {
    "Answer": "front.answers",
    "Answers": "front.answers",
    "Comparison": "front.comparison",
    "Evaluation": "front.evaluations",
    "Finding": "corpora.findings",
    "GoldLink": "evaluation.gold.link",
    "Hit": "retrieval.types",
    "Index": "front.indexes",
    "Pair": "front.comparison",
    "Passage": "corpora.passage",
    "Query": "retrieval.types",
    "Scan": "front.scans",
    "build_index": "front.indexes",
    "compare": "front.comparison",
    "evaluate": "front.evaluations",
    "find": "front.answers",
    "open_index": "front.indexes",
    "parse_reference": "front.indexes",
    "scan": "front.scans",
}
"""The module of each name. It is imported when the name is first used: all together take a second,
and the command line, which begins here too, needs none of them for its help."""

__all__ = [
    "AllusionError",
    "Answer",
    "Answers",
    "Comparison",
    "DownloadError",
    "Evaluation",
    "Finding",
    "GoldLink",
    "Hit",
    "Index",
    "IndexDamagedError",
    "IndexMissingError",
    "InputError",
    "LeftOutError",
    "Pair",
    "Passage",
    "PluginError",
    "Query",
    "Scan",
    "ServerRefusedError",
    "ServerUnavailableError",
    "SettingsMismatchError",
    "StorageError",
    "UsageError",
    "VectorError",
    "VerseError",
    "__version__",
    "build_index",
    "compare",
    "evaluate",
    "find",
    "open_index",
    "parse_reference",
    "scan",
]


def __getattr__(name: str) -> object:
    """The public object of a name, imported when it is first asked for.

    Raises:
        AttributeError: There is nothing of that name.
    """
    if name == "__version__":
        # It takes longer to import than all that `allusion-es --help` needs.
        from importlib.metadata import version

        return version("allusion-es")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    # Errors are the names without a place of their own.
    found = getattr(import_module(f"{__name__}.{_PLACES.get(name, 'core.errors')}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The names, for completion."""
    return list(__all__)
