"""The weights of both kinds of index: Lucene's BM25 and the paper's TfIdf.

Lucene computes BM25 in single precision; the same precision is used here, so that scores,
and with them ties, come out as on Elasticsearch.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from allusion_es.core.arrays import Floats, Integers, Singles


def lucene_lengths(lengths: Integers) -> Integers:
    """The lengths that Lucene stores for passages with `lengths` words, same shape.

    Lucene stores a length in one byte (`SmallFloat.intToByte4`): up to 40 exactly, above that
    with the four most significant bits of what exceeds 24.

    Example:
        >>> lucene_lengths(np.array([0, 7, 40, 41, 47, 100])).tolist()
        [0, 7, 40, 40, 46, 96]
    """
    excess = np.maximum(lengths - 24, 0)
    # frexp's exponent is the number of bits; lengths are far below 2**53, so it is exact.
    shift = np.maximum(np.frexp(excess.astype(np.float64))[1] - 4, 0)
    return np.where(lengths < 40, lengths, 24 + (excess >> shift << shift))


def bm25_saturation(lengths: Integers, mean_length: float, k1: float, b: float) -> Singles:
    """The factor of each passage's term frequencies in `bm25`, same shape as `lengths`.

    `1 / (k1 (1 - b + b length / mean length))` in single precision, as Lucene caches it.

    Args:
        lengths: Numbers of words, as `lucene_lengths` gives them.
        mean_length: Of all passages that have at least one word.
        k1: Term-frequency saturation, above 0.
        b: Length normalisation, from 0 to 1.
    """
    one, single = np.float32(1), np.float32
    ratio = single(b) * lengths.astype(single) / single(mean_length or 1.0)
    with np.errstate(divide="ignore"):
        saturation = one / (single(k1) * (one - single(b) + ratio))
    return np.where(lengths > 0, saturation, single(0))


def bm25(
    frequency: Singles,
    saturation: Singles,
    idf: np.float32 | Singles,
    k1: float,
    boost: float | Floats,
) -> Singles:
    """The part of the BM25 scores of passages that a word adds, shape of `frequency`.

    `boost (k1 + 1) idf f / (f + k1 (1 - b + b length / mean length))`, in the form and the
    precision in which Elasticsearch (LegacyBM25Similarity) computes it.

    Args:
        frequency: How often the word occurs in each passage.
        saturation: `bm25_saturation` of each passage.
        idf: `lucene_idf` of the word; of several, one for each of `frequency`.
        k1: Term-frequency saturation.
        boost: How often the word occurs in the query, likewise.
    """
    return bm25_of_saturated(bm25_weights(idf, k1, boost), np.float32(1) + frequency * saturation)


def bm25_weights(idf: np.float32 | Singles, k1: float, boost: float | Floats) -> Singles:
    """BM25's weight of each word, `boost (k1 + 1) idf`, which no part of it exceeds."""
    one = np.float32(1)
    return np.asarray(np.asarray(boost, dtype=np.float32) * (one + np.float32(k1)) * idf)


def bm25_of_saturated(weights: Singles, saturated: Singles) -> Singles:
    """`bm25` by the words' weights and `1 + frequency saturation`, shape of `saturated`."""
    parts: Singles = weights / saturated
    np.subtract(weights, parts, out=parts)
    return parts


def lucene_idf(df: Integers, passages: int) -> Singles:
    """Lucene's inverse document frequency, never negative, shape of `df`.

    `ln(1 + (N - df + 0.5) / (df + 0.5))` (Lucene, BM25Similarity), N the number of passages
    that have at least one word in the field.

    Example:
        >>> [round(float(value), 4) for value in lucene_idf(np.array([1, 2]), 2)]
        [0.6931, 0.1823]
    """
    known = df.astype(np.float64)
    inverse = np.log(1 + (passages - known + 0.5) / (known + 0.5))
    return np.asarray(inverse, dtype=np.float32)


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


def tfidf_query_weights(counts: Mapping[str, float], words: Sequence[str], idfs: Floats) -> Floats:
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
