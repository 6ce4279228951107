"""From gold links to files: citation vectors, citing words, translations."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from allusion_es.core.locks import scratch_folder
from allusion_es.core.progress import Progress, silent
from allusion_es.language.analysis import AnalysisSettings
from allusion_es.language.citation_file import save_citation_vectors
from allusion_es.language.citation_vectors import CitationVectors
from allusion_es.language.citing_words import (
    SUFFIX,
    citing_words_of,
    merged,
    save_citing_words,
)
from allusion_es.language.translations import save_translations
from allusion_es.language.vectors import WordVectors
from allusion_es.learning.about import about
from allusion_es.learning.count import count_citing_words
from allusion_es.learning.links import KnownLink, LearningCollection
from allusion_es.learning.prune import prune
from allusion_es.learning.train import Training, train
from allusion_es.learning.translate import learn_translations
from allusion_es.learning.validation import Result, cross_validate
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.models import Models

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
        training: Training = Training(),  # noqa: B008 - frozen
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
        self, links: Sequence[KnownLink], models: Models, more: Mapping[str, Any]
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
