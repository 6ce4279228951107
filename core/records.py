"""Records from outside (files, requests, a server's answers), checked against a declared shape.

A shape is a type that msgspec knows: a `msgspec.Struct`, a dataclass, a `TypedDict`, with bounds in
`Annotated[int, Meta(ge=1, le=100)]`. `checked` gives the record as that type, or raises one line
that names the place, the field, its value, and what it must be. Nothing is converted on the way
but whole numbers to floats and lists to tuples: "1" and 1.0 are no whole numbers, nor is `true`.
"""

import json
import re
import reprlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, inspect

from allusion_es.core.characters import lone_surrogate
from allusion_es.core.errors import InputError

Shape = TypeVar("Shape")

Count = Annotated[int, Meta(ge=0, le=2**53, description="a whole number from 0 on")]
"""A whole number from 0 on; 2**53 is the largest that every reader of JSON keeps exactly."""

FilledText = Annotated[str, Meta(pattern=r"\S", description="a string that is not blank")]
"""A text with at least one sign in it."""

# msgspec ends a message with the path of the value, unless that is the whole record.
_PLACE = re.compile(r"(.*?)(?: - at (?:`key` in )?`(\$[^`]*)`)?", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)

_SHORT = reprlib.Repr()
# Values in messages: enough of them to find the place in the file. `repr` itself would fail for
# lists that are nested deeply.
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 2, 60, 60

_PLURALS: dict[type, str] = {inspect.StrType: "strings", inspect.IntType: "whole numbers"}


def checked(
    record: object,
    shape: type[Shape],
    where: str = "",
    error: Callable[[str], Exception] = InputError,
    *,
    characters: bool = True,
) -> Shape:
    """Return a record as the type `shape`, after a check of every field that the type declares.

    Args:
        record: Any value, as `json.loads` gives it.
        shape: The type. A `Struct` says by `forbid_unknown_fields` whether others are refused.
        where: The record's place, `FILE:LINE`, for the message; "" for none.
        error: Makes the exception that is raised from its message.
        characters: Look for lone surrogates in all texts; False where that has been done.

    Raises:
        Exception: The one that `error` makes: the record is not of the shape, has a text with a
            lone surrogate, or is nested too deeply.

    Example:
        >>> class Link(msgspec.Struct):
        ...     text: FilledText
        ...     relevant: list[str] = []
        >>> checked({"text": "verbum", "relevant": ["Ioh.1.1"]}, Link)
        Link(text='verbum', relevant=['Ioh.1.1'])
        >>> checked({"text": "verbum", "relevant": ["Ioh.1.1", 5]}, Link, "gold.jsonl:7")
        Traceback (most recent call last):
        ...
        allusion_es.core.errors.InputError: gold.jsonl:7: field 'relevant[1]' must be a string, \
not 5
    """
    try:
        # Before the conversion, which cannot look up a name with a lone surrogate.
        for place, half in _lone_surrogates(record, "") if characters else ():
            fault = f"{_field(place)} has half a character ({half}); write the whole one"
            break
        else:
            return msgspec.convert(record, shape)
    except RecursionError:
        fault = "it is nested too deeply"
    except ValueError as refusal:
        fault = _fault(record, shape, str(refusal))
    raise error(f"{where}: {fault}" if where else fault)


def decoded(
    text: str | bytes,
    shape: type[Shape],
    where: str = "",
    error: Callable[[str], Exception] = InputError,
) -> Shape:
    """Return the record of a JSON text, as `checked` does; NaN and infinities are no JSON.

    Example:
        >>> decoded('{"a": NaN}', dict, "m.json")
        Traceback (most recent call last):
        ...
        allusion_es.core.errors.InputError: m.json: JSON is malformed: invalid character (byte 6)
    """
    try:
        record: Any = msgspec.json.decode(text)
    except (ValueError, RecursionError) as refusal:
        raise error(f"{where}: {refusal}" if where else str(refusal)) from refusal
    return checked(record, shape, where, error)


def parse_json(line: str, where: str) -> Any:  # noqa: ANN401 - any JSON
    """The value of a line of JSON.

    Args:
        line: The line.
        where: Its file and number, for the message.

    Raises:
        InputError: It is no JSON.

    Example:
        >>> parse_json('{"text": "vinea mea"}', "links.jsonl:1")
        {'text': 'vinea mea'}
    """
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON ({error}); give one object a line") from error


def checked_id(value: str | int, where: str, field: str = "query_id") -> str:
    """Return an id as a string; a number is one too, since spreadsheets and scripts write them.

    Raises:
        InputError: It is blank, or has control characters, which no table could hold.

    Example:
        >>> checked_id(7, "a.jsonl:3")
        '7'
    """
    name = str(value)
    if not name.strip() or not name.isprintable():
        raise InputError(
            f"{where}: field {field!r} is {name!r:.60}; leave it out, or fill it with printable "
            "characters"
        )
    return name


