"""Readers of what was saved: indexes, learned files, vectors, stores, journals, archives."""

import gzip
import io
import json
import sqlite3
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from fuzz_mutate import mutate_arrays, mutate_bytes, mutate_json_lines, mutate_value
from fuzz_reader import Files, Reader, finite, printable

from allusion_es.annotation.marks import Mark
from allusion_es.annotation.store import Store, spans
from allusion_es.annotation.tasks import instance_of
from allusion_es.cli.evaluate.manifest import plain, restored
from allusion_es.cli.evaluate.run import EvaluateOptions
from allusion_es.cli.options import ServerOptions
from allusion_es.core.arrays import ArrayFile
from allusion_es.corpora.findings import Alternative, Finding
from allusion_es.corpora.packages import DataFile, _unpack
from allusion_es.corpora.passage import Passage
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.gold.openbible import openbible_links
from allusion_es.evaluation.manifest import Manifest, read_manifest, write_manifest
from allusion_es.evaluation.runs import found_in, load_run, save_run
from allusion_es.language.citations.citing_texts import CitingText, CitingTexts, save_citing_texts
from allusion_es.language.citations.translations import Translations, save_translations
from allusion_es.language.citations.vectors import (
    CitationTable,
    CitationVectors,
    save_citation_vectors,
)
from allusion_es.language.citations.word_parts import all_grams, lemma_key, token_key
from allusion_es.language.latin.analysis import Analyser, AnalysisSettings
from allusion_es.language.latin.lemmatise import SavedDictionary, save_dictionary
from allusion_es.language.vectors.files import read_vectors, save_vectors
from allusion_es.language.wordnet import load_wordnet
from allusion_es.learning.train import Checkpoint
from allusion_es.local.build import build_local
from allusion_es.local.index import LocalIndex
from allusion_es.retrieval.analysed import analyse_passages
from allusion_es.retrieval.index import CandidateIndex, IndexSettings
from allusion_es.retrieval.types import FIELDS, Query, Ranking, SearchFilter, SearchRequest
from allusion_es.scanning.journal import Journal

VERSES = {
    "Gen.1.1": "In principio creavit Deus caelum et terram.",
    "Ps.22.1": "Dominus regit me et nihil mihi deerit.",
    "Ps.33.9": "Gustate et videte quoniam suavis est Dominus.",
    "John.1.1": "In principio erat Verbum.",
    "sermo-1": "Gustate",
}
_TESTAMENTS = {"Gen": "ot", "Ps": "ot", "John": "nt"}
_ANALYSER = Analyser()
_TRANSLATED = {"deus": {"dominus": 0.5, "deus": 0.25}, "gusto": {"gusto": 1.0}}
_WORDS = ("deus", "dominus", "gusto", "uideo", "principium", "xyzzy")


class _Vectors:
    name, dimension = "little", 4

    def vectors(self, words: Any) -> Any:  # noqa: ANN401 - as `WordVectors`
        numbers = [[len(word), *map(ord, (word + "  ")[:3])] for word in words]
        rows = np.array(numbers, np.float32).reshape(len(words), 4)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _saved(name: str, save: Callable[[Path], object]) -> Files:
    """The bytes of a file that a writer writes."""
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder, name))
        return {name: Path(folder, name).read_bytes()}


def _citation_table() -> CitationTable:
    words = sorted({word for text in VERSES.values() for word in _ANALYSER.analyse(text).lemmas})
    keys = np.unique([*map(token_key, words), *map(lemma_key, words)]).astype(np.int64)
    rows = np.random.default_rng(0).standard_normal((len(keys), 4), dtype=np.float32)
    lemmas = np.unique([lemma_key(word) for word in words]).astype(np.int64)
    return CitationTable(keys, rows, lemmas, np.ones(len(lemmas), np.float32), 0.5)


def _save_citations(path: Path) -> str:
    return save_citation_vectors(path, _citation_table(), _ANALYSER.settings, {"links": 3})


