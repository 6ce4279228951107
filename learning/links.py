"""Links to learn from: gold links with their words, and the collection that they cite."""

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from allusion_es.core.errors import InputError
from allusion_es.core.progress import Progress, silent
from allusion_es.evaluation.gold.files import make_link
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.language.citations.word_parts import Word
from allusion_es.language.latin.analysis import Analyser
from allusion_es.retrieval.analysed import reread
from allusion_es.retrieval.index import CandidateIndex

LEAST_LINKS = 200
"""Different links that are needed: fewer teach nothing that holds for other texts."""

_LEAST_KNOWN = 0.2
"""Least share of the links' words that the collection has: below it they differ in language."""


@dataclass(frozen=True, slots=True)
class KnownLink:
    """A gold link with its words.

    Attributes:
        link: The link.
        words: Its words with those before and after them.
        start: Where its own words begin in `words`.
        end: Where they end, exclusive.
        places: Places of the relevant passages in the collection, ascending, at least one.
    """

    link: GoldLink
    words: tuple[Word, ...]
    start: int
    end: int
    places: tuple[int, ...]

    @property
    def own_words(self) -> tuple[Word, ...]:
        """The link's own words, without those around."""
        return self.words[self.start : self.end]


@dataclass(frozen=True, slots=True)
class LearningCollection:
    """The passages of an index, in the order in which they are read.

    Attributes:
        ids: Their ids.
        texts: The words of each.
    """

    ids: tuple[str, ...]
    texts: tuple[tuple[Word, ...], ...]

    def __len__(self) -> int:
        """Number of passages."""
        return len(self.ids)

    def places(self) -> dict[str, int]:
        """The place of each id."""
        return {identifier: place for place, identifier in enumerate(self.ids)}


def read_links(path: Path) -> Iterator[GoldLink]:
    """The links of a file of JSON lines, which may be compressed (`.gz`), in its order.

    Raises:
        InputError: A line cannot be read; the message names file, line and field.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                yield make_link(_json_object(line, f"{path}:{number}"), path, number)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def _json_object(line: str, place: str) -> dict[str, object]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not JSON ({error}); give one object a line") from error
    if not isinstance(record, dict):
        raise InputError(f"{place}: {line[:40]!r} is no object; give one a line")
    return record


def read_collection(index: CandidateIndex) -> LearningCollection:
    """All passages of an index with their words, in canonical order."""
    ids: list[str] = []
    texts: list[tuple[Word, ...]] = []
    for analysed in reread(index):
        ids.append(analysed.passage.id)
        words = analysed.analysis
        texts.append(tuple(zip(words.tokens, words.lemmas, strict=True)))
    return LearningCollection(tuple(ids), tuple(texts))


def known_links(
    links: Iterable[GoldLink],
    collection: LearningCollection,
    analyser: Analyser,
    progress: Progress = silent,
) -> tuple[list[KnownLink], list[str]]:
    """The links that can be learned from, each different one once.

    Links without words are left out, and so are passages that the collection does not have.

    Args:
        links: Any links.
        collection: The passages that they cite.
        analyser: Analyses words as those of the collection were.
        progress: Told of the links that are analysed.

    Returns:
        The links, in their order, and the ids that the collection does not have.

    Raises:
        InputError: Hardly a word of the links is known to the collection.
    """
    places = collection.places()
    found: dict[tuple[tuple[Word, ...], tuple[int, ...]], KnownLink] = {}
    missing: dict[str, None] = {}
    for link in progress(links, "Analysing links"):
        missing |= dict.fromkeys(name for name in link.relevant if name not in places)
        relevant = tuple(sorted({places[name] for name in link.relevant if name in places}))
        query = link.query
        before, own, after = (
            _words(text, analyser) for text in (query.before, query.text, query.after)
        )
        if relevant and own:
            start, end = len(before), len(before) + len(own)
            known = KnownLink(link, before + own + after, start, end, relevant)
            found.setdefault((known.words, relevant), known)
    _check_language(list(found.values()), collection)
    return list(found.values()), list(missing)


def check_enough(
    links: Sequence[KnownLink], missing: Sequence[str], index: str, least: int = LEAST_LINKS
) -> None:
    """Refuse to learn from too few links.

    Args:
        links: The links.
        missing: Ids that the index does not have.
        index: Its name.
        least: How many different links are needed.

    Raises:
        InputError: There are fewer; the message says what to do.
    """
    if len(links) >= least:
        return
    some = next(iter(missing), "")
    lost = f"; {len(missing)} ids are not in index {index!r}, such as {some}"
    raise InputError(
        f"{len(links)} different links are too few to learn from{lost if missing else ''}; give "
        f"{least} or more: add files of other works, or links read from TEI editions"
    )


def _words(text: str, analyser: Analyser) -> tuple[Word, ...]:
    analysis = analyser.analyse(text)
    return tuple(zip(analysis.tokens, analysis.lemmas, strict=True))


def _check_language(links: Sequence[KnownLink], collection: LearningCollection) -> None:
    """Refuse links in another language than the collection.

    Raises:
        InputError: Fewer of their words than `_LEAST_KNOWN` occur in the collection.
    """
    known = {token for text in collection.texts for token, _ in text}
    tokens = [token for link in links for token, _ in link.own_words]
    share = sum(token in known for token in tokens) / max(len(tokens), 1)
    if tokens and share < _LEAST_KNOWN:
        raise InputError(
            f"only {share:.0%} of the links' words occur in the collection: they are not in its "
            "language; give links in the language of the index"
        )
