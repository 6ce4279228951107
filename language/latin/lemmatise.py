"""Lemmatisers: plug-ins that give a word form its dictionary form; `Simplemma` is the default.

simplemma unpacks its dictionary at every start, which takes over a second. `SavedDictionaries`
unpacks it once into the data folder; from then on it is memory-mapped and opens at once.
"""

import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from allusion_es.core.arrays import Array, ArrayFile, CheckedArrays, offsets_array, save_arrays
from allusion_es.core.errors import AllusionError
from allusion_es.core.files import data_dir
from allusion_es.core.plugins import start_plugin
from allusion_es.language.latin.fold import fold, kept_by_word
from allusion_es.language.latin.spelling import likely_spelling, spellings

if TYPE_CHECKING:
    from simplemma import Lemmatizer
    from simplemma.strategies import DictionaryLookupStrategy

GROUP = "allusion_es.lemmatisers"
"""The entry-point group that lemmatisers register in."""


class Lemmatiser(Protocol):
    """A plug-in that gives a word form its dictionary form; both are spelled as by `fold`."""

    @property
    def version(self) -> str:
        """The version, which changes whenever lemmas may change; indexes record it."""
        ...

    def lemma(self, form: str) -> str:
        """Return the dictionary form of `form`, or `form` itself if it is unknown."""
        ...

    def is_word(self, form: str) -> bool:
        """Whether `form` is a known word form."""
        ...


def load_lemmatiser(name: str) -> Lemmatiser:
    """Return the lemmatiser that is registered under `name`.

    Raises:
        PluginError: There is no lemmatiser of that name, or it cannot be loaded.
    """
    lemmatiser: Lemmatiser = start_plugin(GROUP, name)
    return lemmatiser


class Simplemma:
    """The lemmatiser of the simplemma package: dictionary and rules, .943 of PROIEL's lemmas.

    simplemma knows Latin best as dictionaries spell it, with v for consonantal u; forms are
    respelled for it, and its lemmas are folded again. Some lemmas are corrected (`CORRECTIONS`).

    Example:
        >>> Simplemma().lemma("uiderunt"), Simplemma().is_word("populusque")
        ('uideo', False)
    """

    def __init__(self) -> None:
        self._dictionaries = SavedDictionaries()
        self.version = f"{version('simplemma')}+{CORRECTIONS_VERSION}"
        self.lemma = kept_by_word(self._lemma)
        self.is_word = kept_by_word(self._is_word)

    def _lemma(self, form: str) -> str:
        """The lemma of a form, uncached."""
        if form in CORRECTIONS:
            return CORRECTIONS[form]
        spelling = self._spelling(form)
        return fold(self._in_dictionary(spelling) or self._by_rules(spelling)) or form

    def _is_word(self, form: str) -> bool:
        """Whether any spelling of a form is in the dictionary, uncached."""
        return any(self._in_dictionary(spelling) is not None for spelling in spellings(form))

    def _spelling(self, form: str) -> str:
        """The spelling of a form, with v or u, under which the dictionary has it."""
        known = (each for each in spellings(form) if self._in_dictionary(each) is not None)
        return next(known, likely_spelling(form))

    def _in_dictionary(self, spelling: str) -> str | None:
        """The lemma that simplemma's dictionary has for a spelling, or for it with a capital."""
        if not (spelling.isascii() and spelling.isalpha() and spelling.islower()):
            found: str | None = self._lookup.get_lemma(spelling, _LANGUAGE)
            return found
        # The same for plain letters, for which simplemma itself is not needed.
        dictionary = self._dictionaries.get_dictionary(_LANGUAGE)
        plain = dictionary.get(spelling)
        return dictionary.get(spelling.capitalize()) if plain is None else plain

    def _by_rules(self, spelling: str) -> str:
        """The lemma that simplemma's rules make of a spelling that its dictionary does not have."""
        found: str = self._lemmatizer.lemmatize(spelling, lang=_LANGUAGE)
        return found

    # Importing simplemma takes 0.1 s: not before a word is asked for that needs its rules.

    @cached_property
    def _lookup(self) -> "DictionaryLookupStrategy":
        from simplemma.strategies import DictionaryLookupStrategy

        return DictionaryLookupStrategy(self._dictionaries)

    @cached_property
    def _lemmatizer(self) -> "Lemmatizer":
        from simplemma import Lemmatizer
        from simplemma.strategies import DefaultStrategy

        strategy = DefaultStrategy(dictionary_factory=self._dictionaries)
        return Lemmatizer(lemmatization_strategy=strategy)


# Corrections of simplemma's lemmas, for frequent words of Christian Latin

_CORRECTIONS = """
abram>abram absalom>absalom aduersum>aduersus aduersus>aduersus altare>altare altaris>altare
aman>aman arietem>aries asa>asa aser>aser bethlehem>bethlehem caelos>caelum consurgens>consurgo
e>ex edom>edom foedus>foedus forte>forte gustate>gusto immundus>immundus impius>impius
ingressi>ingredior iudices>iudex latere>latus laudate>laudo manasse>manasse mandatum>mandatum
melior>bonus melius>bonus oris>os pauperem>pauper postea>postea praeceptum>praeceptum
primitias>primitiae prius>prius quoque>quoque recta>rectus rectam>rectus recti>rectus
rectis>rectus recto>rectus rectos>rectus rectum>rectus regi>rex regis>rex reuersi>reuertor
reuersus>reuertor samaria>samaria seruis>seruus sui>suus tribu>tribus uiris>uir uita>uita
uocem>uox
"""

