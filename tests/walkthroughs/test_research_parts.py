"""What the research is made of: its template, its search, its pages' text, its quotes."""

from pathlib import Path

import pytest

from graph.demo.page_text import read_markup
from graph.demo.research import RESEARCH
from graph.demo.research_library import documents, search
from graph.demo.research_tools import cited_pages, confirm_claims
from graph.plan import to_mermaid
from graph.plan.templates import load_templates, match_rules, tool_faults
from tests.cli.support import ROOT
from tests.support.openai_server import Json
from tests.walkthroughs.support import COSTS
from tools import HardToolError, fingerprints


@pytest.mark.usefixtures("clean")
def test_its_template_goes_with_its_tools_and_knows_its_goals(tmp_path: Path) -> None:
    template = load_templates().require(RESEARCH.template)
    with RESEARCH.stage(tmp_path / "planrail", "standard") as stage:
        assert tool_faults(template, fingerprints(stage.tools)) == ()
    assert set(template.tools) == template.used_tools
    for goal, topic in {
        "Write a research report on heat pumps in old houses.": "heat pumps in old houses",
        "写一篇关于2024年AI大模型发展趋势的研究报告": "2024年AI大模型发展趋势",
    }.items():
        (found,) = match_rules([template], goal)
        assert found.params["topic"] == topic


def test_its_picture_is_on_the_page_about_walkthroughs() -> None:
    page = (ROOT / "docs" / "walkthroughs.md").read_text("utf-8")
    assert to_mermaid(RESEARCH.plan("standard")).strip() in page


def test_a_search_finds_by_rare_words_first_and_nothing_by_none() -> None:
    assert search("insuring and buying a fleet", documents())[0].title == "Buying a fleet of cargo bikes"
    assert [each.title for each in search("tomatoes", documents())] == ["Tomatoes on a balcony"]
    assert search("quantum", documents()) == []


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>It costs <b>41</b>\n euros.</p>", "It costs 41 euros."),
        ("It&nbsp;costs 41&#32;euros", "It costs 41 euros"),
        ("<p>a &lt; b &amp; c<p>d", "a < b & c\nd"),
        ("<li>价格 是<li>41&nbsp;欧元", "价格 是\n41 欧元"),
        ("<script>if (x < y) {}</script>seen<STYLE>p > a {}</style>", "seen"),
        ("un<em>believ</em>able<br>yes", "unbelievable\nyes"),
        ("a <b", "a"),
    ],
)
def test_a_pages_text_is_what_people_read_of_it(markup: str, text: str) -> None:
    assert read_markup(f"<html><title>A &amp; B</title><body>{markup}") == ("A & B", text)


@pytest.mark.parametrize("mark", ["<", "<script>", "<title>", "&", "<script", "</script>", "<p>"])
def test_no_page_keeps_its_reader_busy(mark: str) -> None:
    read_markup(mark * (2_000_000 // len(mark)))


def _page(text: str) -> Json:
    return {"url": COSTS, "title": "A & B", "text": text, "truncated": False}


@pytest.mark.parametrize("quote", ["It costs 41 euros.", " it costs\n41 EUROS", "价格 是 41 欧元"])
def test_a_quote_is_found_whatever_its_spaces_and_capitals(quote: str) -> None:
    claim = {"text": "Cheap.", "quote": quote, "url": COSTS}
    page = _page("First.\nIt costs 41 euros.\n价格 是 41 欧元")
    found = confirm_claims(["Costs"], [{"claims": [claim]}], [COSTS], [page])
    assert found["facts"] == 1
    assert f"1. A & B <{COSTS}>" in str(found["markdown"])


@pytest.mark.parametrize("quote", ["It costs 42 euros.", "41", " ", "It costs 41 euros a day"])
def test_a_quote_that_is_not_there_or_says_nothing_bears_out_nothing(quote: str) -> None:
    claim = {"text": "Cheap.", "quote": quote, "url": COSTS}
    with pytest.raises(HardToolError, match="no page bears out any of 1 claims"):
        confirm_claims(["Costs"], [{"claims": [claim]}], [COSTS], [_page("It costs 41 euros.")])


def test_a_section_that_failed_and_a_page_that_was_lost_are_told() -> None:
    claim = {"text": '[Cheap](http://x), "as all say"\u201d', "quote": "It costs 41 euros.", "url": COSTS}
    lost = {**claim, "url": "http://lost.example/"}
    found: Json = confirm_claims(
        ["Costs", "Speed"],
        [{"claims": [claim, lost]}, None],
        [COSTS, lost["url"]],
        [_page("It costs 41 euros."), None],
    )
    assert found["left_out"] == 1
    assert "## Speed\n\nThis section could not be written." in found["markdown"]
    assert r"- \[Cheap\](http://x), 'as all say'' " in found["markdown"]


def test_pages_are_cited_once_and_only_those_that_were_found() -> None:
    claims = [{"url": url} for url in ("http://a/", "http://b/", "http://a/", "http://c/")]
    found = [None, {"results": [{"url": "http://c/"}, {"url": "http://a/"}]}]
    assert cited_pages([None, {"claims": claims}], found) == ["http://a/", "http://c/"]
