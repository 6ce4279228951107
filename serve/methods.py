"""The methods that there are, with what people should know of each."""

import inspect
from dataclasses import asdict
from functools import cache
from typing import Any

from allusion_es.core.errors import PluginError
from allusion_es.core.parameters import parameters_of
from allusion_es.core.plugins import load_plugin, plugins
from allusion_es.retrieval import generators, reranking
from allusion_es.retrieval.choices import STAGES
from allusion_es.scanning.model import MODELS, calibration


@cache
def method_rows() -> dict[str, Any]:
    """First stages and rerankers: name, description, parameters with their defaults.

    Of scans: what each of their models does at which threshold, as it was measured.

    Example:
        >>> [row["name"] for row in method_rows()["first_stages"]][:2]
        ['all', 'bm25']
    """
    stages = _rows(generators.GROUP)
    several = [
        {"name": name, "description": f"{', '.join(parts)}, fused by reciprocal rank."}
        for name, parts in STAGES.items()
    ]
    return {
        "first_stages": [*stages, *several],
        "rerankers": [
            {"name": "none", "description": "The order of the first stage."},
            *_rows(reranking.GROUP),
        ],
        "scans": [_scan_row(name) for name in MODELS],
    }


def _scan_row(name: str) -> dict[str, Any]:
    model = calibration(name)
    return {
        "name": name,
        "threshold": model.threshold,
        "measured_on": "the Vulgate",
        "measured": [asdict(point) for point in model.points],
    }


def _rows(group: str) -> list[dict[str, Any]]:
    rows = []
    for name in plugins(group):
        try:
            plugin = load_plugin(group, name)
        except PluginError:
            continue  # what cannot be loaded cannot be chosen; a search that names it says why
        described = (inspect.getdoc(plugin) or "").partition("\n\n")[0]
        rows.append(
            {
                "name": name,
                "description": " ".join(described.split()),
                "parameters": {p.name: p.default for p in parameters_of(plugin)},
                "parts": bool(getattr(plugin, "composite", False)),
            }
        )
    return rows
