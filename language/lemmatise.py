"""Lemmatisers: plug-ins that give a word form its dictionary form."""

from importlib.metadata import version
from typing import Protocol

from allusion_es.core.plugins import start_plugin
from allusion_es.language.corrections import CORRECTIONS, VERSION
from allusion_es.language.dictionary import SavedDictionaries
from allusion_es.language.normalise import fold, kept_by_word
from allusion_es.language.spelling import likely_spelling, spellings

GROUP = "allusion_es.lemmatisers"
"""The entry-point group that lemmatisers register in."""


class Lemmatiser(Protocol):
    """Gives a word form its dictionary form; forms and lemmas are spelled as by `fold`."""

    @property
    def version(self) -> str:
        """Changes whenever lemmas may change."""
        ...

    def lemma(self, form: str) -> str:
        """The dictionary form of `form`; `form` itself where it is unknown."""
        ...

    def is_word(self, form: str) -> bool:
        """Whether `form` is a known word form."""
        ...


def load_lemmatiser(name: str) -> Lemmatiser:
    """The lemmatiser that is registered under `name`.

    Raises:
        PluginError: There is none of that name, or it cannot be loaded.
    """
    lemmatiser: Lemmatiser = start_plugin(GROUP, name)
    return lemmatiser


class Simplemma:
    """Latin lemmas from the simplemma package (dictionary and rules, .943 of PROIEL's lemmas).

    simplemma knows Latin best as dictionaries spell it, with v for consonantal u; forms are
    respelled for it, and what it answers is folded again. Some of its lemmas are corrected.

    Example:
        >>> Simplemma().lemma("uiderunt"), Simplemma().is_word("populusque")
        ('uideo', False)
    """

    def __init__(self) -> None:
        # Importing simplemma takes 0.1 s: not before it is used.
        from simplemma import Lemmatizer
        from simplemma.strategies import DefaultStrategy, DictionaryLookupStrategy

        dictionaries = SavedDictionaries()
        strategy = DefaultStrategy(dictionary_factory=dictionaries)
        self._lemmatise = Lemmatizer(lemmatization_strategy=strategy).lemmatize
        self._dictionary = DictionaryLookupStrategy(dictionaries)
        self.version = f"{version('simplemma')}+{VERSION}"
        self.lemma = kept_by_word(self._lemma)
        self.is_word = kept_by_word(self._is_word)

    def _lemma(self, form: str) -> str:
        """See `Lemmatiser.lemma`."""
        if form in CORRECTIONS:
            return CORRECTIONS[form]
        return fold(self._lemmatise(self._spelling(form), lang="la")) or form

    def _is_word(self, form: str) -> bool:
        """See `Lemmatiser.is_word`."""
        return any(self._is_known(spelling) for spelling in spellings(form))

    def _spelling(self, form: str) -> str:
        known = (spelling for spelling in spellings(form) if self._is_known(spelling))
        return next(known, likely_spelling(form))

    def _is_known(self, spelling: str) -> bool:
        return self._dictionary.get_lemma(spelling, "la") is not None
