"""What stands in a passage's document, as far as the passage alone decides it."""

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from allusion_es.core.errors import InputError
from allusion_es.es.connection import encode
from allusion_es.es.meta import NGRAM, PASSAGE_FIELDS
from allusion_es.language.citations.word_parts import all_grams
from allusion_es.retrieval.analysed import AnalysedPassage
from allusion_es.retrieval.types import Field

# What a server takes of ids and words.


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


def describe(analysed: AnalysedPassage) -> bytes:
    """The document of a passage, encoded, without its weights and vectors.

    Raises:
        InputError: Its id or one of its words cannot be indexed.
    """
    check_passage(analysed)
    content = {name: getattr(analysed.passage, name) for name in PASSAGE_FIELDS}
    tokens, lemmas = analysed.analysis.tokens, analysed.analysis.lemmas
    content["length"] = len(tokens)
    content["words"] = pack_words(tokens, lemmas)
    content["token"], content["lemma"] = " ".join(tokens), " ".join(lemmas)
    content[NGRAM] = " ".join(gram for token in tokens for gram in _grams(token))
    content["token_frequencies"] = _frequencies(tokens)
    content["lemma_frequencies"] = _frequencies(lemmas)
    return encode(content)


def frequency_words(word: str, frequency: int) -> list[str]:
    """How a word that occurs so often stands in a field of frequencies.

    A query that asks for all of them, each with the same boost, finds the boost times the
    frequency, which no other way without scripts gives exactly.

    Example:
        >>> frequency_words("deus", 3)
        ['deus', 'deus|2', 'deus|3']
    """
    return [word, *(f"{word}|{number}" for number in range(2, frequency + 1))]


def pack_words(tokens: Sequence[str], lemmas: Sequence[str]) -> str:
    """The words of both fields in the form that a server hands out fastest: a binary column.

    Example:
        >>> unpack_words(pack_words(["dixit", "deus"], ["dico", "deus"]))
        ('dixit deus', 'dico deus')
    """
    return b64encode(f"{' '.join(tokens)}\n{' '.join(lemmas)}".encode()).decode("ascii")


def unpack_words(packed: str) -> tuple[str, str]:
    """Tokens and lemmas, with blanks between them, from what `pack_words` gave."""
    tokens, _, lemmas = b64decode(packed).decode().partition("\n")
    return tokens, lemmas


def feature_name(lemma: str) -> str:
    """How a lemma is named in an expansion: servers take a dot for the end of a field's name.

    Example:
        >>> feature_name("deus"), feature_name("d.")
        ('deus', 'd|')
    """
    return lemma.replace(".", "|")


def term_id(field: Field, word: str) -> str:
    """The id of the document with the statistics of a word.

    Example:
        >>> term_id("lemma", "deus")
        'lemma:deus'
    """
    return f"{field}:{word}"


@lru_cache(maxsize=1 << 17)  # texts repeat their words
def _grams(token: str) -> tuple[str, ...]:
    return tuple(all_grams(token))


def _frequencies(words: Sequence[str]) -> str:
    distinct = dict.fromkeys(words)
    if len(distinct) == len(words):
        return " ".join(words)
    counts = Counter(words)
    return " ".join(part for word in distinct for part in frequency_words(word, counts[word]))
