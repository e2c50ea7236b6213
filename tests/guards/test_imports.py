"""Who may import whom, and that no circle closes."""

import subprocess
import sys

import pytest

from tests.guards.source import ROOT, files, first_circle, imports, load_edges, module_name, modules

ALLOWED = {
    "graph.plan": ("graph.plan",),
    "tools": ("tools", "graph.plan"),
    "checkpoints": ("checkpoints", "graph.plan"),
    "graph.state": ("graph.state", "graph.plan", "tools", "checkpoints"),
    "nodes": ("nodes", "graph.plan", "graph.state", "tools", "checkpoints"),
}

IMPORT_EACH_FIRST = """
import importlib, sys
ours = {"graph", "nodes", "tools", "checkpoints"}
for name in sys.argv[1:]:
    for loaded in [each for each in sys.modules if each.partition(".")[0] in ours]:
        del sys.modules[loaded]
    try:
        importlib.import_module(name)
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}")
"""


def _within(module: str, prefixes: tuple[str, ...]) -> bool:
    return any(module == prefix or module.startswith(f"{prefix}.") for prefix in prefixes)


@pytest.mark.parametrize("owner", ALLOWED)
def test_a_package_imports_only_what_lies_below_it(owner: str) -> None:
    wrong = [
        f"{module_name(path)} imports {each.module}"
        for path in files()
        if _within(module_name(path), (owner,))
        for each in imports(path)
        if not _within(each.module, ALLOWED[owner])
    ]
    assert wrong == []


def test_only_the_builder_imports_nodes() -> None:
    importers = {
        module_name(path)
        for path in files()
        if not _within(module_name(path), ("nodes",))
        if any(_within(each.module, ("nodes",)) for each in imports(path))
    }
    assert importers <= {"graph.build"}


def test_no_circle_of_files_closes_while_they_load() -> None:
    assert first_circle(load_edges()) == []


def test_a_circle_is_found_where_there_is_one() -> None:
    assert set(first_circle({"a": {"b", "d"}, "b": {"c"}, "c": {"b"}, "d": set()})) == {"b", "c"}
    assert first_circle({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) == []


def test_every_package_and_every_node_can_be_the_first_one_imported() -> None:
    names = [
        name for name, path in modules().items() if path.name == "__init__.py" or path.parent.name == "nodes"
    ]
    script = [sys.executable, "-c", IMPORT_EACH_FIRST, *names]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_importing_graph_loads_nothing_else() -> None:
    script = (
        "import sys; before = set(sys.modules); import graph\n"
        "tops = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(tops - sys.stdlib_module_names))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["graph"]
