"""The encoding of passages and words in documents, for the code that writes and that reads them.

Texts are analysed here, not on the server: words lie in a document with blanks between them, and
the server only splits at blanks. So both indexes have the same words.
"""

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from allusion_es.core.arrays import Integers
from allusion_es.core.errors import InputError
from allusion_es.es.connection import encode
from allusion_es.es.meta import AUTHOR, NGRAM, PASSAGE_FIELDS
from allusion_es.language.citations.word_parts import SEARCHED_SIZES, all_grams
from allusion_es.retrieval.analysed import AnalysedPassage
from allusion_es.retrieval.types import Field

Term = tuple[int, int, int]
"""A word's document frequency, collection frequency, and highest frequency in one passage."""

MAX_WORD = 255
"""Longest word, in characters: Lucene's whitespace tokenizer cuts longer ones in two."""

MAX_ID_BYTES = 512
"""Longest id of a document that Elasticsearch accepts, in bytes of UTF-8."""

# Each word becomes part of the id of a document of the terms index, after "token:" or "lemma:".
_MAX_WORD_BYTES = MAX_ID_BYTES - 10


def check_passage(analysed: AnalysedPassage) -> None:
    """Raise an error unless the id and the words of a passage can be indexed.

    Raises:
        InputError: The message names the passage, and the word that is at fault.
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
    """The reason why a word cannot be indexed, or "" if it can.

    In documents, a blank ends a word and `|` comes before a frequency (see `frequency_words`).
    """
    if not word or "|" in word or any(character.isspace() for character in word):
        return f"word {word[:60]!r} is empty or has a blank or |"
    if len(word) > MAX_WORD or len(word.encode("utf-8", "replace")) > _MAX_WORD_BYTES:
        return (
            f"word {word[:40] + '…'!r} has {len(word)} characters, more than can be indexed "
            f"({MAX_WORD}, in UTF-8 {_MAX_WORD_BYTES} bytes)"
        )
    return ""


def describe(analysed: AnalysedPassage) -> bytes:
    """The document of a passage as JSON, as far as the passage alone determines it.

    `DocumentBuilder` adds norms, vectors and expansions, which depend on the whole collection.

    Raises:
        InputError: The id or a word cannot be indexed.
    """
    check_passage(analysed)
    content = {name: getattr(analysed.passage, name) for name in (*PASSAGE_FIELDS, AUTHOR)}
    tokens, lemmas = analysed.analysis.tokens, analysed.analysis.lemmas
    content["length"] = len(tokens)
    content["words"] = pack_words(tokens, lemmas)
    content["token"], content["lemma"] = " ".join(tokens), " ".join(lemmas)
    content[NGRAM] = " ".join(gram for token in tokens for gram in _grams(token))
    content["token_frequencies"] = _frequencies(tokens)
    content["lemma_frequencies"] = _frequencies(lemmas)
    return encode(content)


def frequency_words(word: str, frequency: int) -> list[str]:
    """The terms that stand for a word of a given frequency in a `…_frequencies` field.

    The field's similarity gives each matching term its boost. A query for all terms of a word with
    the same boost therefore scores boost × frequency, exactly and without a script; TfIdf needs
    that. A real term frequency would be no use: Lucene's similarities dampen it.

    Example:
        >>> frequency_words("deus", 3)
        ['deus', 'deus|2', 'deus|3']
    """
    return [word, *(f"{word}|{number}" for number in range(2, frequency + 1))]


def pack_words(tokens: Sequence[str], lemmas: Sequence[str]) -> str:
    """The words of both fields as one value of a binary column.

    A server returns columns several times faster than parts of the document's source.

    Example:
        >>> unpack_words(pack_words(["dixit", "deus"], ["dico", "deus"]))
        ('dixit deus', 'dico deus')
    """
    return b64encode(f"{' '.join(tokens)}\n{' '.join(lemmas)}".encode()).decode("ascii")


def unpack_words(packed: str) -> tuple[str, str]:
    """The tokens and the lemmas, with blanks between them, that `pack_words` packed.

    Raises:
        ValueError: It is no base64, or no UTF-8.
    """
    tokens, _, lemmas = b64decode(packed).decode().partition("\n")
    return tokens, lemmas


def pack_statistics(df: Integers, cf: Integers) -> str:
    """Document and collection frequencies of a passage's words as one value of a binary column.

    Args:
        df: That of each token, then of each lemma, in the order of the text; below 2**32.
        cf: Likewise.

    Example:
        >>> unpack_statistics(pack_statistics(np.array([3, 5]), np.array([4, 9])), 2)
        ([3, 5], [4, 9])
    """
    return b64encode(np.stack([df, cf]).astype("<u4").tobytes()).decode("ascii")


def unpack_statistics(packed: str, words: int) -> tuple[list[int], list[int]]:
    """The frequencies that `pack_statistics` packed.

    Args:
        packed: The value.
        words: How many tokens and lemmas the passage has, together.

    Raises:
        ValueError: It holds no frequencies of so many words.
    """
    both = np.frombuffer(b64decode(packed), dtype="<u4").reshape(2, words)
    return both[0].tolist(), both[1].tolist()


def feature_name(lemma: str) -> str:
    """The name of a lemma in an expansion, without dots: servers would make objects of its parts.

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
    return tuple(all_grams(token, SEARCHED_SIZES))


def _frequencies(words: Sequence[str]) -> str:
    """The value of a `…_frequencies` field."""
    distinct = dict.fromkeys(words)
    # Most verses repeat no word.
    if len(distinct) == len(words):
        return " ".join(words)
    counts = Counter(words)
    return " ".join(part for word in distinct for part in frequency_words(word, counts[word]))
