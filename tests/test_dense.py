"""Indexes with a sentence encoder: building, searching, reranking, and what goes wrong."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import little_models
import numpy as np
import pytest
from processes import Run

from allusion_es.core.arrays import ArrayFile, save_arrays
from allusion_es.core.errors import (
    IndexDamagedError,
    InputError,
    SettingsMismatchError,
    UsageError,
)
from allusion_es.corpora.passage import Passage
from allusion_es.evaluation.gold.files import make_link
from allusion_es.language.encoders.sentences import SentenceEncoder, choose_encoder
from allusion_es.language.encoders.settings import EncoderChoice
from allusion_es.learning.collection_ranker import RankerLearner
from allusion_es.learning.links import known_links, read_collection
from allusion_es.local.format import ENCODER_VECTORS, SavedIndex
from allusion_es.local.index import LocalIndex
from allusion_es.local.library import BuildOptions, Library
from allusion_es.local.memory import index_texts
from allusion_es.rerankers.cross_encoder import CrossEncoding
from allusion_es.rerankers.encoder_cosine import EncoderCosine
from allusion_es.retrieval.encoder_vectors import EncodedPassages
from allusion_es.retrieval.pipeline import Answer, QueryOptions, Retriever, index_analyser
from allusion_es.retrieval.reranking import UNDEFINED, load_reranker

T = TypeVar("T")

TEXTS = {
    "a": "amor",
    "b": "amor caritas",
    "c": "odium lux lux lux",
    "d": "ignotum",
    "e": "caritas",
    "f": "lux",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return little_models.encoder(tmp_path / "little")


@pytest.fixture
def encoder(folder: Path, tmp_path: Path) -> SentenceEncoder:
    return choose_encoder(EncoderChoice(str(folder)), tmp_path)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return little_models.cross_encoder(tmp_path / "pairs")


@pytest.fixture(params=["int8", "float16"])
def index(request: pytest.FixtureRequest, folder: Path, tmp_path: Path) -> LocalIndex:
    choice = EncoderChoice(str(folder), store=request.param)
    return index_texts(TEXTS, encoder=choose_encoder(choice, tmp_path))


def answer(index: LocalIndex, text: str, **options: object) -> Answer:
    chosen = {"generators": ("dense",), "reranker": None, "grouped": False, **options}
    return Retriever(index, QueryOptions(**chosen)).answer(text)  # type: ignore[arg-type]


def scores(answer: Answer) -> dict[str, float]:
    return {hit.id: hit.score for hit in answer.hits}


COSINES = {"a": 0.6, "b": 2 / 5**0.5, "c": 1.8 / 10**0.5, "e": 1.0, "f": 0.8}
"""Cosines with "caritas", (0.6, 0.8)."""


def test_dense_ranks_by_the_cosine(index: LocalIndex) -> None:
    found = scores(answer(index, "caritas"))
    assert list(found) == ["e", "b", "f", "a", "c"]
    assert found == pytest.approx(COSINES, abs=0.01)
    # An unknown word has no direction, so nothing is near it.
    assert answer(index, "ignotum").hits == ()


def test_an_index_of_the_last_format_is_read(tmp_path: Path) -> None:
    library = Library(tmp_path / "data")
    passages = [Passage(name, text) for name, text in TEXTS.items()]
    library.build("old", passages, BuildOptions(vectors=False))
    path = library.path("old")
    saved = ArrayFile(path, "")
    arrays = {name: np.array(saved.load(name)) for name in saved._table}
    settings = {key: value for key, value in saved.meta["settings"].items() if key != "encoder"}
    assert settings != saved.meta["settings"]
    save_arrays(path, {**saved.meta, "format": 3, "settings": settings}, arrays)
    old = library.open("old")
    assert "dense" not in old.capabilities
    assert answer(old, "amor", generators=("fused",)).hits[0].id == "a"


def test_words_in_common_are_not_needed(index: LocalIndex) -> None:
    assert [hit.id for hit in answer(index, "amor", top=1).hits] == ["a"]
    with_words = answer(index, "amor", generators=("bm25",))
    assert {hit.id for hit in with_words.hits} == {"a", "b"}
    assert {hit.id for hit in answer(index, "amor").hits} == {"a", "b", "c", "e", "f"}


def test_fused_has_what_the_encoder_finds(index: LocalIndex) -> None:
    plain = index_texts(TEXTS)
    assert "dense" in index.capabilities
    assert "dense" not in plain.capabilities
    assert {hit.id for hit in answer(plain, "caritas", generators=("fused",)).hits} == {"b", "e"}
    found = answer(index, "caritas", generators=("fused",))
    assert {hit.id for hit in found.hits} == {"a", "b", "c", "e", "f"}
    assert [hit.id for hit in found.hits][:2] == ["e", "b"]


def test_an_index_without_an_encoder_says_how_to_get_one(tmp_path: Path) -> None:
    plain = index_texts(TEXTS)
    for ask in (
        lambda: answer(plain, "amor"),
        lambda: answer(plain, "amor", generators=("bm25",), reranker="encoder-cosine"),
        lambda: plain.encoder_cosines(np.zeros(2, dtype=np.float32), ["a"]),
    ):
        with pytest.raises(UsageError, match=r"no encoder vectors.* rebuild it with .*--encoder"):
            ask()


def test_the_cosine_reranks(index: LocalIndex, folder: Path) -> None:
    first = {"generators": ("bm25",), "candidates": 5}
    found = scores(answer(index, "caritas", **first, reranker="encoder-cosine"))
    assert found == pytest.approx({"b": COSINES["b"], "e": 1.0}, abs=0.01)
    plain = index_texts(TEXTS)
    settings = {"encoder-cosine": {"model": str(folder)}}
    other = scores(answer(plain, "caritas", **first, reranker="encoder-cosine", settings=settings))
    assert other == pytest.approx({"b": COSINES["b"], "e": 1.0}, abs=1e-6)


def test_passages_without_a_direction_rank_last(index: LocalIndex) -> None:
    found = answer(
        index, "amor ignotum", generators=("bm25",), reranker="encoder-cosine", explain=True
    )
    assert [hit.id for hit in found.hits] == ["a", "b", "d"]
    assert found.hits[-1].score == UNDEFINED
    assert found.hits[-1].contributions is None


def test_a_cosine_is_the_sum_of_pairs_of_words(index: LocalIndex) -> None:
    found = answer(
        index,
        "Amor, caritas!",
        generators=("bm25",),
        reranker="encoder-cosine",
        explain=True,
        fields=("token",),
    )
    hit = next(hit for hit in found.hits if hit.id == "e")
    assert hit.contributions is not None
    parts = {(p.query_word, p.passage_word): p.contribution for p in hit.contributions}
    assert sum(parts.values()) == pytest.approx(hit.score, abs=1e-9)
    # "Amor" is unknown to the model, which knows only small letters; so "caritas" has it all.
    assert parts["caritas", "caritas"] == pytest.approx(hit.score, abs=1e-9)
    assert parts["amor", "caritas"] == 0


def test_a_vector_without_tokens_is_not_explained_by_words(tmp_path: Path) -> None:
    folder = little_models.encoder(tmp_path / "max", "max_tokens")
    index = index_texts(TEXTS, encoder=choose_encoder(EncoderChoice(str(folder)), tmp_path))
    found = answer(index, "amor", generators=("bm25",), reranker="encoder-cosine", explain=True)
    for hit in found.hits:
        assert hit.contributions is not None
        (only,) = hit.contributions
        assert (only.query_word, only.passage_word) == ("‹model›", "‹model›")
        assert only.contribution == hit.score


def test_a_cross_encoder_reads_the_first_candidates(pairs: Path) -> None:
    index = index_texts(TEXTS)

    def asked(**settings: str) -> Answer:
        return answer(
            index,
            "amor caritas",
            generators=("bm25",),
            reranker="cross-encoder",
            settings={"cross-encoder": {"model": str(pairs), **settings}},
            explain=True,
        )

    # 3 for the query, and twice the passage's weights.
    assert scores(asked()) == {"b": 9.0, "e": 7.0, "a": 5.0}
    first = answer(index, "amor caritas", generators=("bm25",))
    assert [hit.id for hit in first.hits] == ["b", "a", "e"]
    few = asked(candidates="1")
    assert scores(few) == {"b": 9.0, "a": 8.0, "e": 7.0}
    read = [hit.contributions[0].passage_word for hit in few.hits if hit.contributions]
    assert read == ["‹read›", "‹not read›", "‹not read›"]
    with pytest.raises(UsageError, match=r"cross-encoder\.candidates must be at least 1"):
        asked(candidates="0")
    with pytest.raises(
        UsageError, match=r"needs a model; name one with --set cross-encoder\.model"
    ):
        answer(index, "amor", generators=("bm25",), reranker="cross-encoder")


def test_a_ranker_learns_what_models_are_worth(
    index: LocalIndex, pairs: Path, tmp_path: Path
) -> None:
    """By words "amor" is nearest to passage a; the cross-encoder, and the links, say b."""
    rows = [
        {"query_id": f"{n}", "text": "amor" + " et" * n, "relevant": ["b"], "title": "De amore"}
        for n in range(6)
    ]
    gold = [make_link(row, Path("gold.jsonl"), n) for n, row in enumerate(rows)]
    links, _ = known_links(gold, read_collection(index), index_analyser(index))
    learner = RankerLearner(index, cross_encoder=str(pairs))
    examples = learner.examples(links)
    assert {"encoder-cosine", "cross-encoder/rank"} < set(examples[0].names)
    ranker = learner.learn(examples)
    weights = dict(zip(ranker.features, ranker.linear.tolist(), strict=True))
    assert weights["cross-encoder/rank"] > 0.1
    assert weights["cross-encoder"] == 0
    name = learner.save(tmp_path, links, ranker)
    path = str(tmp_path / f"{name}.ranker")
    assert f"about\tcross-encoder\t{pairs}" in Path(path).read_text()
    options = {"reranker": "learned", "settings": {"learned": {"model": path}}}
    hits = answer(index, "amor", generators=("fused",), explain=True, **options).hits
    assert hits[0].id == "b"
    plain = answer(index, "amor", generators=("fused",), reranker="learned").hits
    assert plain[0].id == "a"
    for hit in hits:
        assert sum(part.contribution for part in hit.contributions or ()) == pytest.approx(
            hit.score
        )


def test_models_are_named_in_notes_and_parts_of_a_fusion(index: LocalIndex, pairs: Path) -> None:
    retriever = Retriever(
        index,
        QueryOptions(
            generators=("bm25",),
            reranker="fuse:encoder-cosine+cross-encoder+bm25",
            grouped=False,
            settings={"cross-encoder": {"model": str(pairs)}},
        ),
    )
    assert [hit.id for hit in retriever.answer("caritas").hits] == ["e", "b"]
    notes = " ".join(retriever.notes)
    assert "encoder-cosine: little sha256:" in notes
    assert "cross-encoder: pairs sha256:" in notes


def test_parameters_of_the_indexs_own_encoder_cannot_be_set() -> None:
    with pytest.raises(UsageError, match="has its own settings; set a model"):
        load_reranker("encoder-cosine", {"encoder-cosine": {"pooling": "cls"}})
    assert isinstance(load_reranker("encoder-cosine"), EncoderCosine)
    assert isinstance(load_reranker("cross-encoder"), CrossEncoding)


def test_texts_that_were_cut_are_told(tmp_path: Path, pairs: Path) -> None:
    folder = little_models.encoder(tmp_path / "short", most=4)
    index = index_texts(TEXTS, encoder=choose_encoder(EncoderChoice(str(folder)), tmp_path))
    retriever = Retriever(index, QueryOptions(generators=("fused",), reranker="encoder-cosine"))
    retriever.answer("amor amor")
    assert not any("amor amor amor" in each for each in retriever.warnings)
    before = retriever.warnings
    retriever.answer("amor amor amor")
    assert retriever.warnings != before
    assert "longer than the 4 tokens that short sha256:" in retriever.warnings[0]


def test_encoding_goes_on_where_it_stopped(
    encoder: SentenceEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was encoded is kept; a damaged file is made again."""
    ids, texts = list(TEXTS), list(TEXTS.values())
    first = EncodedPassages(encoder, tmp_path).rows(ids, texts)
    (file,) = (tmp_path / "encoded").iterdir()
    monkeypatch.setattr(type(encoder), "passages", None)
    assert (EncodedPassages(encoder, tmp_path).rows(ids, texts) == first).all()
    monkeypatch.undo()
    file.write_bytes(file.read_bytes()[:-1])
    assert (EncodedPassages(encoder, tmp_path).rows(ids, texts) == first).all()
    assert (EncodedPassages(encoder, tmp_path).rows(ids[:2], texts[:2]) == first[:2]).all()
    assert len(list((tmp_path / "encoded").iterdir())) == 2


