"""Citing texts: which lemmas the texts have that are known to cite a passage, kept in a file.

They say of a passage with which words others cite it (`CitingTexts.words_by_passage`, from which
`retrieval.expansion` expands passages), and of a query whether it is like some text that cites a
passage (`CitingTexts.evidence`). Lemmas are kept in lists by lemma, without order and number, from
which no text can be read again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import (
    Array,
    Integers,
    Singles,
    lines_array,
    offsets_array,
    ranges,
    save_arrays,
)
from allusion_es.core.errors import InputError
from allusion_es.language.citations.learned_files import REMAKE, open_learned
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.latin.analysis import AnalysisSettings

KIND = "citing texts"
SUFFIX = ".citing"
"""The suffix of such files, which lie beside the citation vectors of the same name."""

FORMAT = 1
"""Version of the format, to be raised whenever older programs cannot read the file."""

AROUND = 20
"""Words before and after a text of which the lemmas are kept too."""

_COMMON = 0.1
"""Share of the texts above which a lemma tells nothing of what is cited; it is not searched for,
and not kept of the words around."""

_K1, _B = 1.2, 0.75
"""BM25's usual parameters."""

_BEST = 3
"""How many of a passage's citing texts a query is compared with besides the best; `_Groups.best`
keeps so many."""


@dataclass(frozen=True, slots=True, order=True)
class CitingText:
    """A text that is known to cite passages.

    Attributes:
        passages: Ids of the passages, each once, sorted.
        own: Its distinct lemmas, sorted.
        around: Distinct lemmas of the words around it that it does not have itself, sorted.
    """

    passages: tuple[str, ...]
    own: tuple[str, ...]
    around: tuple[str, ...]

    @staticmethod
    def of(
        passages: Iterable[str], before: Sequence[str], own: Sequence[str], after: Sequence[str]
    ) -> "CitingText":
        """The text with these lemmas, which stands between others.

        Example:
            >>> CitingText.of(["Matt.4.20"], ["qui"], ["rete", "relinquo"], ["rete", "sequor"])
            CitingText(passages=('Matt.4.20',), own=('relinquo', 'rete'), around=('qui', 'sequor'))
        """
        near = {*before[-AROUND:], *after[:AROUND]} - set(own)
        return CitingText(
            tuple(sorted(set(passages))), tuple(sorted(set(own))), tuple(sorted(near))
        )


@dataclass(frozen=True, slots=True)
class CitingWords:
    """Of passages the lemmas of the texts that cite them, each with the number of those texts.

    Attributes:
        ids: The passages that are cited, sorted.
        places: The position of each id in `ids`.
        words: All lemmas, sorted.
        offsets: Passage i has the entries `offsets[i]:offsets[i + 1]`; shape (ids + 1,).
        lemmas: Lemmas as positions in `words`, ascending in each passage, shape (entries,).
        counts: How many of the texts that cite the passage have it, shape (entries,).
        texts: How many texts cite each passage, shape (ids,).
    """

    ids: tuple[str, ...]
    places: Mapping[str, int]
    words: tuple[str, ...]
    offsets: NDArray[np.int64]
    lemmas: NDArray[np.int64]
    counts: NDArray[np.int64]
    texts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Evidence:
    """How like the texts that cite a passage are to a query, for n passages.

    Attributes:
        best: BM25 of the most similar of its texts, shape (n,).
        best_three: Sum of the three most similar, divided by three, shape (n,).
    """

    best: Singles
    best_three: Singles

    def take(self, places: Integers) -> "Evidence":
        """The evidence for some passages; 0 where a place is below 0: they were never cited."""
        known = places >= 0
        if not known.any():
            nothing = np.zeros(len(places), dtype=np.float32)
            return Evidence(nothing, nothing)
        return Evidence(
            *(np.where(known, one[places], np.float32(0)) for one in (self.best, self.best_three))
        )


