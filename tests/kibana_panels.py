"""What Kibana asks Elasticsearch for a panel, as far as our panels go, and what it then shows."""

import json
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


def request_of(saved: dict[str, Any], filters: list[dict[str, Any]] = []) -> dict[str, Any]:  # noqa: B006
    """The search behind a panel that aggregates; `filters` are those of the controls."""
    state = json.loads(saved["attributes"]["visState"])
    query = kql(source_of(saved)["query"]["query"])
    body: dict[str, Any] = {
        "size": 0,
        "track_total_hits": True,
        "query": {"bool": {"filter": [query, *filters]}},
    }
    counts = {agg["id"] for agg in state["aggs"] if agg["type"] == "count"}
    metrics = {agg["id"]: _agg(agg, counts) for agg in state["aggs"] if agg["schema"] == "metric"}
    metrics = {name: agg for name, agg in metrics.items() if agg}
    inner: dict[str, Any] = dict(metrics)
    for agg in reversed([agg for agg in state["aggs"] if agg["schema"] != "metric"]):
        inner = {agg["id"]: {**_agg(agg, counts), "aggs": {**metrics, **inner}}}
    return body | ({"aggs": inner} if inner else {})


def _agg(agg: dict[str, Any], counts: set[str]) -> dict[str, Any]:
    kind, params = agg["type"], agg["params"]
    if kind == "count":
        return {}
    if kind in ("min", "max", "cardinality"):
        return {kind: {"field": params["field"]}}
    if kind == "histogram":
        return {
            kind: {"field": params["field"], "interval": params["interval"], "min_doc_count": 1}
        }
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
