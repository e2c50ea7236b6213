"""What a user at the prompt sees of kept results, fallbacks and faulty policies."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import Prompt, prompt_in, step

MYTOOLS = '''
from pathlib import Path
from tools import SoftToolError, policy

INSTEAD = ("{fallback}", "stale_cache")


@policy(effect="read", cache_ttl=3600, cache_scope="shared", max_attempts=1, fallback=INSTEAD)
def price(sku: str) -> float:
    """Tell a price."""
    with open("calls.txt", "a", encoding="utf-8") as log:
        print(sku, file=log)
    if Path("down").exists():
        raise SoftToolError("价格服务没有回答")
    return 9.5


@policy(effect="read")
def list_price(sku: str) -> float:
    """Tell the price of the list."""
    return 11.0
'''
PRICE = step("价格", "price", args={"sku": "茶"})


@pytest.fixture
def prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prompt:
    return prompt_in(tmp_path, monkeypatch, capsys, MYTOOLS.replace("{fallback}", "list_price"))


def _run(prompt: Prompt, run_id: str, *more: str) -> dict[str, Any]:
    return prompt.run(PRICE, more=("--json", *more), run_id=run_id).document


def test_a_second_run_takes_the_first_ones_result_and_shows_it(prompt: Prompt) -> None:
    first, second = _run(prompt, "r1"), _run(prompt, "r2")
    other = _run(prompt, "r3", "--set", "cache_scope=bob")

    assert first["answer"] == second["answer"] == other["answer"] == "9.5"
    assert prompt.calls() == ["茶", "茶"]
    (row,) = second["steps"]
    assert row["attempts"] == 0
    assert row["stale"] is False
    assert 0 <= row["age_seconds"] < 600
    assert "kept, " in prompt("show", "r2").out


def test_who_looks_sees_that_another_tool_was_called(prompt: Prompt) -> None:
    (prompt.folder / "down").touch()

    said = prompt.run(PRICE)

    assert said.out.strip().endswith("11.0")
    assert "calls another tool" in said.err
    assert "价格服务没有回答" in said.err
    assert "by list_price" in prompt("show", "r1").out


def test_a_fallback_that_is_not_there_is_one_clear_line_before_anything_ran(prompt: Prompt) -> None:
    (prompt.folder / "mytools.py").write_text(MYTOOLS.replace("{fallback}", "nobody"), encoding="utf-8")

    said = prompt.run(PRICE)

    assert said.code == 2
    assert said.err.count("\n") == 1
    assert "'price' cannot fall back to 'nobody': there is no such tool" in said.err
    assert prompt.calls() == []
