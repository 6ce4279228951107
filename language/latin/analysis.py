"""One analysis for collection and query: text to tokens, lemmas and their places."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from allusion_es.core.errors import InputError
from allusion_es.language.latin.fold import fold
from allusion_es.language.latin.lemmatise import Lemmatiser, load_lemmatiser
from allusion_es.language.latin.stopwords import STOP_WORDS
from allusion_es.language.latin.tokenise import Tokeniser

ANALYSIS_VERSION = 2
"""Raised whenever the same text would give other tokens or lemmas."""

_ALIKE = frozenset({1, 2})
"""Versions that give words of plain letters the same lemmas: 2 reads more letters than 1."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """The words of a text; the three tuples run in parallel.

    Attributes:
        tokens: Normalised word forms.
        lemmas: Dictionary forms, spelled like tokens.
        spans: Start and end (exclusive) of each word, in characters of the text; (0, 0) for
            words that the user brought.
    """

    tokens: tuple[str, ...]
    lemmas: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class AnalysisSettings:
    """What has to be equal for two texts to be comparable.

    Attributes:
        lemmatiser: Name of the plug-in.
        lemmatiser_version: Its version, since another one may give other lemmas.
        stop_words: Whether words of the stop list are left out.
        version: Version of the analysis in this package.
    """

    lemmatiser: str = "simplemma"
    lemmatiser_version: str = ""
    stop_words: bool = False
    version: int = ANALYSIS_VERSION

    def has_lemmas_of(self, other: "AnalysisSettings") -> bool:
        """Whether what was learned of lemmas with other settings holds with these.

        Example:
            >>> AnalysisSettings(version=2).has_lemmas_of(AnalysisSettings(version=1))
            True
        """
        if {self.version, other.version} <= _ALIKE:
            return replace(self, version=other.version) == other
        return self == other

    @staticmethod
    def from_json(data: Mapping[str, object]) -> "AnalysisSettings":
        """The settings whose plain values these are.

        Raises:
            TypeError: They are something else.
        """
        settings = AnalysisSettings(**data)  # type: ignore[arg-type]
        for name, default in asdict(AnalysisSettings()).items():
            if type(getattr(settings, name)) is not type(default):
                raise TypeError(f"{name} is not what it must be")
        return settings


class Analyser:
    """Turns text into an `Analysis`.

    Args:
        lemmatiser: Name of a lemmatiser plug-in.
        stop_words: Leave out the words of the stop list.

    Raises:
        PluginError: There is no such lemmatiser.

    Example:
        >>> analysis = Analyser().analyse("Dixitque Jesus: Vide.")
        >>> analysis.tokens
        ('dixit', 'que', 'iesus', 'uide')
        >>> analysis.lemmas
        ('dico', 'que', 'iesus', 'uideo')
        >>> analysis.spans
        ((0, 5), (5, 8), (9, 14), (16, 20))
    """

    def __init__(self, lemmatiser: str = "simplemma", stop_words: bool = False) -> None:
        self._lemmatiser: Lemmatiser = load_lemmatiser(lemmatiser)
        self._tokeniser = Tokeniser(self._lemmatiser.is_word)
        self._stop = STOP_WORDS if stop_words else frozenset()
        self.settings = AnalysisSettings(lemmatiser, self._lemmatiser.version, stop_words)

    def is_word(self, form: str) -> bool:
        """Whether the lemmatiser's dictionary has a word, spelled as a token."""
        return self._lemmatiser.is_word(form)

    def analyse(self, text: str) -> Analysis:
        """Tokens, lemmas and spans of `text`; empty tuples where it has no words."""
        words = self._tokeniser.words(text)
        if self._stop:
            words = [word for word in words if word.form not in self._stop]
        lemma = self._lemmatiser.lemma
        return Analysis(
            tuple([form for form, _, _ in words]),
            tuple([lemma(form) for form, _, _ in words]),
            tuple([(start, end) for _, start, end in words]),
        )

    def adopt(self, tokens: tuple[str, ...], lemmas: tuple[str, ...] | None) -> Analysis:
        """The analysis of words that the user brought: only their spelling is folded.

        Tokens without a letter are left out; where a lemma is missing, the lemmatiser gives it.

        Raises:
            InputError: There is not one lemma for each token.
        """
        if lemmas is not None and len(lemmas) != len(tokens):
            raise InputError(f"{len(lemmas)} lemmas for {len(tokens)} tokens; give one for each")
        given = lemmas or ("",) * len(tokens)
        pairs = [(fold(token), fold(lemma)) for token, lemma in zip(tokens, given, strict=True)]
        words = [(form, lemma or self._lemmatiser.lemma(form)) for form, lemma in pairs if form]
        forms = tuple(form for form, _ in words)
        return Analysis(forms, tuple(lemma for _, lemma in words), ((0, 0),) * len(forms))
