"""Heat: how much each word of query and passage adds to a score.

The contributions of a hit are pairs of words that sum to its score. A word's own contribution
is the sum over the pairs that it is in, so that the words of the query sum to the score, and
those of the passage too, but for what is not a word of the text at all (`‹distance 3›`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from allusion_es.language.latin.analysis import Analysis
from allusion_es.retrieval.types import Contribution, Field

LEVELS = (0.1, 0.3, 0.6)
"""The least shades of the levels 1, 2 and 3; `report.js` has the same numbers."""


@dataclass(frozen=True, slots=True)
class HeatedWord:
    """A word of a text that is part of at least one pair.

    Attributes:
        start: Where it begins, in characters of the text.
        end: Where it ends (exclusive).
        contribution: The sum over the pairs that it is in; a word that occurs twice has the
            same sum both times, and counts once towards the score.
        shade: From 0 to 1, relative to the other words of its text (`shades`).
    """

    start: int
    end: int
    contribution: float
    shade: float


@dataclass(frozen=True, slots=True)
class HeatedPair:
    """A pair of words and where they stand.

    Attributes:
        query_word: As the method compares it: a lemma or a token.
        passage_word: Likewise.
        contribution: What the pair adds to the score.
        query_places: Numbers of its occurrences in `Heat.query`; none if it is not in the text.
        passage_places: Numbers of its occurrences in `Heat.passage`.
    """

    query_word: str
    passage_word: str
    contribution: float
    query_places: tuple[int, ...] = ()
    passage_places: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Heat:
    """The contributions of the words of a query and of a passage to the passage's score.

    Attributes:
        query: The words of the query that are in a pair, in the order of the text.
        passage: Those of the passage.
        pairs: The pairs of words, largest contribution first.
        apart: Parts of the score that are not words of either text, such as a distance.
        others: How many more pairs there are, that `strongest` left out.
        others_sum: What they add up to.
        by_order: Whether it is only known which words matter more than others, not how much:
            shades go by their order, and all contributions are 0.
    """

    query: tuple[HeatedWord, ...] = ()
    passage: tuple[HeatedWord, ...] = ()
    pairs: tuple[HeatedPair, ...] = ()
    apart: tuple[HeatedPair, ...] = ()
    others: int = 0
    others_sum: float = 0.0
    by_order: bool = False

    def strongest(self, number: int) -> "Heat":
        """A copy with only this many pairs, those of largest contribution."""
        rest = self.pairs[number:]
        return replace(
            self,
            pairs=self.pairs[:number],
            others=self.others + len(rest),
            others_sum=self.others_sum + sum(pair.contribution for pair in rest),
        )


def heat_of(
    contributions: Iterable[Contribution] | None,
    query: Analysis,
    passage: Analysis,
    fields: Sequence[Field],
) -> Heat:
    """The heat of a hit: where the words of its contributions stand, and what each adds.

    Args:
        contributions: `Hit.contributions`, largest first.
        query: The words of the query.
        passage: The words of the passage's text.
        fields: Fields whose words the pairs name (`Retriever.compared`).

    Example:
        >>> from allusion_es.language.latin.analysis import Analyser
        >>> query, passage = map(Analyser().analyse, ("Deus dixit", "dicit deum, dicit"))
        >>> pairs = [Contribution("dico", "dico", 3.0), Contribution("dico", "deus", 1.0)]
        >>> heat = heat_of(pairs, query, passage, ["lemma"])
        >>> [(word.start, word.end, word.contribution, word.shade) for word in heat.query]
        [(5, 10, 4.0, 1.0)]
        >>> [(word.start, word.contribution) for word in heat.passage]
        [(0, 3.0), (6, 1.0), (12, 3.0)]
        >>> heat.pairs[0].query_places, heat.pairs[0].passage_places
        ((0,), (0, 2))
    """
    listed = tuple(contributions or ())
    query_side = _HeatedSide(query, fields, [(c.query_word, c.contribution) for c in listed])
    passage_side = _HeatedSide(passage, fields, [(c.passage_word, c.contribution) for c in listed])
    pairs = [
        HeatedPair(
            c.query_word,
            c.passage_word,
            c.contribution,
            query_side.places(c.query_word),
            passage_side.places(c.passage_word),
        )
        for c in listed
    ]
    return Heat(
        query_side.words,
        passage_side.words,
        tuple(pair for pair in pairs if pair.query_places or pair.passage_places),
        tuple(pair for pair in pairs if not (pair.query_places or pair.passage_places)),
    )


def shades(contributions: Sequence[float]) -> list[float]:
    """The shade of each word, from 0 to 1: the larger its contribution, the darker.

    The largest is 1, the others are in proportion, and what adds nothing or takes away is 0.
    Where all take away, as where a score is the logarithm of a small number, the word that takes
    away least is 1, and one that takes away twice as much is half as dark.

    Example:
        >>> shades([0.2, 0.1, -0.3, 0.0]), shades([-1.0, -2.0])
        ([1.0, 0.5, 0.0, 0.0], [1.0, 0.5])
    """
    highest = max(contributions, default=0.0)
    if highest > 0:
        return [max(0.0, value / highest) for value in contributions]
    return [highest / value if highest else 0.0 for value in contributions]


def level(shade: float) -> int:
    """A shade in steps, for where there is no colour: 0 (next to nothing) to 3 (most).

    Example:
        >>> [level(shade) for shade in (0.05, 0.1, 0.5, 1.0)]
        [0, 1, 2, 3]
    """
    return sum(shade >= least for least in LEVELS)


class _HeatedSide:
    """The words of one text that are in a pair, with their sums and shades."""

    def __init__(
        self, analysis: Analysis, fields: Sequence[Field], parts: Sequence[tuple[str, float]]
    ) -> None:
        totals: dict[str, float] = {}
        for word, contribution in parts:
            totals[word] = totals.get(word, 0.0) + contribution
        found: list[tuple[int, int, float]] = []
        self._places: dict[str, list[int]] = {}
        columns = [analysis.tokens if field == "token" else analysis.lemmas for field in fields]
        for (start, end), *forms in zip(analysis.spans, *columns, strict=True):
            # Token and lemma are often the same form, which must count once.
            paired = [form for form in dict.fromkeys(forms) if form in totals]
            if end > start and paired:
                for form in paired:
                    self._places.setdefault(form, []).append(len(found))
                found.append((start, end, sum(totals[form] for form in paired)))
        darkness = shades([value for _, _, value in found])
        self.words = tuple(
            HeatedWord(start, end, value, shade)
            for (start, end, value), shade in zip(found, darkness, strict=True)
        )

    def places(self, word: str) -> tuple[int, ...]:
        """Numbers in `words` of the occurrences of a word, as the method compares it."""
        return tuple(self._places.get(word, ()))
