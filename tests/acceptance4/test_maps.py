"""Maps: order, failures, what must succeed, caps, places, approvals, and what a resume still does."""

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from graph.build import build_graph
from tests.acceptance.support import outputs, plan, planner, statuses
from tests.acceptance4.support import (
    NAMES,
    Desk,
    Stored,
    by_id,
    code,
    each,
    given,
    inner,
    problems,
    put,
    run,
    say,
    step,
)
from tools import policy


def test_results_are_in_the_order_of_the_items_whoever_is_first() -> None:
    gates = [threading.Event() for _ in range(4)]

    @policy(effect="read")
    def slow(at: int) -> int:
        """Answer when the next one has; the last one at once."""
        if at + 1 < len(gates):
            assert gates[at + 1].wait(20)
        gates[at].set()
        return at * 10

    graph = build_graph(tools=[slow])

    result = graph.invoke(given(plan(each("m", [0, 1, 2, 3], inner("slow", {"at": "${item}"})))))

    assert outputs(result)["m"] == {"results": [0, 10, 20, 30], "failures": []}


def test_item_and_index_and_other_steps_are_seen() -> None:
    value = plan(
        say("words", {"list": ["x", "y"], "end": "!"}),
        each("m", "${words.list}", inner("say", {"value": "${index}:${item}${words.end}"})),
        say("all", "${m.results[1]}"),
    )

    result = run(Desk(), value)

    assert outputs(result)["m"]["results"] == ["0:x!", "1:y!"]
    assert outputs(result)["all"] == "1:y!"


def test_items_keep_their_types() -> None:
    items: list[Any] = [None, 1, 1.5, True, "x", {"a": [1]}, [], "文"]

    result = run(Desk(), plan(say("l", items), each("m", "${l}", inner("say", {"value": "${item}"}))))

    assert outputs(result)["m"] == {"results": items, "failures": []}


def test_text_of_a_result_is_not_read_as_an_expression() -> None:
    value = plan(
        say("l", ["$${1 + 1}", "plain"]),
        each("m", "${l}", inner("say", {"value": "${item}"})),
        say("again", "${m.results[0]}"),
    )

    result = run(Desk(), value)

    assert outputs(result)["m"]["results"] == ["${1 + 1}", "plain"]
    assert outputs(result)["again"] == "${1 + 1}"


def test_an_empty_list_succeeds_at_once() -> None:
    result = run(Desk(), plan(each("m", [], inner("look", {"name": "${item}"}), min_success=0.5)))

    assert result["status"] == "succeeded"
    assert outputs(result)["m"] == {"results": [], "failures": []}


@pytest.mark.parametrize(
    ("min_success", "fine"),
    [(None, False), (8, True), (9, False), (0.8, True), (0.81, False), (0, True), (10, False)],
)
def test_how_many_must_succeed(min_success: float | None, fine: bool) -> None:
    more = {} if min_success is None else {"min_success": min_success}
    value = plan(
        each("m", NAMES[:10], inner("look", {"name": "${item}", "bad": ["n3", "n7"]}), **more),
        put("after", "${m.results[0].name}"),
    )
    desk = Desk()

    result = run(desk, value, max_replans=0)

    assert statuses(result)["m"] == ("succeeded" if fine else "failed")
    assert desk.effects == (["n0"] if fine else [])
    if fine:
        assert [row["index"] for row in outputs(result)["m"]["failures"]] == [3, 7]
        assert outputs(result)["m"]["failures"][0] == {
            "index": 3, "item": "n3", "code": "not_there", "message": "there is no n3",
        }  # fmt: skip
        assert outputs(result)["m"]["results"][3] is None
        assert outputs(result)["m"]["results"][9] == {"name": "n9", "size": 2}
    else:
        assert "n3" in str(by_id(result)["m"])  # it says which


def test_every_item_has_attempts_of_its_own() -> None:
    desk = Desk()
    value = plan(each("m", NAMES[:5], inner("wobble", {"name": "${item}", "times": 2}, max_attempts=3)))

    result = run(desk, value)

    assert result["status"] == "succeeded"
    assert desk.count("wobble") == Counter(dict.fromkeys(NAMES[:5], 3))


def test_every_item_has_a_condition_expectation_and_fallback_of_its_own() -> None:
    desk = Desk()
    value = plan(
        each(
            "m",
            ["a", "bb", "ccc", "dddd", "x"],
            inner(
                "look",
                {"name": "${item}", "bad": ["x"]},
                when="index != 1",
                expect="result.size < 4",
                max_attempts=1,
                fallback={"tool": "say", "args": {"value": "instead of ${item}"}},
            ),
        )
    )

    result = run(desk, value)

    assert result["status"] == "succeeded", result["reason"]
    assert outputs(result)["m"]["results"] == [
        {"name": "a", "size": 1}, None, {"name": "ccc", "size": 3}, "instead of dddd", "instead of x",
    ]  # fmt: skip
    assert "bb" not in desk.calls_of("look")


