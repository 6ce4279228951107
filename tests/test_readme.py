"""Every command that the README, the tutorials and the how-to pages show is run.

Each prints what stands below it. A page's commands are run in its order, in a folder of its own, in
which stand the files that the page says to save (code with a `title`).

`python tests/test_readme.py [--es URL] [PAGE…]` writes the outputs into the pages; without a URL it
leaves pages alone that ask a server.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from allusion_es.core.files import DATA_DIR_VARIABLE, data_dir

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [
    README,
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
]
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_FILE = re.compile(r"```\w+ title=\"([^\"]+)\"\n(.*?)```", re.DOTALL)
_PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
_URL = "http://localhost:9200"
_VENV = "python3 -m venv .venv"
_CACHE = "~/.cache/allusion-es"
# Versions differ from machine to machine, and with them the width of tables.
_CHANGING = re.compile(r"\b\d+\.\d+\.\d+[\w.]*|[━─┃│┏┓┗┛┡┩└┘╇┳┴━╞═╪╡]+")

# The last digits depend on the processor.
_LONG = re.compile(r"\d+\.\d{6,}")


def steps(page: Path) -> list[tuple[str, str]]:
    """Each command of a page and the output that stands below it."""
    found = []
    for block in _BLOCK.findall(page.read_text()):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def make_folder(page: Path, folder: Path) -> None:
    """Write the files that a page says to save, and a newcomer's data folder."""
    for name, text in _FILE.findall(page.read_text()):
        (folder / name).write_text(text)
    indexes = folder / "cache" / "indexes"
    indexes.mkdir(parents=True)
    (folder / "cache" / "data").symlink_to((data_dir() / "data").resolve())
    os.link(data_dir() / "indexes" / "vulgate.idx", indexes / "vulgate.idx")


def environment(folder: Path) -> dict[str, str]:
    """The variables of a command: the program in the path, and the folder's own data."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, DATA_DIR_VARIABLE: str(folder / "cache")}


def run(command: str, folder: Path, url: str) -> str:
    """What a command prints; stderr goes where a terminal would show it."""
    done = subprocess.run(
        ["bash", "-c", command.replace(_URL, url)],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout.replace(url, _URL).replace(str(folder / "cache"), _CACHE)


def same(output: str) -> str:
    """The output without what changes from machine to machine, and without layout."""
    rounded = _LONG.sub(lambda match: f"{float(match[0]):.4g}", output)
    return " ".join(_CHANGING.sub(" ", rounded).split())


def in_place(command: str) -> str:
    """The command without making an environment, which the one that runs this test has made."""
    return command.rpartition("&&")[2].replace(".venv/bin/", "").strip()


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """The folder of each page, made when the first of its commands is run."""
    folders: dict[Path, Path] = {}

    def folder_of(page: Path) -> Path:
        if page not in folders:
            folders[page] = tmp_path_factory.mktemp(page.stem)
            make_folder(page, folders[page])
        return folders[page]

    return folder_of


def _marked(page: Path, command: str, output: str) -> object:
    marks = [pytest.mark.process, *([pytest.mark.es] if _URL in command else [])]
    return pytest.param(page, command, output, marks=marks, id=f"{page.stem}: {command[:60]}")


@pytest.mark.parametrize(
    ("page", "command", "output"), [_marked(page, *step) for page in PAGES for step in steps(page)]
)
def test_command(
    page: Path,
    command: str,
    output: str,
    folder_of: Callable[[Path], Path],
    request: pytest.FixtureRequest,
    vulgate_index: object,
) -> None:
    if command.startswith(_VENV):
        command = in_place(command)
        if command.startswith("python"):
            pytest.skip("this command is what runs the tests")
    url = request.getfixturevalue("elasticsearch_url_any") if _URL in command else _URL
    assert same(run(command, folder_of(page), url)) == same(output)


@pytest.mark.process
@pytest.mark.parametrize(
    "page", [page for page in PAGES if _PYTHON.search(page.read_text())], ids=lambda page: page.stem
)
def test_python(page: Path, vulgate_index: object, tmp_path: Path) -> None:
    make_folder(page, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", "".join(_PYTHON.findall(page.read_text()))],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(tmp_path),
    )
    assert done.stderr == ""
    assert done.stdout.startswith("Ps 22,1 ")


def test_the_example_of_no_shared_word_shares_none(vulgate_index: object) -> None:
    """The README shows the first verse; it has no token and no lemma of the query."""
    import allusion_es as ae

    (query,) = re.findall(r"share no word.*?allusion-es query \"(.*?)\"", README.read_text(), re.S)
    answer = ae.find(query, top=1)
    asked = answer.to_dict()["query"]
    verse = ae.find(answer[0].text, top=1).to_dict()["query"]
    assert not set(asked["tokens"]) & set(verse["tokens"])
    assert not set(asked["lemmas"]) & set(verse["lemmas"])


def test_ci_runs_the_tests_that_are_shown_and_then_all_others() -> None:
    (shown,) = (in_place(command) for command, _ in steps(README) if " -m pytest" in command)
    assert shown.endswith("-m quick")
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    first, second = (line.removeprefix(".venv/bin/") for line in lines if " -m pytest" in line)
    assert (first, second) == (shown, shown.removesuffix("quick") + '"not quick"')
    assert lines[-1].endswith(second)


def test_every_command_is_shown() -> None:
    from allusion_es.cli.main import app

    shown = {word for page in PAGES for word in page.read_text().replace("`", " ").split()}
    names = {command.name for command in app.registered_commands if not command.hidden}
    assert names <= shown


def write(pages: list[Path], url: str | None) -> None:
    """Write the real outputs into the pages."""
    for page in pages:
        text = page.read_text()
        if url is None and any(_URL in command for command, _ in steps(page)):
            print(f"{page}: left as it is; it needs --es URL")
            continue
        folder = Path(tempfile.mkdtemp())
        make_folder(page, folder)

        def with_outputs(block: re.Match[str], folder: Path = folder) -> str:
            new = ""
            for part in re.split(r"^\$ ", block[1], flags=re.MULTILINE)[1:]:
                command = part.partition("\n")[0]
                real = in_place(command) if command.startswith(_VENV) else command
                output = "" if real.startswith("python") else run(real, folder, url or _URL)
                lines = (line.rstrip() for line in output.splitlines())
                new += f"$ {command}\n" + "".join(f"{line}\n" for line in lines)
            return f"```console\n{new}```"

        page.write_text(_BLOCK.sub(with_outputs, text))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the outputs of commands into the pages.")
    parser.add_argument("--es", metavar="URL", help="an empty Elasticsearch")
    parser.add_argument("pages", metavar="PAGE", nargs="*", type=Path, help="all by default")
    chosen = parser.parse_args()
    write([page.resolve() for page in chosen.pages] or PAGES, chosen.es)
