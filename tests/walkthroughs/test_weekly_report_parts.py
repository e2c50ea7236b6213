"""What the weekly report is made of: its template and its sales."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from graph.demo.sales import FIRST_DAY, LAST_MONDAY, make_sales
from graph.demo.weekly_report import WEEKLY_REPORT
from graph.plan.templates import load_templates, match_rules, tool_faults
from tests.walkthroughs.support import WISH, sold
from tools import fingerprints


def _params(goal: str) -> dict[str, Any] | None:
    found = match_rules([load_templates().require("weekly-report")], goal)
    return found[0].params if found else None


@pytest.mark.parametrize(
    "goal",
    [
        WISH,
        "weekly sales report from 2026-03-02, to wang@example.com.",
        "To wang@example.com:\nthe weekly report of the sales from 2026-03-02",
    ],
)
def test_the_template_finds_day_and_address_in_either_order(goal: str) -> None:
    assert _params(goal) == {"first_day": "2026-03-02", "to": "wang@example.com"}


@pytest.mark.parametrize(
    "goal",
    [
        "weekly sales report 2026-03-02 to a@example.com and b@example.com",
        "weekly sales report from 2026-03-02 or 2026-03-09 to a@example.com",
        "weekly sales report to a@example.com",
        "weekly sales report 2026-13-02 to a@example.com",
        "weekly report of the weather from 2026-03-02 to a@example.com",
    ],
)
def test_a_goal_that_leaves_a_doubt_is_left_to_the_planner(goal: str) -> None:
    assert _params(goal) is None


def test_the_template_goes_with_the_tools_it_was_made_for(tmp_path: Path) -> None:
    template = load_templates().require("weekly-report")
    with WEEKLY_REPORT.stage(tmp_path / "planrail", "standard") as stage:
        assert tool_faults(template, fingerprints(stage.tools)) == ()
    assert set(template.tools) == template.used_tools


def test_the_sales_are_the_same_each_time_and_made_once(tmp_path: Path) -> None:
    for name in ("one.db", "two.db", "one.db"):
        make_sales(tmp_path / name)
    assert sold(tmp_path / "one.db", FIRST_DAY) == sold(tmp_path / "two.db", FIRST_DAY)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.db", "two.db"]
    assert {row[0] for row in sold(tmp_path / "one.db", LAST_MONDAY)} > {
        row[0] for row in sold(tmp_path / "one.db", LAST_MONDAY - timedelta(7))
    }
