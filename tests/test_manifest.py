"""Manifests: written, repeated, and told apart from other evaluations."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import Run

from allusion_es.core.errors import InputError
from allusion_es.evaluation.manifest import (
    FORMAT,
    Manifest,
    ResultHashes,
    differences,
    read_manifest,
    run_hash,
    versions,
    write_manifest,
)
from allusion_es.evaluation.runs import QueryRanking, found_in
from allusion_es.local.index import LocalIndex
from allusion_es.retrieval.types import Ranking

GOLD = (
    '{"query_id": "q1", "text": "clamavi de tribulatione mea", "relevant": ["Jonah.2.3"]}\n'
    '{"query_id": "q2", "text": "Jonas in ventre piscis", "relevant": ["Jonah.2.1"]}\n'
)
FEW = ("--book", "Jonah", "--resamples", "20", "--methods", "bm25,tesserae", "--no-cache")


@pytest.fixture
def gold(tmp_path: Path, vulgate_index: LocalIndex) -> Path:
    path = tmp_path / "gold.jsonl"
    path.write_text(GOLD)
    return path


def test_an_evaluation_is_repeated_from_its_manifest(run: Run, gold: Path) -> None:
    paths = [gold.parent / f"{workers}.json" for workers in (1, 4)]
    written = [
        run("evaluate", str(gold), *FEW, "--workers", str(n), "--manifest", str(path))
        for n, path in zip((1, 4), paths, strict=True)
    ]
    assert [done.returncode for done in written] == [0, 0], written[0].stderr
    assert written[0].stdout == written[1].stdout
    records = [json.loads(path.read_text()) for path in paths]
    for record in records:
        del record["options"]["workers"]
    assert records[0] == records[1]
    assert set(records[0]["runs"]) == {"bm25 lemma", "tesserae lemma"}
    done = run("evaluate", "--manifest", str(paths[1]), "--workers", "1")
    assert (done.returncode, done.stdout) == (0, written[0].stdout), done.stderr
    assert "identical to the byte, 2 runs and their table" in done.stderr


def test_what_differs_is_told(run: Run, gold: Path) -> None:
    path = gold.parent / "m.json"
    written = run("evaluate", str(gold), *FEW, "--manifest", str(path), "--workers", "1")
    assert written.returncode == 0
    told = run("evaluate", str(gold), *FEW, "--manifest", str(path)).stderr
    assert "m.json is there already" in told
    told = run("evaluate", "--manifest", str(path), "--methods", "bow").stderr
    assert "leave --methods out" in told
    manifest = read_manifest(path)
    record = json.loads(path.read_text())
    record["runs"]["bm25 lemma"] = "0" * 64
    record["versions"]["numpy"] = "0.9"
    path.write_text(json.dumps(record))
    done = run("evaluate", "--manifest", str(path), "--workers", "1")
    assert (done.returncode, done.stdout) == (9, written.stdout)
    assert f"version of numpy: 0.9 then, {manifest.versions['numpy']} now" in done.stderr
    assert done.stderr.endswith("m.json: other results than then: bm25 lemma\n")
    gold.write_text(GOLD.replace("piscis", "ceti"))
    done = run("evaluate", "--manifest", str(path))
    assert (done.returncode, done.stdout) == (9, "")
    assert "cannot be repeated: file " in done.stderr
    gold.unlink()
    assert run("evaluate", "--manifest", str(path)).returncode == 4
    assert run("evaluate").returncode == 2


def test_a_run_has_a_hash_of_its_own() -> None:
    one = Ranking(("a", "b"), np.array([2.0, 1.0]))
    runs: list[Mapping[str, QueryRanking]] = [
        {},
        {"q": found_in(one)},
        {"r": found_in(one)},
        {"q": found_in(Ranking(("b", "a"), one.scores))},
        {"q": found_in(Ranking(one.ids, np.array([2.0, np.nextafter(1.0, 2.0)])))},
        {"q": QueryRanking(one, np.array([2, 1], np.int32))},
    ]
    assert len({run_hash(run) for run in runs}) == len(runs)
    assert run_hash({"q": found_in(one)}) == run_hash({"q": found_in(one)})


def test_tables_have_hashes_and_nan_is_none() -> None:
    results = ResultHashes()
    results.add_table([{"mrr": 50.0}])
    first = results.table
    results.add_table([{"mrr": 50.1}])
    assert first != results.table
    with pytest.raises(ValueError, match="JSON compliant"):
        results.add_table([{"mrr": float("nan")}])


def test_versions_name_all_that_computes() -> None:
    found = versions()
    assert found["numpy"] == np.__version__
    assert {"python", "platform", "code", "gensim", "simplemma", "POT", "pyemd"} <= set(found)
    assert differences(found, found, "version of") == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(part=st.sampled_from(["format", "options", "inputs", "index", "versions", "runs", "table"]),
       value=JSON)  # fmt: skip
@settings(max_examples=100)
def test_a_hostile_manifest_is_read_or_refused(
    part: str, value: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.json"
    write_manifest(path, Manifest({}, {}, {}, versions()))
    record = {**json.loads(path.read_text()), part: value}
    path.write_text(json.dumps(record))
    try:
        assert read_manifest(path).table == record["table"]
        assert record["format"] == FORMAT
    except InputError as error:
        assert "not a manifest" in str(error)  # noqa: PT017 - either is right


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    write_manifest(path, Manifest({}, {}, {}, versions()))
    path.write_text(json.dumps({**json.loads(path.read_text()), "inputs": {"\ud800": "0"}}))
    with pytest.raises(InputError, match="not a manifest"):
        read_manifest(path)


def test_a_manifest_of_an_older_version_lacks_what_has_a_default(run: Run, gold: Path) -> None:
    path = gold.with_name("older.json")
    done = run("evaluate", str(gold), "--methods", "bow", "--manifest", str(path))
    assert done.returncode == 0, done.stderr
    record = json.loads(path.read_text())
    for name in ("own_work", "authors", "excluded_works", "paper_column"):
        del record["options"][name]
    path.write_text(json.dumps(record))
    again = run("evaluate", "--manifest", str(path))
    assert again.returncode == 0, again.stderr
    del record["options"]["measures"]
    path.write_text(json.dumps(record))
    refused = run("evaluate", "--manifest", str(path))
    assert refused.returncode == 4
    assert "its options are not those of 'evaluate' ('measures')" in refused.stderr
