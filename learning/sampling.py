"""What one step of training looks at: pieces of citing texts, cited passages, and others."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Integers, Singles
from allusion_es.core.errors import UsageError
from allusion_es.language.citations.vectors import CitationTable
from allusion_es.language.citations.word_parts import (
    Word,
    find_rows,
    gram_keys,
    lemma_key,
    token_key,
)
from allusion_es.language.vectors.types import WordVectors
from allusion_es.learning.contrast import Batch, Parameters
from allusion_es.learning.links import KnownLink
from allusion_es.learning.texts import NEAR, Codes, root_matrix

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Where training starts: which rows the table has, and what is in them.


LEAST_WORDS = 2
"""Rarer tokens and lemmas get no row: their grams have to do."""

LEAST_TOKENS = 4
"""Grams of fewer different tokens get no row."""

_WORDS, _GRAMS = 0.7, 0.5
"""How long the known part of a row is at the start."""

_SPREAD = 0.056
"""Of each random number: 156 of them together are as long as the known part."""


def table_keys(words: Sequence[Word], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The keys of the rows that words need, ascending.

    Args:
        words: Distinct words.
        counts: How often each occurs, shape (len(words),).

    Example:
        >>> len(table_keys([("rex", "rex"), ("regis", "rex")], np.array([1, 1])))
        1
    """
    found: Counter[int] = Counter()
    for (token, lemma), count in zip(words, counts.tolist(), strict=True):
        found[token_key(token)] += count
        found[lemma_key(lemma)] += count
    frequent = [key for key, count in found.items() if count >= LEAST_WORDS]
    of_grams = Counter(key for token in {token for token, _ in words} for key in gram_keys(token))
    shared = [key for key, count in of_grams.items() if count >= LEAST_TOKENS]
    return np.unique(np.array(frequent + shared, dtype=np.int64))


def first_rows(
    keys: NDArray[np.int64],
    words: Sequence[Word],
    vectors: WordVectors | None,
    dimension: int,
    rng: np.random.Generator,
) -> Singles:
    """The table before training, shape (len(keys), dimension).

    Tokens and lemmas begin with their known vectors, centred and of one length, grams with the
    mean of those of the tokens that have them; all else is random, so that different words start
    nearly at right angles.

    Args:
        keys: As from `table_keys`.
        words: The words they were made from.
        vectors: Known word vectors, or None.
        dimension: Length of the rows.
        rng: Where chance comes from.
    """
    rows = rng.standard_normal((len(keys), dimension), dtype=np.float32) * np.float32(_SPREAD)
    if vectors is None:
        return rows
    forms = {token_key(token): token for token, _ in words}
    forms |= {lemma_key(lemma): lemma for _, lemma in words}
    places = find_rows(keys, list(forms))
    known = _centred(vectors.vectors(list(forms.values())))
    width = min(known.shape[1], dimension)
    has_both = (places >= 0) & known.any(axis=1)
    rows[places[has_both], :width] = np.float32(_WORDS) * known[has_both, :width]
    tokens = sorted({token for token, _ in words})
    of_tokens = dict(zip(forms, range(len(forms)), strict=True))
    chosen = known[[of_tokens[token_key(token)] for token in tokens]]
    places, means = _gram_means(keys, tokens, chosen)
    rows[places, :width] = np.float32(_GRAMS) * means[:, :width]
    return rows


def go_on(
    start: CitationTable,
    keys: NDArray[np.int64],
    lemmas: Sequence[str],
    parameters: Parameters,
) -> None:
    """Put what was learned before into parameters, in place; new rows stay as they are.

    Args:
        start: What was learned before.
        keys: Keys of the parameters' rows; those of `start` are among them.
        lemmas: Names of the parameters' lemmas.
        parameters: What is to be learned.

    Raises:
        UsageError: The vectors are of another length.
    """
    if start.rows.shape[1] != parameters.table.shape[1]:
        raise UsageError(
            f"vectors of {start.rows.shape[1]} numbers cannot be gone on from with "
            f"{parameters.table.shape[1]}; choose the same dimension"
        )
    parameters.table[np.searchsorted(keys, start.keys)] = start.rows
    places = find_rows(start.lemma_keys, [lemma_key(name) for name in lemmas])
    known = (places >= 0) & (parameters.idf > 0)
    weights = start.lemma_weights[places[known]]
    ratios = np.maximum(weights, np.float32(1e-6)) / parameters.idf[known]
    parameters.biases[known] = np.log(ratios)


def _centred(known: Singles) -> Singles:
    """Vectors without what all have in common, of unit length; zeros stay."""
    has_one = known.any(axis=1)
    if has_one.any():
        known[has_one] -= known[has_one].mean(axis=0)
    lengths = np.linalg.norm(known, axis=1, keepdims=True)
    centred: Singles = np.divide(known, lengths, out=np.zeros_like(known), where=lengths > 1e-6)
    return centred


