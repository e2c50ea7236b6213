"""Every setting from arguments, text and environment; what does not fit is named with the remedy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.state import Settings, SettingsError

NAMES = sorted(Settings.model_fields)


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(f"PLANRAIL_{name.upper()}", raising=False)


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_takes_its_own_default_as_text(name: str) -> None:
    default = getattr(Settings(), name)
    if default is not None:
        assert getattr(Settings().with_overrides([f"{name}={default}"]), name) == default


def test_arguments_are_stronger_than_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANRAIL_MAX_CONCURRENCY", "3")
    assert Settings.of(None).max_concurrency == 3
    assert Settings.of({"max_concurrency": 5}).max_concurrency == 5
    assert Settings.of(None).with_overrides(["max_concurrency= 7 "]).max_concurrency == 7


def test_overrides_keep_the_other_settings() -> None:
    changed = Settings.of({"approve_at": "low"}).with_overrides(["scheduling=layered", "max_steps=4"])
    assert (changed.approve_at, changed.scheduling, changed.max_steps) == ("low", "layered", 4)
    assert changed.plan_limits.max_steps == 4


@pytest.mark.parametrize(
    ("pair", "why"),
    [
        ("approve_at=sometimes", "approve_at"),
        ("max_concurrency=0", "max_concurrency"),
        ("max_concurrency=many", "max_concurrency"),
        ("llm_timeout=-1", "llm_timeout"),
        ("llm_timeout=", "llm_timeout"),
        ("approve_at", "KEY=VALUE"),
        ("aprove_at=high", "did you mean approve_at"),
        ("=high", "unknown setting"),
        ("zzz=1", "settings are"),
    ],
)
def test_what_does_not_fit_is_named(pair: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        Settings().with_overrides([pair])


def test_a_wrong_variable_of_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANRAIL_MAX_STEPS", "lots")
    with pytest.raises(SettingsError, match="PLANRAIL_MAX_STEPS"):
        Settings.of(None)


@given(st.lists(st.text(max_size=20), max_size=3))
def test_any_text_is_a_setting_or_refused(pairs: list[str]) -> None:
    try:
        Settings().with_overrides(pairs)
    except SettingsError as refused:
        told = str(refused)
        assert told
