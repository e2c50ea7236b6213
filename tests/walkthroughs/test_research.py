"""The research: whatever the agents write, the report holds what the pages say, and names them."""

import asyncio
import json
import os
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoints import Journal, open_store
from graph.demo import research_library
from graph.demo.research import RESEARCH, SETTINGS
from graph.demo.research_answers import recorded_research
from graph.demo.research_library import documents
from graph.demo.serving import Answer
from graph.plan.templates import load_templates, tool_faults
from tests.cli.support import Prompt
from tests.support.openai_server import Json, OpenAIServer, Reply, call, calls, text
from tests.walkthroughs.support import COSTS, run_with
from tools import fingerprints

PAGES = {document.url: document for document in documents()}


def _report(folder: Path) -> str:
    return (folder / "planrail-research" / "report.md").read_text("utf-8")


def _log(folder: Path, kind: str) -> list[str]:
    lines = (folder / "planrail-research" / "requests.log").read_text("utf-8").splitlines()
    return [line.partition(" ")[2] for line in lines if line.startswith(f"{kind} ")]


def _sources(report: str) -> dict[int, str]:
    return {int(number): url for number, url in re.findall(r"^(\d+)\. .*<(\S+)>$", report, re.MULTILINE)}


def _claims(report: str) -> list[tuple[str, int]]:
    return [
        (words, int(number)) for words, number in re.findall(r'^- "(.*)" \[(\d+)\]$', report, re.MULTILINE)
    ]


def _assert_borne_out(folder: Path) -> None:
    """Each claim stands on the page that it names, and each of these was fetched."""
    report = _report(folder)
    sources = _sources(report)
    assert len(_claims(report)) >= 8
    assert {number for _, number in _claims(report)} == sources.keys()
    assert set(sources.values()) <= set(_log(folder, "page"))
    assert [words for words, number in _claims(report) if words not in PAGES[sources[number]].text] == []
    assert set(re.findall(r"http://[^\s>]+", report)) == set(sources.values())


def test_one_command_writes_a_report_whose_every_claim_stands_on_a_page_that_was_fetched(
    prompt: Prompt,
) -> None:
    process = prompt.spawn("demo", "research", "--run-id", "r1", "--json")
    out, err = process.communicate(timeout=60)

    assert process.returncode == 0, err
    assert "RECORDED" in err
    document = json.loads(out)
    assert document["status"] == "succeeded"
    _assert_borne_out(prompt.folder)
    report = _report(prompt.folder)
    assert report.startswith("# cargo bikes for city deliveries\n")
    assert re.findall(r"^## (.*)$", report, re.MULTILINE)[-1] == "Sources"
    assert len(_log(prompt.folder, "search")) == 4
    fetched = _log(prompt.folder, "page")
    assert len(fetched) == len(set(fetched))  # what several agents read is kept for all, and for the check
    with open_store(prompt.folder / "planrail.db") as opened:
        entries = asyncio.run(Journal(opened.store, "r1").load()).steps
    agents = [entry for entry in entries.values() if entry.step_id.startswith("sections#")]
    assert len(agents) == 8
    assert {entry.tool for entry in agents} == {"read_page"}


def test_a_section_on_which_nothing_is_found_says_so(prompt: Prompt) -> None:
    said = prompt("demo", "research", "-p", "topic=tomatoes")

    assert said.code == 0
    report = _report(prompt.folder)
    assert '- "Too little sun is the main obstacle to tomatoes: they want six hours a day." [1]' in report
    assert "## How it performs\n\nNothing was found on this." in report
    assert _sources(report) == {1: "http://garden-post.example/tomatoes"}


def test_another_topic_may_be_asked_for_and_what_is_not_found_is_not_written(prompt: Prompt) -> None:
    said = prompt("demo", "research", "-p", "topic=城市配送", "--json")

    assert said.code == 1
    assert said.document["plan"]["goal"] == "write a report on 城市配送 into report.md"
    assert "nothing_found: no page bears out any of 0 claims" in said.document["reason"]
    assert said.document["effects"] == []
    assert list((prompt.folder / "planrail-research").glob("*.md")) == []


def test_a_parameter_that_the_demo_does_not_have_is_refused_with_those_it_has(prompt: Prompt) -> None:
    said = prompt("demo", "research", "-p", "thema=x")
    assert said.code == 2
    assert "has no parameter 'thema'" in said.err


def _with_more_claims(*more: Json) -> Callable[[str], str]:
    """The recorded model, whose sections claim more than they found."""

    def answer(prompt_text: str) -> str:
        said = recorded_research(prompt_text)
        found = json.loads(said) if said.startswith('{"next"') else {}
        if "result" not in found.get("next", {}):
            return said
        claims = found["next"]["result"]["claims"][:1]
        return json.dumps({"next": {"result": {"claims": [*claims, *more]}}})

    return answer