def save_citing_texts(
    path: Path, texts: Iterable[CitingText], settings: AnalysisSettings, about: Mapping[str, Any]
) -> None:
    """Write a file of citing texts, whole or not at all.

    The same texts in another order give the same file.

    Args:
        path: The file.
        texts: At least one.
        settings: The analysis of the texts.
        about: A description of where they come from, as JSON.

    Raises:
        StorageError: The file cannot be written.
    """
    chosen = sorted(text for text in texts if text.passages and text.own)
    common = _common_lemmas(chosen)
    ids = sorted({name for text in chosen for name in text.passages})
    words = sorted({word for text in chosen for part in (text.own, text.around) for word in part})
    places = {name: place for place, name in enumerate(ids)}
    number = np.uint16 if len(chosen) <= 1 << 16 else np.int32
    arrays: dict[str, Array] = {
        "ids": lines_array(ids),
        "words": lines_array(words),
        "cited": np.array([places[name] for t in chosen for name in t.passages], dtype=np.int32),
        "cited_offsets": offsets_array(len(text.passages) for text in chosen),
    }
    around = [[word for word in text.around if word not in common] for text in chosen]
    for name, lemmas in (("own", [text.own for text in chosen]), ("around", around)):
        lists: dict[str, list[int]] = {word: [] for word in words}
        for place, row in enumerate(lemmas):
            for word in row:
                lists[word].append(place)
        arrays[f"{name}_offsets"] = offsets_array(len(lists[word]) for word in words)
        arrays[name] = np.array([n for word in words for n in lists[word]], dtype=number)
    meta = {"kind": KIND, "format": FORMAT, "settings": asdict(settings), "about": dict(about)}
    save_arrays(path, meta, arrays)


def _common_lemmas(texts: Sequence[CitingText]) -> set[str]:
    df = Counter(word for text in texts for part in (text.own, text.around) for word in part)
    return {word for word, count in df.items() if count > _COMMON * len(texts)}


