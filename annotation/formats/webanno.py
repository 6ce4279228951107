r"""Span annotations from WebAnno TSV 3, the export of WebAnno and INCEpTION.

The file's name without `.tsv` names the annotator, and the folder that holds it the document, as in
an unpacked export (`annotation/sermo-1.txt/anna.tsv`). Spans are read from one layer (`#T_SP=` in
the head): the one that is named, else the only one that the project defined itself, else the only
one. Of its features, `instance` is the instance's id (without it, the document's name without
`.txt`), `doubt` a doubt if it is `true`, `yes`, `1` or `doubt`, and `type`, `kind`, `label` or
`value` the kind of link.

Places count the file's own tokens over the whole document, those without a letter left out. A span
over several tokens has an id (`allusion[1]`) on each of them; stacked spans are separated by `|`.
A span on a part of a token (`1-3.1`) takes in the whole token.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from allusion_es.annotation.spans import SpanAnnotation
from allusion_es.core.errors import InputError
from allusion_es.corpora.tables import read_lines, shortened

HEAD = "#FORMAT=WebAnno TSV 3"
"""The first characters of every such file."""

_BUILT_IN = "de.tudarmstadt.ukp."
"""Prefix of the layers that every project has, such as lemmas and parts of speech."""

# `1-3` is a token, `1-3.1` a part of it.
_ROW = re.compile(r"(\d+-\d+)(?:\.\d+)?")
# Values of stacked spans are separated by a bar that is not escaped.
_BARS = re.compile(r"(?<!\\)\|")
# The id of a span over several tokens, at the end of its value.
_ID = re.compile(r"(?<!\\)\[(\d+)\]$")
_ESCAPED = re.compile(r"\\(->|.)")
_TYPES = ("type", "kind", "label", "value")
_YES = frozenset({"true", "yes", "1", "doubt"})


@dataclass(frozen=True, slots=True)
class _Layer:
    """A span layer: its name, its first column after id, place and token, and its features."""

    name: str
    column: int
    features: tuple[str, ...]


@dataclass(slots=True)
class _OpenSpan:
    """A span as it is put together, token by token."""

    line: int
    values: dict[str, str]
    places: list[int] = field(default_factory=list)


def read_webanno(path: Path, layer: str | None = None) -> Iterator[SpanAnnotation]:
    """Read the annotations of one annotator in one document.

    Args:
        path: The file.
        layer: Name of the layer, or the part after its last dot.

    Raises:
        InputError: The file cannot be read as that; the message says where.
    """
    layers: list[_Layer] = []
    width = 3
    chosen: _Layer | None = None
    spans: dict[str, _OpenSpan] = {}
    token, words = "", 0
    for number, line in enumerate(read_lines(path), 1):
        where, line = f"{path}:{number}", line.rstrip("\r\n")
        if line.startswith("#T_"):
            width = _add_layer(line, width, layers)
        if not line or line.startswith("#"):
            continue
        chosen = chosen or _choose(layers, layer, path)
        cells = line.split("\t")
        row = _ROW.fullmatch(cells[0])
        if row is None or len(cells) < width:
            raise InputError(
                f"{where}: {shortened(line)} is no token with {width} columns, which the layers in "
                "the file's head ask for; export the file again"
            )
        is_word = any(character.isalpha() for character in cells[2])
        if row[1] != token and "." not in cells[0]:
            token, words = row[1], words + is_word
        for key, values in _token_spans(cells, chosen, number):
            span = spans.setdefault(key, _OpenSpan(number, values))
            if is_word and span.places[-1:] != [words - 1]:
                span.places.append(words - 1)
    for span in spans.values():
        yield _annotation(span, path, words)


def _add_layer(line: str, width: int, layers: list[_Layer]) -> int:
    """Add the layer that a line of the head declares; returns the number of columns so far."""
    kind, _, rest = line.partition("=")
    name, *features = rest.split("|")
    # A layer without features has a column, too.
    columns = tuple(f.strip().casefold() for f in features if f.strip()) or ("",)
    if kind == "#T_SP":
        layers.append(_Layer(name.strip(), width, columns))
    return width + len(columns)


def _choose(layers: list[_Layer], wanted: str | None, path: Path) -> _Layer:
    if wanted is not None:
        found = [layer for layer in layers if wanted in (layer.name, layer.name.split(".")[-1])]
    else:
        own = [layer for layer in layers if not layer.name.startswith(_BUILT_IN)]
        found = own or layers
    if len(found) != 1:
        names = ", ".join(shortened(layer.name) for layer in layers) or "none"
        asked = f"there is no span layer {wanted!r}" if wanted else "it is not clear which layer"
        raise InputError(f"{path}: {asked} holds the spans; found {names}; name one with --layer")
    return found[0]


def _token_spans(
    cells: list[str], layer: _Layer, number: int
) -> Iterator[tuple[str, dict[str, str]]]:
    """A key and the features of each span on a token; the tokens of one span share the key."""
    columns = cells[layer.column : layer.column + len(layer.features)]
    if all(cell in ("_", "") for cell in columns):
        return
    stacked = [_BARS.split(cell) for cell in columns]
    for place, first in enumerate(stacked[0]):
        values = {
            name: _plain(column[place]) if place < len(column) else ""
            for name, column in zip(layer.features, stacked, strict=True)
        }
        identifier = _ID.search(first)
        yield (identifier[1] if identifier else f"line {number}, {place}"), values


def _plain(cell: str) -> str:
    """A value without its id and escapes; "" where the feature is not set."""
    value = _ID.sub("", cell)
    return "" if value in ("*", "_") else _ESCAPED.sub(r"\1", value)


def _annotation(span: _OpenSpan, path: Path, words: int) -> SpanAnnotation:
    where = f"{path}:{span.line}"
    if not span.places:
        raise InputError(f"{where}: the span holds no word; mark one")
    first, last = min(span.places), max(span.places) + 1
    if last - first != len(span.places):
        raise InputError(f"{where}: the span has a gap; mark one stretch of words")
    document = path.absolute().parent.name.removesuffix(".txt")
    return SpanAnnotation(
        span.values.get("instance") or document,
        path.stem,
        first,
        last,
        doubt=span.values.get("doubt", "").casefold() in _YES,
        type=next((span.values[name] for name in _TYPES if span.values.get(name)), ""),
        line=span.line,
        tokens=words,
    )