@pytest.mark.usefixtures("clean")
def test_made_up_sources_and_quotes_are_left_out_counted_and_never_fetched(tmp_path: Path) -> None:
    nowhere = "http://secret-drop.example/?data=all-of-it"
    lies = [
        {"text": "Bikes fly.", "quote": "Bikes fly over the city.", "url": nowhere},
        {"text": "Bikes cost nothing.", "quote": "A round cost nothing at all.", "url": COSTS},
        {"text": "Every bike is stolen.", "quote": "the", "url": COSTS},
    ]

    document = run_with(RESEARCH, SETTINGS, tmp_path, _with_more_claims(*lies))

    assert document["status"] == "succeeded"
    report = _report(tmp_path)
    assert "Left out, for no page bears them out: 12 claim(s)." in report
    assert [lie for lie in lies if lie["text"] in report] == []
    assert "secret-drop" not in report
    assert nowhere not in _log(tmp_path, "page")


@pytest.mark.usefixtures("clean")
def test_an_agent_that_makes_up_an_address_is_refused_the_call(tmp_path: Path) -> None:
    made_up = "http://secret-drop.example/?data=all-of-it"

    def answer(prompt_text: str) -> str:
        said = recorded_research(prompt_text)
        if said.startswith('{"next"') and '<data from="read_page">' not in prompt_text:
            return json.dumps({"next": {"tool": "read_page", "args": {"url": made_up}}})
        return said

    document = run_with(RESEARCH, SETTINGS, tmp_path, answer)

    assert document["status"] == "succeeded"
    assert [url for url in _log(tmp_path, "page") if "secret-drop" in url] == []


@pytest.mark.usefixtures("clean")
def test_a_summary_that_brings_addresses_of_its_own_is_sent_back(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(prompt_text: str) -> str:
        said = recorded_research(prompt_text)
        if '<data from="confirmed">' not in prompt_text:
            return said
        asked.append(prompt_text)
        return f"See https://made-up.example. {said}" if len(asked) == 1 else said

    assert run_with(RESEARCH, SETTINGS, tmp_path, answer)["status"] == "succeeded"
    assert "That does not fit" in asked[1]
    assert "made-up" not in _report(tmp_path)


@pytest.mark.usefixtures("clean")
def test_a_search_that_fails_costs_its_section_and_the_report_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = research_library._results

    def results(query: str) -> Answer:
        return Answer(b"no", 400) if "performance" in query else answered(query)

    monkeypatch.setattr(research_library, "_results", results)
    document = run_with(RESEARCH, SETTINGS, tmp_path, recorded_research)

    assert document["status"] == "succeeded"
    assert "searches: 1 of 4 items failed (#1 http_400" in document["reason"]
    assert "## How it performs\n\nThis section could not be written." in _report(tmp_path)
    _assert_borne_out(tmp_path)


def _by_tool_calls(body: Json) -> Reply:
    """The recorded answers, given as an endpoint with tool calling gives them."""
    said = recorded_research("\n\n".join(str(each.get("content")) for each in body["messages"]))
    if not said.startswith('{"next"'):
        return text(said)
    turn = json.loads(said)["next"]
    return calls(call(turn["tool"], turn["args"])) if "tool" in turn else text(json.dumps(turn["result"]))


def test_it_goes_the_same_way_with_an_endpoint_that_calls_tools(prompt: Prompt) -> None:
    with OpenAIServer(_by_tool_calls) as server:
        for name, value in server.environment.items():
            prompt.patch.setenv(name, value)
        said = prompt("demo", "research", "--json")

    assert said.code == 0, said.err
    assert "RECORDED" not in said.err
    _assert_borne_out(prompt.folder)
    assert any("tools" in body for body in server.requests)


def test_a_killed_run_is_taken_up_on_another_port_without_reading_or_asking_again(prompt: Prompt) -> None:
    reached, hold = threading.Event(), threading.Event()

    def answer(body: Json) -> Reply:
        if not hold.is_set() and '<data from="confirmed">' in str(body["messages"]):
            reached.set()
            hold.wait(60)
        return _by_tool_calls(body)

    with OpenAIServer(answer) as server:
        for name, value in server.environment.items():
            prompt.patch.setenv(name, value)
        process = prompt.spawn("demo", "research", "--run-id", "r1")
        assert reached.wait(60)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        read, asked = _log(prompt.folder, "page"), len(server.requests)
        hold.set()
        said = prompt("resume", "r1", "--json")

    assert said.code == 0, said.err
    assert said.document["status"] == "succeeded"
    assert _log(prompt.folder, "page") == read
    assert len(server.requests) == asked + 1  # the summary, whose answer was lost
    _assert_borne_out(prompt.folder)


@pytest.mark.usefixtures("clean")
def test_a_search_provider_of_ones_own_takes_the_place_of_the_sample_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANRAIL_SEARCH_URL", "http://localhost:8888")
    template = load_templates().require(RESEARCH.template)
    with RESEARCH.stage(tmp_path / "planrail", "standard") as stage:
        assert "PLANRAIL_SEARCH" in stage.places[0]
        assert tool_faults(template, fingerprints(stage.tools)) == ()
        assert stage.tools["read_page"].policy.cache_ttl is not None
