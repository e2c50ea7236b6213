"""The four top-level names are ours alone, and files stay small enough to be read."""

import importlib
import importlib.metadata
import sys
import zipfile
from pathlib import Path

import pytest

from tests.guards.source import PACKAGES, ROOT, files

MAX_LINES = 300
_DATA = frozenset({".yaml", ".html", ".md", ".txt", ".json", ".typed"})


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_is_the_one_of_this_repository(name: str) -> None:
    origin = importlib.import_module(name).__file__
    assert origin is not None
    assert Path(origin).resolve() == ROOT / name / "__init__.py"


@pytest.mark.parametrize("name", PACKAGES)
def test_no_other_distribution_owns_a_top_level_name(name: str) -> None:
    owners = importlib.metadata.packages_distributions().get(name, [])
    assert set(owners) <= {"planrail"}


def test_the_wheel_holds_exactly_the_four_packages(tmp_path: Path) -> None:
    wheel = pytest.importorskip("hatchling.builders.wheel", reason="hatchling, the build backend, is absent")
    built = next(wheel.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
    names = zipfile.ZipFile(built).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    data = [path for path in (ROOT / "graph").rglob("*") if path.suffix in _DATA]
    assert {path.relative_to(ROOT).as_posix() for path in (*files(), *data)} <= set(names)


def test_every_folder_with_python_files_is_a_package() -> None:
    folders = {path.parent for name in (*PACKAGES, "tests") for path in (ROOT / name).rglob("*.py")}
    missing = [str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").exists()]
    assert missing == []


def test_no_module_takes_a_name_of_the_standard_library() -> None:
    taken = [
        str(path.relative_to(ROOT))
        for path in files()
        if not path.stem.startswith("__") and path.stem in sys.stdlib_module_names
    ]
    assert taken == []


def test_no_file_is_longer_than_one_sitting() -> None:
    every = [*files(), *(ROOT / ".ci").glob("*.py")]
    counts = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in every}
    assert {name: lines for name, lines in counts.items() if lines > MAX_LINES} == {}