class CitingTexts:
    """Known citing texts; each array is read from the file when it is first used.

    Args:
        path: A file that `save_citing_texts` wrote.

    Attributes:
        about: A description of where they come from.
        settings: The analysis of the texts.

    Raises:
        IndexDamagedError: The file is damaged.
        InputError: The file is of another kind, of another format, or cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._file = open_learned(path, KIND, FORMAT, "citing texts")
        self._lists: dict[str, _List] = {}
        self.about: Mapping[str, Any] = self._file.about
        self.settings = self._file.settings

    def __len__(self) -> int:
        """Return the number of texts."""
        return self._file.file.length("cited_offsets") - 1

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The passages that are cited, sorted."""
        return tuple(self._file.lines("ids"))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All lemmas, sorted."""
        return tuple(self._file.lines("words"))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.ids)}

    def places(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Positions of passages in `ids`, -1 for those never cited, shape (len(ids),)."""
        return np.array([self._places.get(name, -1) for name in ids], dtype=np.int64)

    def evidence(
        self, weights: Mapping[str, float], *, around: bool, places: Integers | None = None
    ) -> Evidence:
        """How like a query is to the texts that cite each passage.

        A text's score is `sum over the query's lemmas w that it has of weight_w idf_w (k1 + 1) /
        (1 + k1 (1 - b + b length / mean length))`: BM25 with Lucene's idf, lengths in distinct
        lemmas, each counted once. Lemmas that more than a tenth of the texts have are left out.

        Args:
            weights: The query's lemmas, and how much each counts.
            around: Compare it with the words around the texts too.
            places: Positions in `ids` of the passages that are asked for, below 0 for passages
                never cited; None for all passages, in the order of `ids`.
        """
        scores = (self._whole if around else self._own).scores(weights)
        if places is None:
            return self._groups.best(scores)
        texts, starts = self._by_cited
        chosen, order = np.unique(places[places >= 0], return_inverse=True)
        lengths = np.append(starts, len(texts))[chosen + 1] - starts[chosen]
        found = _Groups.of(texts, starts[chosen], lengths).best(scores)
        numbers = np.full(len(places), -1)
        numbers[places >= 0] = order
        return found.take(numbers)

    def shared(self, weights: Mapping[str, float], identifier: str) -> dict[str, float]:
        """The lemmas of a query that the most similar text has that cites a passage.

        Args:
            weights: The query's lemmas, and how much each counts.
            identifier: The passage.

        Returns:
            Each lemma with its part of the text's score, as `evidence` computes it from the
            text's own words; nothing where no text cites the passage or none has such a lemma.
        """
        place = self._places.get(identifier)
        if place is None:
            return {}
        texts, starts = self._by_cited
        end = starts[place + 1] if place + 1 < len(starts) else len(texts)
        mine = texts[starts[place] : end]
        found = {word: self._own.scores({word: weight})[mine] for word, weight in weights.items()}
        if not found:
            return {}
        best = int(np.sum(list(found.values()), axis=0).argmax())
        return {word: float(scores[best]) for word, scores in found.items() if scores[best] > 0}

    def nearest(self, weights: Mapping[str, float], most: int) -> dict[str, float]:
        """The passages that the texts most like a query cite, each with its best text's score.

        The score is that of `evidence` with the words around the texts.

        Args:
            weights: The query's lemmas, and how much each counts.
            most: Texts that are taken at most; those that score as high as the last of them too.
        """
        scores = self._whole.scores(weights)
        texts = _best(scores, most)
        starts = self._cited_offsets[texts]
        lengths = self._cited_offsets[texts + 1] - starts
        # The best text of a passage comes last, and its score stays.
        places, best = self._cited[ranges(starts, lengths)], np.repeat(scores[texts], lengths)
        order = np.argsort(best, kind="stable")
        return {
            self.ids[place]: score
            for place, score in zip(places[order].tolist(), best[order].tolist(), strict=True)
        }

    def texts_citing(self, places: Integers) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The texts that cite each of some passages.

        Args:
            places: Positions of the passages in `ids`; none is cited where one is below 0.

        Returns:
            Numbers of texts, those of passage i at `offsets[i]:offsets[i + 1]`, and `offsets`.
        """
        texts, starts = self._by_cited
        ends = np.append(starts[1:], len(texts))
        if not len(starts):
            return np.zeros(0, dtype=np.int64), np.zeros(len(places) + 1, dtype=np.int64)
        counts = np.where(places >= 0, (ends - starts)[places], 0)
        offsets = np.concatenate(([0], np.cumsum(counts)))
        return texts[ranges(starts[places], counts)], offsets

    def parts(
        self, lemmas: Sequence[str], texts: Integers, *, around: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Singles]:
        """The parts that lemmas add to the scores of the texts that have them, as in `evidence`.

        Args:
            lemmas: Distinct lemmas, each of weight 1.
            texts: Numbers of the texts that are asked for, distinct and ascending.
            around: Take in the words around the texts too.

        Returns:
            For each such pair the text as a position in `texts`, ascending, the lemma as a
            position in `lemmas`, and the part; shape (pairs,) each.
        """
        lists = self._whole if around else self._own
        return lists.parts(lemmas, texts)

    def numbers(self, lemmas: Sequence[str]) -> NDArray[np.int64]:
        """Positions of lemmas in `words`, -1 for unknown ones, shape (len(lemmas),)."""
        return self._own.numbers(lemmas)

    def words_by_passage(self) -> CitingWords:
        """Return which lemmas the texts that cite each passage have, words around left out."""
        return self._words_by_passage

    @cached_property
    def _words_by_passage(self) -> CitingWords:
        own = self._list("own")
        texts, lemma = own.texts, np.repeat(np.arange(len(self.words)), np.diff(own.offsets))
        starts, lengths = self._cited_offsets[:-1], np.diff(self._cited_offsets)
        each = lengths[texts]
        at = ranges(starts[texts], each)
        size = max(len(self.words), 1)
        keys, counts = np.unique(
            self._cited[at].astype(np.int64) * size + np.repeat(lemma, each), return_counts=True
        )
        offsets = np.searchsorted(keys // size, np.arange(len(self.ids) + 1))
        return CitingWords(
            self.ids,
            self._places,
            self.words,
            offsets.astype(np.int64),
            keys % size,
            counts,
            np.bincount(self._cited, minlength=len(self.ids)),
        )

    def texts(self) -> list[CitingText]:
        """Return all texts, to which others can be added."""
        parts = []
        for each in map(self._list, _LISTS):
            lemmas: list[list[str]] = [[] for _ in range(len(self))]
            lemma = np.repeat(np.arange(len(self.words)), np.diff(each.offsets))
            for text, code in zip(each.texts.tolist(), lemma.tolist(), strict=True):
                lemmas[text].append(self.words[code])
            parts.append(lemmas)
        cited, borders = self._cited.tolist(), self._cited_offsets.tolist()
        return [
            CitingText(
                tuple(self.ids[place] for place in cited[borders[n] : borders[n + 1]]),
                tuple(parts[0][n]),
                tuple(parts[1][n]),
            )
            for n in range(len(self))
        ]

    @cached_property
    def _cited_offsets(self) -> NDArray[np.int64]:
        return self._file.offsets("cited_offsets", None, self._file.file.length("cited"))

    @cached_property
    def _cited(self) -> NDArray[np.int32]:
        return self._file.integers("cited", (None,), len(self.ids))

    @cached_property
    def _own(self) -> "_TextLists":
        return _TextLists(self.words, [self._list("own")], len(self))

    @cached_property
    def _whole(self) -> "_TextLists":
        return _TextLists(self.words, [self._list(name) for name in _LISTS], len(self))

    def _list(self, name: str) -> "_List":
        kept = self._lists.get(name)
        if kept is None:
            texts = self._file.integers(name, (None,), max(len(self), 1))
            offsets = self._file.offsets(f"{name}_offsets", len(self.words), len(texts))
            kept = self._lists[name] = _List(offsets, texts, len(self))
        return kept

    @cached_property
    def _by_cited(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Texts ordered by the passages they cite, and where those of each passage begin."""
        texts = np.repeat(np.arange(len(self)), np.diff(self._cited_offsets))
        if len(np.unique(self._cited)) < len(self.ids):
            raise self._file.file.damaged("it has passages that no text cites")
        order = np.argsort(self._cited, kind="stable")
        return texts[order], np.searchsorted(self._cited[order], np.arange(len(self.ids)))

    @cached_property
    def _groups(self) -> "_Groups":
        """The texts that cite each passage."""
        texts, starts = self._by_cited
        return _Groups.of(texts, starts, np.diff(np.append(starts, len(texts))))