def _lone_surrogates(value: object, place: str) -> Iterator[tuple[str, str]]:
    """The place of each lone surrogate in a record, with its number."""
    match value:
        case str():
            if half := lone_surrogate(value):
                yield place, half
        case dict():
            for name, each in value.items():
                inner = f"{place}.{name}"
                yield from _lone_surrogates(name, inner)
                yield from _lone_surrogates(each, inner)
        case list() | tuple():
            for number, each in enumerate(value):
                yield from _lone_surrogates(each, f"{place}[{number}]")


def _fault(record: object, shape: Any, message: str) -> str:  # noqa: ANN401 - any type
    """The end of an error line, from msgspec's message about a record."""
    found = _PLACE.fullmatch(message)
    told, path = found.groups() if found else (message, None)
    place = (path or "$")[1:]
    if missing := _MISSING.fullmatch(told):
        return f"{_field(f'{place}.{missing[1]}')} is missing"
    # msgspec writes [...] for the values of a dictionary, and does not say which of them.
    place = place.partition("[...]")[0]
    value, info = _at(record, inspect.type_info(shape), place)
    if unknown := _UNKNOWN.fullmatch(told):
        names = ", ".join(each.encode_name for each in getattr(info, "fields", ()))
        inside = f" in {_field(place)}" if place else ""
        return f"there is no field {unknown[1][:40]!r}{inside}; there are: {names}"
    # Not msgspec's words: they name one bound of two, and types as programs call them.
    return f"{_field(place)} must be {_described(info)}, not {_SHORT.repr(value)}"


def _field(place: str) -> str:
    return f"field {place.removeprefix('.')!r}" if place else "it"


def _at(record: Any, info: Any, place: str) -> tuple[Any, Any]:  # noqa: ANN401 - any JSON
    """The value at a place and its declared type."""
    for name, number in _STEP.findall(place):
        # A name that was made to look like the end of msgspec's message leads nowhere.
        with suppress(LookupError, TypeError):
            record = record[name or int(number)]
        info = _inner(info, name, number)
    return record, info


def _inner(info: Any, name: str, number: str) -> Any:  # noqa: ANN401 - a type of many classes
    """The type of a part of a value of another type; None if it has no such part."""
    match info:
        case inspect.Metadata():
            return _inner(info.type, name, number)
        case inspect.UnionType():
            parts = (_inner(each, name, number) for each in info.types)
            return next(filter(None, parts), None)
        case inspect.StructType() | inspect.DataclassType() | inspect.TypedDictType() if name:
            return next((each.type for each in info.fields if each.encode_name == name), None)
        case inspect.ListType() | inspect.VarTupleType() if number:
            return info.item_type
        case inspect.TupleType() if number:
            return info.item_types[int(number)]
    return None


def _described(info: Any) -> str:  # noqa: ANN401 - a type of many classes
    """The values of a type, in words; a type's own `Meta(description=...)` goes first."""
    match info:
        case inspect.Metadata():
            return (info.extra_json_schema or {}).get("description") or _described(info.type)
        case inspect.UnionType():
            return " or ".join(map(_described, info.types))
        case inspect.BoolType():
            return "true or false"
        case inspect.NoneType():
            return "null"
        case inspect.IntType():
            return "a whole number" + _bounds(info)
        case inspect.FloatType():
            return "a number" + _bounds(info)
        case inspect.StrType():
            longest = info.max_length
            return "a string" + (f" of at most {longest} characters" if longest else "")
        case inspect.LiteralType():
            return f"one of {', '.join(map(str, info.values))}"
        case inspect.ListType() | inspect.VarTupleType():
            parts = _PLURALS.get(type(_bare(info.item_type)), "objects")
            return f"a list of {parts}" + (
                f", at most {info.max_length}" if info.max_length else ""
            )
        case inspect.TupleType():
            return f"a list of {len(info.item_types)}"
        case inspect.DictType():
            return f"an object of {_PLURALS.get(type(_bare(info.value_type)), 'objects')}"
    return "an object"


def _bounds(info: inspect.IntType | inspect.FloatType) -> str:
    least = "" if info.ge is None else f" from {info.ge}"
    above = "" if info.gt is None else f" above {info.gt}"
    most = "" if info.le is None else f" to {info.le}" if least else f", at most {info.le}"
    return least + above + most


def _bare(info: Any) -> Any:  # noqa: ANN401 - a type of many classes
    return _bare(info.type) if isinstance(info, inspect.Metadata) else info
