"""Plans that a model makes, and the ones it makes after a failure."""

from typing import Any

import pytest

from tests.acceptance.support import (
    build,
    by_id,
    given,
    plan,
    planner,
    replans,
    step,
    stored,
    thread,
    waiting_steps,
    write,
)
from tests.acceptance.toolbox import Toolbox


def test_the_planners_plan_is_run(toolbox: Toolbox, store: Any) -> None:
    model = planner({"goal": "find q", "steps": [step("s1", "web_search", {"query": "q"})]})

    result = stored(toolbox, store, models={"planner": model}).invoke(
        {"goal": "find q", "plan": None}, thread()
    )

    assert result["status"] == "succeeded"
    assert toolbox.calls("web_search") == [{"query": "q"}]
    assert len(model.prompts) == 1


def test_one_model_may_play_every_part(toolbox: Toolbox) -> None:
    result = build(toolbox, models=planner({"answer": "42"})).invoke(
        {"goal": "six times seven?", "plan": None}
    )

    assert (result["status"], result["answer"]) == ("succeeded", "42")
    assert list(result["steps"]) == []


def test_what_cannot_be_planned_is_said(toolbox: Toolbox) -> None:
    model = planner({"cannot": "there is no tool for the moon"})

    result = build(toolbox, models={"planner": model}).invoke({"goal": "fly me to the moon", "plan": None})

    assert result["status"] == "failed"
    assert result["success"] is False
    assert "no tool for the moon" in str(result["reason"])
    assert toolbox.calls() == []


def plans_asked_for(prompts: list[str]) -> list[str]:
    """Without the question which tools are needed, which comes before the last plan."""
    return [prompt for prompt in prompts if prompt.startswith("You plan work")]


def test_a_plan_with_problems_goes_back_to_the_planner(toolbox: Toolbox) -> None:
    wrong = plan(step("s1", "web_serch", {"query": "q"}), goal="find q")
    right = plan(step("s1", "web_search", {"query": "q"}), goal="find q")
    model = planner(wrong, "not even JSON", right)

    result = build(toolbox, models={"planner": model}).invoke({"goal": "find q", "plan": None})

    assert result["status"] == "succeeded"
    assert len(plans_asked_for(model.prompts)) == 3
    assert "web_serch" in model.prompts[1]
    assert len(toolbox.calls()) == 1


def test_a_planner_that_never_learns_is_stopped(toolbox: Toolbox) -> None:
    model = planner(plan(step("s1", "web_serch", {"query": "q"}), goal="find q"))

    result = build(toolbox, models={"planner": model}).invoke({"goal": "find q", "plan": None})

    assert result["status"] == "failed"
    assert "web_serch" in str(result["reason"])
    assert len(plans_asked_for(model.prompts)) == 3
    assert toolbox.calls() == []


KEPT = step("s0", "web_search", {"query": "kept"})
FAILING = plan(
    KEPT,
    step("s1", "missing", {"what": "order"}, depends_on=["s0"]),
    write("s2", "${s1}"),
    goal="look for it and write out.md",
)


def test_a_hard_failure_is_replanned_and_what_is_done_is_kept(toolbox: Toolbox, store: Any) -> None:
    model = planner(
        plan(
            KEPT,
            step("s3", "web_search", {"query": "another way"}, depends_on=["s0"]),
            step("s4", "write_file", {"path": "out.md", "content": "${s0.query}, ${s3.query}"}),
            goal=FAILING["goal"],
        )
    )

    result = stored(toolbox, store, models={"planner": model}).invoke(given(FAILING), thread())

    assert result["status"] == "succeeded", result["reason"]
    assert replans(result) == 1
    assert len(model.prompts) == 1
    assert "there is no order" in model.prompts[0]
    assert [call["query"] for call in toolbox.calls("web_search")] == ["kept", "another way"]
    assert [call["content"] for call in toolbox.calls("write_file")] == ["kept, another way"]
    rows = by_id(result)
    assert rows["s4"]["revision"] == rows["s0"]["revision"] + 1


def test_a_replanner_that_gives_up_is_quoted(toolbox: Toolbox) -> None:
    model = planner({"cannot": "the customer has to name the order"})

    result = build(toolbox, models={"planner": model}).invoke(given(FAILING))

    assert result["status"] in {"failed", "partial"}
    assert "the customer has to name the order" in str(result["reason"])
    assert len(toolbox.calls("web_search")) == 1


def _renamed() -> dict[str, Any]:
    return plan(
        step("x0", "web_search", {"query": "kept"}),
        step("x1", "missing", {"what": "order"}, depends_on=["x0"]),
        write("x2", "${x1}"),
        goal="search for it, then write out.md",
    )


def _growing(number: int) -> dict[str, Any]:
    more = [
        step(f"t{number}_{each}", "missing", {"what": f"order {number}-{each}"}, depends_on=["s0"])
        for each in range(number)
    ]
    return plan(KEPT, *more, goal=FAILING["goal"])


@pytest.mark.parametrize(
    "replies",
    [
        pytest.param([FAILING], id="the same plan"),
        pytest.param([_renamed()], id="the same plan by other names"),
        pytest.param([{"goal": FAILING["goal"], "steps": []}], id="no steps"),
        pytest.param([plan(KEPT, goal=FAILING["goal"])], id="only what is done"),
        pytest.param([_growing(number) for number in range(1, 12)], id="one step more each time"),
        pytest.param(["{not a plan"], id="no JSON"),
        pytest.param(["null"], id="null"),
        pytest.param([""], id="nothing"),
    ],
)
def test_a_replanner_that_never_progresses_is_stopped(
    toolbox: Toolbox, store: Any, replies: list[object]
) -> None:
    model = planner(*replies)

    result = stored(toolbox, store, models={"planner": model}).invoke(given(FAILING), thread())

    assert result["status"] in {"failed", "partial"}
    assert result["success"] is False
    assert str(result["reason"]).strip()
    assert replans(result) <= 2
    assert 1 <= len(model.prompts) <= 9
    assert toolbox.calls("web_search") == [{"query": "kept"}]
    assert toolbox.calls("write_file") == []
    assert toolbox.calls("missing").count({"what": "order"}) == 1
    rows = by_id(result)
    assert (rows["s0"]["status"], rows["s0"]["output"]["query"]) == ("succeeded", "kept")


def test_a_replan_does_not_lower_what_code_asks_for(toolbox: Toolbox, store: Any) -> None:
    sly = step("s3", "bare", {"text": "for out.md"}, depends_on=["s0"], risk="low", require_approval=False)
    model = planner(plan(KEPT, sly, goal=FAILING["goal"]))

    result = stored(toolbox, store, models={"planner": model}).invoke(given(FAILING), thread())

    assert result["status"] == "waiting", result["reason"]
    assert waiting_steps(result) == {"s3"}
    assert toolbox.calls("bare") == []
