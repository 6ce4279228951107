"""Building by streaming: the same arrays as plain loops give, in little memory, by any workers."""

import math
import os
import signal
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from little_vectors import LittleVectors
from processes import StartProcess, program

from allusion_es.core.arrays import ArrayFile
from allusion_es.core.errors import StorageError
from allusion_es.core.temporary_files import TemporaryFiles
from allusion_es.corpora.passage import Passage
from allusion_es.language.citations.word_parts import SEARCHED_SIZES, all_grams, gram_key
from allusion_es.language.latin.analysis import Analyser, Analysis
from allusion_es.local.build import build_local
from allusion_es.local.index import LocalIndex
from allusion_es.local.library import BuildOptions, Library
from allusion_es.retrieval import parallels, posting_lists
from allusion_es.retrieval.analysed import AnalysedPassage, Unanalysed, reread
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.posting_lists import PostingListBuilder

SETTINGS = IndexSettings(Analyser().settings)
WORDS = st.sampled_from(["x", "y", "z", "minus", "rex", "regis", "regem"])
TEXTS = st.lists(st.lists(st.tuples(WORDS, WORDS), max_size=6), min_size=1, max_size=12)
FAST = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def analysed(number: int, words: list[tuple[str, str]]) -> AnalysedPassage:
    tokens, lemmas = (tuple(pair[n] for pair in words) for n in (0, 1))
    passage = Passage(f"p{number}", " ".join(tokens), work=f"w{number % 2}", order=number)
    return AnalysedPassage(passage, Analysis(tokens, lemmas, ((0, 0),) * len(words)))


@given(TEXTS)
@FAST
def test_arrays_are_what_plain_loops_give(
    tmp_path: Path, texts: list[list[tuple[str, str]]]
) -> None:
    path = tmp_path / "x.idx"
    build_local(path, map(analysed, range(len(texts)), texts), SETTINGS, LittleVectors())
    load = ArrayFile(path, "").load
    words = sorted({word for text in texts for pair in text for word in pair})
    assert load("words").tobytes().decode().split("\n") == (words or [""])
    for field, part in (("token", 0), ("lemma", 1)):
        found = [Counter(pair[part] for pair in text) for text in texts]
        postings = [[(n, c[word]) for n, c in enumerate(found) if c[word]] for word in words]
        assert np.diff(load(f"{field}.posting_offsets")).tolist() == [len(p) for p in postings]
        flat = [entry for some in postings for entry in some]
        assert load(f"{field}.posting_passages").tolist() == [passage for passage, _ in flat]
        assert load(f"{field}.posting_counts").tolist() == [count for _, count in flat]
        assert load(f"{field}.cf").tolist() == [sum(count for _, count in p) for p in postings]
        filled = sum(1 for text in texts if text)
        idf = [max(0.0, math.log(filled / (1 + len(p)))) if filled else 0.0 for p in postings]
        norms = [
            math.sqrt(sum((c[w] * i) ** 2 for w, i in zip(words, idf, strict=True))) for c in found
        ]
        assert load(f"{field}.norms") == pytest.approx(norms)
        lengths = load(f"{field}.vector_lengths")
        for length, text in zip(lengths, texts, strict=True):
            total = LittleVectors().vectors([pair[part] for pair in text]).sum(axis=0)
            assert length == pytest.approx(float(np.linalg.norm(total)), abs=1e-6)
    grams = [
        Counter(gram_key(g) for token, _ in text for g in all_grams(token, SEARCHED_SIZES))
        for text in texts
    ]
    keys = sorted({key for counts in grams for key in counts})
    assert load("ngram.keys").tolist() == keys
    assert load("ngram.lengths").tolist() == [counts.total() for counts in grams]
    flat = [(n, c[key]) for key in keys for n, c in enumerate(grams) if c[key]]
    assert load("ngram.posting_passages").tolist() == [passage for passage, _ in flat]
    assert load("ngram.posting_counts").tolist() == [count for _, count in flat]