def _citations(folder: Path) -> CitationVectors:
    path = folder / "little.citations"
    name = _save_citations(path)
    save_citing_texts(path.with_suffix(".citing"), _CITING, _ANALYSER.settings, {"vectors": name})
    save_translations(path.with_suffix(".translations"), _TRANSLATED, _ANALYSER.settings, {})
    return CitationVectors(path)


def index_file(path: Path, citations: CitationVectors) -> None:
    """A small index that has all that an index can have."""
    passages = [
        Passage(name, text, "W", book=book, testament=_TESTAMENTS.get(book, ""), reference=name)
        for name, text in VERSES.items()
        for book in [name.partition(".")[0] if "." in name else ""]
    ]
    settings = IndexSettings(_ANALYSER.settings, "little", citations=citations.name)
    build_local(path, analyse_passages(passages, _ANALYSER), settings, _Vectors(), citations)


def little_index(folder: Path) -> LocalIndex:
    """That index, open."""
    citations, path = _citations(folder), folder / "little.idx"
    index_file(path, citations)
    return LocalIndex(path, _Vectors, lambda name: citations)


def _index() -> Reader:
    citations = _citations(Path(tempfile.mkdtemp()))
    vector = citations.query_vector([("deus", "deus"), ("gustate", "gusto")])

    def read(path: Path) -> None:
        ask(LocalIndex(path, _Vectors, lambda name: citations), vector)

    seed = _saved("x.idx", lambda path: index_file(path, citations))
    return Reader("index", (seed,), read, mutate=mutate_arrays)


def ask(index: CandidateIndex, vector: Any) -> None:  # noqa: ANN401 - an array
    """All that an index is asked for."""
    finite(len(index))
    lemmas = {"deus": 1, "dominus": 2, "gusto": 1}
    requests = [SearchRequest("bm25", field, size=10, words=lemmas) for field in FIELDS]
    requests.append(SearchRequest("tfidf", "lemma", size=10, words=lemmas))
    if "ngrams" in index.capabilities:
        grams = dict.fromkeys(all_grams("gustate"), 1)
        requests.append(SearchRequest("ngrams", "token", size=10, words=grams))
    if "expansion" in index.capabilities:
        requests.append(SearchRequest("expansion", "lemma", size=10, words=lemmas))
    if index.vectors is not None:
        finite(index.vectors.vectors(_WORDS))
        mean = index.vectors.vectors(["deus"])[0]
        requests += [SearchRequest("knn", field, size=10, vector=mean) for field in FIELDS]
    if index.citations is not None:
        requests.append(SearchRequest("citations", "lemma", size=10, vector=vector))
    search_filter = SearchFilter(works=frozenset({"W"}))
    requests.append(
        SearchRequest("bm25", "lemma", size=2, words=lemmas, search_filter=search_filter)
    )
    for ranking in index.search(requests):
        finite(ranking.scores)
        printable(*ranking.ids)
    printable(*index.books())
    ids = index.ids()[:5]
    for passage in index.passages(ids):
        printable(passage.id, passage.text, passage.work, passage.reference)
    for others in index.parallels(ids):
        printable(*others)
    for field in FIELDS:
        texts = index.texts(field, ids)
        assert len(texts) == len(ids)
        [texts.text(number) for number in range(len(ids))]
        statistics = index.statistics(field, _WORDS)
        finite(statistics.df, statistics.cf, statistics.passages, statistics.mean_length)


def _read_citations(path: Path) -> None:
    vectors = CitationVectors(path)
    words = [("deus", "deus"), ("gustate", "gusto"), ("xyzzy", "xyzzy")]
    finite(vectors.word_vectors(words), vectors.query_vector(words, words))
    finite(vectors.table().rows)


def _read_translations(path: Path) -> None:
    table = Translations(path)
    finite(len(table), table.matrix(_WORDS, _WORDS))


