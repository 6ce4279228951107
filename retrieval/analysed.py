"""Passages with their words, ready to be indexed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from allusion_es.core.errors import InputError
from allusion_es.corpora.passage import Passage
from allusion_es.language.analysis import Analyser, Analysis


@dataclass(frozen=True, slots=True)
class AnalysedPassage:
    """A passage and its words."""

    passage: Passage
    analysis: Analysis


def analyse_passages(passages: Iterable[Passage], analyser: Analyser) -> Iterator[AnalysedPassage]:
    """Each passage with its words; words that the user brought are used as they are.

    Raises:
        InputError: A passage brings more or fewer lemmas than tokens; the message names it.
    """
    for passage in passages:
        if passage.tokens is None and passage.lemmas is not None:
            raise InputError(f"passage {passage.id}: lemmas without tokens; give both")
        if passage.tokens is None:
            analysis = analyser.analyse(passage.text)
        else:
            try:
                analysis = analyser.adopt(passage.tokens, passage.lemmas)
            except InputError as error:
                raise InputError(f"passage {passage.id}: {error}") from error
        yield AnalysedPassage(passage, analysis)
