"""The Latin WordNet as its makers publish it: rows of an SQL dump, read as text."""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from allusion_es.core.arrays import Array
from allusion_es.core.errors import InputError
from allusion_es.language.normalise import fold

_ROW = re.compile(r"INSERT INTO (\w+) VALUES \((.*)\);")
_VALUE = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"]|"")*)"|(NULL)|(-?\d+)""")
_COLUMNS = {"latin_lemma": 4, "common_relation": 4}
_LONGEST_LINE = 1 << 16
_HYPERNYM, _SIMILAR = "@", "&"


def read_rows(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The rows of the tables that matter, each with its table's name; nothing is executed.

    Rows stand one a line, as `INSERT INTO table VALUES (…);`. NULL is read as "".

    Raises:
        InputError: The file cannot be read, or a row has another form; the message says where.
    """
    try:
        with path.open(encoding="utf-8") as file:
            number = 0
            while line := file.readline(_LONGEST_LINE):
                number += 1
                if line.startswith("INSERT"):
                    table, values = _row(line.rstrip(), f"{path}:{number}")
                    if table in _COLUMNS:
                        yield table, values
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read ({error}); delete it and fetch it again"
        ) from error


def _row(line: str, where: str) -> tuple[str, tuple[str, ...]]:
    row = _ROW.fullmatch(line)
    values: list[str] = []
    if row:
        place, text = 0, row[2] + ","
        while place < len(text):
            value = _VALUE.match(text, place)
            if value is None or text[value.end()] != ",":
                break
            values.append(_unquoted(value))
            place = value.end() + 1
        if place == len(text) and len(values) == _COLUMNS.get(row[1], len(values)):
            return row[1], tuple(values)
    raise InputError(f"{where}: not a row of the Latin WordNet; delete the file and fetch it again")


def _unquoted(value: re.Match[str]) -> str:
    single, double, _, digits = value.groups()
    if single is not None:
        return single.replace("''", "'")
    return double.replace('""', '"') if double is not None else digits or ""


@dataclass(slots=True)
class Synsets:
    """What the dump says, by names.

    Attributes:
        senses: For each lemma (folded) its synsets.
        above: For each synset those one step above it: its hypernyms, and for adjectives,
            which have none, those that it is similar to.
    """

    senses: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    above: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def read_synsets(path: Path) -> Synsets:
    """Lemmas and synsets of the dump.

    Raises:
        InputError: The file is not such a dump.
    """
    synsets = Synsets()
    for table, values in read_rows(path):
        if table == "latin_lemma":
            if lemma := fold(values[2]):
                synsets.senses[lemma].add(values[0])
        elif values[0] in (_HYPERNYM, _SIMILAR):
            synsets.above[values[1]].add(values[2])
    if not synsets.senses:
        raise InputError(f"{path}: there is no lemma in it; delete the file and fetch it again")
    return synsets


def compact(synsets: Synsets) -> tuple[list[str], dict[str, Array]]:
    """The lemmas in alphabetical order, and the arrays that `LatinWordNet` works on.

    Returns:
        The lemmas, and four arrays: the synonyms of lemma i are
        `synonyms[synonym_ends[i]:synonym_ends[i + 1]]`, positions of lemmas; the synsets above
        it are `above[above_ends[i]:above_ends[i + 1]]`, in `steps` as many steps.
    """
    lemmas = sorted(synsets.senses)
    numbers = {lemma: number for number, lemma in enumerate(lemmas)}
    members: dict[str, list[int]] = defaultdict(list)
    for lemma in lemmas:
        for synset in synsets.senses[lemma]:
            members[synset].append(numbers[lemma])
    codes: dict[str, int] = {}
    synonyms: list[list[int]] = []
    climbs: list[list[tuple[int, int]]] = []
    for lemma in lemmas:
        senses = sorted(synsets.senses[lemma])
        synonyms.append(sorted({number for sense in senses for number in members[sense]}))
        steps = _steps(senses, synsets.above)
        climbs.append(sorted((codes.setdefault(s, len(codes)), n) for s, n in steps.items()))
    reached = np.array([pair for climb in climbs for pair in climb], dtype=np.int32)
    return lemmas, {
        "synonyms": np.array([n for row in synonyms for n in row], dtype=np.int32),
        "synonym_ends": _ends(len(row) for row in synonyms),
        "above": reached[:, 0],
        "steps": reached[:, 1],
        "above_ends": _ends(len(climb) for climb in climbs),
    }


def _steps(senses: Iterable[str], above: Mapping[str, set[str]]) -> dict[str, int]:
    """The synsets above any of the senses, with the fewest steps there.

    One step leads from an adjective to those like it, and no further: what they are like has
    less and less to do with it.
    """
    steps = dict.fromkeys(senses, 0)
    waiting = deque(steps)
    while waiting:
        synset = waiting.popleft()
        if steps[synset] and synset.startswith("a#"):
            continue
        for upper in sorted(above.get(synset, ())):
            if upper not in steps:
                steps[upper] = steps[synset] + 1
                waiting.append(upper)
    return steps


def _ends(lengths: Iterable[int]) -> Array:
    return np.concatenate(([0], np.cumsum(list(lengths), dtype=np.int64))).astype(np.int64)