def _gram_means(
    keys: NDArray[np.int64], tokens: Sequence[str], known: Singles
) -> tuple[NDArray[np.int64], Singles]:
    """Rows of grams, and the mean of the vectors of the tokens that have each, unit length."""
    from scipy.sparse import csr_array

    grams = [gram_keys(token) for token in tokens]
    owners = np.repeat(np.arange(len(tokens)), [len(found) for found in grams])
    rows = find_rows(keys, [key for found in grams for key in found])
    places, codes = np.unique(rows[rows >= 0], return_inverse=True)
    ones = np.ones(len(codes), dtype=np.float32)
    shape = (len(places), len(tokens))
    means = csr_array((ones, (codes, owners[rows >= 0])), shape=shape) @ known
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    has_one = lengths[:, 0] > 1e-6
    return places[has_one], means[has_one] / lengths[has_one]


class Sampler:
    """Makes batches of links.

    Args:
        links: All links.
        texts: Words of each with those before and after, as numbers.
        words: How many different words there are.
        passages: Root counts of the collection's passages, shape (passages, words).
        negatives: What `hard_negatives` found for each link.
        popularity: Taken from the similarities with each passage, shape (passages,).
        crop: Share of queries that are a piece of the words before, in and after the link.
        lengths: Fewest and most words of such a piece.
        dropout: Share of a query's words that are left out.
        count: How many negatives each link brings along.
    """

    def __init__(
        self,
        links: Sequence[KnownLink],
        texts: Sequence[Codes],
        words: int,
        passages: "csr_array",
        negatives: NDArray[np.int32],
        popularity: Singles,
        *,
        crop: float,
        lengths: tuple[int, int],
        dropout: float,
        count: int,
    ) -> None:
        self._links = links
        self._texts = texts
        self._words = words
        self._passages = passages
        self._negatives = negatives
        self._popularity = popularity
        self._crop = crop
        self._lengths = lengths
        self._dropout = dropout
        self._count = count

    def batch(self, chosen: Integers, rng: np.random.Generator) -> Batch:
        """What to compare for some links.

        Args:
            chosen: Which links.
            rng: Where chance comes from.
        """
        queries = root_matrix([self._piece(link, rng) for link in chosen.tolist()], self._words)
        cited = np.array([self._one_of(link, rng) for link in chosen.tolist()])
        others = [self._some_negatives(link, rng) for link in chosen.tolist()]
        passages, places = np.unique(np.concatenate([cited, *others]), return_inverse=True)
        targets = places[: len(cited)]
        return Batch(
            queries,
            self._passages[passages],
            targets,
            self._ignored(chosen, passages, targets),
            self._popularity[passages],
        )

    def _piece(self, number: int, rng: np.random.Generator) -> Codes:
        """The words of a link, or others near them."""
        link, text = self._links[number], self._texts[number]
        if rng.random() < self._crop:
            length = int(rng.integers(self._lengths[0], self._lengths[1] + 1))
            start = int(rng.integers(0, max(len(text) - length, 0) + 1))
            text = text[start : start + length]
        else:
            text = text[link.start : link.end]
        return text[rng.random(len(text)) >= self._dropout]

    def _one_of(self, number: int, rng: np.random.Generator) -> int:
        places = self._links[number].places
        return places[int(rng.integers(len(places)))]

    def _some_negatives(self, number: int, rng: np.random.Generator) -> Integers:
        there = self._negatives[number]
        there = there[there >= 0]
        return rng.choice(there, min(self._count, len(there)), replace=False).astype(np.int64)

    def _ignored(
        self, chosen: Integers, passages: Integers, targets: Integers
    ) -> NDArray[np.bool_]:
        """What a query cites besides its target, and what lies near, is not held against it."""
        ignored = np.zeros((len(chosen), len(passages)), dtype=np.bool_)
        for row, number in enumerate(chosen.tolist()):
            for place in self._links[number].places:
                first, last = np.searchsorted(passages, [place - NEAR, place + NEAR + 1])
                ignored[row, first:last] = True
        ignored[np.arange(len(chosen)), targets] = False
        return ignored


def log_shares(cited: Sequence[Sequence[int]], passages: int) -> NDArray[np.float32]:
    """Logarithm of each passage's share of all citations, half a citation added to each.

    Args:
        cited: What each link cites; several passages share one citation.
        passages: How many passages there are.

    Example:
        >>> [round(share, 3) for share in log_shares([(0,), (0, 1)], 2).tolist()]
        [-0.405, -1.099]
    """
    counts = np.full(passages, 0.5)
    for places in cited:
        counts[list(places)] += 1 / len(places)
    return np.asarray(np.log(counts / counts.sum()), dtype=np.float32)
