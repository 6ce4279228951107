"""Kibana's saved objects: data views, a saved search, panels and a dashboard of candidates.

`mappings/kibana.json` lists what they show; the functions here put that into Kibana's format. The
format is that of the oldest supported Kibana, since newer ones convert what they import, but no
Kibana imports a newer format. So do not replace this by a file that a newer Kibana exported.
"""

import copy
import json
from pathlib import Path
from typing import Any

from allusion_es.es.catalogue import alias_of
from allusion_es.es.kibana.pushed_runs import ALIAS
from allusion_es.retrieval.index import check_name

SavedObject = dict[str, Any]
"""A saved object: one line of Kibana's export file."""

CANDIDATES = "allusion-es-candidates"
"""Id of the data view of candidates."""

PASSAGES = "allusion-es-passages"
"""Id of the data view of passages."""

DASHBOARD = "allusion-es-dashboard"
"""Id of the dashboard."""

_FILE = Path(__file__).parents[2] / "mappings" / "kibana.json"
_INDEX_REF = "kibanaSavedObjectMeta.searchSourceJSON.index"


def saved_objects(index: str = "vulgate") -> list[SavedObject]:
    """All saved objects, each after those that it refers to. Their ids never change.

    Args:
        index: Name of the index on the server whose passages the second data view shows.

    Raises:
        UsageError: No index can have that name.

    Example:
        >>> [each["type"] for each in saved_objects()][:3]
        ['index-pattern', 'index-pattern', 'search']
    """
    plan = json.loads(_FILE.read_text(encoding="utf-8"))
    titles = {CANDIDATES: ALIAS, PASSAGES: alias_of(check_name(index))}
    objects = [
        _data_view(identifier, titles[identifier], view)
        for identifier, view in plan["data_views"].items()
    ]
    objects.append(_search(plan["search"]))
    objects += [_visualization(panel, plan) for panel in plan["panels"]]
    types = {each["id"]: each["type"] for each in objects}
    objects.append(_dashboard(plan["dashboard"], types))
    for each in objects:
        each["coreMigrationVersion"] = plan["core_migration_version"]
        each["typeMigrationVersion"] = plan["type_migration_versions"][each["type"]]
        each["managed"] = False
    return objects


def as_lines(objects: list[SavedObject]) -> bytes:
    """The objects as lines of JSON, the format that Kibana imports."""
    return "".join(f"{_json(each)}\n" for each in objects).encode()


def _data_view(identifier: str, title: str, view: dict[str, Any]) -> SavedObject:
    """A data view: the name of an index or alias, and formats for its numbers."""
    formats = {
        field: {"id": "number", "params": {"pattern": pattern}}
        for field, pattern in view["formats"].items()
    }
    # No time field is named: with one, Kibana would show only the last 15 minutes.
    attributes = {
        "title": title,
        "name": view["name"],
        "fields": "[]",
        "sourceFilters": "[]",
        "fieldAttrs": "{}",
        "allowHidden": False,
        "fieldFormatMap": _json(formats),
        "runtimeFieldMap": "{}",
    }
    return _object("index-pattern", identifier, attributes)


def _search(search: dict[str, Any]) -> SavedObject:
    """A saved search: the table of documents with its columns."""
    attributes = {
        "title": search["title"],
        "description": search["description"],
        "columns": search["columns"],
        "sort": [search["sort"]],
        "grid": {},
        "hideChart": True,
        "isTextBasedQuery": False,
        "timeRestore": False,
        "kibanaSavedObjectMeta": _source(search["query"], indexed=True),
    }
    return _object("search", search["id"], attributes, {_INDEX_REF: search["data_view"]})


def _visualization(panel: dict[str, Any], plan: dict[str, Any]) -> SavedObject:
    """A panel: a chart of aggregations, or a Vega chart, which has a language of its own."""
    kind = panel["kind"]
    indexed = kind != "vega"
    state = {"title": panel["title"], "type": kind, "aggs": [], "params": {}}
    if indexed:
        state["aggs"] = [
            _agg(number, agg, plan["agg_params"])
            for number, agg in enumerate(panel["aggs"], start=1)
        ]
        state["params"] = _params(panel, plan["kind_params"][kind])
    else:
        spec = copy.deepcopy(panel["spec"])
        spec["data"]["url"]["index"] = ALIAS
        state["params"] = {"spec": json.dumps(spec, indent=1)}
    attributes = {
        "title": panel["title"],
        "description": "",
        "version": 1,
        "uiStateJSON": "{}",
        "visState": _json(state),
        "kibanaSavedObjectMeta": _source(panel.get("query", ""), indexed),
    }
    references = {_INDEX_REF: CANDIDATES} if indexed else {}
    return _object("visualization", panel["id"], attributes, references)