def test_a_build_that_was_interrupted_goes_on(
    encoder: SentenceEncoder, folder: Path, tmp_path: Path
) -> None:
    library = Library(tmp_path / "data")
    passages = [Passage(str(n), f"amor {n}", order=n) for n in range(700)]
    options = BuildOptions(vectors=False, learned_links=False, encoder=EncoderChoice(str(folder)))
    seen: list[str] = []

    def interrupted(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
        for number, item in enumerate(items):
            if description == "Encoding":
                seen.append(f"{number}/{total}")
                if len(seen) == 3:
                    raise KeyboardInterrupt
            yield item

    with pytest.raises(KeyboardInterrupt):
        Library(tmp_path / "data", interrupted).build("little", passages, options)
    assert seen == ["0/3", "1/3", "2/3"]
    assert library.names() == []
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "data" / "encoded").iterdir()}
    assert len(kept) == 2
    assert library.build("little", passages, options) == 700
    assert len(list((tmp_path / "data" / "encoded").iterdir())) == 3
    assert kept == {path: path.stat().st_mtime_ns for path in kept}
    index = library.open("little")
    assert index.encoder is not None
    assert index.encoder_cosines(index.encoder.query("amor"), ["0", "699"]).tolist() == [1.0, 1.0]


def test_other_citations_leave_the_encoder_as_it_is(folder: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "data")
    passages = [Passage(name, text) for name, text in TEXTS.items()]
    library.build(
        "little", passages, BuildOptions(vectors=False, encoder=EncoderChoice(str(folder)))
    )
    before = library.open("little")
    rows = before.encoder_rows(list(TEXTS)).tolist()
    # Not even the model is needed.
    folder.rename(tmp_path / "away")
    library.give_learned("little", None)
    after = library.open("little")
    assert after.citations is None
    assert after.settings.encoder == before.settings.encoder
    assert after.encoder_rows(list(TEXTS)).tolist() == rows


