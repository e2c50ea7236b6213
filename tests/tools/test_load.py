"""Finding a user's tools."""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import ToolLoadError, load_tools

PRELUDE = "from langchain_core.tools import tool\nfrom tools import policy, ToolRegistry\n"
DEFINITIONS = (
    PRELUDE
    + '''
@policy(effect="read")
def look(x: int) -> int:
    """Look."""
    return x

@tool
def find(x: int) -> int:
    """Find."""
    return x

def helper(x: int) -> int:
    return x
'''
)
_numbers = itertools.count()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory of its own; modules imported from it are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def _write(folder: Path, text: str) -> str:
    """Write a module of a new name and return the name."""
    name = f"user_tools_{next(_numbers)}"
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return name


@pytest.mark.parametrize(
    ("text", "attribute", "expected"),
    [
        (DEFINITIONS, "", ["look", "find"]),
        (DEFINITIONS + "TOOLS = [find]", "", ["find"]),
        (DEFINITIONS + "MINE = (look, helper)", ":MINE", ["look", "helper"]),
        (DEFINITIONS, ":find", ["find"]),
        (DEFINITIONS, ":look", ["look"]),
        (DEFINITIONS + "R = ToolRegistry.of(look)", ":R", ["look"]),
        (DEFINITIONS + "def make():\n    return [look, find]", ":make", ["look", "find"]),
        (DEFINITIONS + "def TOOLS():\n    return ToolRegistry.of(find)", "", ["find"]),
    ],
)
def test_tools_are_found_in_modules_and_files(
    folder: Path, text: str, attribute: str, expected: list[str]
) -> None:
    name = _write(folder, text)
    assert load_tools(name + attribute).names() == expected
    assert load_tools(f"{name}.py{attribute}").names() == expected
    assert load_tools(f"{folder / name}.py{attribute}").names() == expected


def test_a_file_may_import_its_neighbours(folder: Path) -> None:
    (folder / "inner").mkdir()
    neighbour = _write(folder / "inner", DEFINITIONS)
    name = _write(folder / "inner", f"from {neighbour} import look\nTOOLS = [look]")
    assert load_tools(f"inner/{name}.py").names() == ["look"]


@pytest.mark.parametrize("name", ["json", "sys", "__main__", "my tools", "a.b"])
def test_a_file_of_any_name_loads_and_replaces_no_module(folder: Path, name: str) -> None:
    before = sys.modules.get(name)
    (folder / f"{name}.py").write_text(DEFINITIONS, encoding="utf-8")
    assert load_tools(f"{name}.py").names() == ["look", "find"]
    assert sys.modules.get(name) is before


def test_one_file_is_loaded_once(folder: Path) -> None:
    name = _write(folder, DEFINITIONS + "with open('loads', 'a') as f: f.write('x')")
    load_tools(f"{name}.py")
    load_tools(f"{folder}/{name}.py:look")
    load_tools(name)
    assert (folder / "loads").read_text(encoding="utf-8") == "x"


@pytest.mark.parametrize(
    ("text", "attribute", "message"),
    [
        ("", "", "has no TOOLS, no LangChain tool and no function with @policy"),
        ("TOOLS = []", "", "empty list"),
        ("TOOLS = 7", "", "is a int"),
        ("TOOLS = 'look'", "", "is a str"),
        ("TOOLS = [7]", "", "a int is no tool"),
        (DEFINITIONS + "TOOLS = [look, look]", "", "two tools are named 'look'"),
        (DEFINITIONS, ":lok", "has no 'lok'; it has: "),
        (DEFINITIONS, ":helper", "was called without arguments and failed: TypeError"),
        (DEFINITIONS + "async def make():\n    return [look]", ":make", "is async"),
        ("import nothing_of_that_name", "", "needs 'nothing_of_that_name', which is not installed"),
        ("1 / 0", "", "cannot be imported: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "", "cannot be imported: SystemExit: 3"),
        ("def broken(:", "", "cannot be imported: SyntaxError"),
        (PRELUDE + "@policy(effect='maybe')\ndef f() -> None: ...", "", "effect"),
    ],
)
def test_each_way_to_fail_is_one_clear_line(folder: Path, text: str, attribute: str, message: str) -> None:
    name = _write(folder, text)
    for spec in (name + attribute, f"{name}.py{attribute}"):
        with pytest.raises(ToolLoadError) as caught:
            load_tools(spec)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", ["", ":", ":TOOLS", "module:", "  "])
def test_a_specification_that_names_nothing_is_refused(spec: str) -> None:
    with pytest.raises(ToolLoadError, match="names no tools"):
        load_tools(spec)


@pytest.mark.parametrize("spec", ["no_such_module", "no.such.module:X", "..relative", "a b", "-x"])
def test_a_module_that_is_not_there_is_named(spec: str) -> None:
    with pytest.raises(ToolLoadError) as caught:
        load_tools(spec)
    assert spec.partition(":")[0] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ToolLoadError, match=r"there is no file nowhere\.py"):
        load_tools("nowhere.py:TOOLS")


def test_a_folder_that_planrails_own_package_hides_is_explained(folder: Path) -> None:
    (folder / "tools").mkdir()
    (folder / "tools" / "mine.py").write_text(DEFINITIONS, encoding="utf-8")
    with pytest.raises(ToolLoadError, match=r"name the file, tools/mine\.py"):
        load_tools("tools.mine")
    assert load_tools("tools/mine.py").names() == ["look", "find"]
