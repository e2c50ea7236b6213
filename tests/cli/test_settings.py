"""Settings from a file, the environment and arguments, and the list that explains them."""

from pathlib import Path
from typing import Any

import pytest

from graph.state import Settings, SettingsError, using_config
from tests.cli.support import Prompt, step

WRITE = step("s1", "save", args={"text": "x"})


def _file(folder: Path, text: str, name: str = "planrail.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _rows(prompt: Prompt, *words: str) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in prompt(*words, "settings", "--json").document["settings"]}


def test_every_setting_is_listed_with_its_meaning(prompt: Prompt) -> None:
    rows = _rows(prompt)

    assert list(rows) == list(Settings.model_fields)
    assert [name for name, row in rows.items() if not row["description"]] == []
    assert {row["source"] for row in rows.values()} == {"default"}


def test_arguments_come_before_the_environment_before_the_file(prompt: Prompt) -> None:
    _file(prompt.folder, 'approve_at = "low"\nmax_replans = 7\nmax_steps = 70\n')
    prompt.patch.setenv("PLANRAIL_MAX_REPLANS", "8")
    prompt.patch.setenv("PLANRAIL_MAX_STEPS", "80")

    listed = prompt("settings", "--set", "max_steps=90", "--json").document["settings"]

    found = {row["name"]: (row["value"], row["source"]) for row in listed}
    assert found["approve_at"] == ("low", "file")
    assert found["max_replans"] == (8, "environment")
    assert found["max_steps"] == (90, "argument")


def test_a_file_can_be_named_by_an_option_or_the_environment(prompt: Prompt) -> None:
    _file(prompt.folder, "max_steps = 70")
    _file(prompt.folder, "max_steps = 71", "other.toml")
    _file(prompt.folder, "max_steps = 72", "third.toml")
    prompt.patch.setenv("PLANRAIL_CONFIG", "third.toml")

    assert _rows(prompt)["max_steps"]["value"] == 72
    assert _rows(prompt, "--config", "other.toml")["max_steps"]["value"] == 71
    assert _rows(prompt)["max_steps"]["value"] == 72


def test_tables_of_the_file_are_objects(prompt: Prompt) -> None:
    _file(prompt.folder, '[prices."*"]\ninput = 1.5\noutput = 2\n')

    assert _rows(prompt)["prices"]["value"] == {"*": {"input": 1.5, "output": 2.0}}


def test_a_run_keeps_its_file_when_it_is_taken_up_elsewhere(prompt: Prompt) -> None:
    _file(prompt.folder, 'approve_at = "low"')
    second = step("s2", "save", args={"text": "${s1}"})
    assert prompt.run(WRITE, second).code == 3
    elsewhere = prompt.folder / "elsewhere"
    elsewhere.mkdir()
    prompt.patch.chdir(elsewhere)

    said = prompt("approve", "r1", "s1", "--db", str(prompt.folder / "planrail.db"))

    assert said.code == 3
    assert prompt.calls() == ["save"]


def test_a_later_command_may_name_another_file(prompt: Prompt) -> None:
    _file(prompt.folder, 'approve_at = "low"')
    _file(prompt.folder, 'approve_at = "high"', "free.toml")
    prompt.run(WRITE, step("s2", "save", args={"text": "${s1}"}))

    assert prompt("--config", "free.toml", "approve", "r1", "s1").code == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max_stepz = 1", "'max_stepz' in planrail.toml: did you mean max_steps"),
        ("max_steps = 'many'", "max_steps"),
        ("max_steps = ", "no TOML"),
        ('[approve_at]\nx = "low"', "approve_at"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_one_line(prompt: Prompt, text: str, words: str) -> None:
    _file(prompt.folder, text)

    said = prompt.run(WRITE)

    assert said.code == 2
    assert words in said.err
    assert said.err.count("\n") == 1
    assert prompt.calls() == []


def test_a_named_file_that_is_not_there_is_refused(prompt: Prompt) -> None:
    said = prompt("--config", "nowhere.toml", "settings")

    assert said.code == 2
    assert "nowhere.toml" in said.err


def test_python_callers_get_the_file_too(tmp_path: Path) -> None:
    path = _file(tmp_path, "max_steps = 71")

    with using_config(str(path)):
        assert Settings.of(None).max_steps == 71
        assert Settings.of({"max_steps": 5}).max_steps == 5
    assert Settings.of(None).max_steps == 200
    with using_config(str(tmp_path)), pytest.raises(SettingsError, match="cannot read"):
        Settings.of(None)


def test_prices_in_the_environment_that_are_no_json_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANRAIL_PRICES", "{")

    with pytest.raises(SettingsError, match="prices"):
        Settings.of(None)


def test_variables_that_nobody_reads_are_named(prompt: Prompt) -> None:
    prompt.patch.setenv("PLANRAIL_APROVE_AT", "low")
    prompt.patch.setenv("PLANRAIL_PLANNER_MODEL", "m")

    said = prompt("settings")

    assert "PLANRAIL_APROVE_AT is not read: did you mean PLANRAIL_APPROVE_AT?" in said.err
    assert "PLANNER" not in said.err


def test_models_are_listed_and_keys_are_not(prompt: Prompt) -> None:
    prompt.patch.setenv("OPENAI_API_KEY", "a-secret-key")
    prompt.patch.setenv("PLANRAIL_VALIDATOR_MODEL", "small")

    said = prompt("settings")

    assert "validator  small" in said.out
    assert "a-secret-key" not in said.out + said.err