def _read_citing(path: Path) -> None:
    texts = CitingTexts(path)
    for text in texts.texts():
        printable(*text.passages, *text.own, *text.around)
    found = texts.evidence(dict.fromkeys(_WORDS, 1.0), around=True)
    finite(found.best, found.best_three)
    words = texts.words_by_passage()
    printable(*words.ids, *words.words)
    finite(words.counts, words.texts)


def _read_vectors(path: Path) -> None:
    vectors = read_vectors(path)
    found = vectors.vectors(_WORDS)
    finite(found)
    assert found.shape == (len(_WORDS), vectors.dimension)
    assert (np.linalg.norm(found, axis=1) < 1.001).all()


def _read_run(path: Path) -> None:
    for name, found in load_run(path).items():
        printable(name, *found.ranking.ids)
        finite(found.ranking.scores, found.stage_ranks)
        assert len(found.ranking.ids) == len(found.ranking.scores) == len(found.stage_ranks)


def _read_dictionary(path: Path) -> None:
    dictionary = SavedDictionary(ArrayFile(path, "delete it"))
    for word in ("deus", "a", "zzz", ""):
        printable(dictionary.get(word, ""))
    assert len(list(dictionary)) == len(dictionary)


def _read_checkpoint(path: Path) -> None:
    loaded = Checkpoint(path, {"a": 1}).load()
    if loaded is not None:
        finite(loaded[0], *loaded[1].values())


def _read_store(path: Path) -> None:
    for name in path.parent.iterdir():
        if name != path:
            name.unlink()
    store = Store(path)
    for instance in store.instances():
        printable(instance.id, instance.link.query.text)
    store.marks(), store.history(), store.saved("anna")
    for row in spans(path):
        printable(row.instance, row.annotator)


def _save_store(path: Path) -> None:
    store = Store(path, create_missing=True)
    store.add([instance_of(GoldLink(Query("supereminet omni scientiae", "b-1"), ("Eph.3.19",)))])
    store.save("b-1", "anna", Mark(0, 3, comment="x"), "k1")
    store.save("b-1", "anna", Mark(doubt=True), "k2")
    store.undo("b-1", "anna", "k3")
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("PRAGMA journal_mode = DELETE")
    database.close()


def _read_journal(path: Path) -> None:
    journal = Journal(path, "key", resume=True)
    journal.close()
    for found in journal.done.values():
        for each in found:
            finite(each.start, each.end, each.score, each.probability)
            printable(each.text, each.reference, *each.passages, *each.words)


def _save_journal(path: Path) -> None:
    other = Alternative(("Ps.1.1",), "Ps 1,1", 0.5, 0.25)
    found = Finding(
        0, 7, "Gustate", ("Ps.33.9",), "Ps 33,9", 2.5, 0.9, "quotation", ("a",), (other,)
    )
    journal = Journal(path, "key", resume=False)
    journal.add(0, [found])
    journal.add(2, [])
    journal.close()


def _read_wordnet(path: Path) -> None:
    wordnet = load_wordnet(path)
    finite(wordnet.similarity(_WORDS, _WORDS), wordnet.relatedness(_WORDS, _WORDS))


_DUMP = "".join(
    f'INSERT INTO latin_lemma VALUES ("{synset}","n","{lemma}","N");\n'
    for synset, lemma in (("n#1", "deus"), ("n#1", "dominus"), ("n#2", "gusto"), ("a#3", "x"))
) + "".join(
    f"INSERT INTO common_relation VALUES ('{kind}','{low}','{high}',NULL);\n"
    for kind, low, high in (("@", "n#1", "n#2"), ("&", "a#3", "a#3"))
)


def _save_wordnet(path: Path) -> dict[str, bytes]:
    path.write_text(_DUMP)
    load_wordnet(path)
    (saved,) = (each for each in path.parent.iterdir() if each != path)
    return {path.name: path.read_bytes(), saved.name: saved.read_bytes()}


def _links() -> dict[str, bytes]:
    rows = [{"to": "GEN.1.1", "source": "openbible", "weight": 50, "end": 1}]
    return {"r.json": json.dumps({"references": {"JHN.1.1": rows, "PSA.22.1": rows}}).encode()}