@dataclass(frozen=True, slots=True)
class _Groups:
    """Groups of texts, such as those that cite a passage, by columns.

    Attributes:
        texts: The first text of every group that has one, then the second ones, and so on.
        sizes: How many groups have a first text, a second one, and so on, descending.
        order: The groups, those with most texts first, as in each column.
    """

    texts: Integers
    sizes: Integers
    order: Integers

    @staticmethod
    def of(texts: Integers, starts: Integers, lengths: Integers) -> "_Groups":
        """The groups, of which each has `texts[start : start + length]`, at least one."""
        order = np.argsort(-lengths, kind="stable")
        starts, descending = starts[order], -lengths[order]
        sizes = np.searchsorted(descending, -np.arange(int(lengths.max(initial=0))))
        columns = np.repeat(np.arange(len(sizes)), sizes)
        rows = np.arange(len(columns)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return _Groups(texts[starts[rows] + columns], sizes, order)

    def best(self, scores: Singles) -> Evidence:
        """The best and the best three of each group.

        Args:
            scores: Of all texts, at least 0.
        """
        mine = scores[self.texts]
        first, second, third = np.zeros((_BEST, len(self.order)), dtype=np.float32)
        end = 0
        for size in self.sizes.tolist():
            start, end = end, end + size
            # What is better than a group's best so far takes its place, and that moves on.
            best, next_best, last = first[:size], second[:size], third[:size]
            moved = np.minimum(best, mine[start:end])
            np.maximum(best, mine[start:end], out=best)
            on = np.minimum(next_best, moved)
            np.maximum(next_best, moved, out=next_best)
            np.maximum(last, on, out=last)
        found = np.empty((2, len(self.order)), dtype=np.float32)
        found[0, self.order], found[1, self.order] = first, (first + second + third) / _BEST
        return Evidence(*found)


_GROUP = 32
"""Scores of which only the highest is looked at first."""


@dataclass(frozen=True)
class _List:
    """For each lemma the texts that have it.

    Attributes:
        offsets: Lemma i has `texts[offsets[i]:offsets[i + 1]]`; shape (lemmas + 1,).
        texts: Numbers of texts.
        size: How many texts there are.
    """

    offsets: NDArray[np.int64]
    texts: NDArray[Any]
    size: int

    @cached_property
    def by_text(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """For each text its lemmas: where they begin, shape (texts + 1,), and their numbers."""
        lemmas = np.arange(len(self.offsets) - 1, dtype=np.int32)
        order = np.argsort(self.texts, kind="stable")
        ends = np.cumsum(np.bincount(self.texts, minlength=self.size))
        held = np.repeat(lemmas, np.diff(self.offsets))[order]
        return np.concatenate(([0], ends)), held


_LISTS = ("own", "around")
"""The lists of a file: of the lemmas of the texts themselves, and of those around them."""


class _TextLists:
    """For each lemma the texts that have it, with the weights of BM25.

    Args:
        words: The lemmas, sorted.
        lists: One or several lists, in no two of which a lemma has the same text.
        size: How many texts there are.
    """

    def __init__(self, words: Sequence[str], lists: Sequence[_List], size: int) -> None:
        self._words = words
        # Side by side: to merge them takes longer than many queries.
        self._lists = lists
        self._size = size
        lengths: NDArray[np.int64] = np.zeros(size, dtype=np.int64)
        df: NDArray[np.int64] = np.zeros(len(words), dtype=np.int64)
        for each in lists:
            lengths += np.bincount(each.texts, minlength=size)
            df += np.diff(each.offsets)
        filled = lengths[lengths > 0]
        mean = float(filled.mean()) if len(filled) else 1.0
        self._saturation = ((_K1 + 1) / (1 + _K1 * (1 - _B + _B * lengths / mean))).astype(
            np.float32
        )
        self._idf = np.log(1 + (size - df + 0.5) / (df + 0.5)).astype(np.float32)
        self._idf[df > _COMMON * size] = 0

    def numbers(self, lemmas: Sequence[str]) -> NDArray[np.int64]:
        """Positions of lemmas, -1 for unknown ones."""
        return np.array([self._numbers.get(lemma, -1) for lemma in lemmas], dtype=np.int64)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self._words)}

    def parts(
        self, lemmas: Sequence[str], texts: Integers
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Singles]:
        """As `CitingTexts.parts`."""
        numbers = self.numbers(lemmas)
        known = numbers >= 0
        known[known] = self._idf[numbers[known]] > 0
        column_of = np.full(len(self._words), -1)
        column_of[numbers[known]] = np.flatnonzero(known)
        found, columns = [], []
        for each in self._lists:
            starts, held = each.by_text
            lengths = starts[texts + 1] - starts[texts]
            asked = column_of[held[ranges(starts[texts], lengths)]]
            is_asked = asked >= 0
            found.append(np.repeat(np.arange(len(texts)), lengths)[is_asked])
            columns.append(asked[is_asked])
        rows, lemma_of = np.concatenate(found), np.concatenate(columns)
        order = np.argsort(rows, kind="stable")
        rows, lemma_of = rows[order], lemma_of[order]
        weights = self._idf[numbers[lemma_of]] * self._saturation[texts[rows]]
        return rows, lemma_of, weights

    def scores(self, weights: Mapping[str, float]) -> Singles:
        """BM25 of each text, shape (size,)."""
        words = sorted(weights)
        numbers = self.numbers(words)
        known = numbers >= 0
        known[known] = self._idf[numbers[known]] > 0
        numbers = numbers[known]
        counted = np.array([weights[word] for word in words], dtype=np.float32)[known]
        counted *= self._idf[numbers]
        found, sizes = [np.zeros(0, dtype=np.int64)], []
        for each in self._lists:
            starts, ends = each.offsets[numbers], each.offsets[numbers + 1]
            parts = map(slice, starts.tolist(), ends.tolist())
            found += map(each.texts.__getitem__, parts)
            sizes.append(ends - starts)
        added = np.repeat(np.tile(counted, len(self._lists)), np.concatenate(sizes))
        sums = np.bincount(np.concatenate(found), weights=added, minlength=self._size)
        return np.asarray(sums.astype(np.float32) * self._saturation)


