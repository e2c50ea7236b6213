"""Who may import whom, and that no circle closes."""

import subprocess
import sys

import pytest

from tests.guards.source import ROOT, files, first_cycle, imports, module_name, modules

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


def test_no_file_imports_itself_over_others() -> None:
    edges = {
        module_name(path): {each.module for each in imports(path) if not each.deferred} for path in files()
    }
    assert first_cycle(edges) == []


def test_a_circle_is_found_where_there_is_one() -> None:
    assert first_cycle({"a": {"b", "d"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["b", "c", "b"]
    assert first_cycle({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) == []


def test_every_module_can_be_the_first_one_imported() -> None:
    names = [name for name in modules() if not name.endswith("__main__")]
    script = [sys.executable, "-c", IMPORT_EACH_FIRST, *names]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_importing_graph_loads_nothing_else() -> None:
    script = "import sys; before = set(sys.modules); import graph; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["graph"]
