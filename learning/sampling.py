"""What one step of training looks at: pieces of citing texts, cited passages, and others."""

from allusion_es.core.arrays import Integers, Singles
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from allusion_es.learning.contrast import Batch
from allusion_es.learning.links import KnownLink
from allusion_es.learning.negatives import NEAR
from allusion_es.learning.texts import Codes, root_matrix

if TYPE_CHECKING:
    from scipy.sparse import csr_array



class Sampler:
    """Makes batches of links.

    Args:
        links: All links.
        texts: Words of each with those before and after, as numbers.
        words: How many different words there are.
        passages: Root counts of the collection's passages, shape (passages, words).
        negatives: What `hard_negatives` found for each link.
        popularity: Taken from the similarities with each passage, shape (passages,).
        crop: Share of queries that are a piece of the words before, in and after the link.
        lengths: Fewest and most words of such a piece.
        dropout: Share of a query's words that are left out.
        count: How many negatives each link brings along.
    """

    def __init__(
        self,
        links: Sequence[KnownLink],
        texts: Sequence[Codes],
        words: int,
        passages: "csr_array",
        negatives: NDArray[np.int32],
        popularity: Singles,
        *,
        crop: float,
        lengths: tuple[int, int],
        dropout: float,
        count: int,
    ) -> None:
        self._links = links
        self._texts = texts
        self._words = words
        self._passages = passages
        self._negatives = negatives
        self._popularity = popularity
        self._crop = crop
        self._lengths = lengths
        self._dropout = dropout
        self._count = count

    def batch(self, chosen: Integers, rng: np.random.Generator) -> Batch:
        """What to compare for some links.

        Args:
            chosen: Which links.
            rng: Where chance comes from.
        """
        queries = root_matrix([self._piece(link, rng) for link in chosen.tolist()], self._words)
        cited = np.array([self._one_of(link, rng) for link in chosen.tolist()])
        others = [self._some_negatives(link, rng) for link in chosen.tolist()]
        passages, places = np.unique(np.concatenate([cited, *others]), return_inverse=True)
        targets = places[: len(cited)]
        return Batch(
            queries,
            self._passages[passages],
            targets,
            self._ignored(chosen, passages, targets),
            self._popularity[passages],
        )

    def _piece(self, number: int, rng: np.random.Generator) -> Codes:
        """The words of a link, or others near them."""
        link, text = self._links[number], self._texts[number]
        if rng.random() < self._crop:
            length = int(rng.integers(self._lengths[0], self._lengths[1] + 1))
            start = int(rng.integers(0, max(len(text) - length, 0) + 1))
            text = text[start : start + length]
        else:
            text = text[link.start : link.end]
        return text[rng.random(len(text)) >= self._dropout]

    def _one_of(self, number: int, rng: np.random.Generator) -> int:
        places = self._links[number].places
        return places[int(rng.integers(len(places)))]

    def _some_negatives(self, number: int, rng: np.random.Generator) -> Integers:
        there = self._negatives[number]
        there = there[there >= 0]
        return rng.choice(there, min(self._count, len(there)), replace=False).astype(np.int64)

    def _ignored(
        self, chosen: Integers, passages: Integers, targets: Integers
    ) -> NDArray[np.bool_]:
        """What a query cites besides its target, and what lies near, is not held against it."""
        ignored = np.zeros((len(chosen), len(passages)), dtype=np.bool_)
        for row, number in enumerate(chosen.tolist()):
            for place in self._links[number].places:
                first, last = np.searchsorted(passages, [place - NEAR, place + NEAR + 1])
                ignored[row, first:last] = True
        ignored[np.arange(len(chosen)), targets] = False
        return ignored


def log_shares(cited: Sequence[Sequence[int]], passages: int) -> NDArray[np.float32]:
    """Logarithm of each passage's share of all citations, half a citation added to each.

    Args:
        cited: What each link cites; several passages share one citation.
        passages: How many passages there are.

    Example:
        >>> [round(share, 3) for share in log_shares([(0,), (0, 1)], 2).tolist()]
        [-0.405, -1.099]
    """
    counts = np.full(passages, 0.5)
    for places in cited:
        counts[list(places)] += 1 / len(places)
    return np.asarray(np.log(counts / counts.sum()), dtype=np.float32)
