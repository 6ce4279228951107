"""Kibana's saved objects: their form, what they refer to, and the numbers that they show.

No Kibana runs here. The form is that of Kibana 8.11, which newer ones read too; the searches
inside the objects are sent to a real Elasticsearch.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kibana_panels import bounds_of, bounds_request_of, kql, request_of, shown, source_of
from processes import Run

from allusion_es.core.errors import UsageError
from allusion_es.es.connection import Server
from allusion_es.es.kibana.candidate import Candidate, StageNames, StageRank, candidates_body
from allusion_es.es.kibana.objects import CANDIDATES, as_lines, saved_objects
from allusion_es.es.kibana.pushed_runs import ALIAS, push_candidates
from allusion_es.evaluation.errors import GOOD
from allusion_es.retrieval.types import Contribution

OBJECTS = saved_objects()
BY_ID = {each["id"]: each for each in OBJECTS}
PANELS = [each for each in OBJECTS if each["type"] == "visualization"]
DASHBOARD = OBJECTS[-1]
STATES = {each["id"]: json.loads(each["attributes"]["visState"]) for each in PANELS}
CHARTS = [each for each in PANELS if STATES[each["id"]]["type"] != "vega"]
SPEC = json.loads(STATES["allusion-es-rank-scatter"]["params"]["spec"])

# What Kibana 8.11 knows at most; newer stamps make it refuse the whole file.
STAMPS = {
    "index-pattern": "8.0.0",
    "search": "8.0.0",
    "visualization": "8.5.0",
    "dashboard": "8.9.0",
}
ATTRIBUTES = {
    "index-pattern": {
        *("title", "name", "fields", "sourceFilters", "fieldAttrs", "allowHidden"),
        *("fieldFormatMap", "runtimeFieldMap"),
    },
    "search": {
        *("title", "description", "columns", "sort", "grid", "hideChart", "isTextBasedQuery"),
        *("timeRestore", "kibanaSavedObjectMeta"),
    },
    "visualization": {
        *("title", "description", "version", "uiStateJSON", "visState"),
        "kibanaSavedObjectMeta",
    },
    "dashboard": {
        *("title", "description", "version", "timeRestore", "optionsJSON", "panelsJSON"),
        *("kibanaSavedObjectMeta", "controlGroupInput"),
    },
}
TOP = {
    *("type", "id", "attributes", "references", "managed"),
    *("coreMigrationVersion", "typeMigrationVersion"),
}
SCHEMAS = {
    "histogram": {"metric", "segment", "group"},
    "table": {"metric", "bucket"},
    "metric": {"metric"},
}


def names(saved: dict[str, Any]) -> set[str]:
    return {reference["name"] for reference in saved["references"]}


@pytest.mark.parametrize("saved", OBJECTS, ids=lambda saved: saved["id"])
def test_each_object_has_the_form_of_the_oldest_kibana(saved: dict[str, Any]) -> None:
    assert saved.keys() == TOP
    assert saved["coreMigrationVersion"] == "8.8.0"
    assert saved["typeMigrationVersion"] == STAMPS[saved["type"]]
    assert saved["attributes"].keys() == ATTRIBUTES[saved["type"]]
    for name, value in saved["attributes"].items():
        if name.endswith(("JSON", "Map", "Attrs", "fields", "Filters", "State")):
            json.loads(value)
    if "kibanaSavedObjectMeta" in saved["attributes"]:
        assert saved["attributes"]["kibanaSavedObjectMeta"].keys() == {"searchSourceJSON"}


def test_ids_are_stable_and_each_line_is_one_object() -> None:
    lines = as_lines(OBJECTS).decode().splitlines()
    assert [json.loads(line) for line in lines] == OBJECTS
    assert as_lines(saved_objects()) == as_lines(OBJECTS)
    assert [(each["type"], each["id"]) for each in OBJECTS] == [
        ("index-pattern", "allusion-es-candidates"),
        ("index-pattern", "allusion-es-passages"),
        ("search", "allusion-es-candidates-of-a-query"),
        ("visualization", "allusion-es-gold"),
        ("visualization", "allusion-es-gold-by-stage"),
        ("visualization", "allusion-es-hits-by-book"),
        ("visualization", "allusion-es-gold-by-book"),
        ("visualization", "allusion-es-candidate-scores"),
        ("visualization", "allusion-es-final-scores"),
        ("visualization", "allusion-es-ranks"),
        ("visualization", "allusion-es-rank-scatter"),
        ("dashboard", "allusion-es-dashboard"),
    ]


def test_every_reference_is_in_the_file_and_used() -> None:
    seen: set[tuple[str, str]] = set()
    for saved in OBJECTS:
        for reference in saved["references"]:
            assert reference.keys() == {"name", "type", "id"}
            assert (reference["type"], reference["id"]) in seen  # what it needs comes before it
        assert len(names(saved)) == len(saved["references"])
        assert names(saved) == used_names(saved)
        seen.add((saved["type"], saved["id"]))


def used_names(saved: dict[str, Any]) -> set[str]:
    if saved["type"] == "index-pattern":
        return set()
    used = {source_of(saved)["indexRefName"]} if "indexRefName" in source_of(saved) else set()
    if saved["type"] == "dashboard":
        panels = json.loads(saved["attributes"]["panelsJSON"])
        used |= {f"{each['panelIndex']}:{each['panelRefName']}" for each in panels}
        controls = json.loads(saved["attributes"]["controlGroupInput"]["panelsJSON"])
        used |= {f"controlGroup_{name}:optionsListDataView" for name in controls}
    return used


def test_panels_lie_side_by_side_on_the_dashboard() -> None:
    panels = json.loads(DASHBOARD["attributes"]["panelsJSON"])
    types = {f"{r['name']}": r["type"] for r in DASHBOARD["references"]}
    cells: set[tuple[int, int]] = set()
    for panel in panels:
        grid = panel["gridData"]
        assert panel.keys() == {
            *("type", "gridData", "panelIndex", "panelRefName", "embeddableConfig")
        }
        assert grid["i"] == panel["panelIndex"]
        assert types[f"{panel['panelIndex']}:{panel['panelRefName']}"] == panel["type"]
        assert grid["x"] + grid["w"] <= 48
        own = {
            (x, y)
            for x in range(grid["x"], grid["x"] + grid["w"])
            for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert not own & cells
        cells |= own
    assert len(cells) == 48 * (max(y for _, y in cells) + 1)  # no gaps
    shown_there = {reference["id"] for reference in DASHBOARD["references"]}
    assert shown_there == BY_ID.keys() - {"allusion-es-passages", DASHBOARD["id"]}


def test_controls_pick_a_run_and_a_query() -> None:
    control_group = DASHBOARD["attributes"]["controlGroupInput"]
    assert control_group.keys() == {
        *("controlStyle", "chainingSystem", "panelsJSON", "ignoreParentSettingsJSON")
    }
    controls = json.loads(control_group["panelsJSON"])
    assert {name: control["explicitInput"]["title"] for name, control in controls.items()} == {
        "run_id": "Run",
        "author": "Author",
        "title": "Work",
        "type": "Kind of link",
        "query": "Query",
    }
    for name, control in controls.items():
        assert control["type"] == "optionsListControl"
        assert control["explicitInput"]["id"] == name
        assert control["explicitInput"]["singleSelect"] is True
    assert sorted(control["order"] for control in controls.values()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("saved", CHARTS, ids=lambda saved: saved["id"])
def test_charts_are_of_kinds_that_kibana_keeps(saved: dict[str, Any]) -> None:
    state = STATES[saved["id"]]
    assert state.keys() == {"title", "type", "aggs", "params"}
    assert state["title"] == saved["attributes"]["title"]
    ids = [agg["id"] for agg in state["aggs"]]
    assert len(set(ids)) == len(ids)
    metrics = {agg["id"] for agg in state["aggs"] if agg["schema"] == "metric"}
    for agg in state["aggs"]:
        assert agg.keys() == {"id", "enabled", "type", "params", "schema"}
        assert agg["schema"] in SCHEMAS[state["type"]]
        if agg["type"] == "terms":
            assert agg["params"]["orderBy"] in metrics
            assert agg["params"]["order"] in ("asc", "desc")
    if state["type"] == "histogram":
        (series,) = state["params"]["seriesParams"]
        assert series["data"]["id"] in metrics
        assert series["mode"] in ("normal", "stacked")
        assert series["valueAxis"] in {axis["id"] for axis in state["params"]["valueAxes"]}


def fields_of(saved: dict[str, Any]) -> set[str]:
    """Every field that an object names."""
    found: set[str] = set()

    def in_query(query: object) -> None:
        if isinstance(query, dict):
            for key, value in query.items():
                if key in ("match", "match_phrase", "range"):
                    found.update(value)
                elif key == "exists":
                    found.add(value["field"])
                else:
                    in_query(value)
        elif isinstance(query, list):
            for each in query:
                in_query(each)

    attributes = saved["attributes"]
    if saved["type"] == "index-pattern":
        found.update(json.loads(attributes["fieldFormatMap"]))
        return found
    in_query(kql(source_of(saved)["query"]["query"]))
    if saved["type"] == "search":
        found.update([*attributes["columns"], *(field for field, _ in attributes["sort"])])
    elif saved["type"] == "dashboard":
        controls = json.loads(attributes["controlGroupInput"]["panelsJSON"])
        found.update(control["explicitInput"]["fieldName"] for control in controls.values())
    else:
        for agg in STATES[saved["id"]]["aggs"]:
            found.update([agg["params"]["field"]] if "field" in agg["params"] else [])
            for each in agg["params"].get("filters", []):
                in_query(kql(each["input"]["query"]))
        if saved["id"] == "allusion-es-rank-scatter":
            found.update(SPEC["data"]["url"]["body"]["_source"])
            found.update(name for each in SPEC["data"]["url"]["body"]["sort"] for name in each)
            found.update(re.findall(r"datum\._source\.(\w+)", json.dumps(SPEC)))
    return found


def types_of(properties: dict[str, Any], prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, field in properties.items():
        if "properties" in field:
            found |= types_of(field["properties"], f"{prefix}{name}.")
        elif field.get("type", "object") != "object":  # so an object without fields is shown
            found[f"{prefix}{name}"] = field["type"]
    return found


# Three queries with gold passages at rank 1, at rank 25, and nowhere; one that nobody judged.
EXAMPLE = [
    *(
        Candidate(
            "q1",
            f"Ps.1.{rank}",
            query_text="beatus uir",
            query_lemmas=("beatus", "uir"),
            author="Bernardus",
            title="Sermo 3",
            type="quotation",
            gold=rank == 1,
            loss="" if rank == 1 else None,
            reference=f"Ps 1,{rank}",
            book="Ps",
            testament="ot",
            order=rank,
            text="Beatus vir",
            first=StageRank(4 - rank, 1.0 + rank),
            final=StageRank(rank, 1.02 - rank * 0.3),
            contributions=(Contribution("uir", "uir", 0.1),),
        )
        for rank in (1, 2, 3)
    ),
    *(
        Candidate(
            "q2",
            f"Gen.1.{rank}",
            gold=rank == 25,
            loss="reranking" if rank == 25 else None,
            reference=f"Gen 1,{rank}",
            book="Gen",
            testament="ot",
            first=StageRank(rank, 30.5 - rank),
            final=StageRank(rank, None if rank == 30 else 0.001),
        )
        for rank in range(1, 31)
    ),
    Candidate("q3", "Eph.3.19", gold=True, loss="first stage", book="Eph", testament="nt"),
    Candidate("q4", "Eph.3.19", book="Eph", testament="nt", final=StageRank(1, 0.5)),
]


@pytest.fixture
def example(server: Server) -> Server:
    push_candidates(server, "first", EXAMPLE, StageNames())
    push_candidates(server, "second", EXAMPLE[:1], StageNames())
    return server


def numbers(
    server: Server, panel: str, filters: list[dict[str, Any]] | None = None
) -> dict[Any, Any]:
    saved, path = BY_ID[panel], f"/{ALIAS}/_search"
    bounds = bounds_of(server.request("POST", path, bounds_request_of(saved, filters or [])))
    answer = server.request("POST", path, request_of(saved, filters or [], bounds))
    return shown(saved, answer)


FIRST = [{"match_phrase": {"run_id": "first"}}]


def test_every_field_is_one_of_a_real_index(example: Server) -> None:
    mapping = example.request("GET", f"/{ALIAS}/_mapping")
    for index in mapping.values():
        known = types_of(index["mappings"]["properties"])
        assert known == types_of(candidates_body(StageNames())["mappings"]["properties"])
        for saved in OBJECTS:
            assert fields_of(saved) <= known.keys(), saved["id"]
        for state in STATES.values():
            for agg in state["aggs"]:
                if agg["type"] in ("terms", "cardinality"):
                    assert known[agg["params"]["field"]] == "keyword"
                elif "field" in agg["params"]:
                    assert known[agg["params"]["field"]] in ("integer", "double")
        assert known["final_rank"] == "integer"  # what the saved search is sorted by
        for name in ("run_id", "author", "title", "type", "query"):  # the controls
            assert known[name] == "keyword"


def test_gold_passages_and_their_queries(example: Server) -> None:
    assert numbers(example, "allusion-es-gold", FIRST) == {"": (3, 3)}
    assert numbers(example, "allusion-es-gold") == {"": (4, 3)}


def test_gold_found_and_lost_by_stage_and_run(example: Server) -> None:
    assert numbers(example, "allusion-es-gold-by-stage") == {
        f"among the first {GOOD}": {"first": 1, "second": 1},
        "ranked lower": {"first": 1},
        "no candidate": {"first": 1},
    }


def test_hits_by_book(example: Server) -> None:
    assert numbers(example, "allusion-es-hits-by-book", FIRST) == {
        "Gen": {"other": 10},
        "Ps": {"gold": 1, "other": 2},
        "Eph": {"other": 1},
    }


def test_gold_by_book(example: Server) -> None:
    assert numbers(example, "allusion-es-gold-by-book", FIRST) == {
        "Ps": {f"among the first {GOOD}": 1},
        "Gen": {"ranked lower": 1},
        "Eph": {"no candidate": 1},
    }


def test_score_distributions(example: Server) -> None:
    one = [*FIRST, {"match_phrase": {"query_id": "q1"}}]
    # Scores 2, 3, 4 before, in bars of .05; .72, .42, .12 after, in bars of .02.
    assert numbers(example, "allusion-es-candidate-scores", one) == {
        2.0: {"gold": 1},
        3.0: {"other": 1},
        4.0: {"other": 1},
    }
    found = numbers(example, "allusion-es-final-scores", one)
    assert [round(key, 2) for key in found] == [0.12, 0.42, 0.72]
    assert list(found.values()) == [{"other": 1}, {"other": 1}, {"gold": 1}]
    # A score that the formula does not give is in no bar.
    two = [*FIRST, {"match_phrase": {"query_id": "q2"}}]
    assert numbers(example, "allusion-es-final-scores", two) == {0.0: {"gold": 1, "other": 28}}


@pytest.mark.parametrize(
    ("least", "greatest", "bars"),
    [(0.01, 0.3, 30), (-5.0, 15.0, 41), (20.0, 900.0, 45), (-2000.5, -0.5, 41)],
)
def test_bars_fit_the_scores_of_any_method(
    server: Server, least: float, greatest: float, bars: int
) -> None:
    """Those of fused first stages, the learned reranker, BM25, and of a run from elsewhere."""
    steps = 1000
    pushed = [
        Candidate("q", f"v.{n}", final=StageRank(n + 1, least + (greatest - least) * n / steps))
        for n in range(steps + 1)
    ]
    push_candidates(server, "run", pushed, StageNames())
    found = numbers(server, "allusion-es-final-scores")
    assert abs(len(found) - bars) <= 1
    assert sum(each["other"] for each in found.values()) == steps + 1


def test_a_query_is_picked_by_its_words(example: Server) -> None:
    body = {
        "size": 0,
        "query": {"term": {"author": "Bernardus"}},
        "aggs": {"list": {"terms": {"field": "query"}}},
    }
    answer = example.request("POST", f"/{ALIAS}/_search", body)
    (bucket,) = answer["aggregations"]["list"]["buckets"]
    assert bucket["key"] == "beatus uir (q1)"
    picked = [{"match_phrase": {"query": bucket["key"]}}, *FIRST]
    assert len(numbers(example, "allusion-es-ranks", picked)) == 3


def test_ranks_before_and_after(example: Server) -> None:
    one = [*FIRST, {"match_phrase": {"query_id": "q1"}}]
    found = numbers(example, "allusion-es-ranks", one)
    assert list(found.items()) == [
        ("Ps 1,1", (1, 3, pytest.approx(0.72))),
        ("Ps 1,2", (2, 2, pytest.approx(0.42))),
        ("Ps 1,3", (3, 1, pytest.approx(0.12))),
    ]


def test_the_scatter_plot_has_a_point_for_each_candidate(example: Server) -> None:
    source = SPEC["data"]["url"]
    assert source["index"] == ALIAS
    assert source["%context%"] is True
    assert "query" not in source["body"]  # with it, Kibana would not put the context in
    # Kibana puts query, filters and controls there.
    body = source["body"] | {"query": {"bool": {"filter": FIRST}}}
    hits = example.request("POST", f"/{ALIAS}/_search", body)["hits"]["hits"]
    rows = [hit["_source"] for hit in hits]
    # The spec leaves out what has no rank before or after: the lost one, and that of a bare run.
    points = [
        (row["candidate_rank"], row["final_rank"], row["rank_gain"], row["gold"])
        for row in rows
        if "candidate_rank" in row and "final_rank" in row
    ]
    assert len(rows) == 35
    assert {(3, 1, 2, True), (1, 3, -2, False), (25, 25, 0, True)} <= set(points)
    assert len(points) == 33
    assert [each["as"] for each in SPEC["transform"] if "as" in each] == [
        *("before", "after", "gain", "passage", "query", "kind")
    ]
    drawn = [SPEC["encoding"][channel]["field"] for channel in ("x", "y", "color", "shape")]
    drawn += [each["field"] for each in SPEC["encoding"]["tooltip"]]
    assert set(drawn) <= {each["as"] for each in SPEC["transform"] if "as" in each}


def test_the_saved_search_lists_a_query_in_its_final_order(example: Server) -> None:
    saved = BY_ID["allusion-es-candidates-of-a-query"]
    filters = [*FIRST, {"match_phrase": {"query_id": "q1"}}]
    body = {
        "query": {"bool": {"filter": [kql(source_of(saved)["query"]["query"]), *filters]}},
        "sort": [{field: order} for field, order in saved["attributes"]["sort"]],
    }
    hits = example.request("POST", f"/{ALIAS}/_search", body)["hits"]["hits"]
    assert [hit["_source"]["reference"] for hit in hits] == ["Ps 1,1", "Ps 1,2", "Ps 1,3"]
    assert all(len(pair) == 2 for pair in saved["attributes"]["sort"])


def test_data_views_have_no_field_of_time() -> None:
    views = [each for each in OBJECTS if each["type"] == "index-pattern"]
    assert [each["attributes"]["title"] for each in views] == [ALIAS, "allusion-vulgate"]
    assert all("timeFieldName" not in each["attributes"] for each in views)
    assert saved_objects("my-texts")[1]["attributes"]["title"] == "allusion-my-texts"
    with pytest.raises(UsageError, match="index name"):
        saved_objects("*")


def test_only_the_title_of_the_passages_depends_on_the_index() -> None:
    for one, other in zip(saved_objects("a"), saved_objects("b"), strict=True):
        assert one == other or one["id"] == "allusion-es-passages"
    assert all(r["id"] == CANDIDATES for s in CHARTS for r in s["references"])


def test_the_plan_in_the_documents_is_that_of_the_objects(tmp_path: Path) -> None:
    root, drawn = Path(__file__).parents[1], tmp_path / "kibana.svg"
    script = root / "benchmarks" / "kibana_picture.py"
    subprocess.run([sys.executable, str(script), str(drawn)], check=True)
    assert drawn.read_text() == (root / "docs" / "kibana.svg").read_text()
    titles = [each["attributes"]["title"] for each in OBJECTS if each["type"] != "index-pattern"]
    assert all(title in drawn.read_text() for title in titles)


@pytest.fixture
def exported(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "kibana.ndjson"
    done = run("kibana", "export", str(path))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"{path}: 12 saved objects\n"
    return path


def test_export(run: Run, exported: Path) -> None:
    assert exported.read_bytes() == as_lines(OBJECTS)
    assert run("kibana", "export", "-").stdout.encode() == as_lines(OBJECTS)
    done = run("kibana", "export", "objects.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "end in .ndjson" in done.stderr
