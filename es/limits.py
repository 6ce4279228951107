"""What a server takes of ids and words."""

from functools import lru_cache

from allusion_es.core.errors import InputError
from allusion_es.retrieval.analysed import AnalysedPassage

MAX_WORD = 255
"""Lucene's whitespace tokenizer cuts words that have more characters."""

MAX_ID_BYTES = 512
"""Elasticsearch takes no longer ids, and each word becomes part of one."""


def check_passage(analysed: AnalysedPassage) -> None:
    """Look at the id and the words of a passage.

    Raises:
        InputError: One of them cannot be indexed.
    """
    identifier = analysed.passage.id
    if not identifier or len(identifier.encode("utf-8", "replace")) > MAX_ID_BYTES:
        raise InputError(
            f"passage id {identifier[:60]!r}: ids have 1 to {MAX_ID_BYTES} bytes in UTF-8"
        )
    for words in (analysed.analysis.tokens, analysed.analysis.lemmas):
        for word in words:
            if problem := _problem(word):
                raise InputError(f"passage {identifier}: {problem}")


@lru_cache(maxsize=1 << 17)  # texts repeat their words
def _problem(word: str) -> str:
    """Words are indexed with blanks between them, and `|` before a frequency."""
    if not word or "|" in word or any(character.isspace() for character in word):
        return f"word {word[:60]!r} is empty or has a blank or |"
    if len(word) > MAX_WORD or len(word.encode("utf-8", "replace")) > MAX_ID_BYTES - 10:
        return (
            f"word {word[:40] + '…'!r} has {len(word)} characters, more than can be indexed "
            f"({MAX_WORD}, in UTF-8 {MAX_ID_BYTES - 10} bytes)"
        )
    return ""
