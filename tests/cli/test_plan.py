"""`planrail plan`: shows what would be run and what it would take, and runs nothing."""

import json

import pytest

from graph.cli import main
from tests.cli.support import Prompt, step
from tests.support.openai_server import OpenAIServer, obj

LOOK = step("s1", "look", args={"what": "it"})
SAVE = step("s2", "save", args={"text": "${s1.found}"}, require_approval=True)
PLAN = {"goal": "g", "steps": [LOOK, SAVE]}


def _plan(prompt: Prompt, *words: str) -> tuple[str, ...]:
    return ("plan", *words, "--tools", "mytools.py")


def test_a_plan_file_is_shown_with_what_it_needs_and_nothing_is_run(prompt: Prompt) -> None:
    said = prompt(*_plan(prompt, "--plan", prompt.plan(LOOK, SAVE)))

    assert said.code == 0
    for words in ("s2  tool save", "approvals    1", "the plan requires approval", "2 of tools, 0 of models"):
        assert words in said.out
    assert prompt.calls() == []
    assert not (prompt.folder / "planrail.db").exists()


def test_a_goal_is_planned_by_the_model_with_one_request_and_not_run(prompt: Prompt) -> None:
    with OpenAIServer([obj(PLAN)]) as server:
        for name, value in server.environment.items():
            prompt.patch.setenv(name, value)
        said = prompt(*_plan(prompt, "look and save it", "--json"))

    assert said.code == 0, said.err
    assert said.document["plan"]["author"] == "planner"
    assert [each["step"] for each in said.document["forecast"]["approvals"]] == ["s2"]
    assert said.document["usage"]["model_calls"] == 1
    assert len(server.requests) == 1
    assert prompt.calls() == []


def test_an_answer_needs_no_plan(prompt: Prompt) -> None:
    with OpenAIServer([obj({"answer": "42"})]) as server:
        prompt.patch.setenv("OPENAI_BASE_URL", server.url)
        said = prompt(*_plan(prompt, "what is 6 times 7?"))

    assert said.code == 0
    assert "answer, without a plan: 42" in said.out


def test_a_goal_that_cannot_be_planned_says_why(prompt: Prompt) -> None:
    with OpenAIServer([obj({"cannot": "there is no tool for it"})]) as server:
        prompt.patch.setenv("OPENAI_BASE_URL", server.url)
        said = prompt(*_plan(prompt, "fly to the moon"))

    assert said.code == 1
    assert "no plan: there is no tool for it" in said.out


def test_every_problem_of_a_plan_is_listed(prompt: Prompt) -> None:
    file = prompt.plan(step("s1", "lok"), step("s2", "save", args={"txt": "x"}))

    said = prompt(*_plan(prompt, "--plan", file))
    listed = prompt(*_plan(prompt, "--plan", file, "--json")).document["problems"]

    assert said.code == 2
    assert "unknown_tool [s1]" in said.out
    assert {each["code"] for each in listed} == {"unknown_tool", "bad_args"}


def test_the_time_comes_from_earlier_runs_of_the_database(prompt: Prompt) -> None:
    nap = step("s1", "nap", args={"seconds": 0.2})
    prompt.run(nap)

    told = prompt(*_plan(prompt, "--plan", prompt.plan(nap), "--json")).document["forecast"]

    assert told["guessed"] == []
    assert 0.2 <= told["seconds"] < 5


def test_the_mermaid_of_a_plan_can_be_had(prompt: Prompt) -> None:
    assert "flowchart" in prompt(*_plan(prompt, "--plan", prompt.plan(LOOK), "--mermaid")).out


@pytest.mark.parametrize("words", [[], ["a goal"]])
def test_nothing_to_plan_and_nobody_to_plan_are_refused(prompt: Prompt, words: list[str]) -> None:
    said = prompt(*_plan(prompt, *words))

    assert said.code == 2
    assert said.err.startswith("error: ")


def test_a_template_is_planned_with_its_parameters(prompt: Prompt) -> None:
    prompt.patch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    code = main(
        ["plan", "--template", "complaint", "-p", "order_id=A1234", "--tools", "tools.shop", "--json"]
    )

    assert code == 0
    document = json.loads(prompt.capture.readouterr().out)
    assert document["plan"]["author"] == "template:complaint"
    assert [each["step"] for each in document["forecast"]["approvals"]] == ["s4"]
