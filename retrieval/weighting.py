"""The weights behind both kinds of index: Lucene's BM25 and the paper's TfIdf.

Lucene computes BM25 in single precision; the same precision is used here, so that scores,
and with them ties, come out as on Elasticsearch.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]

_EXACT_LENGTHS = 40
"""Lucene keeps passage lengths below this as they are, and rounds longer ones down."""


def lucene_length(length: int) -> int:
    """The length that Lucene remembers of a passage of `length` words.

    Lucene stores it in one byte (`SmallFloat.intToByte4`): up to 40 exactly, above that with
    the four most significant bits of what exceeds 24.

    Example:
        >>> [lucene_length(length) for length in (7, 40, 41, 47, 100)]
        [7, 40, 40, 46, 96]
    """
    excess = length - 24
    if excess < 16:
        return length
    shift = excess.bit_length() - 4
    return 24 + (excess >> shift << shift)


def lucene_idf(df: Integers, passages: int) -> Singles:
    """Lucene's inverse document frequency, never negative, shape of `df`.

    `ln(1 + (N - df + 0.5) / (df + 0.5))` (Lucene, BM25Similarity), N the number of passages
    that have at least one word in the field.

    Example:
        >>> lucene_idf(np.array([1, 2]), 2).round(4).tolist()
        [0.6931, 0.1823]
    """
    df = df.astype(np.float64)
    return np.log(1 + (passages - df + 0.5) / (df + 0.5)).astype(np.float32)


def idf(df: Integers, passages: int) -> Floats:
    """The paper's inverse document frequency (section 5.1), floored at 0, shape of `df`.

    `log(|D| / (1 + df))`; a word in all passages but at most one would get a weight below
    zero, which has no meaning in a cosine, and gets 0.

    Example:
        >>> idf(np.array([0, 1, 3, 4]), 4).round(4).tolist()
        [1.3863, 0.6931, 0.0, 0.0]
    """
    if passages == 0:
        return np.zeros(len(df))
    return np.maximum(0.0, np.log(passages / (1.0 + df.astype(np.float64))))


def tfidf_query_weights(
    counts: Mapping[str, int], words: Sequence[str], idfs: Floats
) -> Floats:
    """Factor of each query word's passage frequency in the TfIdf cosine, shape (len(words),).

    The cosine of query q and passage p is the sum over words of
    `tf(w, q) idf(w)^2 / |q| * tf(w, p)`, divided by |p|; this is all but the last two.
    All zeros where the query has no word of weight above 0.
    """
    tf = np.array([counts[word] for word in words], dtype=np.float64)
    norm = float(np.sqrt(np.sum((tf * idfs) ** 2)))
    if norm == 0:
        return np.zeros(len(words))
    return np.asarray(tf * idfs**2 / norm)
