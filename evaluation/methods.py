"""Methods that are evaluated: a reranker with its first stage, its input and its parameters."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from allusion_es.core.plugins import Settings
from allusion_es.retrieval.generators import ALL
from allusion_es.retrieval.pipeline import QueryOptions
from allusion_es.retrieval.reranking import reranker_names
from allusion_es.retrieval.types import Field, SearchFilter

ORACLE = "tesserae-wmd-oracle"
"""Name of the paper's T+WMD.

It is no reranker, since it needs gold links: `evaluation.paper.experiments` computes it."""

LEARNED = frozenset(
    {"citations", "expansion", "fused", "citation-cosine", "translation", "learned"}
)
"""Generators and rerankers that use what was learned from citations."""

PAPER_NAMES: Mapping[str, str] = {
    "bow": "BOW",
    "tfidf": "TfIdf",
    "tesserae": "Tesserae",
    "bow-emb": "BOW_emb",
    "tfidf-emb": "TfIdf_emb",
    "wmd": "WMD",
    "soft-cosine-wordnet": "SC_wn",
    "soft-cosine": "SC_emb",
    ORACLE: "T+WMD",
}
"""The rerankers of the paper's Table 2 with the paper's names for them, in its order."""

EXACT = 50
"""Number of exact ranks where a whole collection is ranked.

Slow rerankers bound the scores of the rest (`Candidates.wanted`), which can change their order
among themselves. The paper's deepest cutoff is 20, and a reciprocal rank below this one adds less
than 0.02. With 100, Word Mover's Distance takes a quarter more time."""


@dataclass(frozen=True, slots=True)
class Method:
    """A way to rank the passages of a collection for a query.

    Attributes:
        reranker: Name of a reranker, or None for the first stage alone.
        field: Which words are compared.
        first_stage: Names of candidate generators; `("all",)` ranks the whole collection.
        candidates: How many candidates the first stage hands on.
        settings: Parameters of the reranker, as text.
        label: Name for it; by default it is named by its reranker and parameters.

    Example:
        >>> Method("soft-cosine", "lemma", settings={"soft-cosine": {"power": "3"}}).name
        'soft-cosine.power=3'
    """

    reranker: str | None
    field: Field = "lemma"
    first_stage: tuple[str, ...] = (ALL,)
    candidates: int = 500
    settings: Settings = dataclasses.field(default_factory=dict)
    label: str = ""

    @property
    def name(self) -> str:
        """The label; or the reranker with what was set; or the first stage, if nothing reranks."""
        if self.label:
            return self.label
        base = self.reranker or f"none:{'+'.join(self.first_stage)}"
        changed = [
            f"{name if plugin == base else f'{plugin}.{name}'}={value}"
            for plugin, values in sorted(self.settings.items())
            for name, value in sorted(values.items())
        ]
        return ".".join([base, *changed])

    @property
    def whole(self) -> bool:
        """True if every passage of the collection is a candidate."""
        return self.first_stage == (ALL,)

    @property
    def knows_citations(self) -> bool:
        """True if it uses models learned from citations.

        If these were of the evaluated works, its figures are too good.
        """
        used = {*self.first_stage, *reranker_names(self.reranker or "")}
        return not used.isdisjoint(LEARNED)

    def options(self, depth: int, search_filter: SearchFilter) -> QueryOptions:
        """The options that rank `depth` passages, or all candidates if these are more."""
        return QueryOptions(
            generators=self.first_stage,
            fields=(self.field,),
            candidates=self.candidates,
            reranker=self.reranker,
            settings=self.settings,
            search_filter=search_filter,
            top=depth if self.whole else max(depth, self.candidates),
            exact=min(EXACT, depth) if self.whole else None,
        )