def test_another_model_in_its_place_is_refused(folder: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "data")
    passages = [Passage(name, text) for name, text in TEXTS.items()]
    library.build(
        "little", passages, BuildOptions(vectors=False, encoder=EncoderChoice(str(folder)))
    )
    folder.rename(tmp_path / "away")
    index = library.open("little")
    with pytest.raises(InputError, match="which is not there; put it back"):
        answer(index, "amor")
    assert [hit.id for hit in answer(index, "amor", generators=("bm25",)).hits] == ["a", "b"]
    little_models.encoder(folder, vectors={**little_models.VECTORS, "amor": (0.0, 1.0)})
    with pytest.raises(SettingsMismatchError, match="built with another model") as error:
        answer(library.open("little"), "amor")
    assert error.value.exit_code == 9


@pytest.mark.parametrize("store", ["int8", "float16"])
def test_a_saved_index_is_checked(store: str, folder: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "data")
    choice = EncoderChoice(str(folder), store=store)
    passages = [Passage(name, text) for name, text in TEXTS.items()]
    library.build("little", passages, BuildOptions(vectors=False, encoder=choice))
    path = library.path("little")
    saved = ArrayFile(path, "")
    arrays = {name: np.array(saved.load(name)) for name in saved._table}
    good = arrays[ENCODER_VECTORS]
    bad = [good[:-1], good[:, :1], np.full(good.shape, 200, dtype=np.int32)]
    if store == "float16":
        bad.append(np.full_like(good, np.nan))
    for each in bad:
        save_arrays(path, saved.meta, {**arrays, ENCODER_VECTORS: each})
        with pytest.raises(IndexDamagedError, match="encoder_vectors is not what it must be"):
            SavedIndex(path).load(ENCODER_VECTORS)
    damaged = {**saved.meta["settings"], "encoder": {"model": "m"}}
    save_arrays(path, {**saved.meta, "settings": damaged}, arrays)
    with pytest.raises(IndexDamagedError, match="header"):
        library.open("little")


