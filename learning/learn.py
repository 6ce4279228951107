"""Learning from gold links: citation vectors, citing texts and translations, saved as files."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.locks import scratch_folder
from allusion_es.core.progress import Progress, silent
from allusion_es.language.citations.citing_texts import (
    SUFFIX,
    CitingText,
    citing_texts_of,
    save_citing_texts,
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
from allusion_es.learning.links import KnownLink, LearningCollection
from allusion_es.learning.train import CitationTraining, train
from allusion_es.learning.translation_model import learn_translations
from allusion_es.learning.validation import GroupFigures, cross_validate
from allusion_es.retrieval.citation_models import CitationModels
from allusion_es.retrieval.index import CandidateIndex

ROWS = 80_000
"""Rows of a saved table at most: more make the file larger and the vectors hardly better."""


class CitationLearner:
    """Learns from links to one index.

    Args:
        index: The index whose passages the links cite.
        collection: Its passages.
        vectors: Word vectors to start from, or None.
        training: The settings.
        start: Citation vectors that were learned before, to go on from.
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

    def validate(self, links: Sequence[KnownLink], folds: int) -> list[GroupFigures]:
        """Figures of vectors on works that they were not learned from, by `cross_validate`."""
        with scratch_folder() as folder:

            def learn(some: Sequence[KnownLink]) -> CitationVectors:
                path = folder / f"{len(list(folder.iterdir()))}.citations"
                self._learn(some, path, None, {})
                return CitationVectors(path)

            return cross_validate(links, self._collection, self._index, learn, folds)

    def install(
        self, links: Sequence[KnownLink], models: CitationModels, more: Mapping[str, Any]
    ) -> CitationVectors:
        """Learn from all links and save the vectors among the installed models.

        A checkpoint is kept meanwhile: if it is interrupted, the next call goes on from there.

        Args:
            links: All links.
            models: The folder of models.
            more: Facts that are saved with the vectors, besides those of `facts_of`.
        """
        new = models.folder / "new.citations"
        name = self._learn(links, new, models.folder / "unfinished.arrays", more)
        table = learn_translations(links, self._collection)
        facts = {"links": len(links), "vectors": name}
        save_translations(models.translations(name), table, self._settings, facts)
        # The vectors come last: with them the other files beside them are found.
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
        """Train and save vectors and citing texts; returns the name of the vectors."""
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
        facts = facts_of(
            links, self._collection, self._index.name, self._training, {**started, **more}
        )
        name = save_citation_vectors(path, kept, self._settings, facts)
        texts = citing_texts(links, self._collection)
        before = citing_texts_of(self._start) if self._start else None
        if before is not None:
            texts += before.texts()
        facts = {"links": len(links), "vectors": name, **started}
        save_citing_texts(path.with_suffix(SUFFIX), texts, self._settings, facts)
        return name

    @property
    def _settings(self) -> AnalysisSettings:
        return self._index.settings.analysis


def citing_texts(links: Sequence[KnownLink], collection: LearningCollection) -> list[CitingText]:
    """The texts of links, as sets of lemmas, with the passages that they cite.

    Args:
        links: Texts with the passages that they cite.
        collection: The passages.
    """
    return [
        CitingText.of(
            (collection.ids[place] for place in link.places),
            [lemma for _, lemma in link.words[: link.start]],
            [lemma for _, lemma in link.own_words],
            [lemma for _, lemma in link.words[link.end :]],
        )
        for link in links
    ]


def prune(
    table: CitationTable,
    rows: int,
    links: Sequence[KnownLink],
    collection: LearningCollection,
) -> CitationTable:
    """The table with the rows alone that are used most often; equal ones by their keys.

    Args:
        table: A learned table.
        rows: How many rows to keep at most.
        links: The links that it was learned from.
        collection: The passages that they cite.
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
    """The number of words in all texts that have each token, lemma or gram, shape (len(keys),)."""
    counts = Counter(word for text in texts for word in text)
    parts = WordParts(counts, keys)
    times = np.repeat(np.array(list(counts.values())), np.diff(parts.offsets))
    return np.bincount(parts.rows, weights=times, minlength=len(keys)).astype(np.int64)


_SOURCES = 10
"""Sources that are listed by name; of more only the common beginning of their names is told."""


def facts_of(
    links: Sequence[KnownLink],
    collection: LearningCollection,
    index: str,
    training: CitationTraining,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """The facts that are saved with a model; no date, so that the same links give the same file.

    Args:
        links: The links that it was learned from.
        collection: The passages that they cite.
        index: The name of the index.
        training: The settings of the training.
        more: Other facts.
    """
    return {
        "links": len(links),
        "works": len({link.link.work for link in links}),
        "cited_passages": len({place for link in links for place in link.places}),
        "index": index,
        "passages": len(collection),
        "sources": sources([link.link.source for link in links]),
        "licences": sorted({link.link.licence for link in links} - {""}),
        "training": asdict(training.for_links(len(links))),
        "program": version("allusion-es"),
        **more,
    }


def sources(names: Sequence[str]) -> list[str]:
    """The different sources; where there are many, those of a collection in one line.

    A collection is what stands before the first colon.

    Example:
        >>> sources(["TEI of Bernard", "", "TEI of Bernard"])
        ['TEI of Bernard']
        >>> sources([f"PL@e83: {number}.xml" for number in range(221)] + ["CSEL@281: 1.xml"])
        ['CSEL@281: 1.xml', 'PL@e83: … (221 sources)']
    """
    distinct = sorted(set(names) - {""})
    if len(distinct) <= _SOURCES:
        return distinct
    files = Counter(name.partition(":")[0] for name in distinct)
    alone = {name.partition(":")[0]: name for name in distinct}
    return [
        alone[name] if count == 1 else f"{name}: … ({count} sources)"
        for name, count in files.items()
    ]
