"""Encoder vectors of passages: encoded once, kept on disk, and compared as an index keeps them."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, ArrayFile, Singles, save_arrays
from allusion_es.core.errors import IndexDamagedError
from allusion_es.core.progress import Progress
from allusion_es.core.temporary_files import SpilledArray, TemporaryFiles
from allusion_es.language.citations.vectors import to_bytes
from allusion_es.language.encoders.sentences import SentenceEncoder
from allusion_es.language.encoders.settings import EncoderSettings, Store
from allusion_es.retrieval.byte_vectors import ALL, ByteVectors, server_cosines
from allusion_es.retrieval.spool import Spool

_TOGETHER = 256
"""Passages in a file of kept vectors: at most so many are encoded again after an interruption."""

_SUFFIX = ".vectors"


class PassageVectors(Protocol):
    """Gives an index under construction the encoder vectors of its passages.

    Attributes:
        settings: The encoder's.
    """

    settings: EncoderSettings

    def rows(self, ids: Sequence[str], texts: Sequence[str]) -> Array:
        """The vectors of some passages as the index keeps them, shape (len(ids), dimension)."""
        ...


class EncodedPassages:
    """Vectors that an encoder makes, kept in the data folder as they are made.

    So a build that was interrupted goes on where it stopped, and a second index of the same texts,
    on a server for instance, costs nothing and has the same numbers.

    Args:
        encoder: The encoder.
        folder: The data folder.

    Attributes:
        settings: The encoder's.
        cut: How many passages were too long for the model and were cut.
    """

    def __init__(self, encoder: SentenceEncoder, folder: Path) -> None:
        self._encoder = encoder
        self._folder = folder / "encoded"
        self.settings = encoder.settings
        self.cut = 0

    def rows(self, ids: Sequence[str], texts: Sequence[str]) -> Array:
        """The vectors of some passages, as `PassageVectors.rows` gives them."""
        path = self._path(texts)
        kept = self._kept(path, len(texts))
        if kept is None:
            kept = self._encoded(texts, path)
        vectors, cut = kept
        self.cut += cut
        return stored(vectors.astype(np.float32), self.settings.store)

    def _encoded(self, texts: Sequence[str], path: Path) -> tuple[Array, int]:
        before = self._encoder.cut
        vectors = np.zeros((len(texts), self.settings.dimension), dtype=np.float16)
        for places, some in self._encoder.passages(texts):
            vectors[places] = some
        cut = self._encoder.cut - before
        save_arrays(path, {"cut": cut}, {"vectors": vectors})
        return vectors, cut

    def _kept(self, path: Path, size: int) -> tuple[Array, int] | None:
        """Vectors that were made before, and how many texts were cut; None where there are none."""
        try:
            file = ArrayFile(path, "delete it")
            vectors, cut = np.array(file.load("vectors")), file.meta.get("cut")
        except (OSError, IndexDamagedError):
            return None
        fits = vectors.shape == (size, self.settings.dimension) and vectors.dtype == np.float16
        if not fits or type(cut) is not int or not np.isfinite(vectors).all():
            return None
        return vectors, cut

    def _path(self, texts: Sequence[str]) -> Path:
        """The file for the vectors of some texts, named by a hash of all that they depend on."""
        made = self.settings
        encoder = [
            made.revision,
            made.dimension,
            made.pooling,
            made.passage_prefix,
            made.max_tokens,
        ]
        content = [*encoder, *texts]
        name = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
        return self._folder / f"{name}{_SUFFIX}"


def spooled_vectors(
    files: TemporaryFiles,
    spool: Spool,
    vectors: PassageVectors,
    text_of: Callable[[bytes], str],
    progress: Progress,
) -> SpilledArray:
    """The vectors of all spooled passages, on disk, shape (passages, dimension).

    Args:
        files: Where they lie.
        spool: The passages.
        vectors: Gives their vectors.
        text_of: The text of a passage from its record in the spool.
        progress: Told of every few hundred passages.
    """

    def pieces() -> Iterator[tuple[Sequence[str], Sequence[bytes]]]:
        for batch in spool.read():
            for start in range(0, len(batch.ids), _TOGETHER):
                part = slice(start, start + _TOGETHER)
                yield batch.ids[part], batch.records[part]

    found = files.array(_KINDS[vectors.settings.store], vectors.settings.dimension)
    total = -(-len(spool) // _TOGETHER)
    for ids, records in progress(pieces(), "Encoding", total):
        found.append(vectors.rows(ids, [text_of(record) for record in records]))
    return found


_KINDS: dict[Store, type[np.generic]] = {"int8": np.int8, "float16": np.float16}


def stored(vectors: Singles, store: Store) -> Array:
    """Vectors as an index keeps them; same shape.

    Example:
        >>> stored(np.array([[0.6, -0.8]], dtype=np.float32), "int8").tolist()
        [[95, -127]]
    """
    return to_bytes(vectors)[0] if store == "int8" else vectors.astype(np.float16)


class HalfVectors:
    """Vectors in half precision, as `ByteVectors` are with one byte a number.

    Args:
        rows: Shape (passages, dimension); zeros where a passage has none.

    Attributes:
        places: The places of the passages that have a vector, ascending.
    """

    def __init__(self, rows: NDArray[np.float16]) -> None:
        vectors = rows.astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        self.places = np.flatnonzero(lengths)
        self._rows = np.divide(
            vectors, lengths[:, None], out=np.zeros_like(vectors), where=lengths[:, None] > 0
        )

    def __len__(self) -> int:
        """How many passages there are."""
        return len(self._rows)

    def cosines(self, vectors: Singles, part: slice = ALL) -> Singles:
        """The cosine of each passage with each query, as in `ByteVectors`."""
        return server_cosines(np.asarray(vectors @ self._rows[part].T, dtype=np.float64))


def compared(rows: Array, length: float = 0.0) -> ByteVectors | HalfVectors:
    """The vectors of passages as they are compared with those of queries.

    Args:
        rows: As `stored` makes them, or citation vectors.
        length: The length of all of them, or 0 if each has its own.
    """
    return ByteVectors(rows, length) if rows.dtype == np.int8 else HalfVectors(rows)


def cosines_of(rows: Array, vector: Singles) -> NDArray[np.float64]:
    """The cosine of each passage with a query, NaN where it has none; shape (len(rows),).

    Args:
        rows: As `stored` makes them.
        vector: Unit vector of the query, shape (dimension,).
    """
    vectors = compared(rows)
    found = np.full(len(rows), np.nan)
    if len(vectors.places) and vector.any():
        found[vectors.places] = vectors.cosines(vector[None, :])[0][vectors.places]
    return found
