"""The README's files, commands and program, done as a newcomer would do them."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from graph.cli import main
from tests.guards.source import ROOT

TEXT = (ROOT / "README.md").read_text("utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the README says to save."""
    (tools,) = [block for block in _blocks("python") if block.startswith("# mytools.py")]
    (tmp_path / "mytools.py").write_text(tools, encoding="utf-8")
    (tmp_path / "plan.json").write_text(_blocks("json")[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mytools", raising=False)
    for name in ("PLANRAIL_DB", "PLANRAIL_TOOLS", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.usefixtures("newcomer")
def test_the_commands_of_the_readme_do_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for line in "".join(_blocks("sh")).splitlines() if line.startswith("planrail ")]

    codes = [main(shlex.split(line)[1:]) for line in lines]

    assert [(line.split()[1], code) for line, code in zip(lines, codes, strict=True)] == [
        ("check", 0),
        ("run", 3),
        ("approve", 0),
        ("show", 0),
    ]
    assert "to ada@example.com" in capsys.readouterr().out


@pytest.mark.usefixtures("newcomer")
def test_the_program_of_the_readme_runs_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = [block for block in _blocks("python") if not block.startswith("# ")]

    exec(compile(program, "README.md", "exec"), {})

    first, second = capsys.readouterr().out.splitlines()
    assert first == "waiting {'to': 'ada@example.com', 'text': 'Hello'}"
    assert second.startswith("succeeded mail ")
