"""A shape that no answer could be held against keeps a plan from running, and nothing is fetched for it."""

from typing import Any

import pytest

from graph.plan import PlanProblem, check_plan
from tests.plan.fakes import CATALOG, plan_of


def problems(schema: object, **more: Any) -> list[PlanProblem]:
    step = {"action": "llm", "instruction": "Say so.", "output_schema": schema, **more}
    return check_plan(plan_of({"id": "s1", **step}), CATALOG)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nope"},
        {"type": "object", "properties": ["a"]},
        {"anyOf": 3},
        {"type": "object", "$defs": []},
        {"pattern": "("},
        {"pattern": "a{99999999999}"},
        {"$ref": "#/nowhere"},
        {"$ref": "#/required/0", "required": ["a"]},
        {"type": "object", "properties": {"n": {"$ref": "http://127.0.0.1:1/number.json"}}},
        {"type": "object", "properties": {"n": {"$ref": "file:///etc/hostname"}}},
        {"$ref": "http://[::1"},
        {"$schema": ["a"]},
    ],
)
def test_a_schema_that_cannot_be_used_is_a_problem_of_its_step(schema: object) -> None:
    assert [(found.code, found.step_id) for found in problems(schema)] == [("bad_schema", "s1")]


def test_an_agents_schema_and_that_of_a_maps_items_are_looked_at_too() -> None:
    bad: dict[str, Any] = {"instruction": "Say so.", "output_schema": {"$ref": "#/nowhere"}}
    agent = {"id": "s1", "action": "agent", "tools": ["read"], **bad}
    items: dict[str, Any] = {"id": "s2", "action": "map", "over": [1], "step": {"action": "llm", **bad}}
    found = check_plan(plan_of(agent, items), CATALOG)
    assert [(each.code, each.step_id) for each in found] == [("bad_schema", "s1"), ("bad_schema", "s2")]


@pytest.mark.parametrize(
    "schema",
    [{}, {"type": ["string", "null"]}, {"$ref": "#/$defs/n", "$defs": {"n": {"type": "number"}}}],
)
def test_schemas_that_can_be_used_are_no_problem(schema: object) -> None:
    assert problems(schema) == []
