"""The price watch: whatever a shop or a model does, the report holds no price that no shop gave."""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoints import open_store
from graph.build import build_graph
from graph.demo.price_market import LAST, PRICES, PRODUCTS
from graph.demo.price_tools import price_tools
from graph.demo.price_watch import PRICE_WATCH, SETTINGS, recorded_summary
from graph.demo.price_words import split_by_support
from graph.demo.walkthrough import RecordedModel
from graph.plan import to_mermaid
from graph.state import Settings
from tests.cli.support import ROOT, Prompt, clean_environment
from tests.support.openai_server import OpenAIServer, text
from tools import HardToolError

Json = dict[str, Any]
SILENT = "kontor"
_BIKE = {"product": "FB-20", "name": "folding bike"}
_TRAILER = {"product": "CT-5", "name": "cargo trailer"}
ROWS = [
    {**_BIKE, "shop": "amber", "price": 879.0, "last": 899.0, "change": -2.2},
    {**_TRAILER, "shop": "竹林", "price": 338.0, "last": 338.0, "change": 0.0},
]


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
    assert document["usage"]["tool_calls"] == 12 + 6


def test_with_all_shops_up_the_report_is_complete(prompt: Prompt) -> None:
    said = prompt("demo", "price-watch", "--variant", "healthy", "--json")

    assert said.code == 0
    assert said.document["answer"] == "12 prices compared in price-report.html"
    page = _page(prompt.folder)
    assert "Complete: 12 of 12 prices." in page
    assert _table(page) == _expected()
    assert "The folding bike FB-20 is cheapest at kontor: 845.75 EUR." in page


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


def test_any_endpoint_may_write_the_summary_and_is_told_what_it_may_not_say(prompt: Prompt) -> None:
    wrong = text("At kontor the child seat is sold out.")
    right = text("Die FB-20 kostet bei amber 879,00 EUR. Das CT-5 kostet dort 300 EUR.")
    with OpenAIServer([wrong, right]) as server:
        for name, value in server.environment.items():
            prompt.patch.setenv(name, value)
        said = prompt("demo", "price-watch", "--json")

    assert "RECORDED" not in said.err
    asked, again = server.prompts()
    assert '<data from="compared">' in asked
    assert "the result must fulfil compared.silent.all(shop, !result.contains(shop))" in again
    page = _page(prompt.folder)
    assert "<p>Die FB-20 kostet bei amber 879,00 EUR.</p>" in page
    assert "Left out of the summary, for no price supports it: 1 sentence(s)." in page
    assert "300" not in page


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


def _run(folder: Path, answer: Callable[[str], str]) -> Json:
    """The walkthrough with another model in the place of the recorded one."""
    plan = PRICE_WATCH.plan("standard")
    with (
        PRICE_WATCH.stage(folder / "planrail", "standard") as stage,
        open_store(folder / "runs.db") as opened,
    ):
        graph = build_graph(
            tools=stage.tools,
            models={"default": RecordedModel(answer=answer)},
            settings=Settings.of(None).with_overrides(SETTINGS),
            checkpointer=opened.checkpointer,
            store=opened.store,
        )
        wish: Any = {"goal": plan.goal, "plan": plan.to_json()}
        document: Json = graph.invoke(wish, {"configurable": {"thread_id": "t"}})
        return document


@pytest.mark.parametrize(
    "invented",
    [
        "Kontor: FB-20 for 777.77 EUR. At kontor FB-20 costs 777.77 EUR.",
        "kontor 的 FB-20 已下架,原价 777.77。",
    ],
)
def test_a_model_that_tells_of_the_missing_shop_gets_no_word_into_the_report(
    invented: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean_environment(monkeypatch)
    asked: list[str] = []

    def lie(prompt_text: str) -> str:
        asked.append(prompt_text)
        return invented

    document = _run(tmp_path, lie)

    assert len(asked) == 3
    assert document["status"] == "partial"
    assert "summary failed: output_rejected" in document["reason"]
    page = _page(tmp_path)
    assert "(no summary)" in page
    assert "777.77" not in page
    assert _table(page) == _expected(without=(SILENT,))


def test_a_model_that_makes_up_a_figure_has_that_sentence_left_out_and_the_rest_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean_environment(monkeypatch)
    made_up = "FB-20 costs 666 EUR at amber."

    document = _run(tmp_path, lambda prompt_text: f"{made_up} {recorded_summary(prompt_text)}")

    page = _page(tmp_path)
    assert "666" not in page
    assert "1 sentence(s)" in page
    assert "The folding bike FB-20 is cheapest at amber: 879.00 EUR." in page
    supported = next(step for step in document["steps"] if step["id"] == "supported")
    assert supported["output"]["left_out"] == [
        {"sentence": made_up, "why": "666 is in no row that it speaks of"}
    ]


def test_a_stubborn_model_ends_the_run_after_a_bounded_number_of_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean_environment(monkeypatch)
    document = _run(tmp_path, lambda _prompt: SILENT)
    assert document["usage"]["model_calls"] == 3
    assert sum(_requests(tmp_path).values()) == 12


@pytest.mark.parametrize(
    "sentence",
    [
        "The folding bike is cheapest at amber: 879.00 EUR.",
        "FB-20 fell by 2.2 %, from 899 to 879 EUR.",
        "CT-5 在 竹林 的价格是 338 元。",
        "Nothing else has changed.",
        "FB-20 costs EUR 879 at amber, CT-5 costs EUR 338 at 竹林.",
    ],
)
def test_what_the_rows_say_is_kept(sentence: str) -> None:
    assert split_by_support(sentence, ROWS, [SILENT]) == ([sentence], [])


@pytest.mark.parametrize(
    "sentence",
    [
        "FB-20 costs 878 EUR.",
        "FB-20 costs 338 EUR.",
        "CT-5 is sold by amber.\nIt costs 338 EUR at AMBER.",
        "CT-5 costs 879 EUR.",
        "amber 的 FB-20 卖八百元。",
        "FB-20 costs eight hundred euros.",
        "Kontor has none.",
        "KONTOR 已下架。",
        "12.",
    ],
)
def test_what_no_row_says_is_left_out_with_the_reason(sentence: str) -> None:
    _, left_out = split_by_support(sentence, ROWS, [SILENT])
    assert left_out
    assert all(each["why"] for each in left_out)


def test_its_picture_is_on_the_page_about_walkthroughs() -> None:
    page = (ROOT / "docs" / "walkthroughs.md").read_text("utf-8")
    assert to_mermaid(PRICE_WATCH.plan("standard")).strip() in page
