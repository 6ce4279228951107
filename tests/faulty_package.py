"""A package whose plug-ins fail for some queries; written where Python finds it."""

from pathlib import Path

MODULE = '''
import numpy as np

from allusion_es.core.errors import InputError, PluginError, UsageError, VectorError
from allusion_es.retrieval.generators import Bm25Search
from allusion_es.retrieval.types import Contribution


class Faulty:
    """Ranks by BM25's order, unless the query has a word that makes it fail."""

    def __init__(self, even_notes: bool = False) -> None:
        self._even_notes = even_notes

    def notes(self, collection):
        if self._even_notes:
            raise KeyError("notes")
        return ["faulty"]

    def score(self, query, candidates, collection):
        words, size = query.query.text.split(), len(candidates)
        scores = -np.arange(size, dtype=np.float64)
        if "raise" in words:
            raise ValueError("no\\nsuch \\x1b[31mword")
        if "index" in words:
            return [][size]
        if "plugin" in words:
            raise PluginError("this query is beyond me")
        if "vector" in words:
            raise VectorError("no vector")
        if "nan" in words:
            scores[-1] = np.nan
        if "infinite" in words:
            scores[0] = np.inf
        if "huge" in words:
            scores[0] = 1e300
        if "shape" in words:
            return scores[:, None]
        if "few" in words:
            return scores[1:]
        if "none" in words:
            return None
        if "text" in words:
            return ["a"] * size
        if "exit" in words:
            raise SystemExit(3)
        if "panic" in words:
            raise BaseException("in another language")
        if "input" in words:
            raise InputError("this query has no verb")
        if "complex" in words:
            return scores * 1j
        if "memory" in words:
            raise MemoryError("too much")
        if "option" in words:
            raise UsageError("faulty: an option is wrong")
        return scores

    def explain(self, query, candidates, collection):
        words, size = query.query.text.split(), len(candidates)
        scores = self.score(query, candidates.pool[0], collection)[candidates.pool[1]]
        if "dark" in words:
            raise RuntimeError("no reasons")
        if "darker" in words:
            return [()] * (size + 1)
        if "darkest" in words:
            return [(Contribution("a", "b", float("nan")),)] * size
        if "unworded" in words:
            return [(Contribution(1, None, 0.5),)] * size
        # What it gives may be read once only.
        return (iter((Contribution("a", "b", float(score)),)) for score in scores)


class Unstartable:
    def __init__(self):
        raise OSError("no licence")


class FaultyStage(Bm25Search):
    """BM25, unless a query of the batch has a word that makes it fail."""

    def rank(self, queries, index, field, size, within):
        words = {word for query in queries for word in query.query.text.split()}
        if "stage" in words:
            raise ZeroDivisionError("first stage")
        rankings = super().rank(queries, index, field, size, within)
        if "fewer" in words:
            return rankings[1:]
        if "unscored" in words:
            for ranking in rankings:
                ranking.scores[:] = np.nan
        return rankings
'''

RERANKING = (
    "raise", "index", "plugin", "vector", "nan", "infinite", "huge", "shape", "few", "none",
    "text", "memory", "exit", "panic", "input", "complex",
)  # fmt: skip
"""Words for which the reranker has no scores."""

EXPLAINING = ("dark", "darker", "darkest", "unworded")
"""Words for which it has scores, but no reasons."""

FIRST_STAGE = ("stage", "fewer", "unscored")
"""Words for which the first stage fails."""


def write_package(folder: Path) -> Path:
    """The package in `folder`, which then must be on Python's path."""
    info = folder / "faulty-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "faulty_plugins.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[allusion_es.rerankers]\nfaulty = faulty_plugins:Faulty\n"
        "unstartable = faulty_plugins:Unstartable\n"
        "[allusion_es.generators]\nfaulty-stage = faulty_plugins:FaultyStage\n"
        "unstartable = faulty_plugins:Unstartable\n"
    )
    return folder
