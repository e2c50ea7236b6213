"""The README, the LangGraph server's configuration and every tracked file say what is so."""

import ast
import importlib
import json
import re
import subprocess
from pathlib import Path

import pytest
from langgraph.graph.state import CompiledStateGraph

from graph.build import build_graph
from tests.guards.source import ROOT, modules

README = ROOT / "README.md"
DEMO, TEST = "python3 .ci/dev.py demo", "python3 .ci/dev.py test"
DOTTED = re.compile(r"^[a-z_][\w.]*:[a-z_]\w*$")

# Spelt in pieces, so that this file does not contain what it looks for.
MACHINE_PATHS = re.compile(
    "|".join(["/" + "root/", "/" + "home/", "/" + "Users/", "/" + "work/", r"\b[A-Z]:\\Users"])
)


def _code_blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def test_the_picture_in_the_readme_is_the_graph() -> None:
    drawn = build_graph(tools=[], models={}).get_graph().draw_mermaid(with_styles=False)
    assert drawn.strip() in [block.strip() for block in _code_blocks(README.read_text("utf-8"), "mermaid")]


def test_the_readme_fits_on_a_few_screens() -> None:
    assert len(README.read_text("utf-8").splitlines()) < 150


def test_the_readme_gives_the_commands_that_ci_runs() -> None:
    commands = "".join(_code_blocks(README.read_text("utf-8"), "sh"))
    assert DEMO in commands
    assert TEST in commands
    assert f"\n{TEST} " in (ROOT / ".ci" / "run").read_text("utf-8")


def test_local_links_of_the_documents_lead_somewhere() -> None:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    links = [
        (document, target)
        for document in documents
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", document.read_text("utf-8"))
        if "://" not in target
    ]
    assert [(str(d), t) for d, t in links if not (d.parent / t).exists()] == []


def test_the_symbols_that_the_architecture_page_names_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"`((?:graph|nodes|tools|checkpoints)(?:\.\w+)+)`", page))
    assert named
    assert [name for name in sorted(named) if not _exists(name)] == []


def _exists(dotted: str) -> bool:
    if dotted in modules():
        return True
    module, _, attribute = dotted.rpartition(".")
    return module in modules() and hasattr(importlib.import_module(module), attribute)


def test_langgraph_json_names_its_graph_by_module() -> None:
    graphs = json.loads((ROOT / "langgraph.json").read_text("utf-8"))["graphs"]
    assert graphs
    assert [entry for entry in graphs.values() if not DOTTED.match(entry)] == []


def test_the_studio_graph_leaves_storage_to_the_server() -> None:
    graph = importlib.import_module("graph.studio").graph
    assert isinstance(graph, CompiledStateGraph)
    assert graph.checkpointer is None
    assert graph.store is None


def test_the_studio_module_defines_no_class() -> None:
    tree = ast.parse((ROOT / "graph" / "studio.py").read_text("utf-8"))
    assert [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)] == []


def test_no_tracked_file_names_a_path_of_one_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in _tracked_files()
        for match in [MACHINE_PATHS.search(path.read_bytes().decode("utf-8", "ignore"))]
        if match
    ]
    assert found == []


def _tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("this copy of the project is no git checkout")
    return [path for name in listed.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]
