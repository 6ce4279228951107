"""A cross-encoder of the user's: a model that reads query and passage together."""

from collections.abc import Sequence

import numpy as np

from allusion_es.core.arrays import Floats
from allusion_es.core.caches import LruCache
from allusion_es.core.errors import UsageError
from allusion_es.core.files import data_dir
from allusion_es.core.plugins import check_range
from allusion_es.language.encoders.pairs import CrossEncoder
from allusion_es.retrieval.explanations import as_contributions
from allusion_es.retrieval.reranking import Candidates, Collection, Explanation
from allusion_es.retrieval.types import AnalysedQuery

_KEPT = 10_000
"""Scores of pairs that are kept, for explanations and fusions."""

_NAME = "cross-encoder"


class CrossEncoding:
    """The score that a cross-encoder gives query and passage, as both are written.

    `f(q, p)`, the model's logit, or its log-odds where it has several classes. Only the first
    candidates are read, since each costs a run of the model; the others follow in the first stage's
    order, each one lower than the last. Nothing by words explains a score.

    Source: Nogueira and Cho, Passage Re-ranking with BERT, 2019.

    Args:
        model: A folder with an ONNX export, an `.onnx` file, or a name on the hub.
        candidates: How many candidates are read at most.
        label: The class that means that the passage is alluded to; see `CrossEncoder`.

    Raises:
        UsageError: When scoring, where no model is named, or a package is missing.

    Example:
        >>> CrossEncoding(candidates=10).name
        'cross-encoder'
    """

    name = _NAME

    def __init__(self, model: str = "", candidates: int = 50, label: int = -1) -> None:
        check_range(self.name, "candidates", candidates, 1)
        self._named = model
        self._budget = candidates
        self._label = label
        self._opened: CrossEncoder | None = None
        self._scores: LruCache[tuple[str, str], float] = LruCache(_KEPT)

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate, shape (len(candidates),)."""
        return self._scored(query, candidates, collection)[0]

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        """For each candidate one part without words: a score, or that it was not read."""
        scores, is_read = self._scored(query, candidates, collection)
        return [
            as_contributions({(f"‹{_NAME}›", "‹read›" if read else "‹not read›"): score})
            for score, read in zip(scores.tolist(), is_read.tolist(), strict=True)
        ]

    def notes(self, collection: Collection) -> Sequence[str]:
        """A note that names the model."""
        return (f"{_NAME}: {self._model().name}, reads {self._budget} candidates",)

    def warnings(self) -> Sequence[str]:
        """How many pairs were cut, if any."""
        if self._opened is None or not self._opened.cut:
            return ()
        return (
            f"{self._opened.cut} pairs of texts are longer than what {self._opened.name} reads, "
            "and were cut",
        )

    def _scored(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> tuple[Floats, np.ndarray]:
        """Each candidate's score, and whether it was read."""
        pool, numbers = candidates.pool
        is_read = np.arange(len(pool)) < self._budget
        scores = np.zeros(len(pool))
        texts = collection.written(pool.ranking.ids[: self._budget])
        scores[is_read] = self._read(query.query.text, texts)
        lowest = scores[is_read].min(initial=np.inf)
        if not is_read.all():
            scores[~is_read] = lowest - np.arange(1, 1 + np.count_nonzero(~is_read))
        return scores[numbers], is_read[numbers]

    def _read(self, query: str, texts: Sequence[str]) -> Floats:
        found = {text: self._scores.get((query, text)) for text in dict.fromkeys(texts)}
        new = [text for text, score in found.items() if score is None]
        for text, score in zip(new, self._model().scores(query, new).tolist(), strict=True):
            found[text] = score
            self._scores.put((query, text), score)
        return np.array([found[text] for text in texts], dtype=np.float64)

    def _model(self) -> CrossEncoder:
        if self._opened is None:
            if not self._named:
                raise UsageError(
                    f"{_NAME} needs a model; name one with --set {_NAME}.model=MODEL, a folder "
                    "with an ONNX export or a name on the hub"
                )
            self._opened = CrossEncoder(self._named, data_dir(), self._label)
        return self._opened
