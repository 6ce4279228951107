"""Translation likelihood: the query's likelihood if its words translate those of the passage."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from allusion_es.core.arrays import Floats
from allusion_es.core.errors import UsageError
from allusion_es.core.plugins import check_range
from allusion_es.language.citations.translations import Translations
from allusion_es.retrieval.citation_models import TRANSLATIONS
from allusion_es.retrieval.explanations import Parts, as_contributions
from allusion_es.retrieval.reranking import Candidates, Collection, Explanation
from allusion_es.retrieval.types import AnalysedQuery


class TranslationLikelihood:
    """Likelihood of the query under IBM model 1, compared with chance.

    `sum over distinct words w of q of ln(1 + (1 - l) / l * sum_u s(w | u) P(u | p) / P(w | C))`,
    with `s(w | u) = a [w = u] + (1 - a) t(w | u)`, P(u | p) the share of u in the passage, P(w |
    C) that of w in the collection, and t learned from known citations. Source: Brown et al. 1993;
    Berger and Lafferty 1999; for words that stay themselves: Xue, Jeon and Croft 2008. From 0;
    what a word adds is divided among the passage's words as they add to the sum.

    Args:
        itself: a, how likely a word stays itself whatever was learned.
        chance: l, how much chance weighs.

    Raises:
        UsageError: When scoring, where the index has no citation vectors with a table.
    """

    name = "translation"

    def __init__(self, itself: float = 0.4, chance: float = 0.3) -> None:
        check_range(self.name, "itself", itself, 0, 1)
        check_range(self.name, "chance", chance, 0.001, 0.999)
        self._itself = itself
        self._chance = chance
        self._table: Translations | None = None

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate; lemmas are compared, whatever the candidates' field."""
        parts = self._parts(query, candidates, collection)
        return np.array([float(np.log1p(one.sum(axis=1)).sum()) for _, _, one in parts])

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        """For each candidate, addends of pairs of lemmas; pairs that add nothing are left out."""
        return [
            as_contributions(_divided(asked, words, values))
            for asked, words, values in self._parts(query, candidates, collection)
        ]

    def _parts(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[tuple[list[str], list[str], Floats]]:
        """For each candidate the words of both sides, and the ratio that each pair adds.

        The ratio of a pair is `(1 - l) / l * s(w | u) P(u | p) / P(w | C)`.
        """
        table = self._translations(collection)
        asked = list(dict.fromkeys(query.words("lemma")))
        texts = candidates.texts
        if candidates.field != "lemma":
            texts = collection.texts("lemma", candidates.ranking.ids)
        found = list(dict.fromkeys(texts.words))
        likely = (1 - self._itself) * table.matrix(found, asked)
        columns = {word: column for column, word in enumerate(asked)}
        rows = {word: row for row, word in enumerate(found)}
        for word, column in columns.items():
            if word in rows:
                likely[rows[word], column] += self._itself
        known = collection.statistics("lemma", asked)
        total = max(known.passages * known.mean_length, 1.0)
        # A word that the collection lacks counts as seen half a time: nothing is divided by 0.
        odds = (1 - self._chance) / self._chance * total / np.maximum(known.cf, 0.5)
        parts = []
        for number in range(len(texts)):
            counts = Counter(texts.text(number))
            words = list(counts)
            shares = np.array([counts[word] for word in words], dtype=np.float64)
            shares /= max(shares.sum(), 1.0)
            chosen = likely[[rows[word] for word in words]] * shares[:, None] * odds
            parts.append((asked, words, np.asarray(chosen.T)))
        return parts

    def _translations(self, collection: Collection) -> Translations:
        """The table beside the index's citation vectors, or an error where there is none."""
        if self._table is None:
            vectors = collection.citations
            path = vectors.path.with_suffix(TRANSLATIONS) if vectors else None
            if path is None or not path.exists():
                raise UsageError(
                    "the index has learned no translations, which translation needs; learn some "
                    "with 'allusion-es learn' or choose another reranker"
                )
            self._table = Translations(path)
        return self._table

    def notes(self, collection: Collection) -> Sequence[str]:
        """A note on the size of the table and the links behind it."""
        table = self._translations(collection)
        return (f"translation: {len(table)} entries from {table.about.get('links', '?')} links",)


def _divided(asked: Sequence[str], words: Sequence[str], values: Floats) -> Parts:
    """Addends of pairs: `ln(1 + sum)` of each word, divided in the proportion of its ratios."""
    parts: Parts = {}
    for word, row in zip(asked, values, strict=True):
        total = float(row.sum())
        if total > 0:
            added = float(np.log1p(total))
            for other, value in zip(words, row.tolist(), strict=True):
                if value > 0:
                    parts[word, other] = added * value / total
    return parts
