"""The price watch: whatever a shop or a model does, the report holds no price that no shop gave."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.demo.price_facts import facts_of
from graph.demo.price_market import LAST, PRICES, PRODUCTS
from graph.demo.price_tools import price_tools
from graph.demo.price_watch import PRICE_WATCH, SETTINGS
from graph.plan import to_mermaid
from tests.cli.support import ROOT, Prompt, clean_environment
from tests.support.openai_server import OpenAIServer, obj
from tests.walkthroughs.support import run_with
from tools import HardToolError

Json = dict[str, Any]
SILENT = "kontor"


def _requests(folder: Path) -> Counter[str]:
    lines = (folder / "planrail-price-watch" / "requests.log").read_text("utf-8").splitlines()
    return Counter(line.partition(" ")[0] for line in lines)


def _page(folder: Path) -> str:
    return (folder / "planrail-price-watch" / "price-report.html").read_text("utf-8")


def _table(page: str) -> set[tuple[str, str, str]]:
    rows = re.findall(r"<tr><td>[^<]* ([\w-]+)</td><td>([^<]+)</td><td>([\d.]+)</td>", page)
    return {(product, shop, price) for product, shop, price in rows}


def _expected(*, without: tuple[str, ...] = ()) -> set[tuple[str, str, str]]:
    shops = [shop for shop in PRICES if shop not in without]
    return {(product, shop, f"{PRICES[shop][product]:.2f}") for shop in shops for product in PRODUCTS}


def _figures(shop: str) -> list[str]:
    """All ways to write what a shop asks or asked."""
    prices = [*PRICES[shop].values(), *LAST[shop].values()]
    return [written for price in prices for written in (f"{price:.2f}", f"{price:g}")]


def test_one_command_gives_a_partial_report_that_names_the_shop_in_trouble(prompt: Prompt) -> None:
    process = prompt.spawn("demo", "price-watch", "--run-id", "p1", "--json")
    out, err = process.communicate(timeout=60)

    assert process.returncode == 1
    assert "RECORDED" in err
    assert "will be tried again" in err
    document = json.loads(out)
    assert document["status"] == "partial"
    assert "no prices of kontor (FB-20, CT-5, CS-2: breaker_open)" in document["reason"]
    assert "429" in document["reason"]
    assert "broke off in the middle of its answer" in document["reason"]
    page = _page(prompt.folder)
    assert "Partial: 9 of 12 prices." in page
    assert f"<li>{SILENT}: FB-20, CT-5, CS-2 (breaker_open)</li>" in page
    assert _table(page) == _expected(without=(SILENT,))
    assert [figure for figure in _figures(SILENT) if figure in page] == []
    kept = b"".join(path.read_bytes() for path in prompt.folder.glob("planrail.db*") if path.is_file())
    assert b"879" in kept
    assert [price for price in PRICES[SILENT].values() if f"{price:g}".encode() in kept] == []
    assert _requests(prompt.folder) == dict.fromkeys(PRICES, 3)
    assert document["usage"]["model_calls"] == 1
    assert document["usage"]["tool_calls"] == 12 + 5


def test_with_all_shops_up_the_report_is_complete(prompt: Prompt) -> None:
    said = prompt("demo", "price-watch", "--variant", "healthy", "--json")

    assert said.code == 0
    assert said.document["answer"] == "12 prices compared in price-report.html"
    page = _page(prompt.folder)
    assert "Complete: 12 of 12 prices." in page
    assert _table(page) == _expected()
    assert "The folding bike FB-20 costs least at kontor: 845.75 EUR." in page


def test_with_all_shops_down_the_run_stops_without_asking_a_model_or_writing_a_report(
    prompt: Prompt,
) -> None:
    prompt("demo", "price-watch", "--variant", "healthy")
    said = prompt("demo", "price-watch", "--variant", "all-down", "--json")

    assert said.code == 1
    assert "too_few_succeeded: 12 of 12 items failed" in said.document["reason"]
    assert said.document["usage"].get("model_calls", 0) == 0
    assert said.document["effects"] == []
    assert sum(_requests(prompt.folder).values()) == 12
    assert list((prompt.folder / "planrail-price-watch").glob("*.html")) == []


def test_any_endpoint_may_choose_and_is_told_what_it_may_not(prompt: Prompt) -> None:
    with OpenAIServer([obj({"facts": [999]}), obj({"facts": [3, 1, 3]})]) as server:
        for name, value in server.environment.items():
            prompt.patch.setenv(name, value)
        said = prompt("demo", "price-watch", "--json")

    assert "RECORDED" not in said.err
    asked, again = server.prompts()
    assert '<data from="compared">' in asked
    assert "the result must fulfil result.facts.all(n, n >= 1 && n <= size(compared.facts))" in again
    listed = re.findall(r"<li>(The .*)</li>", _page(prompt.folder))
    assert listed == [
        "The cargo trailer CT-5 costs least at birch: 329.00 EUR.",
        "The child seat CS-2 costs least at 竹林: 109.00 EUR.",
    ]


def test_a_shop_that_is_not_there_is_asked_once_for_each_product_and_named(prompt: Prompt) -> None:
    folder = prompt.folder / "planrail-price-watch"
    folder.mkdir()
    lines = ["shop,product,name,last_price", "amber,FB-20,folding bike,900", "无名,FB-20,folding bike,1"]
    (folder / "watch-list.csv").write_text("\n".join(lines), encoding="utf-8")

    said = prompt("demo", "price-watch", "--variant", "healthy", "--json")

    assert said.code == 1
    assert "no prices of 无名 (FB-20: http_404)" in said.document["reason"]
    assert _requests(prompt.folder) == {"amber": 1, "无名": 1}
    assert "<li>无名: FB-20 (http_404)</li>" in _page(prompt.folder)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("amber,FB-20,bike,cheap", "line 3 of the watch list: last_price: Input should be a valid number"),
        ("amber,FB-20,bike,0", "line 3 of the watch list: last_price: Input should be greater than 0"),
        ("amber,FB-20", "line 3 of the watch list: name"),
        (",FB-20,bike,1", "line 3 of the watch list: shop"),
    ],
)
def test_a_slip_in_the_watch_list_is_named_by_its_line(line: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "watch.csv"
    file.write_text(f"shop,product,name,last_price\namber,CT-5,trailer,1\n{line}\n", encoding="utf-8")
    watch_list = price_tools(file, "http://127.0.0.1:9")[0]
    with pytest.raises(HardToolError, match=told):
        watch_list()


@pytest.mark.parametrize(
    "invented",
    [
        "At kontor FB-20 costs 777.77 EUR.",
        "kontor 的 FB-20 已下架,原价 777.77。",
        '{"facts": ["kontor has delisted FB-20, formerly 777.77 EUR"]}',
        '{"facts": [777.77]}',
        '{"facts": [1], "note": "kontor: 777.77 EUR"}',
        '{"facts": [0]}',
        '{"facts": [-1, 1]}',
    ],
)
def test_whatever_a_model_makes_up_no_word_of_it_gets_into_the_report(
    invented: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean_environment(monkeypatch)
    asked: list[str] = []

    def lie(prompt_text: str) -> str:
        asked.append(prompt_text)
        return invented

    document = run_with(PRICE_WATCH, SETTINGS, tmp_path, lie)

    assert len(asked) == 3 == document["usage"]["model_calls"]
    assert document["status"] == "partial"
    assert "chosen failed: output_rejected" in document["reason"]
    assert "shops_missing" in document["reason"]
    page = _page(tmp_path)
    assert "(Nobody has chosen what matters most.)" in page
    assert [word for word in ("777", "delisted", "已下架") if word in page] == []
    assert _table(page) == _expected(without=(SILENT,))
    assert sum(_requests(tmp_path).values()) == 12


def _row(product: str, shop: str, price: float, last: float) -> Json:
    change = round((price - last) / last * 100, 1)
    return {"product": product, "name": "bike", "shop": shop, "price": price, "last": last, "change": change}


def test_the_facts_say_what_the_rows_say() -> None:
    rows = [_row("A", "竹林", 80, 80), _row("A", "amber", 80, 100), _row("A", "birch", 100, 80)]
    assert facts_of(rows) == [
        "The bike A costs least at 竹林 and amber: 80.00 EUR.",
        "The shops differ by 25.0 % on the bike A.",
        "The bike A at birch has risen by 25.0 % to 100.00 EUR.",
        "The bike A at amber has fallen by 20.0 % to 80.00 EUR.",
    ]


PRICE = st.floats(0.01, 9_999, allow_nan=False).map(lambda price: round(price, 2))


@given(st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from("xyz"), PRICE, PRICE), max_size=8))
def test_no_fact_has_a_figure_that_does_not_follow_from_the_rows(
    cells: list[tuple[str, str, float, float]],
) -> None:
    rows = sorted((_row(*cell) for cell in cells), key=lambda row: (row["product"], row["price"]))
    figures = {f"{row['price']:.2f}" for row in rows} | {f"{abs(row['change']):.1f}" for row in rows}
    for fact in facts_of(rows):
        found = re.findall(r"\d+\.\d+", fact)
        assert found
        assert "differ" in fact or set(found) <= figures
    assert bool(facts_of(rows)) == bool(rows)


def test_its_picture_is_on_the_page_about_walkthroughs() -> None:
    page = (ROOT / "docs" / "walkthroughs.md").read_text("utf-8")
    assert to_mermaid(PRICE_WATCH.plan("standard")).strip() in page
