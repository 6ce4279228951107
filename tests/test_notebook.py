"""The notebook of the documents: it runs from top to bottom, and is stored without its outputs."""

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"


def stored() -> Any:  # noqa: ANN401 - a dict with attributes
    """The notebook as it is stored."""
    return nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]


def outputs_of(notebook: Any) -> dict[str, str]:  # noqa: ANN401 - a dict with attributes
    """What each cell shows: its printed text, and the HTML or text of its value."""
    shown = {}
    for cell in notebook.cells:
        parts = [
            output.get("text") or output["data"].get("text/html") or output["data"]["text/plain"]
            for output in cell.get("outputs", ())
        ]
        shown[cell.id] = "\n".join(parts)
    return shown


@pytest.mark.process
@pytest.mark.usefixtures("vulgate_index")
def test_the_notebook_runs(data_folder: Path, tmp_path: Path) -> None:
    notebook = stored()
    nbformat.validate(notebook)
    environment = {**os.environ, "ALLUSION_DATA_DIR": str(data_folder)}
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    with client.setup_kernel(env=environment):
        for number, cell in enumerate(notebook.cells):
            client.execute_cell(cell, number)
    shown = outputs_of(notebook)
    assert "Matth 4,20" in shown["find"]
    assert shown["find"].startswith("<table>")
    assert shown["hits"].startswith("Ps 33,9 ")
    assert "background:rgba" in shown["hits"]  # words are shaded
    assert "<td>Ps 22,1</td>" in shown["frame"]
    assert "Ps 33,9" in shown["findings"]
    assert "Rom 5,3-4" in shown["findings"]
    assert shown["passages"].startswith("1Sam.2.3 Nolite multiplicare")
    assert "learned" in shown["evaluate"]
    assert not any(
        output.output_type == "error" or output.get("name") == "stderr"
        for cell in notebook.cells
        for output in cell.get("outputs", ())
    )


def test_no_outputs_are_stored() -> None:
    notebook = stored()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) == 6
    assert not any(cell.outputs or cell.execution_count for cell in code)
