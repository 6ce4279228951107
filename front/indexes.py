"""Indexes from Python: opened by name or URL, built from passages, and looked into by reference."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from logging import getLogger
from pathlib import Path
from typing import Any

from allusion_es.core.characters import lone_surrogate
from allusion_es.core.errors import InputError, UsageError, VerseError
from allusion_es.corpora.bible.references import Reference, is_verse_id, parse_references
from allusion_es.corpora.bible.verse_table import VerseTable
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.passage_files import SeenIds, read_files, verse_passage
from allusion_es.corpora.windows import windowed
from allusion_es.es.build import build_es_index
from allusion_es.es.connection import Server
from allusion_es.es.index import open_index as open_es_index
from allusion_es.local.library import VULGATE_NAME, BuildOptions, Library
from allusion_es.retrieval.defaults import DEFAULTS
from allusion_es.retrieval.index import CandidateIndex, check_name

IN_PROCESS = "in this process"
"""Where an index is that is on no server."""

_LOGGER = getLogger("allusion_es")


class Index:
    """The passages of an index: each by its id or reference, and how many there are.

    `open_index` and `build_index` give one, and `find`, `scan` and `evaluate` take it.

    Args:
        candidates: The index itself, for what is asked of it.
        where: `IN_PROCESS`, or the URL of its server.

    Attributes:
        candidates: As given.
        where: As given.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> verses = {"Ps.22.1": "Dominus regit me", "Ps.22.2": "in loco pascuae"}
        >>> index = Index(index_texts(verses))
        >>> index
        <Index 'texts': 2 passages, in this process>
        >>> index["Ps.22.1"].text, index["Ps 22, 2"].text, "Ps.22.3" in index, len(index)
        ('Dominus regit me', 'in loco pascuae', False, 2)
    """

    def __init__(self, candidates: CandidateIndex, where: str = IN_PROCESS) -> None:
        self.candidates = candidates
        self.where = where

    @property
    def name(self) -> str:
        """The name that it was given."""
        return self.candidates.name

    def __len__(self) -> int:
        """How many passages it holds."""
        return len(self.candidates)

    def __iter__(self) -> Iterator[str]:
        """The ids of the passages, sorted."""
        return iter(self._ids)

    def __contains__(self, name: object) -> bool:
        """Whether it has the passage of an id or of a reference to one verse."""
        try:
            return isinstance(name, str) and bool(self[name])
        except VerseError:
            return False

    def __getitem__(self, name: str) -> Passage:
        """The passage of an id, or of a reference to one verse, such as `Ps 22,1`.

        Raises:
            VerseError: There is no such passage; the message says what there is.
            UsageError: It is no text.
        """
        if not isinstance(name, str):
            raise UsageError(f"passages go by id or reference, not by {type(name).__name__}")
        if (passage := self._passage_of_id(name)) is not None:
            return passage
        ids = [each for one in parse_references(name) for each in self._table.expand(one)]
        if len(ids) != 1:
            raise VerseError(f"{name[:80]!r} names {len(ids)} verses; give one")
        return self.candidates.passages(ids)[0]

    def _passage_of_id(self, identifier: str) -> Passage | None:
        """The passage of an id, which is asked for alone: to list all ids may take long."""
        # No passage has such an id, and a server would not understand the question.
        if not identifier or lone_surrogate(identifier):
            return None
        try:
            return self.candidates.passages([identifier])[0]
        except VerseError:
            return None

    @cached_property
    def _ids(self) -> tuple[str, ...]:
        return self.candidates.ids()

    @cached_property
    def _table(self) -> VerseTable:
        return VerseTable(each for each in self._ids if is_verse_id(each))

    def __repr__(self) -> str:
        """Name, size and place."""
        return f"<Index {self.name!r}: {len(self):,} passages, {self.where}>"


def open_index(
    name: str | None = None,
    *,
    es: str | None = None,
    ca_certs: str | Path | None = None,
    fingerprint: str | None = None,
    api_key: str | None = None,
    user: str | None = None,
    password: str | None = None,
    wait: float | None = None,
    timeout: float | None = None,
    data_dir: str | Path | None = None,
) -> Index:
    """Open an index, in this process or on Elasticsearch.

    What is not given comes from the environment (`ALLUSION_ES_URL` and so on), as on the command
    line. The Vulgate is fetched and
    built in this process where it is missing, which takes half a minute.

    Args:
        name: Its name, by default `vulgate`; or the URL of a server, for the index of the default
            name there.
        es: URL of an Elasticsearch; several nodes of one cluster with commas between.
        ca_certs: File with the CA certificates of the server.
        fingerprint: SHA-256 fingerprint of the server's certificate.
        api_key: API key.
        user: User name.
        password: Password.
        wait: Seconds to wait for a server that is starting.
        timeout: Seconds to wait for each answer of the server.
        data_dir: Folder for fetched data and indexes.

    Raises:
        IndexMissingError: There is no such index; the message says which there are.
        AllusionError: It is damaged, or the server does not answer as it should.

    Example:
        >>> open_index("sermones")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        allusion_es.core.errors.IndexMissingError: there is no index 'sermones' ...
    """
    if name is not None and "://" in name:
        if es is not None:
            raise UsageError("both the name and 'es' are URLs; give one")
        name, es = None, name
    choices = index_choices(
        es=es,
        ca_certs=ca_certs,
        fingerprint=fingerprint,
        api_key=api_key,
        user=user,
        password=password,
        wait=wait,
        timeout=timeout,
        data_dir=data_dir,
    )
    library = _library(choices.get("data_dir"))
    chosen = DEFAULTS.name if name is None else name
    if "es" not in choices:
        if chosen == VULGATE_NAME and not library.path(chosen).exists():
            _LOGGER.warning(
                "there is no index %r yet: the Vulgate and word vectors are fetched (110 MB, once) "
                "and it is built, which takes about half a minute",
                chosen,
            )
        return Index(library.open(chosen))
    server = connected(choices)
    found = open_es_index(
        server,
        chosen,
        library.vectors,
        library.citations,
        encoders=library.encoder,
        rankers=library.models.ranker,
    )
    return Index(found, server.url)


def build_index(
    passages: "Iterable[Any] | Mapping[str, str] | str | Path",
    name: str,
    *,
    work: str = "",
    author: str = "",
    window: int | None = None,
    window_words: int | None = None,
    step: int | None = None,
    lemmatiser: str = "simplemma",
    stop_words: bool = False,
    vectors: bool = True,
    learned_links: bool | None = None,
    k1: float = 1.2,
    b: float = 0.75,
    es: str | None = None,
    workers: int = 1,
    data_dir: str | Path | None = None,
) -> Index:
    """Build an index of passages, and open it; one of the same name is replaced when it is done.

    Args:
        passages: The path of a file or folder, as for `allusion-es index`; or texts by id; or
            `Passage` objects, pairs of id and text, or mappings with `id` and `text`, in canonical
            order. An id such as `Ps.22.1` makes a passage that verse.
        name: Its name: lower-case letters, digits, - and _.
        work: Title of the work; of files, by default what they say.
        author: Author of the work, likewise.
        window: Index windows of so many passages.
        window_words: Index windows of so many words.
        step: From one window to the next; half a window by default.
        lemmatiser: Name of a lemmatiser plug-in.
        stop_words: Leave out function words.
        vectors: Keep word vectors, for `knn` and soft cosine.
        learned_links: Keep citation vectors; by default where those of the program fit.
        k1: BM25's term-frequency saturation.
        b: BM25's length normalisation.
        es: URL of an Elasticsearch to build it on; see `open_index`.
        workers: Processes. With more than one, a script needs `if __name__ == "__main__":`.
        data_dir: Folder for fetched data and indexes.

    Raises:
        InputError: There is no passage, one is empty, or two have the same id.
        UsageError: An argument cannot be used.
        StorageError: It cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     texts = {"1": "Pater noster, qui es in caelis", "2": "adveniat regnum tuum"}
        ...     build_index(texts, "oratio", vectors=False, learned_links=False, data_dir=folder)
        <Index 'oratio': 2 passages, in this process>
    """
    choices = index_choices(es=es, data_dir=data_dir)
    check_name(name)
    options = BuildOptions(lemmatiser, stop_words, vectors, k1, b, learned_links)
    library = _library(choices.get("data_dir"), workers)
    chosen = windowed(passages_of(passages, work, author), window, window_words, step)
    if "es" in choices:
        with connected(choices) as server:
            build_es_index(server, name, *library.prepare(chosen, options), workers=workers)
    else:
        library.build(name, chosen, options)
    return open_index(name, es=es, data_dir=data_dir)


def parse_reference(text: str) -> Reference:
    """The verse, verses or chapter that a reference names, as people write it.

    Its text is an OSIS id or range: `str(parse_reference("Ps 22,1-3"))`.

    Raises:
        VerseError: It cannot be read, or lists several that do not follow each other.
        UsageError: It is no text.

    Example:
        >>> parse_reference("I Reg. II, 3")
        <Reference 1Sam.2.3>
        >>> str(parse_reference("Apc 1:8")), parse_reference("Ps 22,1-3").last_verse
        ('Rev.1.8', 3)
    """
    if not isinstance(text, str):
        raise UsageError(f"a reference is a text such as 'Ps 22,1', not {type(text).__name__}")
    found = parse_references(text)
    if len(found) != 1:
        raise VerseError(f"{text[:80]!r} lists {len(found)} references; give one")
    return found[0]


def index_of(given: "Index | CandidateIndex | str | None") -> Index:
    """The index that a name, a URL or an open index stands for; None is the default one.

    One that is opened by name is kept for the next time, unless it was built anew.

    Raises:
        AllusionError: As `open_index`.
        UsageError: It is none of these.
    """
    if isinstance(given, Index):
        return given
    if given is None or isinstance(given, str):
        choices = _environment()
        name = given or DEFAULTS.name
        is_here = "es" not in choices and "://" not in name
        key = (name, tuple(sorted(choices.items())), _stamp(name) if is_here else None)
        if key not in _KEPT:
            _KEPT.clear()
            _KEPT[key] = open_index(name)
            # Building it has changed the file.
            _KEPT[(*key[:2], _stamp(name) if is_here else None)] = _KEPT[key]
        return _KEPT[key]
    if hasattr(given, "search") and hasattr(given, "passages"):
        return Index(given)
    raise UsageError(f"an index is a name, a URL or what open_index gives, not {given!r:.60}")


def _environment() -> dict[str, Any]:
    """The server and its patience that the environment names; a login is read where it is made."""
    found: dict[str, Any] = {}
    if url := os.environ.get("ALLUSION_ES_URL"):
        found["es"] = url
    if seconds := os.environ.get("ALLUSION_ES_TIMEOUT"):
        try:
            found["timeout"] = float(seconds)
        except ValueError:
            raise UsageError(
                f"ALLUSION_ES_TIMEOUT is a number of seconds, not {seconds!r:.60}"
            ) from None
    return found


def index_choices(**given: object) -> dict[str, Any]:
    """The arguments of `open_index` that are given, and for the rest the environment's choices."""
    return {**_environment(), **{k: value for k, value in given.items() if value is not None}}


