"""Maps in the plan language: what is read, what is refused, and with which words."""

from typing import Any

import pytest

from graph.plan import MapStep, Plan, PlanLimits, ToolStep, check_plan, parse_plan
from nodes.decide.map_items import item_step
from tests.map.support import Shelf, mapped, plan

LIST = {"id": "list", "action": "tool", "tool": "list_values", "args": {"count": 3}}
REGISTRY = Shelf().registry()


def _map(**more: Any) -> dict[str, Any]:
    return {**mapped("m", "${list}", "put", {"value": "${item}"}), **more}


def _faults(**more: Any) -> list[str]:
    read, problems = parse_plan(plan(LIST, _map(**more)))
    return [str(each) for each in (problems if read is None else check_plan(read, REGISTRY))]


def _read(*steps: Any) -> Plan:
    read, problems = parse_plan(plan(*steps))
    assert read is not None, problems
    return read


def test_a_map_round_trips_and_depends_on_what_its_list_and_its_step_refer_to() -> None:
    other = {**LIST, "id": "other"}
    read = _read(LIST, other, _map(step={"action": "tool", "tool": "put", "args": {"value": "${other}"}}))
    found = read.step("m")
    assert isinstance(found, MapStep)
    assert found.depends_on == ("list", "other")
    assert parse_plan(read.to_json())[0] == read
    assert "id" not in found.to_json()["step"]  # type: ignore[operator]


@pytest.mark.parametrize("over", ["list", " ${list} ", "list.map(x, x.n)", ["a", "${list}"], []])
def test_a_list_is_given_as_it_is_or_by_a_reference_also_a_bare_one(over: Any) -> None:
    assert _faults(over=over) == []


@pytest.mark.parametrize("over", ["a ${list} b", "$${list}", "", 5, {"a": 1}, None])
def test_what_can_be_no_list_is_refused_with_the_remedy(over: Any) -> None:
    (fault,) = _faults(over=over)
    assert fault == "bad_plan [m]: steps[1].over: give a list, or one reference to one, as in ${s1.items}"


@pytest.mark.parametrize("wanted", ["half", True, 1.5, 0.0, -1])
def test_min_success_is_a_number_of_items_or_a_share(wanted: Any) -> None:
    (fault,) = _faults(min_success=wanted)
    assert fault.startswith("bad_plan [m]: steps[1].min_success: ")
    assert len(fault) < 160


@pytest.mark.parametrize("inner", ["map", "plan"])
def test_a_map_of_maps_or_plans_is_refused(inner: str) -> None:
    (fault,) = _faults(step={"action": inner, "over": [1], "goal": "g"})
    assert f"make the {inner} a step beside it" in fault


@pytest.mark.parametrize("name", ["optional", "verify", "on_dependency_failure"])
def test_what_is_of_the_whole_map_is_not_taken_from_its_step(name: str) -> None:
    value = "skip" if name == "on_dependency_failure" else True
    (fault,) = _faults(step={**_map()["step"], name: value})
    assert fault.endswith(f"steps[1].step.{name}: give it to the map, not to its step")


def test_item_has_no_value_outside_the_step_of_a_map() -> None:
    assert "item has a value only in the step of a map" in _faults(over="${item}")[0]


def test_arguments_of_the_step_are_checked_as_those_of_any_call() -> None:
    wrong = {"action": "tool", "tool": "put", "args": {"values": 1}}
    assert any("put.values" in fault for fault in _faults(step=wrong))
    assert "nosuch" in _faults(step={"action": "tool", "tool": "nosuch", "args": {}})[0]


def test_a_literal_list_that_is_too_long_is_refused_with_the_plan() -> None:
    read = _read(mapped("m", [1, 2, 3], "put", {"value": "${item}"}))
    (problem,) = check_plan(read, REGISTRY, PlanLimits(max_map_items=2))
    assert (problem.code, problem.step_id) == ("too_many_items", "m")
    assert "max_map_items" in problem.message


def test_an_item_is_as_careful_as_its_map_and_has_its_limits() -> None:
    more = {"risk": "high", "require_approval": True, "timeout": 5.0, "max_attempts": 2, "title": "放好"}
    found = _read(LIST, _map(**more)).step("m")
    assert isinstance(found, MapStep)
    item = item_step(found)
    assert isinstance(item, ToolStep)
    assert (item.risk, item.require_approval, item.timeout, item.max_attempts) == ("high", True, 5.0, 2)
    assert (item.id, item.title, item.depends_on) == ("m", "放好", ())


def test_an_items_own_limits_come_before_its_maps() -> None:
    step = {**_map()["step"], "max_attempts": 7, "risk": "medium"}
    found = _read(LIST, _map(step=step, max_attempts=2)).step("m")
    assert isinstance(found, MapStep)
    assert (item_step(found).max_attempts, item_step(found).risk) == (7, "medium")
