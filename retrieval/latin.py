"""Whether a text is Latin at all: how many of its words the index and the dictionary know."""

from collections.abc import Iterable, Iterator, Sequence

from allusion_es.core.characters import shorten
from allusion_es.corpora.passage import Passage, Work
from allusion_es.language.latin.analysis import Analyser
from allusion_es.retrieval.index import CandidateIndex

SAMPLE = 20_000
"""Characters of a long text from which its language is told."""

# Of 3,953 queries in Latin two fall short of both shares (a sentence in Greek among them), of 57 in
# English, French, German, Greek, Italian and Spanish all but six.
_IN_INDEX = 0.6
_KNOWN = 0.75
# A small collection lacks most words of any text: its word counts only beside the dictionary's.
_LARGE = 5_000
_KNOWN_TO_SMALL = 0.6


def language_doubt(
    tokens: Sequence[str],
    is_found: Sequence[bool],
    index: CandidateIndex,
    passages: int,
    analyser: Analyser,
) -> str:
    """Why a text is hardly Latin, for a message; "" where nothing speaks against it.

    Many words of other languages are Latin words too (`in`, `me`, `a`, `sum`), and good Latin has
    words that no verse has. So it takes two shares: of the words that occur in the index, and of
    those that occur in it or in the lemmatiser's dictionary.

    Args:
        tokens: The words of the text.
        is_found: Whether each occurs in the index.
        index: The index, named in the message.
        passages: How many passages it has; in a small one only the second share counts.
        analyser: That of the index; its lemmatiser knows more words.
    """
    if not tokens:
        return "there is no word in it; numbers and signs are not searched for"
    found = sum(map(bool, is_found))
    known = sum(has or analyser.is_word(token) for token, has in zip(tokens, is_found, strict=True))
    if passages >= _LARGE:
        is_latin = found >= _IN_INDEX * len(tokens) or known >= _KNOWN * len(tokens)
    else:
        is_latin = known >= _KNOWN_TO_SMALL * len(tokens)
    if is_latin:
        return ""
    words = "its one word does not occur"
    if len(tokens) > 1:
        words = f"of its {len(tokens)} words only {found} occur"
    return f"{words} in {index.name!r}; is it Latin?"


def text_doubt(text: str, index: CandidateIndex, analyser: Analyser) -> str:
    """`language_doubt` of a long text, from its beginning.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> index = index_texts({"Ps.1.1": "Beatus vir"})
        >>> text_doubt("the man that walketh not", index, Analyser())
        "of its first 5 words only 0 occur in 'texts'; is it Latin?"
        >>> text_doubt("vir qui ambulat", index, Analyser())
        ''
    """
    analysis = analyser.analyse(text[:SAMPLE])
    statistics = index.statistics("lemma", analysis.lemmas)
    is_found = (statistics.df > 0).tolist() if analysis.lemmas else []
    doubt = language_doubt(analysis.tokens, is_found, index, statistics.passages, analyser)
    return doubt.replace("of its ", "of its first ", 1)


_FIRST, _EACH = 50, 1_000
"""Of a work the first passages are looked at, and later one in so many: its language may change."""

_MOST_TOLD = 5
"""Works that are named one by one."""


class CollectionDoubt:
    """Notes while passages are read what speaks against their being Latin.

    Args:
        analyser: That of the index; its lemmatiser knows the words.

    Example:
        >>> doubt = CollectionDoubt(Analyser())
        >>> texts = ["the man that walketh not in the counsel", "12, 13"]
        >>> _ = list(doubt.watch(Passage(text, text) for text in texts))
        >>> for note in doubt.notes():
        ...     print(note)
        1 of 2 passages has no word, and cannot be found
        of its 8 words only 3 are in the lemmatiser's dictionary; is it Latin?
    """

    def __init__(self, analyser: Analyser) -> None:
        self._analyser = analyser
        self._passages = self._empty = 0
        # Of each work: its passages, and of those looked at the words and the known ones.
        self._works: dict[Work, list[int]] = {}

    def watch(self, passages: Iterable[Passage]) -> Iterator[Passage]:
        """Yield the passages unchanged."""
        for passage in passages:
            self._look(passage)
            yield passage

    def _look(self, passage: Passage) -> None:
        self._passages += 1
        self._empty += not any(character.isalpha() for character in passage.text)
        counts = self._works.setdefault(Work(passage.author, passage.work), [0, 0, 0])
        counts[0] += 1
        if counts[0] <= _FIRST or not counts[0] % _EACH:
            tokens = self._analyser.analyse(passage.text[:SAMPLE]).tokens
            counts[1] += len(tokens)
            counts[2] += sum(map(self._analyser.is_word, tokens))

    def notes(self) -> list[str]:
        """What is doubtful, a line each; nothing where all is well."""
        found = []
        if self._empty:
            have = "has" if self._empty == 1 else "have"
            found.append(
                f"{self._empty} of {self._passages} passages {have} no word, and cannot be found"
            )
        doubtful = [
            (work, words, known)
            for work, (_, words, known) in self._works.items()
            if known < _KNOWN_TO_SMALL * words
        ]
        for work, words, known in doubtful[:_MOST_TOLD]:
            name = f"{shorten(work.label, 60)}: " if len(self._works) > 1 else ""
            are = "is" if known == 1 else "are"
            found.append(
                f"{name}of its {words} words only {known} {are} in the lemmatiser's dictionary; "
                "is it Latin?"
            )
        if len(doubtful) > _MOST_TOLD:
            found.append(f"and {len(doubtful) - _MOST_TOLD} more works are doubtful")
        return found
