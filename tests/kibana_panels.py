"""What Kibana asks Elasticsearch for a panel, as far as our panels go, and what it then shows."""

import json
import math
import re
from typing import Any

_TOKEN = re.compile(r'\s*("[^"]*"|<=|>=|[():<>*]|[^\s():<>"]+)')


def kql(text: str) -> dict[str, Any]:
    """The query that a KQL text becomes, as Kibana translates it.

    Example:
        >>> kql("gold : true and not loss : \\"reranking\\"")["bool"]["filter"][0]
        {'match': {'gold': 'true'}}
    """
    tokens = _TOKEN.findall(text)
    assert "".join(tokens) == re.sub(r"\s+(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", "", text)
    if not tokens:
        return {"match_all": {}}
    query = _either(tokens)
    assert not tokens, f"{text!r}: {tokens} is left over"
    return query


def _either(tokens: list[str]) -> dict[str, Any]:
    parts = [_both(tokens)]
    while tokens and tokens[0] == "or":
        tokens.pop(0)
        parts.append(_both(tokens))
    return parts[0] if len(parts) == 1 else {"bool": {"should": parts, "minimum_should_match": 1}}


def _both(tokens: list[str]) -> dict[str, Any]:
    parts = [_not(tokens)]
    while tokens and tokens[0] == "and":
        tokens.pop(0)
        parts.append(_not(tokens))
    return parts[0] if len(parts) == 1 else {"bool": {"filter": parts}}


def _not(tokens: list[str]) -> dict[str, Any]:
    if tokens[0] == "not":
        tokens.pop(0)
        return {"bool": {"must_not": [_not(tokens)]}}
    if tokens[0] == "(":
        tokens.pop(0)
        inside = _either(tokens)
        assert tokens.pop(0) == ")"
        return inside
    name, operator = tokens.pop(0), tokens.pop(0)
    if operator != ":":
        names = {"<=": "lte", ">=": "gte", "<": "lt", ">": "gt"}
        return {"range": {name: {names[operator]: tokens.pop(0)}}}
    if tokens[0] != "(":
        return _match(name, tokens.pop(0))
    tokens.pop(0)
    values = [tokens.pop(0)]
    while tokens[0] == "or":
        tokens.pop(0)
        values.append(tokens.pop(0))
    assert tokens.pop(0) == ")"
    should = [_match(name, value) for value in values]
    return {"bool": {"should": should, "minimum_should_match": 1}}


def _match(name: str, value: str) -> dict[str, Any]:
    if value == "*":
        return {"exists": {"field": name}}
    if value.startswith('"'):
        return {"match_phrase": {name: value.strip('"')}}
    return {"match": {name: value}}


def source_of(saved: dict[str, Any]) -> dict[str, Any]:
    """The search source of a saved object."""
    source: dict[str, Any] = json.loads(
        saved["attributes"]["kibanaSavedObjectMeta"]["searchSourceJSON"]
    )
    return source


Bounds = dict[str, tuple[float, float]]
"""The least and greatest value of the field of each histogram, by the aggregation's id."""


def bounds_request_of(saved: dict[str, Any], filters: list[dict[str, Any]]) -> dict[str, Any]:
    """The search that Kibana sends before that of a panel whose histograms find their own width."""
    aggs = {
        f"{name} {agg['id']}": {name: {"field": agg["params"]["field"]}}
        for agg in json.loads(saved["attributes"]["visState"])["aggs"]
        if agg["type"] == "histogram"
        for name in ("min", "max")
    }
    return _body(saved, filters) | {"aggs": aggs}


def bounds_of(answer: dict[str, Any]) -> Bounds:
    """What the answer to `bounds_request_of` says."""
    found = {name: agg["value"] or 0.0 for name, agg in answer.get("aggregations", {}).items()}
    ids = {name.split(" ")[1] for name in found}
    return {name: (found[f"min {name}"], found[f"max {name}"]) for name in ids}


