"""Training of citation vectors: seeded, epoch by epoch, and resumable.

`train` is the walk: words get rows in a table (`table_keys`, `first_rows`), batches of links are
sampled, and Adam moves the rows against the gradient of the loss (`optimisation`).
"""

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from allusion_es.core.arrays import ArrayFile, CheckedArrays, Singles, save_arrays
from allusion_es.core.errors import IndexDamagedError, UsageError
from allusion_es.core.progress import Progress, silent
from allusion_es.core.records import Count
from allusion_es.language.citations.vectors import CitationTable
from allusion_es.language.citations.word_parts import (
    Word,
    find_rows,
    gram_keys,
    lemma_key,
    token_key,
)
from allusion_es.language.vectors.types import WordVectors
from allusion_es.learning.links import KnownLink, LearningCollection
from allusion_es.learning.optimisation import Adam, Parameters, gradient
from allusion_es.learning.sampling import Sampler, hard_negatives, log_shares
from allusion_es.learning.word_matrices import (
    Lemmas,
    WordNumbering,
    lemma_idf,
    part_matrix,
    root_matrix,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_WARM_UP = 0.1
"""Share of the steps in which the rate rises: Adam's first steps know little of the variance."""

_SLOWLY = 0.25
"""Share of the rate where training goes on from an earlier table, so that little is forgotten."""

_LEAST_STEPS = 60
"""Steps of a training at least: with few links, more epochs are added until there are so many."""


@dataclass(frozen=True, slots=True)
class CitationTraining:
    """The settings of a training of citation vectors.

    Attributes:
        dimension: Length of the vectors.
        epochs: How often all links are gone through.
        batch: Links of a step; the passages of each are negatives of all others.
        temperature: T of the loss.
        rate: Adam's largest rate; it rises over the first tenth of the steps, then falls to 0.
        crop: Share of queries that are a piece of the words before, in and after the link.
        shortest: Fewest words of such a piece.
        longest: Most words of such a piece.
        dropout: Share of a query's words that are left out.
        negatives: Hard negatives that each query adds to its batch.
        popularity: Factor of the logarithm of a passage's share of all links, which is taken off
            its similarities, so that passages which everybody cites do not win by that alone.
        seed: The same links and seed give the same vectors.
    """

    dimension: int = 256
    epochs: int = 5
    batch: int = 512
    temperature: float = 0.09
    rate: float = 0.004
    crop: float = 0.7
    shortest: int = 10
    longest: int = 42
    dropout: float = 0.2
    negatives: int = 2
    popularity: float = 0.3
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse numbers that cannot be used.

        Raises:
            UsageError: The message names the number and what is allowed.
        """
        for name, least, most in (
            ("dimension", 8, 4096),
            ("epochs", 1, 1000),
            ("batch", 2, 1 << 14),
            ("seed", 0, 1 << 63),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise UsageError(f"must be from {least} to {most}, not {value}", argument=name)

    def for_links(self, count: int) -> "CitationTraining":
        """The settings for a number of links: with few, smaller batches and more epochs."""
        batch = min(self.batch, max(2, count // 4))
        steps = max(1, count // batch)
        epochs = max(self.epochs, math.ceil(_LEAST_STEPS / steps))
        return dataclasses.replace(self, batch=batch, epochs=epochs)


def train(
    links: Sequence[KnownLink],
    collection: LearningCollection,
    vectors: WordVectors | None,
    training: CitationTraining = CitationTraining(),
    *,
    start: CitationTable | None = None,
    checkpoint: Path | None = None,
    progress: Progress = silent,
) -> CitationTable:
    """A table of vectors in which texts are near to the passages that they cite.

    Args:
        links: At least two.
        collection: The passages that they cite.
        vectors: Word vectors to start from, or None.
        training: The settings.
        start: A table that was learned before, to go on from; it changes slowly.
        checkpoint: A file to go on from if training is interrupted; deleted at the end.
        progress: Told of the steps.
    """
    trainer = _Trainer(links, collection, vectors, training.for_links(len(links)), start)
    kept = Checkpoint(checkpoint, trainer.fingerprint())
    first = trainer.resume(kept)
    work = trainer.run(first, kept)
    for _ in progress(work, "Learning", trainer.steps - first * trainer.steps_an_epoch):
        pass
    kept.remove()
    return trainer.table()


class _Trainer:
    """The state of a training: words, parameters, and what samples and moves them."""

    def __init__(
        self,
        links: Sequence[KnownLink],
        collection: LearningCollection,
        vectors: WordVectors | None,
        training: CitationTraining,
        start: CitationTable | None,
    ) -> None:
        numbers = WordNumbering()
        self._count = len(links)
        self._training = training
        self._passages = [numbers.encode(text) for text in collection.texts]
        self._texts = [numbers.encode(link.words) for link in links]
        words = numbers.words
        self._lemmas = Lemmas.of(words)
        counts = np.bincount(np.concatenate([*self._passages, *self._texts]), minlength=len(words))
        self._start = start
        self._keys = table_keys(words, counts)
        if start is not None:
            self._keys = np.union1d(self._keys, start.keys)
        rng = np.random.default_rng([training.seed, 0])
        table = first_rows(self._keys, words, vectors, training.dimension, rng)
        roots = root_matrix(self._passages, len(words))
        self._parameters = Parameters(
            table,
            np.zeros(len(self._lemmas.names), dtype=np.float32),
            lemma_idf(roots, self._lemmas),
            part_matrix(words, self._keys),
            self._lemmas.of_words,
        )
        if start is not None:
            restore_rows(start, self._keys, self._lemmas.names, self._parameters)
        self._of_rows = Adam(table)
        self._of_biases = Adam(self._parameters.biases)
        self._sampler = self._make_sampler(links, roots)
        self.steps_an_epoch = max(1, len(links) // training.batch)
        self.steps = training.epochs * self.steps_an_epoch

    def _make_sampler(self, links: Sequence[KnownLink], roots: "csr_array") -> Sampler:
        """The sampler of all links, for which hard negatives are found first."""
        training = self._training
        own = [text[link.start : link.end] for text, link in zip(self._texts, links, strict=True)]
        cited = [link.places for link in links]
        self._negatives = hard_negatives(own, cited, self._passages, self._lemmas)
        return Sampler(
            links,
            self._texts,
            roots,
            self._negatives,
            np.float32(training.popularity) * log_shares(cited, len(self._passages)),
            crop=training.crop,
            lengths=(training.shortest, training.longest),
            dropout=training.dropout,
            count=training.negatives,
        )

    def fingerprint(self) -> dict[str, object]:
        """Settings and a checksum of all input: equal for two trainings with the same result."""
        crc = 0
        for array in (*self._passages, *self._texts, self._keys, self._negatives):
            crc = crc32(np.ascontiguousarray(array).data, crc)
        crc = crc32(self._parameters.table.data, crc)
        return {"training": asdict(self._training), "crc": crc}

    def resume(self, checkpoint: "Checkpoint") -> int:
        """Restore the state from a checkpoint; returns the number of epochs that are done."""
        kept = checkpoint.load()
        if kept is None:
            return 0
        epochs, arrays = kept
        self._parameters.table[:] = arrays["rows"]
        self._parameters.biases[:] = arrays["biases"]
        self._of_rows.mean[:], self._of_rows.square[:] = arrays["rows_mean"], arrays["rows_square"]
        self._of_biases.mean[:] = arrays["biases_mean"]
        self._of_biases.square[:] = arrays["biases_square"]
        return epochs

    def run(self, first: int, checkpoint: "Checkpoint") -> Iterator[float]:
        """Train from epoch `first` on; yields the loss of each step."""
        for epoch in range(first, self._training.epochs):
            # Each epoch has a generator of its own, so that a resumed one draws the same numbers.
            rng = np.random.default_rng([self._training.seed, 1, epoch])
            order = rng.permutation(self._count)
            for step in range(self.steps_an_epoch):
                some = order[step * self._training.batch : (step + 1) * self._training.batch]
                yield self._step(epoch * self.steps_an_epoch + step + 1, some, rng)
            if epoch + 1 < self._training.epochs:
                checkpoint.save(epoch + 1, self._state())

    def table(self) -> CitationTable:
        """The learned table; lemmas that only an earlier table has keep their weights."""
        keys = np.array([lemma_key(name) for name in self._lemmas.names], dtype=np.int64)
        weights = (np.exp(self._parameters.biases) * self._parameters.idf).astype(np.float32)
        if self._start is not None:
            others = ~np.isin(self._start.lemma_keys, keys)
            keys = np.concatenate([keys, self._start.lemma_keys[others]])
            weights = np.concatenate([weights, self._start.lemma_weights[others]])
        order = np.argsort(keys)
        unknown = float(np.log(len(self._passages) + 1.0))
        return CitationTable(
            self._keys, self._parameters.table, keys[order], weights[order], unknown
        )

    def _step(self, number: int, chosen: NDArray[np.int64], rng: np.random.Generator) -> float:
        """Do step `number`, counted from 1 over all epochs; returns the loss before it."""
        batch = self._sampler.batch(chosen, rng)
        found = gradient(batch, self._parameters, self._training.temperature)
        rate = self._training.rate * _share_of_rate(number, self.steps)
        if self._start is not None:
            rate *= _SLOWLY
        self._of_rows.step(found.rows, found.of_rows, rate=rate, number=number)
        self._of_biases.step(found.lemmas, found.of_biases, rate=rate, number=number)
        return found.loss

    def _state(self) -> dict[str, NDArray[np.float32]]:
        """The arrays of a checkpoint, as `resume` reads them: rows, biases, and Adam's moments."""
        return {
            "rows": self._of_rows.rows,
            "rows_mean": self._of_rows.mean,
            "rows_square": self._of_rows.square,
            "biases": self._of_biases.rows,
            "biases_mean": self._of_biases.mean,
            "biases_square": self._of_biases.square,
        }


def _share_of_rate(number: int, steps: int) -> float:
    """The share of the rate at a step: rising over the first tenth, then falling to 0."""
    warm = max(1, int(steps * _WARM_UP))
    return number / warm if number <= warm else (steps - number + 1) / (steps - warm + 1)


# The table before training: its rows, and their values.

LEAST_WORDS = 2
"""Rarer tokens and lemmas get no row: their grams have to do."""

LEAST_TOKENS = 4
"""Grams of fewer different tokens get no row."""

_WORDS, _GRAMS = 0.7, 0.5
"""Length of the known part of a row at the start, for words and for grams.

Words begin near their neighbours in the word vectors; the random rest lets words that are alike
there still move apart.
"""

_SPREAD = 0.056
"""Standard deviation of random numbers: the 156 of a row of 256 beside vectors of 100 numbers
together are as long as the known part of a word."""


def table_keys(words: Sequence[Word], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The keys of the rows that words need, ascending.

    Args:
        words: Distinct words.
        counts: Number of occurrences of each, shape (len(words),).

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
        rng: The source of randomness.
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


def restore_rows(
    start: CitationTable,
    keys: NDArray[np.int64],
    lemmas: Sequence[str],
    parameters: Parameters,
) -> None:
    """Copy rows and lemma weights that were learned before into parameters; others stay.

    Args:
        start: The table that was learned before.
        keys: Keys of the parameters' rows; those of `start` are among them.
        lemmas: Names of the parameters' lemmas.
        parameters: Changed in place.

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
    """Vectors less their mean, of unit length; zeros stay.

    What all word vectors have in common would make all words similar at the start.
    """
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


# Checkpoints: the state of training in a file, in case it is interrupted.


class _Header(Struct):
    """The header of a checkpoint: how many epochs are done, and the names of the arrays."""

    epochs: Count
    names: list[str]


class Checkpoint:
    """A file with the state of one training.

    Args:
        path: The file, or None to keep nothing.
        fingerprint: Plain values that are equal for two trainings with the same result; a file
            with another fingerprint is not gone on from.
    """

    def __init__(self, path: Path | None, fingerprint: Mapping[str, object]) -> None:
        self._path = path
        self._fingerprint = json.loads(json.dumps(fingerprint))

    def load(self) -> tuple[int, dict[str, NDArray[np.float32]]] | None:
        """The number of epochs that are done and the saved arrays; None without a usable file."""
        if self._path is None:
            return None
        try:
            file = ArrayFile(self._path, "delete it")
            if file.meta.get("fingerprint") != self._fingerprint:
                return None
            checked = CheckedArrays(file)
            header = checked.header(_Header)
            return header.epochs, {name: checked.singles(name) for name in header.names}
        except (OSError, IndexDamagedError):
            return None  # training begins anew, and writes another

    def save(self, epochs: int, arrays: Mapping[str, NDArray[np.float32]]) -> None:
        """Save the state after a number of epochs.

        Raises:
            StorageError: The file cannot be written.
        """
        if self._path is not None:
            meta = {"fingerprint": self._fingerprint, "epochs": epochs, "names": list(arrays)}
            save_arrays(self._path, meta, arrays)

    def remove(self) -> None:
        """Delete the file, when training is done."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
