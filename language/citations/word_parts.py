"""Parts of a word for citation vectors: its token, its lemma, and its n-grams of letters.

Each part has a 64-bit key by which its row in a table of vectors is found.
"""

import re
from collections.abc import Callable, Iterable, Sequence
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
take half of the time, and they find nothing more (docs/quality.md)."""

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


def distinct_gram_keys(forms: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys of the n-grams of many forms, computed for all at once.

    Returns:
        `gram_keys` of one form after the other, and how many each has, shape (len(forms),).

    Example:
        >>> keys, counts = distinct_gram_keys(["rex", "h", "lex"])
        >>> keys.tolist() == [*gram_keys("rex"), *gram_keys("lex")], counts.tolist()
        (True, [6, 0, 6])
    """
    packed, owners = _packed_grams(forms, GRAM_SIZES)
    # A number whose order is that of forms, and then of their n-grams as text.
    ordered = np.sort(owners.astype(np.uint64) << np.uint64(40) | packed)
    distinct = ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)]]
    owners = (distinct >> np.uint64(40)).astype(np.int64)
    used, places = np.unique(distinct & np.uint64((1 << 40) - 1), return_inverse=True)
    keys = _hashed(used)[places]
    counts = np.bincount(owners, minlength=len(forms))
    return _with_others(forms, keys, counts, gram_keys)


def searched_gram_keys(forms: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys of the n-grams by which many forms are found, in no particular order.

    Returns:
        Those of one form after the other, n-grams that occur twice given twice, and how many each
        has, shape (len(forms),).

    Example:
        >>> keys, counts = searched_gram_keys(["papapa", "h"])
        >>> len(keys), len(set(keys.tolist())), counts.tolist()
        (9, 8, [9, 0])
    """
    packed, owners = _packed_grams(forms, SEARCHED_SIZES)
    order = np.argsort(owners, kind="stable")
    used, places = np.unique(packed[order], return_inverse=True)
    counts = np.bincount(owners, minlength=len(forms))
    return _with_others(
        forms,
        _hashed(used)[places],
        counts,
        lambda form: map(gram_key, all_grams(form, SEARCHED_SIZES)),
    )


def _is_plain(form: str) -> bool:
    """Whether a form's letters have one byte each, as nearly all have."""
    return form.isascii() and "\0" not in form


def _packed_grams(
    forms: Sequence[str], sizes: Sequence[int]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """All n-grams of some sizes of the plain ones of some forms as numbers, and the form of each.

    A number's order is that of the n-gram as text: its bytes, the first one highest, and zeros.
    """
    texts = [marked(form).encode() if _is_plain(form) else b"" for form in forms]
    letters = np.frombuffer(b"".join(texts) + bytes(GRAM_SIZES[-1]), dtype=np.uint8)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    ends = np.repeat(np.cumsum(lengths), lengths)
    owner = np.repeat(np.arange(len(texts)), lengths)
    total = len(ends)
    packed = np.zeros(total, dtype=np.uint64)
    found, owners = [], []
    for size in range(1, GRAM_SIZES[-1] + 1):
        letter = letters[size - 1 : size - 1 + total].astype(np.uint64)
        packed = packed | letter << np.uint64(8 * (GRAM_SIZES[-1] - size))
        if size in sizes:
            inside = np.flatnonzero(np.arange(total) + size <= ends)
            found.append(packed[inside])
            owners.append(owner[inside])
    return np.concatenate(found), np.concatenate(owners)


def _with_others(
    forms: Sequence[str],
    keys: NDArray[np.int64],
    counts: NDArray[np.int64],
    keys_of: Callable[[str], Iterable[int]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Keys and counts, with those of the forms that are not plain in their places."""
    others = [number for number, form in enumerate(forms) if not _is_plain(form)]
    if not others:
        return keys, counts
    ends = np.cumsum(counts)
    parts, start = [], 0
    for number in others:
        own = np.array(list(keys_of(forms[number])), dtype=np.int64)
        end = int(ends[number])  # those that are not plain have none so far
        parts += [keys[start:end], own]
        counts[number], start = len(own), end
    return np.concatenate([*parts, keys[start:]]), counts


def _hashed(packed: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The keys of n-grams that are packed in numbers: `gram_key` for all at once.

    MurmurHash3 (Appleby 2011, x64, 128 bits, the first half) of texts below 8 bytes.
    """
    one, two = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
    block = np.full(len(packed), ord("g"), dtype=np.uint64)
    length = np.ones(len(packed), dtype=np.uint64)
    for place in range(GRAM_SIZES[-1]):
        letter = packed >> np.uint64(8 * (GRAM_SIZES[-1] - 1 - place)) & np.uint64(255)
        block |= letter << np.uint64(8 * (place + 1))
        length += letter > 0
    block *= one
    block = block << np.uint64(31) | block >> np.uint64(33)
    block *= two
    seed = np.uint64(_SEED)
    first = (seed ^ block) ^ length
    second = seed ^ length
    first = first + second
    second = second + first
    return (_mixed(first) + _mixed(second)).view(np.int64)


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """MurmurHash3's last step for half of its state."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        state = (state ^ state >> np.uint64(33)) * np.uint64(factor)
    return state ^ state >> np.uint64(33)


def _key(text: str) -> int:
    # Tables hold hashes instead of words: they open without reading any text, and contain none of
    # the texts that they were learned from.
    return mmh3.hash64(text, _SEED)[0]


def find_rows(
    sorted_keys: NDArray[np.int64], wanted: Sequence[int] | NDArray[np.int64]
) -> NDArray[np.int64]:
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
        pairs = list(words)
        tokens = list(dict.fromkeys(token for token, _ in pairs))
        numbers = {token: number for number, token in enumerate(tokens)}
        grams_of, sizes = distinct_gram_keys(tokens)
        token_of = np.array([numbers[token] for token, _ in pairs], dtype=np.int64)
        counts = 2 + sizes[token_of]
        starts = np.cumsum(counts) - counts
        owners = np.repeat(np.arange(len(pairs)), counts)
        is_gram = np.ones(len(owners), dtype=np.bool_)
        is_gram[starts] = is_gram[starts + 1] = False
        # N-grams are looked up once for all words that share them.
        used, places = np.unique(grams_of, return_inverse=True)
        gram_rows = find_rows(keys, used)[places]
        firsts = np.cumsum(sizes) - sizes
        at = np.repeat(firsts[token_of] - starts - 2, counts) + np.arange(len(owners))
        rows = np.empty(len(owners), dtype=np.int64)
        rows[is_gram] = gram_rows[at[is_gram]]
        rows[starts] = find_rows(keys, list(map(token_key, tokens)))[token_of]
        rows[starts + 1] = find_rows(keys, [lemma_key(lemma) for _, lemma in pairs])
        known = rows >= 0
        grams_known = np.bincount(owners[known & is_gram], minlength=len(counts))
        shares = GRAMS_WEIGHT / np.sqrt(np.maximum(grams_known, 1))
        weights = shares[owners]
        weights[starts], weights[starts + 1] = TOKEN_WEIGHT, LEMMA_WEIGHT
        self.rows: NDArray[np.int64] = rows[known]
        self.weights: NDArray[np.float32] = weights[known].astype(np.float32)
        self.offsets = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(np.bincount(owners[known], minlength=len(counts)), out=self.offsets[1:])