CORRECTIONS: dict[str, str] = dict(pair.split(">") for pair in _CORRECTIONS.split())
"""The lemma of each form, both as `fold` spells them.

Source: our own reading of simplemma's lemmas for the 1,500 most frequent words of the Vulgate. Only
forms with one likely reading there are listed (`regis` is of *rex*, not of *rego*).
"""

CORRECTIONS_VERSION = f"{zlib.crc32(' '.join(_CORRECTIONS.split()).encode()):08x}"
"""A checksum of the corrections, so that indexes notice a changed one."""


# simplemma's dictionary, saved so that it opens at once

_LANGUAGE = "la"
_STRIDE = 64  # one key in 64 is kept as Python bytes: a few hundred kilobytes, and fast to bisect


class SavedDictionary(Mapping[str, str]):
    """A dictionary of word forms and lemmas in sorted, memory-mapped arrays, searched by bisection.

    Args:
        file: The arrays that `save_dictionary` wrote.

    Raises:
        IndexDamagedError: The arrays do not fit each other; or, on access, a word is not UTF-8.
    """

    def __init__(self, file: ArrayFile) -> None:
        # Python reads single items of a memoryview much faster than those of an array.
        checked = CheckedArrays(file)
        texts = {name: checked.integers(name, (None,), 256) for name in ("keys", "values")}
        key_ends = checked.offsets("key_ends", None, len(texts["keys"]))
        value_ends = checked.offsets("value_ends", len(key_ends) - 1, len(texts["values"]))
        self._file = file
        self._keys, self._key_ends = texts["keys"].data, key_ends.data
        self._values, self._value_ends = texts["values"].data, value_ends.data
        # Bisecting some keys as a list is much faster than all of them in the arrays.
        self._some_keys = [self._key(number) for number in range(0, len(self), _STRIDE)]

    def __getitem__(self, form: str) -> str:
        """Return the lemma of a word form.

        Raises:
            KeyError: The dictionary does not have it.
        """
        key = form.encode()
        strides = bisect_right(self._some_keys, key)
        low, high = max(strides - 1, 0) * _STRIDE, min(strides * _STRIDE, len(self))
        while low < high:
            middle = (low + high) // 2
            if self._key(middle) < key:
                low = middle + 1
            else:
                high = middle
        if low == len(self) or self._key(low) != key:
            raise KeyError(form)
        return self._text(self._values[self._value_ends[low] : self._value_ends[low + 1]].tobytes())

    def __iter__(self) -> Iterator[str]:
        """Yield the word forms, sorted by their UTF-8 bytes."""
        return (self._text(self._key(number)) for number in range(len(self)))

    def __len__(self) -> int:
        """Return the number of word forms."""
        return len(self._key_ends) - 1

    def _text(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise self._file.damaged("a word is no text") from None

    def _key(self, number: int) -> bytes:
        return self._keys[self._key_ends[number] : self._key_ends[number + 1]].tobytes()


class SavedDictionaries:
    """A dictionary factory for simplemma's strategies that opens the saved dictionary."""

    def get_dictionary(self, lang: str) -> Mapping[str, str]:
        """Return the Latin dictionary, saved first if it is not saved yet.

        Raises:
            ValueError: The language is not Latin.
        """
        if lang != _LANGUAGE:
            raise ValueError(f"Unsupported language: {lang}")
        return self._latin

    @cached_property
    def _latin(self) -> Mapping[str, str]:
        path = data_dir() / "data" / f"simplemma-{version('simplemma')}-{_LANGUAGE}.arrays"
        try:
            state = path.stat()
            return _opened(path, state.st_mtime_ns, state.st_size)
        except (AllusionError, OSError):
            return _unpack(path)


@lru_cache(maxsize=1)  # opened once, however many analysers there are
def _opened(path: Path, changed: int, size: int) -> SavedDictionary:
    """The dictionary of a file; modification time and size are part of the cache's key."""
    return SavedDictionary(ArrayFile(path, "delete it"))


def _unpack(path: Path) -> Mapping[str, str]:
    """Unpack simplemma's dictionary and save it at `path`, if the folder can be written."""
    from simplemma.strategies.dictionaries import DefaultDictionaryFactory

    dictionary: Mapping[str, str] = DefaultDictionaryFactory().get_dictionary(_LANGUAGE)
    try:
        save_dictionary(path, dictionary)
        return SavedDictionary(ArrayFile(path, "delete it"))
    except AllusionError:
        return dictionary


def save_dictionary(path: Path, dictionary: Mapping[str, str]) -> None:
    """Write a dictionary for `SavedDictionary`.

    Raises:
        StorageError: The file cannot be written.
    """
    pairs = sorted((form.encode(), lemma.encode()) for form, lemma in dictionary.items())
    arrays: dict[str, Array] = {}
    for name, texts in (("key", [key for key, _ in pairs]), ("value", [v for _, v in pairs])):
        arrays[f"{name}s"] = np.frombuffer(b"".join(texts), np.uint8)
        arrays[f"{name}_ends"] = offsets_array(len(text) for text in texts)
    save_arrays(path, {}, arrays)
