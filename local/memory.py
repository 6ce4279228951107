"""A small index of a few texts in memory, for examples, tests and experiments."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from allusion_es.corpora.passage import Passage
from allusion_es.corpora.passage_files import verse_passage
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.encoders.sentences import SentenceEncoder
from allusion_es.language.latin.analysis import Analyser
from allusion_es.language.vectors.types import WordVectors
from allusion_es.local.build import build_local
from allusion_es.local.index import LocalIndex
from allusion_es.retrieval.analysed import analyse_passages
from allusion_es.retrieval.encoder_vectors import EncodedPassages
from allusion_es.retrieval.index import IndexSettings


def index_texts(
    texts: Mapping[str, str],
    vectors: WordVectors | None = None,
    citations: CitationVectors | None = None,
    encoder: SentenceEncoder | None = None,
    *,
    verses: bool = False,
) -> LocalIndex:
    """An in-process index of `texts` (passage id to text) that leaves no file behind.

    Args:
        texts: At least one text.
        vectors: Word vectors for nearest neighbours and rerankers, or None.
        citations: Citation vectors for the same, or None.
        encoder: A sentence encoder for the same, or None.
        verses: Whether the ids are verses, so that the collection counts as the Bible.

    Example:
        >>> len(index_texts({"Gen.1.1": "In principio creavit Deus"}))
        1
    """
    analyser = Analyser()
    passages = [
        verse_passage(identifier, text, "", order)
        if verses
        else Passage(identifier, text, order=order)
        for order, (identifier, text) in enumerate(texts.items())
    ]
    settings = IndexSettings(
        analyser.settings,
        vectors.name if vectors else "",
        citations=citations.name if citations else "",
        encoder=encoder.settings if encoder else None,
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "texts.idx"
        encoded = EncodedPassages(encoder, Path(folder)) if encoder else None
        analysed = analyse_passages(passages, analyser)
        build_local(path, analysed, settings, vectors, citations, encoded)
        return LocalIndex(
            path,
            (lambda: vectors) if vectors else None,
            (lambda _: citations) if citations else None,
            (lambda _: encoder) if encoder else None,
        )
