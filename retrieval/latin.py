"""Whether a text is Latin at all: how many of its words the index and the dictionary know."""

from collections.abc import Sequence

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
