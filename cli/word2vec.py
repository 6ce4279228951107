"""word2vec vectors of an index's own words, for the paper's Table 3."""

import logging
import sys
from pathlib import Path

from allusion_es.cli.progress import progress
from allusion_es.core.files import data_dir
from allusion_es.language.training import Training, train_vectors
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import Field


def trained_on(index: CandidateIndex, field: Field) -> Path:
    """The file of word2vec vectors of an index's tokens or lemmas; trained where it is missing.

    Raises:
        StorageError: It cannot be written.
    """
    name = f"word2vec-{index.name}-{index.fingerprint}-{field}.vec"
    path = data_dir() / "vectors" / name
    if path.exists():
        return path
    logging.getLogger("gensim").addHandler(logging.NullHandler())
    coded = index.texts(field, index.ids())
    texts = [coded.text(number) for number in range(len(coded))]
    about = f"{field}s of index {index.name}"
    words = train_vectors(texts, path, Training(method="word2vec"), about, progress)
    print(f"note: trained word2vec vectors of {words} {field}s of the index", file=sys.stderr)
    return path
