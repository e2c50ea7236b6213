"""Every notebook runs without a key, shows what its text says, and is stored without outputs."""

import json
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CELL_SECONDS = 60
KEYED = ("OPENAI_", "LANGSMITH_", "LANGCHAIN_", "PLANRAIL_")

# What the outputs of a notebook hold, in this order.
SHOWN = {
    "01_first_run.ipynb": [
        "```mermaid flowchart TD",
        "unknown_tool",
        "scheduler -.-> executor;",
        "('succeeded', 'Your kettle is out of stock. It leaves on 9 March.')",
        "'model_calls': 1",
        "order_not_found",
        "'partial'",
        "('waiting', 'reply'",
        "Sorry! It leaves on 9 March.",
        "('waiting', ['find_order', 'find_stock'])",
        "('succeeded', ['find_order', 'find_stock', 'send_reply'])",
    ]
}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs_and_shows_what_it_says(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    folder = tmp_path / "work"
    folder.mkdir()
    client = NotebookClient(
        notebook, timeout=CELL_SECONDS, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )

    client.execute(env=_environment(tmp_path))

    shown = " ".join(" ".join(_texts(notebook)).split())
    places = [shown.find(text) for text in SHOWN[path.name]]
    assert -1 not in places, shown
    assert places == sorted(places), shown
    assert list(folder.iterdir()) == []


def _environment(folder: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(KEYED)}
    return {**kept, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder / "ipython"), "TMPDIR": str(folder)}


def _texts(notebook: Any) -> list[str]:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [
        text
        for output in outputs
        for kind, text in {**output.get("data", {}), "stream": output.get("text", "")}.items()
        if kind in ("text/plain", "text/markdown", "stream")
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_text("utf-8"))["cells"]

    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []


def test_there_is_a_notebook() -> None:
    assert {path.name for path in NOTEBOOKS} == set(SHOWN)
