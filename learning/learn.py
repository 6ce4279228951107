"""From gold links to files: citation vectors, citing words, translations."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.locks import scratch_folder
from allusion_es.core.progress import Progress, silent
from allusion_es.language.citations.citing_words import (
    SUFFIX,
    citing_words_of,
    merged,
    save_citing_words,
)
from allusion_es.language.citations.translations import save_translations
from allusion_es.language.citations.vectors import (
    CitationTable,
    CitationVectors,
    save_citation_vectors,
)
from allusion_es.language.citations.word_parts import Word, WordParts
from allusion_es.language.latin.analysis import AnalysisSettings
from allusion_es.language.vectors.types import WordVectors
from allusion_es.learning.about import about
from allusion_es.learning.links import KnownLink, LearningCollection
from allusion_es.learning.train import CitationTraining, train
from allusion_es.learning.translate import learn_translations
from allusion_es.learning.validation import Result, cross_validate
from allusion_es.retrieval.citation_models import CitationModels
from allusion_es.retrieval.index import CandidateIndex

# Counting which words texts use that cite a passage.


def count_citing_words(
    links: Sequence[KnownLink], collection: LearningCollection
) -> dict[str, dict[str, int]]:
    """For each cited passage its citing texts' lemmas: in how many of them each stands.

    Args:
        links: Texts and what they cite; a text that cites several passages counts for each.
        collection: The passages.
    """
    counts: dict[str, dict[str, int]] = {}
    for link in links:
        lemmas = dict.fromkeys(lemma for _, lemma in link.own_words)
        for place in link.places:
            row = counts.setdefault(collection.ids[place], {})
            for lemma in lemmas:
                row[lemma] = row.get(lemma, 0) + 1
    return counts


# Fewer rows: those that texts hardly use are left out.


def prune(
    table: CitationTable,
    rows: int,
    links: Sequence[KnownLink],
    collection: LearningCollection,
) -> CitationTable:
    """The table with the rows alone that are used most often; equal ones by their keys.

    Args:
        table: What was learned.
        rows: How many rows to keep at most.
        links: What it was learned from.
        collection: What they cite.
    """
    if len(table.keys) <= rows:
        return table
    texts = [*collection.texts, *(link.words for link in links)]
    uses = row_uses(table.keys, texts)
    kept = np.sort(np.lexsort((table.keys, -uses))[:rows])
    return CitationTable(
        table.keys[kept],
        table.rows[kept],
        table.lemma_keys,
        table.lemma_weights,
        table.unknown_weight,
    )


def row_uses(keys: NDArray[np.int64], texts: Sequence[Sequence[Word]]) -> NDArray[np.int64]:
    """How many words of all texts have each token, lemma or gram, shape (len(keys),)."""
    counts = Counter(word for text in texts for word in text)
    parts = WordParts(counts, keys)
    times = np.repeat(np.array(list(counts.values())), np.diff(parts.offsets))
    return np.bincount(parts.rows, weights=times, minlength=len(keys)).astype(np.int64)


ROWS = 80_000
"""More rows than this make the file larger and hardly better."""


class Teacher:
    """Learns from links to one index.

    Args:
        index: What the links lead to.
        collection: Its passages.
        vectors: Word vectors to start from, or None.
        training: How to train.
        start: What was learned before, to go on from.
        progress: Told of the steps.
    """

    def __init__(
        self,
        index: CandidateIndex,
        collection: LearningCollection,
        vectors: WordVectors | None,
        training: CitationTraining = CitationTraining(),  # noqa: B008 - frozen
        start: CitationVectors | None = None,
        progress: Progress = silent,
    ) -> None:
        self._index = index
        self._collection = collection
        self._vectors = vectors
        self._training = training
        self._start = start
        self._progress = progress

    def validate(self, links: Sequence[KnownLink], folds: int) -> list[Result]:
        """What learning would bring; see `cross_validate`."""
        with scratch_folder() as folder:

            def learn(some: Sequence[KnownLink]) -> CitationVectors:
                path = folder / f"{len(list(folder.iterdir()))}.citations"
                self._learn(some, path, None, {})
                return CitationVectors(path)

            return cross_validate(links, self._collection, self._index, learn, folds)

    def install(
        self, links: Sequence[KnownLink], models: CitationModels, more: Mapping[str, Any]
    ) -> CitationVectors:
        """Learn from all links and keep the vectors with the others at hand.

        If it is interrupted, the next time goes on from there.

        Args:
            links: All links.
            models: Where the vectors are kept.
            more: What else they say of themselves.
        """
        new = models.folder / "new.citations"
        name = self._learn(links, new, models.folder / "unfinished.arrays", more)
        table = learn_translations(links, self._collection)
        facts = {"links": len(links), "vectors": name}
        save_translations(models.translations(name), table, self._settings, facts)
        new.with_suffix(SUFFIX).replace(models.path(name).with_suffix(SUFFIX))
        new.replace(models.path(name))
        return models.open(name)

    def _learn(
        self,
        links: Sequence[KnownLink],
        path: Path,
        checkpoint: Path | None,
        more: Mapping[str, Any],
    ) -> str:
        table = train(
            links,
            self._collection,
            self._vectors,
            self._training,
            start=self._start.table() if self._start else None,
            checkpoint=checkpoint,
            progress=self._progress,
        )
        kept = prune(table, ROWS, links, self._collection)
        started = {"started_from": self._start.name} if self._start else {}
        facts = about(
            links, self._collection, self._index.name, self._training, {**started, **more}
        )
        name = save_citation_vectors(path, kept, self._settings, facts)
        counts = [count_citing_words(links, self._collection)]
        before = citing_words_of(self._start) if self._start else None
        if before is not None:
            counts.insert(0, before.table())
        facts = {"links": len(links), "vectors": name, **started}
        save_citing_words(path.with_suffix(SUFFIX), merged(counts), self._settings, facts)
        return name

    @property
    def _settings(self) -> AnalysisSettings:
        return self._index.settings.analysis
