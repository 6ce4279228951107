"""Analysis of Latin text, the same for collections and queries: tokens, lemmas and their spans.

Text is analysed here and not by Elasticsearch, so that an index on a server and one in this process
hold the same words.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from allusion_es.core.errors import InputError
from allusion_es.language.latin.fold import fold
from allusion_es.language.latin.lemmatise import Lemmatiser, load_lemmatiser
from allusion_es.language.latin.tokenise import Tokeniser

ANALYSIS_VERSION = 2
"""Version of the analysis, to be raised whenever the same text would give other tokens or lemmas.

Indexes and learned files record it, and are refused when it differs.
"""


_STOP_WORD_LIST = """
a ab ac ad adhuc an ante apud at atque aut autem contra coram cum cumque de donec e ego ei eis
eius enim eo eorum eos erant erat ergo erit erunt es esse est estis esto et etiam eum ex fuerit
fuerunt fuisset fuit haec hanc has hi his hoc hos huic huius hunc iam ibi id idcirco ideo igitur
illa illam ille illi illis illius illo illorum illos illud illum in inter ipsa ipse ipsi ipsis
ipsius ipsum is ista iste isti istud ita itaque iuxta me mea meam mei meis meo meum meus mihi
nam ne nec neque nobis non nonne nos noster nostra nostri nunc ob per post postquam pro propter
quae quam quando quapropter quare quasi que quem qui quia quibus quid quidem quis quo quod
quoniam quoque quorum quos se secundum sed si sibi sic sicut sine siue sua suae suam suas sub
sui suis sum sumus sunt suo suos super suum tam tamen te tecum tibi tu tua tuae tuam tui tuis
tunc tuo tuum tuus ubi ue uel uero uester uestra uestri unde uobis uos usque ut utique
"""

STOP_WORDS: frozenset[str] = frozenset(_STOP_WORD_LIST.split())
"""Stop words as `fold` spells them."""

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
    """The settings of an analysis; two texts are comparable if they were analysed with equal ones.

    Attributes:
        lemmatiser: Name of the plug-in.
        lemmatiser_version: Version of the plug-in; another one may give other lemmas.
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
        """Return the settings from their JSON object, as `dataclasses.asdict` made it.

        Raises:
            TypeError: A field is missing, unknown or of another type.
        """
        settings = AnalysisSettings(**data)  # type: ignore[arg-type]
        for name, default in asdict(AnalysisSettings()).items():
            if type(getattr(settings, name)) is not type(default):
                raise TypeError(f"{name} is not what it must be")
        return settings


class Analyser:
    """Turns text into tokens, lemmas and spans, an `Analysis`.

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
        """Return tokens, lemmas and spans of a text; empty tuples if it has no words."""
        words = self._tokeniser.words(text)
        if self._stop:
            words = [word for word in words if word.form not in self._stop]
        lemma = self._lemmatiser.lemma
        # Tuples of lists: faster than tuples of generators, and this runs over whole collections.
        return Analysis(
            tuple([form for form, _, _ in words]),
            tuple([lemma(form) for form, _, _ in words]),
            tuple([(start, end) for _, start, end in words]),
        )

    def adopt(self, tokens: tuple[str, ...], lemmas: tuple[str, ...] | None) -> Analysis:
        """Return the analysis of tokens that the user brought; they are only folded.

        Tokens without a letter are dropped; a missing lemma is supplied by the lemmatiser.

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
