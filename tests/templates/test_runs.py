"""Goals that a template is for: no planning call, honest refusals, and the small model's choice."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel

from graph.build import build_graph
from graph.intake import InputError, of_parent
from graph.plan.templates import TemplateError
from graph.running import PlanrailGraph
from tests.support.models import says
from tests.support.openai_server import OpenAIServer, obj, text
from tests.templates.support import GREETING, hello, write
from tools import policy

GOAL = "greet Ada 2 times"


def _graph(
    folder: Path, models: BaseChatModel | Mapping[str, BaseChatModel] | None = None, **settings: Any
) -> PlanrailGraph:
    return build_graph(tools=[hello], models=models, settings={"templates": str(folder), **settings})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "t", "greeting", GREETING)
    return tmp_path / "t"


def test_a_goal_that_a_rule_fits_is_planned_without_any_request(folder: Path) -> None:
    with OpenAIServer(text("unused")) as server:
        done = _graph(folder, server.model()).invoke({"goal": GOAL})

    assert server.requests == []
    assert done["answer"] == "hello Ada hello Ada"
    assert done["plan"]["author"] == "template:greeting"
    assert done["plan"]["goal"] == GOAL


def test_it_needs_no_model_at_all(folder: Path) -> None:
    assert _graph(folder).invoke({"goal": GOAL})["status"] == "succeeded"


def test_without_model_and_template_a_goal_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="no model that could make one"):
        _graph(folder).invoke({"goal": "wave at Ada"})


def test_other_goals_go_to_the_planner(folder: Path) -> None:
    model = says('{"answer": "no tool needed"}')

    assert _graph(folder, model).invoke({"goal": "wave at Ada"})["answer"] == "no tool needed"
    assert len(model.prompts) == 1


def test_matching_can_be_turned_off(folder: Path) -> None:
    model = says('{"answer": "planned"}')

    assert _graph(folder, model, template_match="off").invoke({"goal": GOAL})["answer"] == "planned"


def test_two_templates_that_fit_leave_the_goal_to_the_planner(folder: Path) -> None:
    write(folder, "twin", {**GREETING, "name": "twin"})
    model = says('{"answer": "planned"}')

    assert _graph(folder, model).invoke({"goal": GOAL})["answer"] == "planned"


def _outdated(folder: Path) -> None:
    write(folder, "greeting", {**GREETING, "tools": {"hello": "0123456789abcdef"}})


def test_a_template_whose_tool_changed_is_not_used_and_the_stream_says_why(folder: Path) -> None:
    _outdated(folder)
    graph = _graph(folder, says('{"answer": "planned"}'))

    events = list(graph.stream({"goal": GOAL}, stream_mode="custom"))

    assert next(e["message"] for e in events if e["type"] == "template").startswith(
        "template greeting not used: tool 'hello' has changed"
    )


def test_naming_a_template_whose_tool_changed_is_refused_with_the_reason(folder: Path) -> None:
    _outdated(folder)

    with pytest.raises(TemplateError, match="'hello' has changed"):
        _graph(folder).invoke({"template": "greeting", "params": {"who": "Ada"}})


def test_a_template_is_named_with_its_parameters(folder: Path) -> None:
    done = _graph(folder).invoke({"template": "greeting", "params": {"who": "Bob", "times": 2}})

    assert done["answer"] == "hello Bob hello Bob"
    assert done["plan"]["goal"] == "greet Bob"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"template": "greeting", "plan": {"steps": []}}, "one of them"),
        ({"goal": "x", "params": {"who": "Ada"}}, "name it"),
        ({"template": 7}, "named by text"),
        ({"template": "greeting", "params": ["Ada"]}, "object"),
    ],
)
def test_an_input_that_means_two_things_is_refused(given: Any, words: str, folder: Path) -> None:
    with pytest.raises(InputError, match=words):
        _graph(folder).invoke(given)


def test_params_of_a_parent_graph_are_its_own_unless_a_template_is_named() -> None:
    assert of_parent({"goal": "g", "params": {"theirs": 1}, "other": 2}) == {"goal": "g"}
    assert of_parent({"template": "greeting", "params": {"who": "Ada"}}) == {
        "template": "greeting",
        "params": {"who": "Ada"},
    }


def test_a_template_that_asks_a_model_needs_one(folder: Path) -> None:
    steps = [{"id": "s1", "action": "llm", "instruction": "greet ${params.who} ${params.times}"}]
    write(folder, "greeting", {**GREETING, "plan": {"steps": steps}})

    with pytest.raises(InputError, match="no executor model"):
        _graph(folder).invoke({"goal": GOAL})


def _choice(template: str, **params: Any) -> dict[str, Any]:
    return {
        "reason": "r",
        "template": template,
        "params": {"who": None, "times": None, "tone": None, **params},
    }


def _asked(folder: Path, *replies: Any, goal: str = "say hi to Ada") -> tuple[dict[str, Any], OpenAIServer]:
    write(folder, "complaint", {**GREETING, "name": "complaint", "match": []})
    with OpenAIServer([obj(reply) for reply in replies]) as server:
        models = {"planner": server.model(name="big"), "validator": server.model(name="small")}
        done = _graph(folder, models, template_match="model").invoke({"goal": goal})
    return dict(done), server


def test_the_small_model_chooses_where_no_rule_fits(folder: Path) -> None:
    done, server = _asked(folder, _choice("greeting", who="Ada"))

    assert done["answer"] == "hello Ada"
    assert done["plan"]["author"] == "template:greeting"
    assert [request["model"] for request in server.requests] == ["small"]
    shape = server.requests[0]["response_format"]["json_schema"]["schema"]
    assert list(shape["properties"]) == ["reason", "template", "params"]


@pytest.mark.parametrize(
    "said",
    [
        _choice("none"),
        _choice("greeting", who="Bob"),
        _choice("greeting", who="Ada", times=7),
        _choice("greeting"),
    ],
)
def test_a_choice_that_does_not_hold_leaves_the_goal_to_the_planner(folder: Path, said: Any) -> None:
    done, server = _asked(folder, said, {"answer": "planned"})

    assert done["answer"] == "planned"
    assert [request["model"] for request in server.requests] == ["small", "big"]


def test_a_small_model_is_not_asked_when_a_rule_fits(folder: Path) -> None:
    done, server = _asked(folder, {"answer": "unused"}, goal=GOAL)

    # The folder's second template has no rule.
    assert done["answer"] == "hello Ada hello Ada"
    assert server.requests == []


def test_a_template_may_not_lower_what_the_policy_decides(folder: Path) -> None:
    @policy(effect="write", risk="high")
    def hello(name: str, times: int = 1) -> str:
        """Say hello, for good."""
        return name * times

    graph = build_graph(tools=[hello], settings={"templates": str(folder)})

    assert graph.invoke({"goal": GOAL})["status"] == "waiting"
    assert json.dumps(graph.get_input_jsonschema())
