"""Files of arrays: what is written comes back, and damage is seen."""

import contextlib
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from allusion_es.core.arrays import ArrayFile, save_arrays
from allusion_es.core.errors import IndexDamagedError, StorageError
from allusion_es.core.files import writing

NUMBERS = st.sampled_from([np.uint8, np.int32, np.int64, np.float32, np.float64])
SHAPES = hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=5)
ARRAYS = st.dictionaries(st.text(min_size=1, max_size=8), hnp.arrays(NUMBERS, SHAPES), max_size=4)


@given(arrays=ARRAYS)
@settings(max_examples=50, deadline=None)
def test_round_trip(
    arrays: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("arrays") / "x.idx"
    save_arrays(path, {"n": 1}, arrays)
    file = ArrayFile(path, "rebuild")
    assert file.meta == {"n": 1}
    for name, array in arrays.items():
        assert name in file
        np.testing.assert_array_equal(file.load(name), array)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "x.idx"
    save_arrays(path, {"n": 1}, {"a": np.arange(100), "b": np.ones(3, np.float32)})
    return path


def test_every_flipped_byte_is_noticed(saved: Path) -> None:
    good = saved.read_bytes()
    padding = set()
    for place in range(0, len(good), 7):
        bad = bytearray(good)
        bad[place] ^= 0x10
        saved.write_bytes(bad)
        if good[place] == 0 and _reads(saved):
            padding.add(place)
        else:
            with pytest.raises(IndexDamagedError, match=r"x\.idx.*; rebuild it so"):
                ArrayFile(saved, "rebuild it so").check()
    assert len(padding) < 30  # only bytes between the arrays mean nothing


def test_files_of_earlier_programs_are_read_and_damage_in_them_noticed(tmp_path: Path) -> None:
    """Their arrays have a CRC-32 each, as those of the files that come with the program."""
    array = np.arange(100)
    entry = {"type": "<i8", "shape": [100], "offset": 0, "crc": zlib.crc32(array.tobytes())}
    header = json.dumps({"meta": {}, "arrays": {"a": entry}, "size": 832}).encode()
    head = struct.pack("<8sQI", b"ALLUSION", len(header), zlib.crc32(header)) + header
    start = -(-len(head) // 64) * 64
    path = tmp_path / "x.idx"
    path.write_bytes(head.ljust(start, b"\0") + array.tobytes().ljust(832, b"\0"))
    np.testing.assert_array_equal(ArrayFile(path, "").load("a"), array)
    data = bytearray(path.read_bytes())
    data[start + 8] ^= 1
    path.write_bytes(data)
    with pytest.raises(IndexDamagedError, match="a has changed since it was written"):
        ArrayFile(path, "").load("a")


def _reads(path: Path) -> bool:
    with contextlib.suppress(IndexDamagedError):
        ArrayFile(path, "").check()
        return True
    return False


@pytest.mark.parametrize("length", [0, 5, 20, 100, -1])
def test_a_file_that_is_cut_off_is_noticed(saved: Path, length: int) -> None:
    saved.write_bytes(saved.read_bytes()[:length])
    with pytest.raises(IndexDamagedError, match="damaged index"):
        ArrayFile(saved, "rebuild").check()


def test_another_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.idx"
    path.write_text("Gallia est omnis divisa in partes tres" * 10)
    with pytest.raises(IndexDamagedError, match="does not begin as an index"):
        ArrayFile(path, "rebuild")


def test_text_arrays_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not stored"):
        save_arrays(tmp_path / "x", {}, {"a": np.array(["a"])})
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_complete_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")

    def fail() -> None:
        with writing(path) as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"), writing(tmp_path / "file" / "x"):
        pass
