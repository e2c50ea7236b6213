"""Values of settings that no parser takes are refused in words, wherever they come from."""

from pathlib import Path

import pytest

from graph.state import Settings, SettingsError

DEEP = "[" * 100_000


def test_a_price_table_on_the_command_line_that_is_nested_too_deep() -> None:
    with pytest.raises(SettingsError, match=r"'prices'.*not JSON"):
        Settings.of(None).with_overrides([f"prices={DEEP}"])


@pytest.mark.parametrize("text", ["{", DEEP])
def test_a_price_table_of_the_environment_that_is_no_json(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANRAIL_PRICES", text)
    with pytest.raises(SettingsError, match="of the environment is no JSON"):
        Settings.of(None)


@pytest.mark.parametrize("value", ["9" * 5_000, "[" * 5_000])
def test_a_file_with_a_value_that_cannot_be_read(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planrail.toml").write_text(f"max_tokens = {value}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"planrail\.toml is no TOML"):
        Settings.of(None)
