"""Evidence from citing texts: how like a query is to texts that are known to cite a passage."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from allusion_es.core.caches import IdentityCache
from allusion_es.language.citations.citing_texts import CitingTexts, Evidence, citing_texts_of
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.retrieval.types import AnalysedQuery

AROUND = 0.2
"""How much a lemma around the query counts beside one of its own, chosen on development links."""

EVIDENCE = ("own", "whole", "context")
"""The names of the comparisons that `CitingEvidence.of` makes."""

_KEPT = 64
"""Queries whose evidence is kept: a batch of them is searched before the first is reranked."""


class CitingEvidence:
    """Gives the evidence for a query.

    Args:
        texts: Texts that are known to cite passages.

    Attributes:
        texts: As given.
    """

    def __init__(self, texts: CitingTexts) -> None:
        self.texts = texts
        self._latest: IdentityCache[Evidence] = IdentityCache(_KEPT)

    def of(self, query: AnalysedQuery, ids: Sequence[str]) -> dict[str, Evidence]:
        """The evidence for a query and some passages, by name.

        `own` compares the query's lemmas with those of the citing texts, `whole` with those and
        the ones around them, `context` the query's and those around it with these.

        Args:
            query: The query.
            ids: The passages.
        """
        places, own = self.texts.places(ids), _own(query)
        return {
            "own": self.texts.evidence(own, around=False, places=places),
            "whole": self.texts.evidence(own, around=True, places=places),
            "context": self._of_all(query).take(places),
        }

    def named(self, query: AnalysedQuery, most: int) -> dict[str, float]:
        """The passages with the most evidence, at most `most`, each with its score above 0.

        The score is that of the best three texts, the words around all of them included.
        """
        scores = self._of_all(query).best_three
        found = np.flatnonzero(scores > 0)
        if len(found) > most > 0:
            # The others need not be sorted.
            found = found[scores[found] >= np.partition(scores[found], -most)[-most]]
        # `ids` are sorted, so that of equal scores the first id stays first.
        best = found[np.argsort(-scores[found], kind="stable")][:most]
        ids = self.texts.ids
        return {
            ids[place]: score
            for place, score in zip(best.tolist(), scores[best].tolist(), strict=True)
        }

    def shared(self, query: AnalysedQuery, ids: Sequence[str]) -> list[dict[str, float]]:
        """For each passage the query's lemmas that the most similar text has that cites it.

        With each lemma stands its part in BM25; nothing where no text cites the passage.
        """
        own = _own(query)
        return [self.texts.shared(own, identifier) for identifier in ids]

    def _of_all(self, query: AnalysedQuery) -> Evidence:
        """The evidence `context` for all passages that are cited, computed once."""

        def compute() -> Evidence:
            context = _own(query)
            for lemma in query.window.lemmas if query.window is not None else ():
                context.setdefault(lemma, AROUND)
            return self.texts.evidence(context, around=True)

        return self._latest.get(compute, query)


def _own(query: AnalysedQuery) -> dict[str, float]:
    return dict.fromkeys(query.words("lemma"), 1.0)


@lru_cache(maxsize=8)
def citing_evidence(vectors: CitationVectors) -> CitingEvidence | None:
    """The evidence from the citing texts that lie beside vectors; None where there are none.

    Raises:
        InputError: They were learned with other vectors, or the file cannot be used.
    """
    texts = citing_texts_of(vectors)
    return CitingEvidence(texts) if texts is not None else None
