"""The documentation site, and what the README takes from a measurement."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

import allusion_es

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from readme_figures import CHART, FIGURES, with_figures

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class _Loaded(HTMLParser):
    """What a page loads by itself, and what it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {"link": "href", "script": "src", "img": "src", "iframe": "src"}
        self.addresses += [value or "" for name, value in attrs if name == names.get(tag)]

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: Path) -> _Loaded:
    found = _Loaded()
    found.feed(page.read_text())
    return found


def pages(site: Path) -> Iterator[Path]:
    return site.rglob("*.html")


@pytest.mark.process
def test_every_page_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = [address for page in pages(site) for address in read(page).addresses]
    assert len(loaded) > 100
    assert [address for address in loaded if re.match(r"(https?:)?//", address)] == []
    styles = "".join(path.read_text() for path in site.rglob("*.css"))
    assert not re.search(r"url\((['\"]?)(https?:)?//", styles)
    assert "@import" not in styles


@pytest.mark.process
def test_the_notebook_is_a_page(site: Path) -> None:
    text = read(site / "notebook.html").text
    for cell in json.loads((ROOT / "docs" / "notebook.ipynb").read_text())["cells"]:
        if cell["cell_type"] == "code":
            assert "".join(cell["source"]) in text
    assert (site / "notebook.ipynb").exists()


@pytest.mark.process
def test_the_reference_has_every_command_and_option(site: Path) -> None:
    import typer

    from allusion_es.cli.main import app

    text = read(site / "reference" / "command-line.html").text
    group = typer.main.get_command(app)
    options = 0
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        for inner, each in getattr(command, "commands", {"": command}).items():
            assert f"allusion-es {name} {inner}".strip() in text
            for option in (word for parameter in each.params for word in parameter.opts):
                if option.startswith("--"):
                    assert option in text
                    options += 1
    assert options > 200


@pytest.mark.process
def test_the_reference_has_every_public_name_with_its_example(site: Path) -> None:
    page = site / "reference" / "python.html"
    ids = set(re.findall(r'id="allusion_es\.[\w.]*?(\w+)"', page.read_text()))
    assert set(allusion_es.__all__) - {"__version__"} <= ids
    text = read(page).text
    assert ">>> ae.find(" in text or ">>> find(" in text
    assert "Example:" not in text


def test_the_readme_shows_the_figures_that_were_measured() -> None:
    """`python benchmarks/readme_figures.py` puts them there."""
    figures = json.loads(FIGURES.read_text())
    assert with_figures(README.read_text(), figures) == README.read_text()
    chart = CHART.read_text()
    for method in figures["methods"]:
        assert method["name"] in chart.replace("&#39;", "'")
        for each in figures["sets"]:
            assert f"{method[each['name']][1]:.0f}" in re.findall(r">(\d+)<", chart)


def test_the_figures_are_those_of_the_measurement() -> None:
    measured = (ROOT / "docs" / "quality.md").read_text()
    figures = json.loads(FIGURES.read_text())
    for method in [*figures["methods"], *figures["parts"]]:
        for each in figures["sets"]:
            assert "/".join(f"{value:.1f}" for value in method[each["name"]]) in measured


def test_the_readme_leads_to_files_that_are_there() -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README.read_text())
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).exists()] == []
    assert len(README.read_text().splitlines()) <= 160


def test_the_citation_has_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"version: {project['version']}" in (ROOT / "CITATION.cff").read_text().splitlines()