def _openbible() -> Reader:
    index = little_index(Path(tempfile.mkdtemp()))

    def read(path: Path) -> None:
        for link in openbible_links(path, index):
            printable(link.query.text, *link.relevant)

    return Reader("cross-references", (_links(),), read, mutate=mutate_json_lines)


def _save_manifest(path: Path) -> None:
    choices = EvaluateOptions(**_CHOICES, server=ServerOptions(None))
    options = {name: plain(getattr(choices, name)) for name in _CHOICES}
    runs = {"bm25 lemma": "0" * 64}
    write_manifest(path, Manifest(options, {"a": "0"}, {"kind": "x"}, {"numpy": "2"}, runs, "0"))


def _read_manifest(path: Path) -> None:
    manifest = read_manifest(path)
    choices = restored(manifest.options, path, ServerOptions(None), 1)
    printable(*manifest.inputs, *manifest.runs, str(choices.gold))


_CHOICES: dict[str, Any] = {
    "experiment": None, "gold": Path("g.jsonl"), "topics": None, "run": None,
    "methods": ("bm25",), "inputs": ("lemma",), "first_stage": "bm25", "candidates": 5,
    "depth": 9, "measures": ("mrr",), "types": frozenset({"allusion"}), "books": (),
    "testaments": (), "works": (), "numbering": "vulgate", "skip_unknown": False,
    "windows": (3,), "word2vec": Path("w"), "settings": {"wmd": {"solver": "pot"}},
    "parallels": False, "compare": None, "errors": None, "save_run": None, "figure": None,
    "resamples": 0, "seed": 0, "workers": 1, "cache": True, "format": "table", "index": "vulgate",
}  # fmt: skip


def _mutate_json(data: bytes, rng: Random, words: tuple[bytes, ...]) -> bytes:
    if rng.random() < 0.4:
        return mutate_bytes(data, rng, words)
    return json.dumps(mutate_value(json.loads(data), rng)).encode()


_MEMBER = "package-1/data.txt"


def _archives() -> tuple[Files, ...]:
    plain, packed = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(plain, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(_MEMBER, "deus " * 20)
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        member = tarfile.TarInfo(_MEMBER)
        member.size = 100
        tar.addfile(member, io.BytesIO(b"deus " * 20))
    return {"a.whl": plain.getvalue()}, {"a.tar.gz": packed.getvalue()}


def _read_archive(path: Path) -> None:
    digest = sha256(b"deus " * 20).hexdigest()
    data = DataFile("x", "package==1", "", (_MEMBER,), digest, "data.txt", 1, "")
    out = path.parent / "out"
    _unpack(data, path.parent, out / "data.txt")


def _word2vec(binary: bool) -> bytes:
    rows = {"deus": (3.0, 4.0), "homo": (0.0, -2.0), "res": (0.0, 0.5)}
    if not binary:
        return "".join(["3 2\n", *(f"{w} {x} {y}\n" for w, (x, y) in rows.items())]).encode()
    return b"3 2\n" + b"".join(
        word.encode() + b" " + struct.pack("<2f", *row) + b"\n" for word, row in rows.items()
    )


def _fasttext() -> bytes:
    words, dimension, buckets = ("deus", "homo"), 2, 3
    head = struct.pack(
        "<2i12id3i2q", 793712314, 12, dimension, 5, 5, 1, 5, 1, 1, 2, buckets, 2, 3, 100, 1e-4,
        len(words), len(words), 0, 7, -1,
    )  # fmt: skip
    entries = b"".join(word.encode() + b"\0" + struct.pack("<qb", 3, 0) for word in words)
    rows = np.arange((len(words) + buckets) * dimension, dtype="<f4") / 10
    shape = struct.pack("<?2q", False, len(words) + buckets, dimension)
    return head + entries + shape + rows.tobytes()


def _npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.arange(12, dtype=np.float32).reshape(6, 2) / 7)
    return file.getvalue()


