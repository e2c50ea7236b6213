"""The project's files and what they import, read with `ast` and never run."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("graph", "nodes", "tools", "checkpoints")


@dataclass(frozen=True)
class Import:
    """One name that a module imports, as the module that holds it.

    `deferred` imports stand inside a function or under TYPE_CHECKING: loading the file runs none of them.
    """

    module: str
    deferred: bool


def files() -> list[Path]:
    """Every Python file of the four packages, sorted."""
    return sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))


def module_name(path: Path) -> str:
    """`graph/plan/__init__.py` is `graph.plan`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    return {module_name(path): path for path in files()}


def imports(path: Path) -> list[Import]:
    """The project's own modules that a file imports; relative imports do not occur (ruff forbids them)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [Import(name, deferred) for node, deferred in _walk(tree, False) for name in _names(node)]
    return [each for each in found if each.module.partition(".")[0] in PACKAGES]


def _walk(node: ast.AST, deferred: bool) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        yield child, deferred
        inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or (
            isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        )
        yield from _walk(child, deferred or inside)


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            yield inner if inner in modules() else node.module


def load_edges() -> dict[str, set[str]]:
    """What loading each file loads: its imports, and the packages that those lie in.

    A file's own packages are left out: they are under way when the file's turn comes.
    """
    return {
        name: {target for each in imports(path) if not each.deferred for target in _loaded(name, each.module)}
        for name, path in modules().items()
    }


def _loaded(importer: str, module: str) -> set[str]:
    under_way = {importer, *_packages(importer)}
    return {module, *(package for package in _packages(module) if package not in under_way)}


def _packages(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def first_circle(edges: dict[str, set[str]]) -> list[str]:
    """A path `[a, b, a]` in the graph, or [] when it has no circle."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []
