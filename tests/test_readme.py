"""Every command that the README shows is run, and prints what the README says.

`python tests/test_readme.py` writes the outputs into the README.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from allusion_es.core.files import DATA_DIR_VARIABLE, data_dir

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_URL = "http://localhost:9200"
_VENV = "python3 -m venv .venv"
_CACHE = "~/.cache/allusion-es"
# Versions differ from machine to machine, and with them the width of tables.
_CHANGING = re.compile(r"\b\d+\.\d+\.\d+[\w.]*|[━─┃│┏┓┗┛┡┩└┘╇┳┴━╞═╪╡]+")

# The last digits depend on the processor.
_LONG = re.compile(r"\d+\.\d{6,}")


def steps() -> list[tuple[str, str]]:
    """Each command of the README and the output that stands below it."""
    found = []
    for block in _BLOCK.findall(README.read_text()):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def run(command: str, folder: Path, url: str) -> str:
    """What a command prints; stderr goes where a terminal would show it."""
    cache = folder / "cache"
    if not cache.exists():
        newcomers_cache(cache)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, DATA_DIR_VARIABLE: str(cache)}
    done = subprocess.run(
        ["bash", "-c", command.replace(_URL, url)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout.replace(url, _URL).replace(str(cache), _CACHE)


def newcomers_cache(cache: Path) -> None:
    """A data folder with the data and the Vulgate's index, and nothing else."""
    (cache / "indexes").mkdir(parents=True)
    (cache / "data").symlink_to((data_dir() / "data").resolve())
    os.link(data_dir() / "indexes" / "vulgate.idx", cache / "indexes" / "vulgate.idx")


def same(output: str) -> str:
    """The output without what changes from machine to machine, and without layout."""
    rounded = _LONG.sub(lambda match: f"{float(match[0]):.4g}", output)
    return " ".join(_CHANGING.sub(" ", rounded).split())


def in_place(command: str) -> str:
    """The command without making an environment, which the one that runs this test has made."""
    return command.rpartition("&&")[2].replace(".venv/bin/", "").strip()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


def _marked(command: str, output: str) -> object:
    marks = [pytest.mark.process, *([pytest.mark.es] if _URL in command else [])]
    return pytest.param(command, output, marks=marks, id=command[:60])


@pytest.mark.parametrize(("command", "output"), [_marked(*step) for step in steps()])
def test_command(
    command: str, output: str, folder: Path, request: pytest.FixtureRequest, vulgate_index: object
) -> None:
    if command.startswith(_VENV):
        command = in_place(command)
        if command.startswith("python"):
            pytest.skip("this command is what runs the tests")
    url = request.getfixturevalue("elasticsearch_url_any") if _URL in command else _URL
    assert same(run(command, folder, url)) == same(output)


@pytest.mark.process
def test_python(vulgate_index: object, tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stderr == ""
    assert done.stdout.startswith("Ps 22,1 ")


def test_ci_runs_the_tests_that_are_shown_and_then_all_others() -> None:
    (shown,) = (in_place(command) for command, _ in steps() if " -m pytest" in command)
    assert shown.endswith("-m quick")
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    first, second = (line.removeprefix(".venv/bin/") for line in lines if " -m pytest" in line)
    assert (first, second) == (shown, shown.removesuffix("quick") + '"not quick"')
    assert lines[-1].endswith(second)


def test_every_command_is_shown() -> None:
    from allusion_es.cli.main import app

    shown = {word for command, _ in steps() for word in command.split()} | {
        word for word in README.read_text().replace("`", " ").split()
    }
    names = {command.name for command in app.registered_commands}
    assert names <= shown


def write(url: str) -> None:
    """Write the real outputs into the README."""
    import tempfile

    folder = Path(tempfile.mkdtemp())
    text = README.read_text()
    for block in _BLOCK.findall(text):
        new = ""
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command = part.partition("\n")[0]
            real = in_place(command) if command.startswith(_VENV) else command
            output = "" if real.startswith("python") else run(real, folder, url)
            lines = (line.rstrip() for line in output.splitlines())
            new += f"$ {command}\n" + "".join(f"{line}\n" for line in lines)
        text = text.replace(block, new)
    README.write_text(text)


if __name__ == "__main__":
    write(sys.argv[1])
