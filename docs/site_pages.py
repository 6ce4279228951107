"""The pages of the documentation site that are made when it is built (a hook of mkdocs).

The README is its home, and the changelog and CONTRIBUTING.md are pages of it. The reference of the
command line is what `--help` prints, and that of Python comes from docstrings (mkdocstrings).
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import allusion_es
from allusion_es.cli.help import WIDTH
from allusion_es.cli.main import app

ROOT = Path(__file__).parents[1]

COPIED = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}
"""Pages that are files of the root, whose links lead to `docs/`."""

_IN_SITE = {file: page for page, file in COPIED.items()}
_LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)#]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The files of the site, with the pages that are made here."""
    pages = {page: in_site((ROOT / file).read_text()) for page, file in COPIED.items()}
    pages["reference/command-line.md"] = command_line()
    pages["reference/python.md"] = python()
    pages["notebook.md"] = notebook(ROOT / "docs" / "notebook.ipynb")
    for page, text in pages.items():
        files.append(File.generated(config, page, content=text))
    return files


def in_site(text: str) -> str:
    """The text of a file of the root, its links as they are in the site.

    Links to files that the site lacks become plain text.

    Example:
        >>> in_site("[how](docs/tei.md#findings), [new](CHANGELOG.md)")
        '[how](tei.md#findings), [new](changelog.md)'
    """
    text = re.sub(r"\[([^\]]+)\]\((?:LICENSE|CITATION\.cff)\)", r"`\1`", text)
    return _LINK.sub(lambda link: _IN_SITE.get(link[1], link[1].removeprefix("docs/")), text)


def notebook(path: Path) -> str:
    """The page of a notebook: its words and its code. Results are seen when it is run."""
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    heading, *rest = parts
    told = f"This page is [a notebook]({path.name}) to save and to run."
    return "\n\n".join([heading, told, *rest]) + "\n"


def command_line() -> str:
    """The reference of the command line: the help of each command."""
    parts = [
        "# Command line\n",
        "What `--help-all` prints. Exit statuses are listed with the "
        "[decisions](../architecture.md#decisions).\n",
    ]
    for each in _contexts(typer.main.get_command(app), "allusion-es"):
        level = "###" if each.parent and each.parent.parent else "##"
        parts.append(f"{level} {each.command_path}\n\n```text\n{each.get_help()}\n```\n")
    return "\n".join(parts)


def _contexts(command: Any, name: str, parent: Any = None) -> Iterator[Any]:  # noqa: ANN401
    """The contexts of a command and of all commands below it."""
    # Click's own types: some versions of typer bring their own click, so they have no one name.
    context = command.make_context(
        name, [], parent, resilient_parsing=True, terminal_width=WIDTH, max_content_width=WIDTH
    )
    context.meta["--help-all"] = True  # `--help` leaves out what is rare
    yield context
    for inner in getattr(command, "commands", {}):
        yield from _contexts(command.commands[inner], inner, context)


def python() -> str:
    """The reference of `import allusion_es`: the docstring of each public name."""
    kinds: dict[str, list[str]] = {"Functions": [], "Types": [], "Errors": []}
    for name in sorted(allusion_es.__all__, key=str.lower):
        each = getattr(allusion_es, name)
        if isinstance(each, type):
            kind = "Errors" if issubclass(each, Exception) else "Types"
            kinds[kind].append(f"::: {each.__module__}.{each.__qualname__}\n")
        elif callable(each):
            kinds["Functions"].append(f"::: {each.__module__}.{each.__qualname__}\n")
    parts = [f"## {kind}\n\n" + "\n".join(names) for kind, names in kinds.items()]
    return "# Python\n\n```python\nimport allusion_es as ae\n```\n\n" + "\n".join(parts)
