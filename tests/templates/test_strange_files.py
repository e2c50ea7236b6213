"""However strange a file of templates is, it is named, and the others work."""

import os
from pathlib import Path

import pytest

from graph.plan.templates import load_templates
from tests.templates.support import GREETING, write

DEEP = 3_000


@pytest.mark.parametrize(
    "version",
    [
        "!!int abc",
        "!!int 0x",
        "!!float abc",
        "!!bool abc",
        "!!timestamp abc",
        "!!timestamp 2001-99-99",
        "!!map [1, 2]",
        "!!map abc",
        '"\\U99999999"',
        "1" * 5_000,
    ],
)
def test_a_value_that_yaml_cannot_read(tmp_path: Path, version: str) -> None:
    refused(tmp_path, f"name: strange\nversion: {version}\n", "cannot be read")


@pytest.mark.parametrize("regex", ["a{99999999999}", "(" * DEEP + ")" * DEEP])
def test_a_regular_expression_that_is_too_much(tmp_path: Path, regex: str) -> None:
    strange = {**GREETING, "name": "strange"}
    refused(tmp_path, {**strange, "match": [{"regex": regex}]}, "no regular expression")
    refused(tmp_path, {**strange, "params": {"x": {"pattern": regex}}}, "no regular expression")


@pytest.mark.timeout(20)
def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path, "good", GREETING)
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "sub.yaml").mkdir()

    library = load_templates([tmp_path])

    assert "greeting" in library.templates
    assert [(Path(each.path).name, each.message) for each in library.problems] == [
        ("pipe.yaml", "is no file"),
        ("sub.yaml", "is no file"),
    ]


def test_a_folder_whose_name_no_system_takes(tmp_path: Path) -> None:
    write(tmp_path, "good", GREETING)

    library = load_templates([f"{tmp_path}/a\x00b", tmp_path])

    assert "greeting" in library.templates
    assert "cannot read this folder" in str(library.problems[0])


def refused(folder: Path, content: object, why: str) -> None:
    write(folder, "good", GREETING)
    write(folder, "strange", content)
    library = load_templates([folder])
    assert "greeting" in library.templates
    (problem,) = library.problems
    assert "strange.yaml" in problem.path
    assert why in problem.message