def test_equal_items_each_happen_once_with_a_key_of_their_own() -> None:
    desk = Desk()

    result = run(desk, plan(each("m", ["same"] * 5, inner("put", {"value": "${item}"}))))

    assert result["status"] == "succeeded"
    assert desk.effects == ["same"] * 5
    assert len(set(desk.keys)) == 5
    assert len(result["effects"]) == 5


@pytest.mark.parametrize(("setting", "own"), [(3, None), (8, 2)])
def test_no_more_items_than_the_caps_at_one_time(setting: int, own: int | None) -> None:
    lock = threading.Lock()
    state = {"now": 0, "most": 0}
    full = threading.Event()
    cap = own or setting

    @policy(effect="read", max_concurrency=own)
    def busy(at: int) -> int:
        """Wait until as many are at work as may be, so that one too many would be seen."""
        with lock:
            state["now"] += 1
            state["most"] = max(state["most"], state["now"])
            if state["now"] == cap:
                full.set()
        assert full.wait(20)
        with lock:
            state["now"] -= 1
        return at

    graph = build_graph(tools=[busy], settings={"max_concurrency": setting})

    result = graph.invoke(given(plan(each("m", list(range(40)), inner("busy", {"at": "${item}"})))))

    assert outputs(result)["m"]["results"] == list(range(40))
    assert state["most"] == cap


@pytest.mark.parametrize("over", ["${a}", "${a.missing}", "${b}"])
def test_what_is_no_list_fails_the_map_and_nothing_is_called(over: str) -> None:
    desk = Desk()
    value = plan(say("a", {"x": 1}), say("b", "text"), each("m", over, inner("put", {"value": "${item}"})))

    result = run(desk, value, max_replans=0)

    assert statuses(result)["m"] == "failed"
    assert desk.effects == []


def test_a_list_over_the_limit_is_refused_before_anything_of_it_runs() -> None:
    desk = Desk()
    value = plan(say("a", NAMES), each("m", "${a}", inner("put", {"value": "${item}"})))

    result = run(desk, value, max_map_items=29, max_replans=0)

    assert statuses(result)["m"] == "failed"
    assert code(result, "m") == "too_many_items"
    assert desk.effects == []


def test_a_spent_budget_stops_the_map_honestly(tmp_path: Path) -> None:
    desk = Desk()
    stored = Stored(desk, tmp_path / "r.db", max_tool_calls=7)

    result = stored.start(plan(each("m", NAMES, inner("put", {"value": "${item}"})), put("after", "${m}")))

    assert result["status"] == "partial"
    assert result["success"] is False
    assert sum(each is not None for each in outputs(result)["m"]["results"]) == 7
    assert len(desk.effects) == 7
    assert "7" in result["reason"]
    assert "after" not in [row["step"] for row in result["effects"]]
    assert len(result["effects"]) == 7


def test_a_map_of_questions_to_a_model() -> None:
    model = planner("positive", "what?", "negative")
    judge = {"action": "llm", "instruction": "Judge ${item}", "choices": ["positive", "negative"]}
    value = plan(each("m", ["good", "bad"], judge))

    result = run(Desk(), value, model, max_concurrency=1)

    assert outputs(result)["m"]["results"] == ["positive", "negative"]
    assert len(model.prompts) == 3


def test_a_replan_may_not_repeat_an_items_failed_call() -> None:
    desk = Desk()
    value = plan(each("m", ["q"], inner("look", {"name": "${item}", "bad": ["q"]})))
    again = {"plan": {"steps": [step("b", "look", {"name": "q", "bad": ["q"]})]}}

    run(desk, value, planner(again), max_replans=1)

    assert desk.calls_of("look") == ["q"]


@pytest.mark.parametrize(
    "inner_step",
    [{"action": "map", "over": [1], "step": inner("say", {"value": 1})}, {"action": "plan", "goal": "x"}],
)
def test_maps_and_plans_do_not_stand_in_maps(inner_step: dict[str, Any]) -> None:
    assert problems(plan(each("m", [1], inner_step)))


@pytest.mark.parametrize("min_success", [-1, 1.5, 0.0, True, "all"])
def test_a_min_success_that_means_nothing_is_a_problem(min_success: Any) -> None:
    assert problems(plan(each("m", [1], inner("say", {"value": 1}), min_success=min_success)))
