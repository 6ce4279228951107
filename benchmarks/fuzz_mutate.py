"""Making hostile inputs out of valid ones: bytes, texts, and files of arrays."""

import json
import math
import struct
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from allusion_es.core.arrays import checksum

LARGEST = 1 << 16
"""Most bytes of a hostile input; a mutation that grows beyond is cut."""

WORDS = (
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80", b"\x1b[2J", b"\r",
    b"\n", b"\t", b'"', b"'", b",", b";", b" ", b"{", b"}", b"[", b"]", b":", b"-1", b"0", b"1e999",
    b"nan", b"NaN", b"Infinity", b"-Infinity", b"inf", b"1" * 400, b"9" * 5000, b"2147483648",
    b"18446744073709551616", b"1e-400", b"0x10", b"1_0", "١٢".encode(), "²".encode(), b"null",
    b"true", b"[]", b"{}", b'"\\ud800"', b"\\u0000", "‮".encode(), "\u2028".encode(),
    b"../../../../tmp/x", b"/etc/passwd", b"C:\\x", b"$(id)", b"`id`", b"=cmd|' /C calc'!A0",
    b"__class__", b"[" * 2000, b'{"a":' * 2000, b"(" * 500, "é".encode(), "e\u0301".encode(),
    "ǆ".encode(), "ﬀ".encode(), b"Ps 22,1", b"Ps.22.1", b"Gen 1-50", b"Ps 1,1-999,999",
)  # fmt: skip
"""What breaks readers."""

_NUMBERS = (0, 1, -1, 2, 127, 255, 256, 65535, 65536, 1 << 31, (1 << 31) - 1, 1 << 32, 1 << 62)
_FLOATS = (0.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e308, 1e-308, 3e38, 1e-45)
_TYPES = ("|i1", "|u1", "<u2", "<i4", "<i8", "<f4", "<f8")
_PREFIX = struct.Struct("<8sQI")
_ALIGN = 64

Mutation = Callable[[bytes, Random, tuple[bytes, ...]], bytes]


def mutate_bytes(data: bytes, rng: Random, words: tuple[bytes, ...] = ()) -> bytes:
    """One to four changes: bits, bytes, slices, and words that break readers.

    Args:
        data: A valid input, or one that was changed before.
        rng: Where chance comes from.
        words: Words of the format, which mean something to its reader.
    """
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        _change(changed, rng, words)
    return bytes(changed[:LARGEST])


def _change(data: bytearray, rng: Random, words: tuple[bytes, ...]) -> None:
    place = rng.randrange(len(data) + 1)
    end = min(len(data), place + rng.choice((1, 1, 2, 4, 16, 64, 1 << 20)))
    kind = rng.randrange(9)
    if kind == 0 and data:
        data[place - 1] ^= 1 << rng.randrange(8)
    elif kind == 1 and data:
        data[place - 1] = rng.randrange(256)
    elif kind == 2:
        del data[place:end]
    elif kind == 3:
        data[place:place] = data[place:end]
    elif kind == 4:
        data[place:place] = data[place : place + 64] * rng.choice((2, 10, 200))
    elif kind == 5:
        data[place:end] = rng.randbytes(min(end - place, 64))
    elif kind == 6:
        source = rng.randrange(len(data) + 1)
        data[place:place] = data[source : source + rng.choice((4, 32, 256))]
    else:
        word = rng.choice(words if words and kind == 7 else WORDS)
        data[place : end if rng.random() < 0.5 else place] = word


def mutate_value(value: Any, rng: Random) -> Any:  # noqa: ANN401 - any JSON
    """A JSON value with one of its parts replaced by something that should not be there."""
    if rng.random() < 0.3 or not isinstance(value, dict | list) or not value:
        deep: list[Any] = []
        for _ in range(50):
            deep = [deep]
        return rng.choice(
            (None, True, -1, 0, 1, 1 << 31, 1 << 63, 10**30, 1e308, float("nan"), float("inf"), "",
             "a", "\ud800", "x" * 2000, "../../x", [], {}, [value], {"a": value}, deep, [0] * 500)
        )  # fmt: skip
    if isinstance(value, list):
        changed = list(value)
        place = rng.randrange(len(changed))
        kind = rng.random()
        if kind < 0.2:
            del changed[place]
        elif kind < 0.3:
            changed *= 2
        else:
            changed[place] = mutate_value(changed[place], rng)
        return changed
    names = list(value)
    name = rng.choice(names)
    record = dict(value)
    if rng.random() < 0.2:
        del record[name]
    elif rng.random() < 0.1:
        record[rng.choice(("", "extra", "type", "__class__"))] = record.pop(name)
    else:
        record[name] = mutate_value(record[name], rng)
    return record


def mutate_json_lines(data: bytes, rng: Random, words: tuple[bytes, ...]) -> bytes:
    """Lines of JSON of which one has another value; now and then, other bytes."""
    if rng.random() < 0.4:
        return mutate_bytes(data, rng, words)
    lines = data.decode().splitlines()
    place = rng.randrange(len(lines))
    try:
        lines[place] = json.dumps(mutate_value(json.loads(lines[place]), rng))
    except ValueError:
        lines[place] = "{"
    return ("\n".join(lines) + "\n").encode()


def mutate_arrays(data: bytes, rng: Random, words: tuple[bytes, ...] = ()) -> bytes:
    """A file of arrays in which something is wrong although all checksums are right.

    Args:
        data: A file that `core.arrays.save_arrays` wrote.
        rng: Where chance comes from.
        words: As for `mutate_bytes`.
    """
    if rng.random() < 0.2:
        return mutate_bytes(data, rng, words)
    _, length, _ = _PREFIX.unpack_from(data)
    header = json.loads(data[_PREFIX.size : _PREFIX.size + length])
    start = -(-(_PREFIX.size + length) // _ALIGN) * _ALIGN
    body = bytearray(data[start:])
    for _ in range(rng.choice((1, 1, 2, 3))):
        header = _change_arrays(header, body, rng, words)
    text = json.dumps(header).encode()
    head = _PREFIX.pack(data[:8], len(text), zlib.crc32(text)) + text
    return head + bytes(-len(head) % _ALIGN) + bytes(body)


def _change_arrays(
    header: Any,  # noqa: ANN401 - any JSON, once it was changed
    body: bytearray,
    rng: Random,
    words: tuple[bytes, ...],
) -> Any:  # noqa: ANN401
    arrays = header.get("arrays") if isinstance(header, dict) else None
    kind = rng.random()
    if not isinstance(arrays, dict) or not arrays or kind < 0.2:
        return mutate_value(header, rng)
    entry = arrays[rng.choice(list(arrays))]
    if kind < 0.3 or not _is_sound(entry, len(body)):
        return {**header, "meta": mutate_value(header.get("meta"), rng)}
    if kind < 0.4:
        return {**header, "arrays": mutate_value(arrays, rng)}
    if kind < 0.5:
        entry[rng.choice(("shape", "offset", "type", "crc", "xxh3"))] = rng.choice(
            (*_NUMBERS, "<f4", "<i8", "|O", "object", [], [1 << 40], [0, 1 << 40], [-1], [2, 2])
        )
        return header
    _change_numbers(entry, body, rng, words)
    return header


def _is_sound(entry: Any, size: int) -> bool:  # noqa: ANN401 - any JSON
    if not isinstance(entry, dict) or entry.get("type") not in _TYPES:
        return False
    if not isinstance(entry.get("shape"), list):
        return False
    try:
        count = int(math.prod(entry["shape"]))
        end = entry["offset"] + count * np.dtype(entry["type"]).itemsize
        return count > 0 and 0 <= entry["offset"] < end <= size
    except (KeyError, TypeError, ValueError, OverflowError):
        return False


def _change_numbers(
    entry: dict[str, Any], body: bytearray, rng: Random, words: tuple[bytes, ...]
) -> None:
    """Other numbers in an array, and the checksum that goes with them."""
    kind = np.dtype(entry["type"])
    first, size = entry["offset"], int(np.prod(entry["shape"])) * kind.itemsize
    array = np.frombuffer(bytes(body[first : first + size]), kind).copy()
    for _ in range(rng.choice((1, 1, 3, 20))):
        place = rng.randrange(len(array))
        if kind.kind == "f":
            with np.errstate(over="ignore"):
                array[place] = np.float64(rng.choice(_FLOATS)).astype(kind)
        else:
            value = rng.choice((*_NUMBERS, len(array), int(array[place]) + rng.choice((-1, 1))))
            array[place] = np.int64(value).astype(kind)
    if rng.random() < 0.1:
        rng.shuffle(array)  # type: ignore[arg-type]
    changed = array.tobytes()
    if kind.itemsize == 1 and rng.random() < 0.5:
        changed = (mutate_bytes(changed, rng, words) + bytes(size))[:size]
    body[first : first + size] = changed
    entry.pop("crc", None)
    entry["xxh3"] = checksum([changed])
