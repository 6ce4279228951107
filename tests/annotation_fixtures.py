"""What the tests of the annotation page share."""

import pytest
from annotation_server import INDEX

from allusion_es.corpora.passage import Passage
from allusion_es.local.library import BuildOptions, Library


@pytest.fixture(scope="session")
def little_index(library: Library, vulgate_passages: tuple[Passage, ...]) -> str:
    """Name of an index of a few verses."""
    few = [passage for passage in vulgate_passages if passage.id in {"Ps.33.9", "Eph.3.19"}]
    library.build(INDEX, few, BuildOptions(vectors=False))
    return INDEX