_KEPT: dict[tuple[object, ...], Index] = {}
"""The index that was opened last by name: its word vectors take a second to load."""


def _stamp(name: str) -> object:
    """The number and time of the file of an index in this process, other ones once it is rebuilt.

    None where there is no file yet.
    """
    path = Library().path(name)
    state = path.stat() if path.exists() else None
    return state and (state.st_ino, state.st_mtime_ns)


def _library(folder: str | Path | None, workers: int = 1) -> Library:
    return Library(Path(folder) if folder else None, workers=workers)


def connected(choices: Mapping[str, Any]) -> Server:
    """The server that `index_choices` name.

    Raises:
        ServerUnavailableError, ServerRefusedError: It does not answer as it should.
    """
    names = ("ca_certs", "fingerprint", "api_key", "user", "password", "wait", "timeout")
    given = {name: choices[name] for name in names if name in choices}
    if "ca_certs" in given:
        given["ca_certs"] = str(given["ca_certs"])
    return Server.connect(choices["es"], **given)


def passages_of(given: object, work: str = "", author: str = "") -> Iterable[Passage]:
    """The passages that a path, texts by id, or a list stand for, as `build_index` takes them.

    Raises:
        UsageError: It is none of these.

    Example:
        >>> [(each.id, each.text) for each in passages_of({"1": "Pater noster"})]
        [('1', 'Pater noster')]
    """
    if isinstance(given, (str, Path)):
        return read_files([Path(given)], work=work or None, author=author or None)
    if isinstance(given, Mapping):
        return _numbered(given.items(), work, author)
    if isinstance(given, Iterable) and not hasattr(given, "columns"):
        return _numbered(given, work, author)
    raise UsageError(
        "passages are a path, texts by id, or a list of Passage objects or pairs of id and text, "
        f"not {type(given).__name__}"
    )


def _numbered(given: Iterable[Any], work: str, author: str) -> Iterator[Passage]:
    seen = SeenIds()
    for order, value in enumerate(given):
        where = f"passage {order + 1}"
        if isinstance(value, Passage):
            seen.add(value.id, order, where)
            yield value
            continue
        match value:
            case {"id": identifier, "text": text}:
                title, by = value.get("work") or work, value.get("author") or author
            case (identifier, text):
                title, by = work, author
            case _:
                raise UsageError(f"{where}: give a Passage, or id and text, not {value!r:.60}")
        identifier = str(identifier)
        seen.add(identifier, order, f"{where}: the id")
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{where}: {identifier!r:.60} has no text; leave it out")
        if is_verse_id(identifier):
            yield replace(verse_passage(identifier, text, title, order), author=by)
        else:
            yield Passage(identifier, text, title, order=order, reference=identifier, author=by)