def _vector_seeds() -> tuple[Files, ...]:
    table = np.arange(12, dtype=np.float32).reshape(6, 2) / np.float32(7)
    words = [*_WORDS[:5], "rex"]
    return (
        {"v.txt": _word2vec(False)},
        {"v.bin": _word2vec(True)},
        {"v": _word2vec(True)},
        {"v.vec.gz": gzip.compress(_word2vec(False), mtime=0)},
        {"f.bin": _fasttext()},
        {"n.npy": _npy()},
        {"n.npy": _npy(), "n.txt": "\n".join(words).encode()},
        _saved("s.vectors", lambda p: save_vectors(p, words, table)),
        _saved("s.vectors", lambda p: save_vectors(p, words[:3], table, (2, 4))),
    )


def _mutate_vectors(data: bytes, rng: Random, words: tuple[bytes, ...]) -> bytes:
    mutate = mutate_arrays if data.startswith(b"ALLUSION") else mutate_bytes
    return mutate(data, rng, words)


def _mutate_wordnet(data: bytes, rng: Random, words: tuple[bytes, ...]) -> bytes:
    return _mutate_vectors(data, rng, words)


def _arrays(name: str, file: str, save: Callable[[Path], object], read: Any) -> Reader:  # noqa: ANN401
    return Reader(name, (_saved(file, save),), read, mutate=mutate_arrays)


def _wordnet() -> Reader:
    with tempfile.TemporaryDirectory() as folder:
        files = _save_wordnet(Path(folder, "w.sql"))
    return Reader("wordnet", (files,), _read_wordnet, mutate=_mutate_wordnet)


def _save_run(path: Path) -> None:
    ranking = Ranking(("Ps.1.1", "Ps.1.2"), np.array([2.0, 1.0]))
    save_run(path, {"q1": found_in(ranking), "q2": found_in(Ranking.empty())})


_SETTINGS = AnalysisSettings()
_CITING = [
    CitingText(("Ps.1.1", "Ps.1.2"), ("deus",), ("gusto",)),
    CitingText(("Ps.22.1",), ("dominus", "pasco"), ()),
    CitingText(("Ps.33.9",), ("gusto",), ("deus",)),
]

SAVED: dict[str, Callable[[], Reader]] = {
    "index": _index,
    "citations": partial(_arrays, "citations", "x.citations", _save_citations, _read_citations),
    "translations": partial(
        _arrays, "translations", "x.translations",
        lambda p: save_translations(p, _TRANSLATED, _SETTINGS, {}), _read_translations,
    ),
    "citing": partial(
        _arrays, "citing", "x.citing",
        lambda p: save_citing_texts(p, _CITING, _SETTINGS, {}), _read_citing,
    ),
    "run-cache": partial(_arrays, "run-cache", "0.run", _save_run, _read_run),
    "dictionary": partial(
        _arrays, "dictionary", "la.arrays",
        lambda p: save_dictionary(p, {"deum": "deus", "dei": "deus", "a": "ab"}), _read_dictionary,
    ),
    "checkpoint": partial(
        _arrays, "checkpoint", "c.arrays",
        lambda p: Checkpoint(p, {"a": 1}).save(3, {"x": np.ones(4, np.float32)}), _read_checkpoint,
    ),
    "vectors": lambda: Reader("vectors", _vector_seeds(), _read_vectors, mutate=_mutate_vectors),
    "wordnet": _wordnet,
    "store": lambda: Reader("store", (_saved("s.sqlite", _save_store),), _read_store),
    "journal": lambda: Reader(
        "journal", (_saved("j.scan", _save_journal),), _read_journal, mutate=mutate_json_lines
    ),
    "cross-references": _openbible,
    "archive": lambda: Reader("archive", _archives(), _read_archive),
    "manifest": lambda: Reader(
        "manifest", (_saved("m.json", _save_manifest),), _read_manifest, mutate=_mutate_json
    ),
}  # fmt: skip
"""Every reader of this module, by name; what it needs is built when it is asked for."""