@given(
    st.lists(st.dictionaries(st.integers(0, 5), st.integers(1, 9)), max_size=10),
    st.integers(1, 8),
    st.integers(1, 3),
)
@FAST
def test_inversion_in_small_blocks(
    tmp_path: Path, passages: list[dict[int, int]], together: int, each: int
) -> None:
    with TemporaryFiles(tmp_path) as files:
        little = PostingListBuilder(files, 6, np.int32, together)
        for start in range(0, len(passages), each):
            some = passages[start : start + each]
            words = [word for entries in some for word in entries]
            values = [value for entries in some for value in entries.values()]
            little.add(np.array([len(e) for e in some]), np.array(words), np.array(values))
        found = little.postings(kind=np.uint8)
        expected = [
            [(n, e[word]) for n, e in enumerate(passages) if word in e] for word in range(6)
        ]
        flat = [entry for some in expected for entry in some]
        assert np.diff(found.offsets).tolist() == [len(some) for some in expected]
        assert found.passages.mapped().tolist() == [passage for passage, _ in flat]
        assert found.values.mapped().tolist() == [value for _, value in flat]
        assert found.values.dtype == np.uint8
    assert list(tmp_path.iterdir()) == []


def test_memory_does_not_grow_with_the_passages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More passages add less than their ids and places, where all words would add far more."""
    monkeypatch.setattr(posting_lists, "_TOGETHER", 50_000)
    # Groups of parallel passages are only looked for where all words fit into memory.
    monkeypatch.setattr(parallels, "LARGEST", 0)
    words = tuple(f"uerbum{number}" for number in range(50))

    def passages(count: int) -> Iterator[AnalysedPassage]:
        for number in range(count):
            some = tuple(words[(7 * number + place) % 50] for place in range(20))
            yield AnalysedPassage(
                Passage(f"p{number}", " ".join(some)), Analysis(some, some, ((0, 0),) * 20)
            )

    def peak(count: int) -> int:
        tracemalloc.start()
        build_local(tmp_path / "x.idx", passages(count), SETTINGS)
        largest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return largest

    few, many = peak(2_000), peak(8_000)
    assert many - few < 6_000 * 300


def test_any_number_of_workers_gives_the_same_bytes(
    tmp_path: Path, vulgate_passages: tuple[Passage, ...]
) -> None:
    """With word vectors, citation vectors and expansion, analysed in the processes."""
    library = Library()
    options = BuildOptions()
    for workers in (1, 2):
        prepared = library.prepare(vulgate_passages[14_000:16_100], options)
        build_local(tmp_path / f"{workers}.idx", *prepared, workers)
    one, two = (tmp_path / f"{workers}.idx" for workers in (1, 2))
    assert one.read_bytes() == two.read_bytes()
    assert len(LocalIndex(one)) == 2_100


def test_an_index_gives_back_its_passages_in_their_order(tmp_path: Path) -> None:
    texts = [[("rex", "rex")], [], [("regem", "rex"), ("x", "x")]]
    passages = [analysed(number, words) for number, words in enumerate(texts)]
    path = tmp_path / "x.idx"
    build_local(path, reversed(passages), SETTINGS)
    assert list(reread(LocalIndex(path))) == passages


def test_no_room_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    nowhere = tmp_path / "file" / "x.idx"
    with pytest.raises(StorageError, match=r"file: temporary files cannot be written"):
        build_local(nowhere, [analysed(1, [])], SETTINGS)


def test_unanalysed_passages_are_analysed(tmp_path: Path) -> None:
    path = tmp_path / "x.idx"
    build_local(path, Unanalysed([Passage("1", "Dixitque Deus")], Analyser().settings), SETTINGS)
    assert LocalIndex(path).texts("lemma", ["1"]).text(0) == ("dico", "que", "deus")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files and signals")
def test_ctrl_c_while_others_work_leaves_the_old_index(
    start_process: StartProcess, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    build_local(folder / "indexes" / "x.idx", [analysed(1, [("x", "x")])], SETTINGS)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [program(), "index", "--data-dir", str(folder)]
    process = start_process(
        [*command, str(pipe), "--name", "x", "--no-vectors", "--workers", "2"],
        stderr=subprocess.PIPE,
        text=True,
    )
    with pipe.open("w") as writer:
        # It waits for more once it has read all this, and its processes are at work or done.
        writer.writelines(f"dixit Deus fiat lux {number}\n" for number in range(9_000))
        writer.flush()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in told
    assert len(told.strip().splitlines()) <= 1
    assert len(LocalIndex(folder / "indexes" / "x.idx")) == 1
    assert [path.name for path in (folder / "indexes").iterdir()] == ["x.idx"]
