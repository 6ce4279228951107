"""Training of word vectors with gensim; the same texts and seed give the same bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from allusion_es.core.errors import InputError, UsageError
from allusion_es.core.progress import Progress, silent
from allusion_es.language.vectors.files import save_vectors

Method = Literal["fasttext", "word2vec"]

_GREATEST_DIMENSION = 10_000
_BUCKETS = 100_000
"""Rows that n-grams share. The Vulgate has 76,000 distinct n-grams; fastText's default of two
million would make the file 800 MB large."""

_SIZES = (3, 6)  # lengths of n-grams, fastText's own defaults
_LONGEST_SENTENCE = 10_000
"""Words of a sentence; gensim drops the rest of a longer one, so longer texts are cut."""


@dataclass(frozen=True, slots=True)
class WordVectorTraining:
    """The parameters of a training.

    Attributes:
        method: `fasttext` (skip-gram; words that are not in the texts get vectors too) or
            `word2vec` (skip-gram).
        dimension: Length of the vectors.
        window: The number of words to each side that count as context.
        epochs: The number of passes over the texts.
        min_count: The frequency below which a word gets no row of its own.
        seed: The seed of the random numbers.

    Raises:
        UsageError: A number is out of range.
    """

    method: Method = "fasttext"
    dimension: int = 100
    window: int = 5
    epochs: int = 10
    min_count: int = 3
    seed: int = 1

    def __post_init__(self) -> None:
        """Check the ranges of the numbers."""
        if not 1 <= self.dimension <= _GREATEST_DIMENSION:
            raise UsageError(f"must be from 1 to {_GREATEST_DIMENSION}", argument="dimension")
        for name in ("window", "epochs", "min_count"):
            if getattr(self, name) < 1:
                raise UsageError("must be at least 1", argument=name)
        if not 0 <= self.seed < 1 << 32:
            raise UsageError("must be from 0 to 4294967295", argument="seed")


def train_vectors(
    texts: Sequence[Sequence[str]],
    path: Path,
    training: WordVectorTraining = WordVectorTraining(),
    about: str = "",
    progress: Progress = silent,
) -> int:
    """Train word vectors on texts and write them to `path`, for `read_vectors`.

    gensim trains them in one thread, which is slower than several and gives the same vectors
    each time.

    Args:
        texts: The words of each text, as analysis spells them.
        path: The file; an older one is replaced once the new one is complete.
        training: The parameters.
        about: A description of the texts, saved with the vectors.
        progress: Shown for each epoch.

    Returns:
        The number of words with a row.

    Raises:
        InputError: No word is frequent enough.
        StorageError: The file cannot be written.
    """
    model = _model(training)
    sentences = [
        text[start : start + _LONGEST_SENTENCE]
        for text in texts
        for start in range(0, len(text), _LONGEST_SENTENCE)
    ]
    model.build_vocab(sentences)
    keyed = model.wv
    if not len(keyed):
        raise InputError(
            f"no word occurs {training.min_count} times in the texts; give more text or a lower "
            "--min-count"
        )
    model.train(
        _Epochs(sentences, training.epochs, progress),
        total_examples=model.corpus_count,
        epochs=training.epochs,
    )
    details = {**asdict(training), "texts": len(texts), "about": about}
    if training.method == "fasttext":
        table = np.concatenate([keyed.vectors_vocab, keyed.vectors_ngrams])
        save_vectors(path, keyed.index_to_key, table, _SIZES, details)
    else:
        save_vectors(path, keyed.index_to_key, keyed.vectors, details=details)
    return len(keyed)


def _model(training: WordVectorTraining) -> Any:  # noqa: ANN401 - gensim has no types
    # Importing gensim takes a second: not before it is used.
    from gensim.models import FastText, Word2Vec

    shared: dict[str, Any] = {
        "vector_size": training.dimension,
        "window": training.window,
        "epochs": training.epochs,
        "min_count": training.min_count,
        "seed": training.seed,
        "sg": 1,
        "workers": 1,
    }
    if training.method == "word2vec":
        return Word2Vec(**shared)
    return FastText(**shared, bucket=_BUCKETS, min_n=_SIZES[0], max_n=_SIZES[1])


class _Epochs:
    """The sentences, which gensim iterates over once an epoch; each pass has a progress bar."""

    def __init__(self, sentences: Sequence[Sequence[str]], epochs: int, progress: Progress) -> None:
        self._sentences = sentences
        self._epochs = epochs
        self._progress = progress
        self._epoch = 0

    def __iter__(self) -> Iterator[Sequence[str]]:
        self._epoch += 1
        about = f"WordVectorTraining, epoch {self._epoch} of {self._epochs}"
        yield from self._progress(self._sentences, about, len(self._sentences))