def _best(scores: Singles, most: int) -> NDArray[np.int64]:
    """The places of the highest scores above 0, and of those that equal the last; ascending.

    Args:
        scores: At least 0.
        most: How many, the equal ones aside; all if it is 0.
    """
    if not 0 < most < len(scores):
        return np.flatnonzero(scores > 0)
    # The least of the best of as many groups is no higher than the last that is wanted, and found
    # much faster: a third of all texts may have some score.
    groups = scores[: len(scores) // _GROUP * _GROUP].reshape(_GROUP, -1).max(axis=0)
    bound = np.partition(groups, -most)[-most] if len(groups) >= most else np.float32(0)
    places = np.flatnonzero(scores >= bound if bound > 0 else scores > 0)
    if len(places) > most:
        found = scores[places]
        places = places[found >= np.partition(found, -most)[-most]]
    return places


def citing_texts_of(vectors: CitationVectors) -> CitingTexts | None:
    """Return the citing texts beside the file of citation vectors, or None if there are none.

    Raises:
        InputError: They were learned with other vectors, or the file cannot be used.
    """
    path = vectors.path.with_suffix(SUFFIX)
    if not path.exists():
        return None
    found = CitingTexts(path)
    if found.about.get("vectors") != vectors.name or found.settings != vectors.settings:
        raise InputError(f"{path} does not belong to citation vectors {vectors.name}; {REMAKE}")
    return found
