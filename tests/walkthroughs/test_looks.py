"""The pages of the walkthroughs as people see them, in narrow windows and with odd figures."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from graph.demo import batch
from graph.plan.templates import load_templates
from tests.cli.support import Prompt
from tools.builtin import html_tool

CATALOGUE = Path(batch.__file__).with_name("pages") / "catalogue.html"


def _template(name: str) -> str:
    steps: Any = load_templates().require(name).plan["steps"]
    (page,) = [step for step in steps if step["id"] == "page"]
    return str(page["args"]["template"])


def _weekly(*totals: float) -> str:
    week = {"total": 1.0, "last_week": 1.0, "change": None}
    data = {
        "first_day": "2026-03-02",
        "totals": {"sales": 1, **week},
        "regions": [{"region": f"r{total}", **week, "total": total} for total in totals],
        "products": [],
        "summary": "好",
    }
    return str(html_tool().invoke({"template": _template("weekly-report"), "data": data}))


@pytest.mark.parametrize(
    "template", [_template("weekly-report"), _template("price-watch"), CATALOGUE.read_text("utf-8")]
)
def test_a_page_fits_the_screen_of_a_phone_and_breaks_long_words(template: str) -> None:
    assert '<meta name="viewport" content="width=device-width">' in template
    assert "overflow-wrap: anywhere" in template


@pytest.mark.parametrize(("totals", "bars"), [((50.0, 20.0, -5.0), "100 40 0"), ((-3.0, -9.0), "0 0")])
def test_a_region_that_lost_money_has_no_bar(totals: tuple[float, ...], bars: str) -> None:
    assert re.findall(r'class="bar" style="width: (-?\d+)%"', _weekly(*totals)) == bars.split()


def test_what_earlier_runs_left_does_not_seem_to_be_of_this_one(prompt: Prompt) -> None:
    prompt("demo", "weekly-report")
    said = prompt("demo", "weekly-report", "--variant", "no-sales").out.splitlines()
    reports = prompt.folder / "planrail-weekly-report" / "reports"
    assert f"reports so far, in {reports}" in said
    assert [line for line in said if "report in" in line] == []


@pytest.mark.parametrize(("missing", "words"), [(1, "1 product without"), (2, "2 products without")])
def test_products_without_a_description_are_counted_in_words(
    tmp_path: Path, missing: int, words: str
) -> None:
    (tmp_path / "catalogue.html").write_text("")
    (tmp_path / "failures.json").write_text(json.dumps([{}] * missing))
    *_, last = batch._left(tmp_path)
    assert last.startswith(words)
