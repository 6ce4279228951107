"""Cosine of the vectors that a sentence encoder of the user's gives query and passage."""

from collections.abc import Sequence

import numpy as np

from allusion_es.core.arrays import Floats
from allusion_es.core.caches import LruCache
from allusion_es.core.errors import UsageError
from allusion_es.core.files import data_dir
from allusion_es.language.encoders.sentences import (
    SentenceEncoder,
    TokenVectors,
    choose_encoder,
    cut_warnings,
)
from allusion_es.language.encoders.settings import EncoderChoice
from allusion_es.language.latin.tokenise import printed_words
from allusion_es.retrieval.explanations import Parts, as_contributions
from allusion_es.retrieval.reranking import UNDEFINED, Candidates, Collection, Explanation
from allusion_es.retrieval.types import AnalysedQuery

_KEPT = 50_000
"""Vectors of passages that are kept where the index has none of this encoder's: 80 MB of 384."""

MODEL = "‹model›"
"""Stands for what is no word: tokens that a model puts before and after a text, or all of it."""

Word = tuple[str, int, int]
"""A word, and its begin and end in the text."""


class EncoderCosine:
    """Cosine of a sentence encoder's vectors of the query and the passage.

    `cos(v(q), v(p))`; v(p) is the index's, or that of another encoder. The query is encoded as it
    is written, without the words around it. Where v is the mean of the vectors of tokens, the
    cosine is a sum over pairs of tokens, which explain it; else nothing by words does. From -1 to
    1.

    Source: Reimers and Gurevych, Sentence-BERT, EMNLP 2019.

    Args:
        model: An encoder, as `EncoderChoice.model`; "" takes the index's own.
        pooling: As `EncoderChoice.pooling`; "" takes what the model's files say, and so for the
            prefixes.
        query_prefix: Put before the query.
        passage_prefix: Put before each passage.

    Raises:
        UsageError: When scoring, where there is no encoder, or a package is missing.

    Example:
        >>> EncoderCosine().name
        'encoder-cosine'
    """

    name = "encoder-cosine"

    def __init__(
        self, model: str = "", pooling: str = "", query_prefix: str = "", passage_prefix: str = ""
    ) -> None:
        self._choice = None
        if model:
            self._choice = EncoderChoice(
                model, pooling or None, query_prefix or None, passage_prefix or None
            )
        elif pooling or query_prefix or passage_prefix:
            raise UsageError(f"{self.name}: the index's encoder has its own settings; set a model")
        self._opened: SentenceEncoder | None = None
        self._vectors: LruCache[str, Floats] = LruCache(_KEPT)

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate, shape (len(candidates),)."""
        encoder = self._encoder(collection)
        vector = encoder.query(query.query.text)
        ids = candidates.ranking.ids
        if self._choice is None:
            cosines = collection.encoder_cosines(vector, ids)
        else:
            texts = collection.written(ids)
            cosines = self._passages(encoder, texts) @ vector.astype(np.float64)
        return np.where(np.isnan(cosines), UNDEFINED, cosines)

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        """For each candidate the addends of pairs of words, or one part that has no words."""
        encoder = self._encoder(collection)
        asked = encoder.tokens(query.query.text, is_query=True)
        own = [
            (word, *span)
            for word, span in zip(query.words(candidates.field), query.analysis.spans, strict=True)
        ]
        found: list[Explanation] = []
        texts = collection.written(candidates.ranking.ids)
        scores = self.score(query, candidates, collection).tolist()
        for number, (text, score) in enumerate(zip(texts, scores, strict=True)):
            if score == UNDEFINED:
                found.append(None)
                continue
            parts: Parts = {}
            passage = encoder.tokens(text, is_query=False) if asked else None
            if asked is not None and passage is not None:
                words = _words(text, candidates.texts.text(number))
                parts = pair_parts(asked, own, passage, words)
            total = sum(parts.values())
            # The index's numbers are rounded, so the sum differs from the score a little.
            if total * score > 0:
                parts = {pair: part * score / total for pair, part in parts.items()}
            else:
                parts = {(MODEL, MODEL): score}
            found.append(as_contributions(parts))
        return found

    def notes(self, collection: Collection) -> Sequence[str]:
        """A note that names the encoder."""
        settings = self._encoder(collection).settings
        return (f"{self.name}: {settings.name}, pooling {settings.pooling}",)

    def warnings(self) -> Sequence[str]:
        """How many texts were cut, if any."""
        return cut_warnings(self._opened)

    def _encoder(self, collection: Collection) -> SentenceEncoder:
        if self._choice is not None:
            if self._opened is None:
                self._opened = choose_encoder(self._choice, data_dir())
            return self._opened
        self._opened = collection.encoder
        if self._opened is None:
            raise UsageError(
                f"the index has no encoder vectors, which {self.name} needs; rebuild it with "
                "--encoder MODEL, or name a model with --set encoder-cosine.model=MODEL"
            )
        return self._opened

    def _passages(self, encoder: SentenceEncoder, texts: Sequence[str]) -> Floats:
        """The vectors of passages, shape (len(texts), dimension), kept for the next query."""
        found = {text: self._vectors.get(text) for text in dict.fromkeys(texts)}
        new = [text for text, vector in found.items() if vector is None]
        for places, vectors in encoder.passages(new):
            for place, vector in zip(places.tolist(), vectors, strict=True):
                found[new[place]] = vector.astype(np.float64)
                self._vectors.put(new[place], vector.astype(np.float64))
        rows = [vector for text in texts if (vector := found[text]) is not None]
        return np.array(rows).reshape(len(texts), encoder.settings.dimension)


def pair_parts(
    query: TokenVectors, query_words: Sequence[Word], passage: TokenVectors, words: Sequence[Word]
) -> Parts:
    """The addend of each pair of words in the cosine of two sums of token vectors.

    `cos(sum t_i, sum u_j) = sum over i, j of t_i u_j / (|sum t| |sum u|)`; the tokens of a word are
    taken together.

    Args:
        query: The query's tokens.
        query_words: Its words.
        passage: The passage's tokens.
        words: Its words.
    """
    rows, row_names = _by_word(query, query_words)
    columns, column_names = _by_word(passage, words)
    length = np.linalg.norm(rows.sum(axis=0)) * np.linalg.norm(columns.sum(axis=0))
    if not length > 0:
        return {}
    products = (rows @ columns.T / length).tolist()
    parts: Parts = {}
    for name, row in zip(row_names, products, strict=True):
        for other, value in zip(column_names, row, strict=True):
            parts[name, other] = parts.get((name, other), 0.0) + value
    return parts


def _by_word(tokens: TokenVectors, words: Sequence[Word]) -> tuple[Floats, list[str]]:
    """The sum of the vectors of each word's tokens, and the words; first what is no word's."""
    sums = np.zeros((len(words) + 1, tokens.vectors.shape[1]))
    for (start, end), vector in zip(tokens.spans, tokens.vectors, strict=True):
        # A token belongs to the word that holds its middle: tokens may begin at the blank before.
        middle = (start + end) / 2
        row = next(
            (n for n, (_, first, last) in enumerate(words, start=1) if first < middle < last), 0
        )
        sums[row] += vector
    return sums, [MODEL, *(word for word, _, _ in words)]


def _words(text: str, indexed: Sequence[str]) -> list[Word]:
    """The words of a passage with their places, in the index's form where the two agree."""
    printed = printed_words(text)
    names = indexed if len(indexed) == len(printed) else [word.form for word in printed]
    return [(name, word.start, word.end) for name, word in zip(names, printed, strict=True)]