def _agg(number: int, agg: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """An aggregation of a panel, with the parameters of its type where it sets none itself."""
    params = copy.deepcopy(defaults[agg["type"]])
    params |= {name: agg[name] for name in ("field", "size", "order") if name in agg}
    if "filters" in agg:
        params["filters"] = [
            {"input": {"query": query, "language": "kuery"}, "label": label}
            for label, query in agg["filters"].items()
        ]
    if "label" in agg:
        params["customLabel"] = agg["label"]
    return {
        "id": str(number),
        "enabled": True,
        "type": agg["type"],
        "params": params,
        "schema": agg["schema"],
    }


def _params(panel: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    params = copy.deepcopy(shared)
    if panel["kind"] == "histogram":
        label = panel["aggs"][0]["label"]
        params["seriesParams"][0]["data"]["label"] = label
        params["seriesParams"][0]["mode"] = panel["mode"]
        params["valueAxes"][0]["title"] = {"text": label}
    return params


def _dashboard(dashboard: dict[str, Any], types: dict[str, str]) -> SavedObject:
    """The dashboard: its panels on a grid, and drop-down lists above them.

    Objects refer to others by name only; `references` says which id a name stands for, so that
    Kibana can give other ids to imported objects.
    """
    panels, references = [], {}
    for identifier, (x, y, width, height) in dashboard["grid"].items():
        panels.append(
            {
                "type": types[identifier],
                "gridData": {"x": x, "y": y, "w": width, "h": height, "i": identifier},
                "panelIndex": identifier,
                "panelRefName": f"panel_{identifier}",
                "embeddableConfig": {"enhancements": {}},
            }
        )
        references[f"{identifier}:panel_{identifier}"] = identifier
    for field in dashboard["controls"]:
        references[f"controlGroup_{field}:optionsListDataView"] = dashboard["data_view"]
    options = {
        "useMargins": True,
        "syncColors": False,
        "syncCursor": True,
        "syncTooltips": False,
        "hidePanelTitles": False,
    }
    attributes = {
        "title": dashboard["title"],
        "description": dashboard["description"],
        "version": 1,
        "timeRestore": False,
        "optionsJSON": _json(options),
        "panelsJSON": _json(panels),
        "kibanaSavedObjectMeta": _source("", indexed=False),
        "controlGroupInput": _controls(dashboard["controls"]),
    }
    return _object("dashboard", dashboard["id"], attributes, references, types)


def _controls(controls: dict[str, str]) -> dict[str, Any]:
    """The drop-down lists above the dashboard, one for each field."""
    panels = {
        field: {
            "type": "optionsListControl",
            "order": order,
            "width": "medium",
            "grow": True,
            "explicitInput": {
                "id": field,
                "fieldName": field,
                "title": title,
                "singleSelect": True,
                "selectedOptions": [],
                "enhancements": {},
            },
        }
        for order, (field, title) in enumerate(controls.items())
    }
    ignored = ("ignoreFilters", "ignoreQuery", "ignoreTimerange", "ignoreValidations")
    return {
        "controlStyle": "oneLine",
        "chainingSystem": "HIERARCHICAL",
        "panelsJSON": _json(panels),
        "ignoreParentSettingsJSON": _json(dict.fromkeys(ignored, False)),
    }


def _source(query: str, indexed: bool) -> dict[str, str]:
    """The source of an object's documents: a query, and perhaps a data view."""
    source: dict[str, Any] = {"query": {"query": query, "language": "kuery"}, "filter": []}
    if indexed:
        source["indexRefName"] = _INDEX_REF
    return {"searchSourceJSON": _json(source)}


def _object(
    kind: str,
    identifier: str,
    attributes: dict[str, Any],
    references: dict[str, str] | None = None,
    types: dict[str, str] | None = None,
) -> SavedObject:
    """A saved object.

    Args:
        kind: Its type.
        identifier: Its id.
        attributes: Its attributes.
        references: For each name of a reference, the id of the object that it refers to.
        types: The types of objects by id; an id that is not there is that of a data view.
    """
    return {
        "type": kind,
        "id": identifier,
        "attributes": attributes,
        "references": [
            {"name": name, "type": (types or {}).get(target, "index-pattern"), "id": target}
            for name, target in (references or {}).items()
        ],
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