@pytest.fixture
def passages_file(tmp_path: Path) -> Path:
    path = tmp_path / "loci.tsv"
    lines = ["id\ttext", *(f"{name}\t{text}" for name, text in TEXTS.items())]
    path.write_text("\n".join(lines))
    return path


def test_the_command_line(run: Run, folder: Path, pairs: Path, passages_file: Path) -> None:
    done = run("index", str(passages_file), "--encoder", str(folder), "--encoder-store", "float16")
    assert done.returncode == 0, done.stderr
    listed = run("list", "indexes", "--format", "json").stdout
    detail = next(row["detail"] for row in json.loads(listed) if row["name"] == "loci")
    assert detail.startswith("6 passages, encoder little sha256:")
    rows = {row["what"]: row for row in json.loads(run("doctor", "--format", "json").stdout)}
    assert rows["onnxruntime"]["state"] == "ok"
    assert rows["encoder of loci"]["state"] == "ok"
    assert "2 numbers, pooling mean" in rows["encoder of loci"]["detail"]
    common = ["query", "caritas", "--name", "loci", "--no-group", "--format", "json"]
    dense = json.loads(run(*common, "--first-stage", "dense", "--rerank", "none").stdout)
    assert [hit["id"] for hit in dense["hits"]] == ["e", "b", "f", "a", "c"]
    model = ["--set", f"cross-encoder.model={pairs}"]
    read = json.loads(run(*common, "--rerank", "cross-encoder", *model, "--explain").stdout)
    assert {hit["id"]: hit["score"] for hit in read["hits"]} == {
        "e": 6.0, "b": 8.0, "a": 4.0, "c": -6.0, "f": 2.0,
    }  # fmt: skip
    missing = run(*common, "--rerank", "cross-encoder")
    assert (missing.returncode, missing.stdout) == (2, "")
    refused = run("index", str(passages_file), "--pooling", "mean")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "need --encoder" in refused.stderr
    refused = run("index", str(passages_file), "--encoder", str(passages_file.parent))
    assert refused.returncode == 4
    assert "there is no model.onnx" in refused.stderr


