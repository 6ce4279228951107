"""Records from outside: read as their declared shape, or refused in one line that says where."""

import json
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from allusion_es.core.errors import InputError
from allusion_es.core.records import Count, FilledText, checked, decoded


@dataclass(frozen=True, slots=True)
class Place:
    start: int | None = None
    end: int | None = None


class Node(TypedDict):
    version: str


class Record(Struct, forbid_unknown_fields=True):
    text: FilledText
    top: Annotated[int, Meta(ge=1, le=100)] = 10
    score: Annotated[float, Meta(gt=0, le=1)] = 1.0
    kind: Literal["ot", "nt"] = "ot"
    name: str | int = ""
    flag: bool = False
    count: Count = 0
    ids: str | tuple[FilledText, ...] = ()
    short: Annotated[str, Meta(max_length=3)] = ""
    few: Annotated[list[Place], Meta(max_length=2)] = []
    pair: tuple[float, str] = (0.0, "")
    place: Place = Place()
    nodes: dict[str, Node] = {}
    more: dict[str, Any] = {}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*Record.__struct_fields__, "start", "version"])
            | st.text(st.characters(codec=None), max_size=5),
            inner,
        )
    ),
    max_leaves=8,
)


def test_a_sound_record_is_the_declared_type() -> None:
    found = checked({"text": "a", "score": 1, "ids": ["b"], "place": {"start": 2}}, Record)
    assert found == Record("a", ids=("b",), place=Place(2))
    assert type(found.score) is float


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ([], "it must be an object, not []"),
        ({}, "field 'text' is missing"),
        ({"text": " "}, "field 'text' must be a string that is not blank, not ' '"),
        ({"text": None}, "field 'text' must be a string that is not blank, not None"),
        ({"text": "a", "top": 0}, "field 'top' must be a whole number from 1 to 100, not 0"),
        ({"text": "a", "top": True}, "field 'top' must be a whole number from 1 to 100, not True"),
        ({"text": "a", "top": 1.0}, "field 'top' must be a whole number from 1 to 100, not 1.0"),
        ({"text": "a", "top": "1"}, "field 'top' must be a whole number from 1 to 100, not '1'"),
        ({"text": "a", "score": float("nan")},
         "field 'score' must be a number above 0, at most 1, not nan"),
        ({"text": "a", "kind": "x"}, "field 'kind' must be one of nt, ot, not 'x'"),
        ({"text": "a", "name": 0.5}, "field 'name' must be a string or a whole number, not 0.5"),
        ({"text": "a", "flag": 1}, "field 'flag' must be true or false, not 1"),
        ({"text": "a", "count": -1},
         "field 'count' must be a whole number from 0 on, not -1"),
        ({"text": "a", "ids": ["b", 5]},
         "field 'ids[1]' must be a string that is not blank, not 5"),
        ({"text": "a", "short": "abcd"},
         "field 'short' must be a string of at most 3 characters, not 'abcd'"),
        ({"text": "a", "few": [{}, {}, {}]},
         "field 'few' must be a list of objects, at most 2, not [{}, {}, {}]"),
        ({"text": "a", "few": [{}, {"end": "x"}]},
         "field 'few[1].end' must be a whole number or null, not 'x'"),
        ({"text": "a", "pair": [1]}, "field 'pair' must be a list of 2, not [1]"),
        ({"text": "a", "pair": [1, 2]}, "field 'pair[1]' must be a string, not 2"),
        ({"text": "a", "place": {"start": [5]}},
         "field 'place.start' must be a whole number or null, not [5]"),
        ({"text": "a", "nodes": {"x": {"version": 8}}},
         "field 'nodes' must be an object of objects, not {'x': {'version': 8}}"),
        ({"text": "a", "nodes": {"x": {}}}, "field 'nodes[...].version' is missing"),
        ({"text": "a", "colour": 1},
         f"there is no field 'colour'; there are: {', '.join(Record.__struct_fields__)}"),
        ({"text": "a\ud800"}, "field 'text' has half a character (U+D800); write the whole one"),
        ({"text": "a", "more": {"b": [0, {"\udfff": 1}]}},
         "field 'more.b[1].\\udfff' has half a character (U+DFFF); write the whole one"),
    ],
)  # fmt: skip
def test_the_line_names_field_value_and_what_it_must_be(record: object, told: str) -> None:
    with pytest.raises(InputError) as caught:
        checked(record, Record, "a.jsonl:3")
    assert str(caught.value) == f"a.jsonl:3: {told}"
    with pytest.raises(ValueError, match=r".") as other:
        checked(record, Record, error=ValueError)
    assert str(other.value).startswith(told[:30])


def test_long_values_are_shortened_and_their_signs_escaped() -> None:
    with pytest.raises(InputError) as caught:
        checked({"text": "a", "short": "\x1b[31m\n" + "a" * 10_000}, Record, "a.jsonl:3")
    assert len(str(caught.value)) < 200
    assert str(caught.value).isprintable()


def test_depth_has_a_bound() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match="it is nested too deeply"):
        checked({"text": "a", "more": {"a": deep}}, Record)
    with pytest.raises(InputError, match=r"m\.json: maximum recursion depth"):
        decoded("[" * 100_000, list, "m.json")


@pytest.mark.parametrize(
    "text",
    ["", "{", "NaN", "Infinity", "1e999", '"\\ud800"', '"\ud800"', b"\xff", b'"\xff"', "[1] 2"],
)
def test_what_is_no_json(text: str | bytes) -> None:
    with pytest.raises(InputError, match=r"^m\.json: ."):
        decoded(text, dict, "m.json")


@given(JSON)
def test_any_json_is_read_or_refused(value: object) -> None:
    for record in (value, {"text": "a", "more": {"": value}}, {"text": value, "nodes": value}):
        try:
            found = checked(record, Record, "a.jsonl:3")
        except InputError as error:
            line = str(error)
        else:
            json.dumps(found.more, ensure_ascii=False).encode()
            line = f"a.jsonl:3: {found.text.strip()!a}"
        assert re.fullmatch(r"a\.jsonl:3: .{1,1000}", line)
        assert line.isprintable()


@given(st.sampled_from(Record.__struct_fields__), JSON)
def test_any_value_of_a_field_is_read_or_refused(name: str, value: object) -> None:
    try:
        checked({"text": "a", name: value}, Record)
    except InputError as error:
        assert name in str(error) or "half" in str(error)  # noqa: PT017 - either is right


@given(st.text(st.characters(codec=None)) | st.binary())
def test_any_text_is_decoded_or_refused(text: str | bytes) -> None:
    try:
        decoded(text, dict, "m.json")
    except InputError as error:
        assert str(error).startswith("m.json: ")  # noqa: PT017 - either is right
