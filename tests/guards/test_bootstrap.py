"""`.ci/dev.py` on machines that lack something: a way around it, or one line that says what to do."""

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.guards.source import ROOT

SCRIPT = ROOT / ".ci" / "dev.py"


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module that finds neither uv nor an environment, and installs nothing."""
    spec = importlib.util.spec_from_file_location("dev", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / ".venv").mkdir()
    monkeypatch.setattr(module, "STAMP", tmp_path / ".venv" / "stamp")
    monkeypatch.setattr(module, "PYTHON", tmp_path / ".venv" / "python")
    monkeypatch.setattr(module, "UV_HOME", tmp_path / ".uv")
    monkeypatch.setattr(module.shutil, "which", lambda _name: None)
    return module


def test_the_script_parses_on_pythons_too_old_to_run_it() -> None:
    ast.parse(SCRIPT.read_text("utf-8"), feature_version=(3, 7))


def test_an_old_python_is_told_so_in_one_line(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 18, "final", 0))

    assert dev.main(["test"]) == 2

    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "3.11 or newer" in told
    assert "3.9.18" in told


def test_without_network_the_last_line_names_cause_and_remedy(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dev, "attempt", lambda _command: "ERROR: no route to the package index")

    assert dev.main(["test"]) == 2

    last = capsys.readouterr().err.splitlines()[-1]
    assert "no route to the package index" in last
    assert "venv" in last


def test_pip_is_the_way_where_uv_cannot_be_had(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def attempt(command: list[str]) -> str | None:
        commands.append(command)
        return "no uv for this platform" if command[-1] == "uv" else None

    monkeypatch.setattr(dev, "attempt", attempt)
    dev.prepare("dev")

    assert [command[1:3] for command in commands] == [["-m", "pip"], ["-m", "venv"], ["-m", "pip"]]
    assert "-c" in commands[-1]
    assert any(word.startswith("pytest>=") for word in commands[-1])


def test_a_finished_environment_is_left_alone(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    dev.PYTHON.touch()
    dev.STAMP.write_text(f"dev {dev.fingerprint()}", encoding="utf-8")
    monkeypatch.setattr(dev, "attempt", lambda command: pytest.fail(f"it ran {command}"))

    dev.prepare("dev")
    dev.prepare("runtime")


def test_the_lock_holds_pip_to_one_version_of_each_package(dev: ModuleType) -> None:
    versions = dev.locked_versions()

    names = [line.partition("==")[0] for line in versions]
    assert "langgraph" in names
    assert len(set(names)) == len(names)


def test_the_line_of_a_failed_command_is_the_one_that_says_most(dev: ModuleType) -> None:
    script = "print('ERROR: the index is away'); print('note: see above'); raise SystemExit(1)"

    assert dev.attempt([sys.executable, "-c", script]) == "ERROR: the index is away"
    assert dev.attempt([sys.executable, "-c", "pass"]) is None
    assert "no-such-program" in dev.attempt(["no-such-program"])


@pytest.mark.parametrize(("returned", "expected"), [(3, 0), (0, 0), (1, 1), (4, 4)])
def test_a_demo_that_waits_for_its_approval_is_a_success(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, returned: int, expected: int
) -> None:
    monkeypatch.setattr(dev, "run", lambda _command, cwd: returned)

    assert dev.perform("demo", []) == expected


def test_every_stage_runs_and_the_first_failure_is_the_exit_code(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = {"ruff": 1, "mypy": 2, "pytest": 0}
    monkeypatch.setattr(dev, "tool", lambda module, *_args: codes[module])

    assert dev.perform("test", []) == 1
    assert capsys.readouterr().err.splitlines() == ["-- lint", "-- types", "-- pytest", "failed: lint, types"]