def test_passages_that_were_cut_are_counted(run: Run, tmp_path: Path, passages_file: Path) -> None:
    short = little_models.encoder(tmp_path / "short", most=4)
    for _ in range(2):  # the second time they come from the disk
        done = run("index", str(passages_file), "--name", "short", "--encoder", str(short))
        assert done.returncode == 0
        assert "note: 1 passages are longer than the 4 tokens that short sha256:" in done.stderr


def test_methods_are_evaluated_side_by_side(
    run: Run, folder: Path, pairs: Path, passages_file: Path, tmp_path: Path
) -> None:
    assert run("index", str(passages_file), "--encoder", str(folder)).returncode == 0
    gold = tmp_path / "gold.tsv"
    gold.write_text("query_id\ttext\trelevant\nq1\tcaritas\tf\nq2\tamor\tb\n")
    methods = "none:dense,none,encoder-cosine,cross-encoder,bm25"
    command = [
        "evaluate", str(gold), "--name", "loci", "--first-stage", "fused", "--methods", methods,
        "--set", f"cross-encoder.model={pairs}", "--resamples", "0", "--format", "json",
    ]  # fmt: skip
    manifest = tmp_path / "manifest.json"
    done = run(*command, "--manifest", str(manifest))
    assert done.returncode == 0, done.stderr
    rows = {row["method"]: row for row in json.loads(done.stdout) if row["group"] == "all"}
    assert list(rows) == [
        "none:dense",
        "none:fused",
        "encoder-cosine",
        f"cross-encoder.model={pairs}",
        "bm25",
    ]
    # "caritas" finds e, b, f; "amor" finds a, b.
    assert rows["none:dense"]["mrr"] == pytest.approx(100 * (1 / 3 + 1 / 2) / 2)
    assert rows["encoder-cosine"]["mrr"] == rows["none:dense"]["mrr"]
    written = json.loads(manifest.read_text())
    assert str(pairs / "model.onnx") in written["inputs"]
    assert written["index"]["settings"]["encoder"]["model"] == str(folder)
    assert written["versions"]["onnxruntime"] != "none"
    again = run("evaluate", "--manifest", str(manifest))
    assert "identical to the byte" in again.stderr, again.stderr
    # Another model in the same folder is noticed.
    for path in sorted(pairs.iterdir()):
        path.unlink()
    pairs.rmdir()
    little_models.cross_encoder(pairs, 2)
    changed = run("evaluate", "--manifest", str(manifest))
    assert changed.returncode == 9
    assert "model.onnx" in changed.stderr


def test_without_the_extra(
    run: Run, folder: Path, passages_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("index", str(passages_file), "--encoder", str(folder)).returncode == 0
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    told = "models need onnxruntime, which is not here; install what models need with: pip install"
    for command in (
        ["query", "amor", "--name", "loci", "--first-stage", "dense"],
        ["query", "amor", "--name", "loci"],  # `fused` is all that the index has
        ["index", str(passages_file), "--encoder", str(folder)],
    ):
        done = run(*command)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr
        assert "allusion-es[neural]" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    done = run("query", "amor", "--name", "loci", "--first-stage", "bm25", "--rerank", "bm25")
    assert done.returncode == 0
    rows = {row["what"]: row for row in json.loads(run("doctor", "--format", "json").stdout)}
    assert rows["encoder of loci"]["state"] == "missing"


def test_nothing_of_it_is_loaded_where_it_is_not_asked_for(
    run_process: Run, folder: Path, passages_file: Path
) -> None:
    done = run_process("index", str(passages_file), "--encoder", str(folder))
    assert done.returncode == 0, done.stderr
    done = run_process(
        *("query", "amor", "--name", "loci", "--first-stage", "bm25", "--rerank", "none"),
        PYTHONPROFILEIMPORTTIME="1",
    )
    assert done.returncode == 0
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "numpy" in loaded
    assert not {"onnxruntime", "tokenizers", "huggingface_hub"} & loaded
