"""Parts of a word for citation vectors: its token, its lemma, and its n-grams of letters.

Each part has a 64-bit key by which its row in a table of vectors is found.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import mmh3
import numpy as np
from numpy.typing import NDArray

Word = tuple[str, str]
"""A token and its lemma, as analysis spells them."""

TOKEN_WEIGHT = 0.8
LEMMA_WEIGHT = 1.0
GRAMS_WEIGHT = 0.6
"""Weights of the three kinds of parts; vectors must be used with those of their training.

`GRAMS_WEIGHT` is that of all n-grams together, as if their vectors were at right angles.
"""

GRAM_SIZES = (3, 4, 5)

SEARCHED_SIZES = (4, 5)
"""Letters of the n-grams that an index is searched by. Those of 3 are in so many passages that they
take most of the time, and they find nothing more (docs/quality.md)."""

_SEED = 20_1844
# Spellings in which editions differ most. Unassimilated prefixes become assimilated ones.
_DIPHTHONG = re.compile("ae|oe")
_SOFT_T = re.compile("ti(?=[aeiou])")
_PREFIXES = (
    ("in", (("inm", "imm"), ("inp", "imp"), ("inl", "ill"), ("inr", "irr"))),
    ("ad", (("adf", "aff"), ("adp", "app"), ("ads", "ass"))),
    ("con", (("conl", "coll"),)),
    ("exs", (("exs", "ex"),)),
)


def one_spelling(form: str) -> str:
    """Return a form in a spelling in which editions agree, for comparing letters only.

    Example:
        >>> [one_spelling(form) for form in ("caelum", "michi", "gratia", "inmortalis")]
        ['celum', 'mici', 'gracia', 'immortalis']
    """
    form = _DIPHTHONG.sub("e", form).replace("ph", "f").replace("h", "").replace("y", "i")
    form = _SOFT_T.sub("ci", form)
    for start, changes in _PREFIXES:
        if form.startswith(start):
            for before, after in changes:
                if form.startswith(before):
                    form = after + form[len(before) :]
    return form


def grams(form: str, sizes: Sequence[int] = GRAM_SIZES) -> list[str]:
    """Return the distinct n-grams of 3 to 5 letters of a form in one spelling, its ends marked.

    Args:
        form: A token or a lemma.
        sizes: How many letters they have, if others are wanted.

    Example:
        >>> grams("rex")
        ['<re', '<rex', '<rex>', 'ex>', 'rex', 'rex>']
    """
    return sorted(set(all_grams(form, sizes)))


def all_grams(form: str, sizes: Sequence[int] = GRAM_SIZES) -> list[str]:
    """Return the n-grams of a form by size and in order, those that occur twice given twice.

    Example:
        >>> all_grams("rex"), all_grams("rex", SEARCHED_SIZES)
        (['<re', 'rex', 'ex>', '<rex', 'rex>', '<rex>'], ['<rex', 'rex>', '<rex>'])
    """
    padded = marked(form)
    return [
        padded[start : start + size] for size in sizes for start in range(len(padded) - size + 1)
    ]


def marked(form: str) -> str:
    """Return a form in one spelling, with `<` and `>` at its ends.

    Example:
        >>> marked("caelum")
        '<celum>'
    """
    return f"<{one_spelling(form)}>"


def token_key(token: str) -> int:
    """Return the 64-bit key of a token."""
    return _key("t" + token)


def lemma_key(lemma: str) -> int:
    """Return the 64-bit key of a lemma."""
    return _key("l" + lemma)


@lru_cache(maxsize=1 << 15)  # a new word of a passage is asked for by its vector and its spelling
def gram_keys(form: str) -> tuple[int, ...]:
    """Return the 64-bit keys of the n-grams of a form."""
    return tuple([gram_key(gram) for gram in grams(form)])


@lru_cache(maxsize=1 << 16)  # words share most of their n-grams
def gram_key(gram: str) -> int:
    """Return the 64-bit key of an n-gram."""
    return _key("g" + gram)


def _key(text: str) -> int:
    # Tables hold hashes instead of words: they open without reading any text, and contain none of
    # the texts that they were learned from.
    return mmh3.hash64(text, _SEED)[0]


def find_rows(sorted_keys: NDArray[np.int64], wanted: Sequence[int]) -> NDArray[np.int64]:
    """Return the position of each key in `sorted_keys`, -1 if it is missing; shape (len(wanted),).

    Example:
        >>> find_rows(np.array([2, 5, 9]), [9, 3, 2]).tolist()
        [2, -1, 0]
    """
    keys = np.array(wanted, dtype=np.int64)
    if not len(sorted_keys):
        return np.full(len(keys), -1, dtype=np.int64)
    rows = np.searchsorted(sorted_keys, keys)
    rows[rows == len(sorted_keys)] = 0
    return np.where(sorted_keys[rows] == keys, rows, -1)


class WordParts:
    """The rows of a table that make up each of n words, with their weights.

    `v(word) = 0.8 E(token) + E(lemma) + 0.6 / sqrt(m) sum E(gram)`, m the number of its
    n-grams that have a row. Source of the idea: fastText (Bojanowski et al. 2017), with lemmas.

    Args:
        words: The words.
        keys: Keys of the table's rows, ascending, shape (rows,).

    Attributes:
        rows: Rows of all words, word by word, shape (parts,).
        weights: Their weights, shape (parts,), float32.
        offsets: Word i has the parts `offsets[i]:offsets[i + 1]`; shape (n + 1,).

    Example:
        >>> keys = np.array(sorted([token_key("rex"), lemma_key("rex")]))
        >>> parts = WordParts([("rex", "rex"), ("regis", "rex"), ("mare", "mare")], keys)
        >>> parts.offsets.tolist()
        [0, 2, 3, 3]
    """

    def __init__(self, words: Iterable[Word], keys: NDArray[np.int64]) -> None:
        # All words at once in flat arrays: a collection has a hundred thousand distinct words.
        wanted: list[int] = []
        counts: list[int] = []
        for token, lemma in words:
            found = gram_keys(token)
            wanted += (token_key(token), lemma_key(lemma), *found)
            counts.append(2 + len(found))
        rows = find_rows(keys, wanted)
        parts = np.array(counts, dtype=np.int64)
        starts = np.cumsum(parts) - parts
        owners = np.repeat(np.arange(len(counts)), parts)
        known = rows >= 0
        is_gram = np.ones(len(rows), dtype=np.bool_)
        is_gram[starts] = is_gram[starts + 1] = False
        grams_known = np.bincount(owners[known & is_gram], minlength=len(counts))
        shares = GRAMS_WEIGHT / np.sqrt(np.maximum(grams_known, 1))
        weights = shares[owners]
        weights[starts], weights[starts + 1] = TOKEN_WEIGHT, LEMMA_WEIGHT
        self.rows: NDArray[np.int64] = rows[known]
        self.weights: NDArray[np.float32] = weights[known].astype(np.float32)
        self.offsets = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(np.bincount(owners[known], minlength=len(counts)), out=self.offsets[1:])
