"""Passages that say nearly the same, such as synoptic parallels: an error that is hardly one."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from allusion_es.evaluation.gold import GoldLink
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import SearchRequest

LIKE = 0.5
"""From this cosine of TfIdf vectors of lemmas on, two passages count as parallel."""

_MOST = 50


def parallels(
    ids: Iterable[str], index: CandidateIndex, least: float = LIKE
) -> dict[str, tuple[str, ...]]:
    """For each passage those that are nearly the same, nearest first.

    Args:
        ids: Ids of passages.
        index: Where they are.
        least: The least cosine that counts.

    Raises:
        VerseError: A passage is not in the index.

    Example:
        >>> from allusion_es.retrieval.memory import index_texts
        >>> texts = {"Ps.13.1": "dixit insipiens in corde", "Ps.52.1": "dixit insipiens in corde"}
        >>> texts |= {f"Gen.1.{verse}": "fiat lux" for verse in range(5)}
        >>> parallels(["Ps.13.1"], index_texts(texts))
        {'Ps.13.1': ('Ps.52.1',)}
    """
    distinct = list(dict.fromkeys(ids))
    texts = index.texts("lemma", distinct)
    requests = [
        SearchRequest("tfidf", "lemma", _MOST, dict(Counter(texts.text(number))))
        for number in range(len(distinct))
    ]
    return {
        name: tuple(
            other
            for other, score in zip(ranking.ids, ranking.scores.tolist(), strict=True)
            if other != name and score >= least
        )
        for name, ranking in zip(distinct, index.search(requests), strict=True)
    }


def with_parallels(links: Sequence[GoldLink], index: CandidateIndex) -> list[GoldLink]:
    """The links with the parallels of what is relevant counted as relevant too."""
    near = parallels((name for link in links for name in link.relevant), index)
    return [
        replace(
            link,
            relevant=tuple(
                dict.fromkeys(
                    [*link.relevant, *(other for name in link.relevant for other in near[name])]
                )
            ),
        )
        for link in links
    ]
