"""Tesserae with word frequencies from the two passages."""

from collections.abc import Sequence

from allusion_es.core.arrays import Floats
from allusion_es.rerankers._shared.shared_words import SharedTypes
from allusion_es.rerankers.tesserae import Tesserae
from allusion_es.retrieval.reranking import Collection
from allusion_es.retrieval.types import Field


class TesseraeOriginal(Tesserae):
    """Tesserae's score as first defined: f(w, s) and f(w, t) count within query and passage.

    Otherwise as `Tesserae`. In short texts nearly all frequencies are 1, so that little more
    than the number of shared words and their distance counts; the paper found it poor.
    Source: Forstall et al. 2015; Manjavacas et al. 2019, section 5.1.

    Example:
        >>> from allusion_es.rerankers.trial import trial
        >>> trial(TesseraeOriginal(), "in principio erat", ["in principio", "erat et in"])
        [0.6931, 0.0]
    """

    def __init__(self) -> None:
        super().__init__()

    def frequencies(
        self, shared: SharedTypes, field: Field, collection: Collection
    ) -> tuple[Floats, Floats]:
        """Counts of each shared type in the query and in the text, shape of `shared.types`."""
        return shared.query_counts, shared.text_counts

    def notes(self, collection: Collection) -> Sequence[str]:
        """A note on the collections that frequencies come from."""
        return (
            "Tesserae: word frequencies within query and passage; undefined below two shared words",
        )
