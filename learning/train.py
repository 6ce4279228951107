"""Training citation vectors: seeded, one epoch after the other, and resumable."""

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import ArrayFile, CheckedArrays, save_arrays
from allusion_es.core.errors import IndexDamagedError
from allusion_es.core.plugins import check_range
from allusion_es.core.progress import Progress, silent
from allusion_es.language.citations.vectors import CitationTable
from allusion_es.language.citations.word_parts import lemma_key
from allusion_es.language.vectors.types import WordVectors
from allusion_es.learning.contrast import Adam, Parameters, gradient
from allusion_es.learning.links import KnownLink, LearningCollection
from allusion_es.learning.sampling import Sampler, first_rows, go_on, log_shares, table_keys
from allusion_es.learning.texts import (
    Lemmas,
    WordNumbering,
    hard_negatives,
    lemma_idf,
    part_matrix,
    root_matrix,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# What training has learned so far, kept in a file in case it is interrupted.


def _told(meta: Mapping[str, Any]) -> tuple[int, list[str]]:
    """How many epochs are done, and the names of the arrays, as a header has them."""
    epochs, names = meta["epochs"], list(meta["names"])
    if type(epochs) is not int or epochs < 0 or not all(isinstance(each, str) for each in names):
        raise TypeError("epochs or names")
    return epochs, names


class Checkpoint:
    """A file with the state of one training.

    Args:
        path: The file, or None to keep nothing.
        fingerprint: What two trainings have in common that give the same result; a file of
            another training is not gone on from.
    """

    def __init__(self, path: Path | None, fingerprint: Mapping[str, object]) -> None:
        self._path = path
        self._fingerprint = json.loads(json.dumps(fingerprint))

    def load(self) -> tuple[int, dict[str, NDArray[np.float32]]] | None:
        """How many epochs are done and the arrays that were saved; None where there is nothing."""
        if self._path is None:
            return None
        try:
            file = ArrayFile(self._path, "delete it")
            if file.meta.get("fingerprint") != self._fingerprint:
                return None
            checked = CheckedArrays(file)
            epochs, names = checked.read_header(_told)
            return epochs, {name: checked.singles(name) for name in names}
        except (OSError, IndexDamagedError):
            return None  # training begins anew, and writes another

    def save(self, epochs: int, arrays: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep the state after so many epochs.

        Raises:
            StorageError: The file cannot be written.
        """
        if self._path is not None:
            meta = {"fingerprint": self._fingerprint, "epochs": epochs, "names": list(arrays)}
            save_arrays(self._path, meta, arrays)

    def remove(self) -> None:
        """Training is done: delete the file."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


_WARM_UP = 0.1
_SLOWLY = 0.25
"""Share of the rate where training goes on from what was learned before."""

_LEAST_STEPS = 60
"""Few links are gone through more often, so that there are so many steps."""


@dataclass(frozen=True, slots=True)
class CitationTraining:
    """How citation vectors are trained.

    Attributes:
        dimension: Length of the vectors.
        epochs: How often all links are gone through.
        batch: How many links a step looks at; each one's passages count against all others.
        temperature: T of the loss.
        rate: Adam's largest rate; it rises over the first tenth of the steps, then falls to 0.
        crop: Share of queries that are a piece of the words before, in and after the link.
        shortest: Fewest words of such a piece.
        longest: Most words of such a piece.
        dropout: Share of a query's words that are left out.
        negatives: How many passages that share words a query brings along.
        popularity: How much of the logarithm of a passage's share of all links is taken off.
        seed: Same links and seed: same vectors.
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
        check_range("learn", "dimension", self.dimension, 8, 4096)
        check_range("learn", "epochs", self.epochs, 1, 1000)
        check_range("learn", "batch", self.batch, 2, 1 << 14)
        check_range("learn", "seed", self.seed, 0)

    def for_links(self, count: int) -> "CitationTraining":
        """The same for so many links: with few, smaller batches and more epochs."""
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
    """Learn from links what texts that cite a passage look like.

    Args:
        links: At least two.
        collection: What they cite.
        vectors: Word vectors to start from, or None.
        training: How to train.
        start: What was learned before, to go on from; it changes slowly.
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
    """The state of training."""

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
            go_on(start, self._keys, self._lemmas.names, self._parameters)
        self._of_rows = Adam(table)
        self._of_biases = Adam(self._parameters.biases)
        self._sampler = self._make_sampler(links, roots)
        self.steps_an_epoch = max(1, len(links) // training.batch)
        self.steps = training.epochs * self.steps_an_epoch

    def _make_sampler(self, links: Sequence[KnownLink], roots: "csr_array") -> Sampler:
        """What makes batches of all links, their hard negatives found first."""
        training = self._training
        own = [text[link.start : link.end] for text, link in zip(self._texts, links, strict=True)]
        cited = [link.places for link in links]
        self._negatives = hard_negatives(own, cited, self._passages, self._lemmas)
        return Sampler(
            links,
            self._texts,
            roots.shape[1],
            roots,
            self._negatives,
            np.float32(training.popularity) * log_shares(cited, len(self._passages)),
            crop=training.crop,
            lengths=(training.shortest, training.longest),
            dropout=training.dropout,
            count=training.negatives,
        )

    def fingerprint(self) -> dict[str, object]:
        """What two trainings have in common that give the same vectors."""
        from zlib import crc32

        crc = 0
        for array in (*self._passages, *self._texts, self._keys, self._negatives):
            crc = crc32(np.ascontiguousarray(array).data, crc)
        crc = crc32(self._parameters.table.data, crc)
        return {"training": asdict(self._training), "crc": crc}

    def resume(self, checkpoint: Checkpoint) -> int:
        """Go back to what was kept; how many epochs are done."""
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

    def run(self, first: int, checkpoint: Checkpoint) -> Iterator[float]:
        """Train from epoch `first` on; yields the loss of each step."""
        for epoch in range(first, self._training.epochs):
            # Each epoch has chance of its own, so that one that is resumed is the same.
            rng = np.random.default_rng([self._training.seed, 1, epoch])
            order = rng.permutation(self._count)
            for step in range(self.steps_an_epoch):
                some = order[step * self._training.batch : (step + 1) * self._training.batch]
                yield self._step(epoch * self.steps_an_epoch + step + 1, some, rng)
            if epoch + 1 < self._training.epochs:
                checkpoint.save(epoch + 1, self._state())

    def table(self) -> CitationTable:
        """What is learned."""
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
        """Step `number`, counted from 1 over all epochs; gives the loss before it."""
        batch = self._sampler.batch(chosen, rng)
        found = gradient(batch, self._parameters, self._training.temperature)
        rate = self._training.rate * _share_of_rate(number, self.steps)
        if self._start is not None:
            rate *= _SLOWLY
        self._of_rows.step(found.rows, found.of_rows, rate=rate, number=number)
        self._of_biases.step(found.lemmas, found.of_biases, rate=rate, number=number)
        return found.loss

    def _state(self) -> dict[str, NDArray[np.float32]]:
        return {
            "rows": self._of_rows.rows,
            "rows_mean": self._of_rows.mean,
            "rows_square": self._of_rows.square,
            "biases": self._of_biases.rows,
            "biases_mean": self._of_biases.mean,
            "biases_square": self._of_biases.square,
        }


def _share_of_rate(number: int, steps: int) -> float:
    """How much of the rate a step has: rising over the first tenth, then falling to 0."""
    warm = max(1, int(steps * _WARM_UP))
    return number / warm if number <= warm else (steps - number + 1) / (steps - warm + 1)