def interval(least: float, greatest: float, bars: int) -> float:
    """The width that Kibana gives bars: 1, 2 or 5 times a power of 10, for at most so many bars.

    Example:
        >>> [round(interval(0.0, most, 50), 3) for most in (0.3, 20.0, 0.0)]
        [0.01, 0.5, 1.0]
    """
    exact = (greatest - least) / bars
    if not exact:
        return 1.0
    power: float = 10.0 ** math.floor(math.log10(exact))
    return next(power * step for step in (1, 2, 5, 10) if power * step >= exact)


def request_of(
    saved: dict[str, Any],
    filters: list[dict[str, Any]],
    bounds: Bounds,
) -> dict[str, Any]:
    """The search behind a panel that aggregates; `filters` are those of the controls."""
    state = json.loads(saved["attributes"]["visState"])
    counts = {agg["id"] for agg in state["aggs"] if agg["type"] == "count"}
    made = {agg["id"]: _agg(agg, counts, bounds) for agg in state["aggs"]}
    metrics = {agg["id"]: made[agg["id"]] for agg in state["aggs"] if agg["schema"] == "metric"}
    metrics = {name: agg for name, agg in metrics.items() if agg}
    inner: dict[str, Any] = dict(metrics)
    for agg in reversed([agg for agg in state["aggs"] if agg["schema"] != "metric"]):
        inner = {agg["id"]: {**made[agg["id"]], "aggs": {**metrics, **inner}}}
    return _body(saved, filters) | ({"aggs": inner} if inner else {})


def _body(saved: dict[str, Any], filters: list[dict[str, Any]]) -> dict[str, Any]:
    query = kql(source_of(saved)["query"]["query"])
    return {
        "size": 0,
        "track_total_hits": True,
        "query": {"bool": {"filter": [query, *filters]}},
    }


def _agg(agg: dict[str, Any], counts: set[str], bounds: Bounds) -> dict[str, Any]:
    kind, params = agg["type"], agg["params"]
    if kind == "count":
        return {}
    if kind in ("min", "max", "cardinality"):
        return {kind: {"field": params["field"]}}
    if kind == "histogram":
        assert params["interval"] == "auto"
        width = interval(*bounds[agg["id"]], params["maxBars"])
        return {kind: {"field": params["field"], "interval": width, "min_doc_count": 1}}
    if kind == "filters":
        named = {each["label"]: kql(each["input"]["query"]) for each in params["filters"]}
        return {kind: {"filters": named}}
    assert kind == "terms"
    assert not params["otherBucket"]
    assert not params["missingBucket"]
    by = "_count" if params["orderBy"] in counts else params["orderBy"]
    order = {by: params["order"]}
    return {kind: {"field": params["field"], "size": params["size"], "order": order}}


def shown(saved: dict[str, Any], answer: dict[str, Any]) -> dict[Any, Any]:
    """The numbers that a panel shows, by the keys of its buckets; buckets of nothing left out."""
    state = json.loads(saved["attributes"]["visState"])
    buckets = [agg for agg in state["aggs"] if agg["schema"] != "metric"]
    metrics = [agg for agg in state["aggs"] if agg["schema"] == "metric"]

    def read(node: dict[str, Any], count: int, left: list[dict[str, Any]]) -> Any:  # noqa: ANN401
        if not left:
            values = tuple(
                count if agg["type"] == "count" else node[agg["id"]]["value"] for agg in metrics
            )
            return values[0] if len(values) == 1 else values
        found = node[left[0]["id"]]["buckets"]
        pairs = found.items() if isinstance(found, dict) else ((b["key"], b) for b in found)
        return {key: read(b, b["doc_count"], left[1:]) for key, b in pairs if b["doc_count"]}

    total = answer["hits"]["total"]["value"]
    found = read(answer.get("aggregations", {}), total, buckets)
    return found if isinstance(found, dict) else {"": found}
