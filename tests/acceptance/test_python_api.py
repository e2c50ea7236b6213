"""The graph from Python: an ordinary compiled LangGraph graph, in any loop, with plans, failures, people."""

import asyncio
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from tests.acceptance.support import (
    BASE_PLAN,
    DOCUMENT_KEYS,
    STEP_KEYS,
    Toolbox,
    build,
    by_id,
    given,
    opened,
    outputs,
    plan,
    planner,
    replans,
    statuses,
    step,
    thread,
    waiting_steps,
    write,
)

NODES = {"planner", "scheduler", "approval", "executor", "validator", "replanner", "reporter"}
GOOD = plan(step("find", "web_search", {"query": "q"}), write("save", "${find.items[1].name}"))
TWO_TO_APPROVE = plan(
    write("s1", "one", require_approval=True),
    write("s2", "two", require_approval=True),
    step("s3", "web_search", {"query": "beside"}),
)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def store(database: Path) -> Iterator[Any]:
    with opened(database) as both:
        yield both


def stored(toolbox: Toolbox, store: Any, **more: Any) -> Any:
    return build(toolbox, checkpointer=store.checkpointer, store=store.store, **more)


def done(result: dict[str, Any]) -> None:
    assert result["status"] == "succeeded", result
    assert result["success"] is True
    assert outputs(result)["find"]["count"] == 3
    assert outputs(result)["save"] == "save.md"


# ------------------------------------------------------------------------------------ ways to call it


def test_invoke_gives_the_documented_output(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)

    result = graph.invoke(given(GOOD), thread())

    assert isinstance(graph, CompiledStateGraph)
    assert set(graph.get_graph().nodes) >= NODES
    assert result.keys() >= DOCUMENT_KEYS
    done(result)
    assert all(row.keys() >= STEP_KEYS for row in result["steps"])
    assert result["answer"]
    assert list(result["pending"]) == []
    assert len(list(graph.get_state_history(thread()))) > 1


def test_no_checkpointer_is_needed_for_a_plan_that_asks_nobody(toolbox: Toolbox) -> None:
    done(build(toolbox).invoke(given(GOOD)))


def test_a_plan_object_is_as_good_as_a_dict(toolbox: Toolbox, store: Any) -> None:
    from graph.plan import Plan

    made = Plan.model_validate(GOOD)

    done(stored(toolbox, store).invoke({"goal": "g", "plan": made}, thread()))


async def test_ainvoke_and_invoke_work_in_a_running_loop(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)

    done(await graph.ainvoke(given(GOOD), thread("asynchronous")))
    done(graph.invoke(given(GOOD), thread("synchronous")))  # a notebook's cell


def test_stream_tells_of_the_nodes_and_ends_with_the_output(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)

    told = {
        name for update in graph.stream(given(GOOD), thread("a"), stream_mode="updates") for name in update
    }
    values = list(graph.stream(given(GOOD), thread("b"), stream_mode="values"))

    assert told <= NODES
    assert told >= {"planner", "scheduler", "executor", "reporter"}
    done(values[-1])


async def test_astream_does_the_same(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)

    values = [value async for value in graph.astream(given(GOOD), thread(), stream_mode="values")]

    done(values[-1])


def test_one_graph_works_in_two_loops_one_after_the_other(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)

    done(asyncio.run(graph.ainvoke(given(GOOD), thread("one"))))
    done(asyncio.run(graph.ainvoke(given(GOOD), thread("two"))))
    done(graph.invoke(given(GOOD), thread("three")))


def test_many_runs_at_once_keep_apart(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)

    async def all_of_them() -> list[dict[str, Any]]:
        plans = [plan(step("find", "plain", {"text": f"run {number}"})) for number in range(8)]
        return list(
            await asyncio.gather(
                *(graph.ainvoke(given(each), thread(f"run-{number}")) for number, each in enumerate(plans))
            )
        )

    results = asyncio.run(all_of_them())

    assert [outputs(each)["find"] for each in results] == [f"run {number}" for number in range(8)]


async def test_the_store_opens_with_async_with_and_keeps_its_runs(toolbox: Toolbox, database: Path) -> None:
    async with opened(database) as both:
        waiting = await stored(toolbox, both).ainvoke(given(BASE_PLAN), thread())
        assert waiting_steps(waiting) == {"s2"}
    async with opened(database) as both:
        result = await stored(toolbox, both).ainvoke(
            Command(resume={"s2": {"decision": "approve"}}), thread()
        )

    assert result["status"] == "succeeded"
    assert len(toolbox.calls("web_search")) == 1


def test_a_breakpoint_stops_before_its_node(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store, interrupt_before=["reporter"])

    graph.invoke(given(GOOD), thread())
    assert graph.get_state(thread()).next == ("reporter",)

    done(graph.invoke(None, thread()))
    assert len(toolbox.calls()) == 2


def test_strict_serialisation_warns_of_nothing(
    toolbox: Toolbox, database: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")
    with opened(database) as both:
        before = stored(toolbox, both).invoke(given(BASE_PLAN), thread())
    with opened(database) as both:
        after = stored(toolbox, both).invoke(Command(resume={"s2": {"decision": "approve"}}), thread())

    assert after["status"] == "succeeded"
    assert json.dumps(before["plan"], default=str) == json.dumps(after["plan"], default=str)
    assert "unregistered" not in caplog.text


# ------------------------------------------------------------------------------- references and order


def test_references_keep_types_and_go_any_depth(toolbox: Toolbox) -> None:
    content = {
        "whole": "${a}",
        "number": "${a.count}",
        "sum": "${a.count + 1}",
        "list": ["${a.items[0].name}", "x${a.count}y${b.count}z"],
        "escaped": "$${a.count}",
        "condition": "${a.count > 2}",
    }
    steps = plan(
        step("a", "web_search", {"query": "1"}), step("b", "web_search", {"query": "2"}), write("c", content)
    )

    result = build(toolbox).invoke(given(steps))

    assert result["status"] == "succeeded"
    assert toolbox.calls("write_file")[0]["content"] == {
        "whole": outputs(result)["a"],
        "number": 3,
        "sum": 4,
        "list": ["x", "x3y3z"],
        "escaped": "${a.count}",
        "condition": True,
    }


def test_ids_that_cel_cannot_name_are_referable(toolbox: Toolbox) -> None:
    steps = plan(step("步骤一", "web_search", {"query": "q"}), write("w", "${steps['步骤一'].count}"))

    assert build(toolbox).invoke(given(steps))["status"] == "succeeded"
    assert toolbox.calls("write_file")[0]["content"] == 3


def test_a_condition_routes_or_is_refused_and_is_never_ignored(toolbox: Toolbox) -> None:
    routed = plan(
        step("a", "web_search", {"query": "q"}),
        step("many", "plain", {"text": "many"}, when="a.count > 2"),
        step("few", "plain", {"text": "few"}, when="a.count <= 2"),
        step("fewer", "plain", {"text": "${few}"}),
        write("join", ["${many}", "${few}"]),
    )

    try:
        result = build(toolbox).invoke(given(routed))
    except Exception as error:  # noqa: BLE001 - a version without conditions says so
        assert type(error).__name__ == "PlanError"  # noqa: PT017
        assert "when" in str(error)  # noqa: PT017
        assert toolbox.calls() == []
        return

    assert result["status"] == "succeeded"
    assert statuses(result) == {
        "a": "succeeded", "many": "succeeded", "few": "not_taken", "fewer": "not_taken", "join": "succeeded",
    }  # fmt: skip
    assert toolbox.calls("write_file")[0]["content"] == ["many", None]


def _uneven() -> dict[str, Any]:
    return plan(
        step("slow", "pause", {"seconds": 1.5, "label": "slow"}),
        step("q1", "pause", {"seconds": 0.01, "label": "q1"}),
        step("q2", "pause", {"seconds": 0.01, "label": "q2"}, depends_on=["q1"]),
        step("q3", "pause", {"seconds": 0.01, "label": "q3"}, depends_on=["q2"]),
        write("join", "${slow} ${q3}"),
    )


def test_a_ready_step_does_not_wait_for_an_unrelated_slow_one(toolbox: Toolbox, store: Any) -> None:
    result = stored(toolbox, store).invoke(given(_uneven()), thread())

    assert result["status"] == "succeeded"
    assert toolbox.moments("pause", "end")["q3"] < toolbox.moments("pause", "end")["slow"]


def test_layers_give_the_same_results_as_lanes(tmp_path: Path, store: Any) -> None:
    mixed = plan(
        *_uneven()["steps"],
        step("bad", "missing", {"what": "it"}, optional=True),
        write("late", "${bad}", on_dependency_failure="degrade"),
        write("never", "${bad}", on_dependency_failure="skip"),
    )
    results = []
    for scheduling in ("lanes", "layered"):
        folder = tmp_path / scheduling
        folder.mkdir()
        toolbox = Toolbox.written(folder)
        graph = stored(toolbox, store, settings={"scheduling": scheduling})
        results.append((graph.invoke(given(mixed), thread(scheduling)), toolbox))

    (lanes, lane_calls), (layered, layer_calls) = results
    for key in ("status", "success", "reason"):
        assert layered[key] == lanes[key]
    assert statuses(layered) == statuses(lanes)
    assert outputs(layered) == outputs(lanes)
    assert {call["path"]: call["content"] for call in layer_calls.calls("write_file")} == {
        call["path"]: call["content"] for call in lane_calls.calls("write_file")
    }
    ended = layer_calls.moments("pause", "end")
    assert ended["slow"] < layer_calls.moments("pause", "begin")["q2"], "a layer ends before the next begins"


def test_a_tools_own_cap_is_kept(toolbox: Toolbox) -> None:
    toolbox.path.write_text(
        toolbox.path.read_text("utf-8").replace(
            '@policy(effect="read")\n@tool\ndef pause',
            '@policy(effect="read", max_concurrency=1)\n@tool\ndef pause',
        ),
        encoding="utf-8",
    )
    names = [f"p{number}" for number in range(4)]

    result = build(toolbox).invoke(
        given(plan(*(step(each, "pause", {"seconds": 0.1, "label": each}) for each in names)))
    )

    assert result["status"] == "succeeded"
    begins, ends = toolbox.moments("pause", "begin"), toolbox.moments("pause", "end")
    order = sorted(names, key=lambda name: begins[name])
    assert all(ends[before] <= begins[after] for before, after in pairwise(order))


# -------------------------------------------------------------------------------------------- failures


def test_abort_ends_the_run_and_tells_what_was_done(toolbox: Toolbox) -> None:
    steps = plan(
        write("first", "done before"),
        step("bad", "missing", {"what": "order"}, depends_on=["first"]),
        write("after", "${bad}"),
    )

    result = build(toolbox).invoke(given(steps))

    assert result["status"] in {"failed", "partial"}
    assert result["success"] is False
    assert result["reason"]
    rows = by_id(result)
    assert rows["first"]["status"] == "succeeded"
    assert rows["bad"]["status"] == "failed"
    assert rows["bad"]["attempts"] == 1
    assert rows["after"]["status"] not in {"succeeded", "running"}
    assert [call["path"] for call in toolbox.calls("write_file")] == ["first.md"]
    assert len(toolbox.calls("missing")) == 1
    assert len(result["effects"]) == 1


def test_skip_settles_a_dependent_without_a_replan(toolbox: Toolbox) -> None:
    steps = plan(
        step("bad", "missing", {"what": "it"}),
        write("skipped", "${bad}", on_dependency_failure="skip"),
        write("on", "${skipped}", on_dependency_failure="degrade"),
        write("beside", "x"),
    )

    result = build(toolbox).invoke(given(steps))

    assert statuses(result) == {
        "bad": "failed",
        "skipped": "skipped",
        "on": "succeeded",
        "beside": "succeeded",
    }
    assert replans(result) == 0
    assert result["status"] in {"succeeded", "partial"}
    assert {call["path"]: call["content"] for call in toolbox.calls("write_file")} == {
        "on.md": None, "beside.md": "x",
    }  # fmt: skip


def test_degrade_runs_with_null_for_what_is_missing(toolbox: Toolbox) -> None:
    steps = plan(
        step("bad", "missing", {"what": "it"}),
        step("good", "web_search", {"query": "q"}),
        write("both", {"bad": "${bad}", "good": "${good.count}"}, on_dependency_failure="degrade"),
    )

    result = build(toolbox).invoke(given(steps))

    assert statuses(result) == {"bad": "failed", "good": "succeeded", "both": "succeeded"}
    assert replans(result) == 0
    assert toolbox.calls("write_file")[0]["content"] == {"bad": None, "good": 3}


def test_an_optional_leaf_may_fail(toolbox: Toolbox) -> None:
    steps = plan(
        step("bad", "missing", {"what": "it"}, optional=True), step("good", "plain", {"text": "fine"})
    )

    result = build(toolbox).invoke(given(steps))

    assert result["status"] == "succeeded"
    assert statuses(result) == {"bad": "failed", "good": "succeeded"}
    assert replans(result) == 0


def test_a_soft_failure_is_tried_again_and_a_hard_one_is_not(toolbox: Toolbox) -> None:
    steps = plan(
        step("soft", "flaky", {"times": 2, "label": "soft"}, max_attempts=3),
        step("softer", "flaky", {"times": 9, "label": "softer"}, max_attempts=2, optional=True),
        step("hard", "missing", {"what": "it"}, max_attempts=3, optional=True),
    )

    result = build(toolbox).invoke(given(steps))

    rows = by_id(result)
    assert (rows["soft"]["status"], rows["soft"]["attempts"], rows["soft"]["output"]) == ("succeeded", 3, 3)
    assert (rows["softer"]["status"], rows["softer"]["attempts"]) == ("failed", 2)
    assert "busy" in json.dumps(rows["softer"]["error"], default=str)
    assert (rows["hard"]["status"], rows["hard"]["attempts"]) == ("failed", 1)
    assert len(toolbox.calls("missing")) == 1


def test_an_unknown_outcome_waits_for_a_person(toolbox: Toolbox, store: Any) -> None:
    steps = plan(step("t", "transfer", {"to": "bank"}, max_attempts=3), write("after", "${t}"))

    result = stored(toolbox, store).invoke(given(steps), thread())

    assert result["status"] == "waiting"
    assert statuses(result)["t"] == "unknown"
    assert [(each["step"], each["kind"]) for each in result["pending"]] == [("t", "outcome")]
    assert len(toolbox.calls("transfer")) == 1
    assert toolbox.calls("write_file") == []


def test_a_thread_whose_run_has_not_ended_takes_no_other(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)
    assert graph.invoke(given(BASE_PLAN), thread())["status"] == "waiting"
    calls = len(toolbox.calls())

    with pytest.raises(Exception, match="t1") as caught:
        graph.invoke(given(plan(write("other"))), thread())

    assert type(caught.value).__name__ == "RunExistsError"
    assert len(toolbox.calls()) == calls


def test_a_thread_whose_run_has_ended_takes_the_next(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)
    done(graph.invoke(given(GOOD), thread()))
    calls = len(toolbox.calls())

    done(graph.invoke(given(GOOD), thread()))

    assert len(toolbox.calls()) == 2 * calls


# ------------------------------------------------------------------------------------------- approvals


def test_a_bare_approve_answers_the_only_question(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)
    waiting = graph.invoke(given(BASE_PLAN), thread())
    assert waiting["status"] == "waiting"
    (asked,) = waiting["pending"]
    assert {"id", "kind", "step", "tool", "args", "risk", "reason", "revision", "digest"} <= asked.keys()
    assert (asked["kind"], asked["step"], asked["tool"]) == ("approval", "s2", "write_file")
    assert asked["args"]["content"] == outputs(waiting)["s1"]

    result = graph.invoke(Command(resume="approve"), thread())

    assert result["status"] == "succeeded"
    assert toolbox.calls("write_file")[0]["content"] == asked["args"]["content"]


@pytest.mark.parametrize("by", ["step", "id"])
def test_an_answer_names_its_question_by_step_or_by_id(toolbox: Toolbox, store: Any, by: str) -> None:
    graph = stored(toolbox, store)
    waiting = graph.invoke(given(TWO_TO_APPROVE), thread())
    names = {str(each["step"]): str(each[by]) for each in waiting["pending"]}

    second = graph.invoke(Command(resume={names["s2"]: {"decision": "approve", "by": "ann"}}), thread())
    assert waiting_steps(second) == {"s1"}
    assert [call["path"] for call in toolbox.calls("write_file")] == ["s2.md"]
    result = graph.invoke(Command(resume={names["s1"]: {"decision": "approve"}}), thread())

    assert result["status"] == "succeeded"
    assert [call["path"] for call in toolbox.calls("write_file")] == ["s2.md", "s1.md"]
    assert len(toolbox.calls("web_search")) == 1


def test_several_questions_are_answered_in_one_go(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)
    graph.invoke(given(TWO_TO_APPROVE), thread())

    result = graph.invoke(
        Command(
            resume={
                "s1": {"decision": "approve"},
                "s2": {"decision": "reject", "reason": "no", "then": "skip"},
            }
        ),
        thread(),
    )

    assert statuses(result) == {"s1": "succeeded", "s2": "rejected", "s3": "succeeded"}
    assert [call["path"] for call in toolbox.calls("write_file")] == ["s1.md"]


def test_edited_arguments_are_what_runs(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)
    graph.invoke(given(BASE_PLAN), thread())

    edited = {"path": "mine.md", "content": {"my": "words"}}
    result = graph.invoke(Command(resume={"s2": {"decision": "edit", "args": edited}}), thread())

    assert result["status"] == "succeeded"
    (written,) = toolbox.calls("write_file")
    assert {"path": written["path"], "content": written["content"]} == edited


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("approve", id="which one"),
        pytest.param({"s9": {"decision": "approve"}}, id="no such step"),
        pytest.param({"f" * 32: {"decision": "approve"}}, id="no such id"),
        pytest.param({"s3": {"decision": "approve"}}, id="a step that asks nothing"),
        pytest.param({"s1": {"decision": "perhaps"}}, id="no decision"),
        pytest.param({"s1": {"decision": "reject", "reason": "no", "then": "dance"}}, id="no consequence"),
        pytest.param({"s1": True}, id="a flag"),
        pytest.param("yes please", id="prose"),
        pytest.param([], id="a list"),
    ],
)
def test_what_is_no_answer_leaves_the_questions_open(toolbox: Toolbox, store: Any, answer: Any) -> None:
    graph = stored(toolbox, store)
    graph.invoke(given(TWO_TO_APPROVE), thread())

    with pytest.raises(Exception, match=r"\S") as caught:
        graph.invoke(Command(resume=answer), thread())

    assert type(caught.value).__name__ == "ApprovalError"
    assert any(word in str(caught.value) for word in ("s1", "dance", "perhaps"))
    assert toolbox.calls("write_file") == []
    both = {name: {"decision": "approve"} for name in ("s1", "s2")}
    assert graph.invoke(Command(resume=both), thread())["status"] == "succeeded"
    assert len(toolbox.calls("write_file")) == 2
    assert len(toolbox.calls("web_search")) == 1


def test_an_answer_is_used_once(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)
    graph.invoke(given(BASE_PLAN), thread())
    graph.invoke(Command(resume={"s2": {"decision": "approve"}}), thread())

    with pytest.raises(Exception, match=r"\S") as caught:
        graph.invoke(Command(resume={"s2": {"decision": "approve"}}), thread())

    assert type(caught.value).__name__ == "ApprovalError"
    assert len(toolbox.calls("write_file")) == 1


# ------------------------------------------------------------------------------ planning and replanning


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


def test_a_plan_with_problems_goes_back_to_the_planner(toolbox: Toolbox) -> None:
    wrong = plan(step("s1", "web_serch", {"query": "q"}), goal="find q")
    right = plan(step("s1", "web_search", {"query": "q"}), goal="find q")
    model = planner(wrong, "not even JSON", right)

    result = build(toolbox, models={"planner": model}).invoke({"goal": "find q", "plan": None})

    assert result["status"] == "succeeded"
    assert len(model.prompts) == 3
    assert "web_serch" in model.prompts[1]
    assert len(toolbox.calls()) == 1


def test_a_planner_that_never_learns_is_stopped(toolbox: Toolbox) -> None:
    model = planner(plan(step("s1", "web_serch", {"query": "q"}), goal="find q"))

    result = build(toolbox, models={"planner": model}).invoke({"goal": "find q", "plan": None})

    assert result["status"] == "failed"
    assert "web_serch" in str(result["reason"])
    assert len(model.prompts) == 3
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


# --------------------------------------------------------------------------------------------- llm steps


def test_an_llm_step_is_asked_once_even_if_the_run_waits_after_it(toolbox: Toolbox, database: Path) -> None:
    steps = plan(
        step("find", "web_search", {"query": "q"}),
        {"id": "judge", "action": "llm", "instruction": "Say who ${find.items[0].name} is."},
        write("save", "${judge}", require_approval=True),
    )
    model = planner("x is a letter", "something else")
    with opened(database) as both:
        waiting = stored(toolbox, both, models={"executor": model}).invoke(given(steps), thread())
        assert waiting_steps(waiting) == {"save"}
        assert "Say who x is." in model.prompts[0]
    with opened(database) as both:
        result = stored(toolbox, both, models={"executor": model}).invoke(Command(resume="approve"), thread())

    assert result["status"] == "succeeded"
    assert len(model.prompts) == 1
    assert outputs(result)["judge"] == "x is a letter"
    assert toolbox.calls("write_file")[0]["content"] == "x is a letter"


def test_an_answer_outside_the_choices_is_sent_back_with_the_reason(toolbox: Toolbox) -> None:
    steps = plan({"id": "judge", "action": "llm", "instruction": "Is it late?", "choices": ["yes", "no"]})
    learns, never = planner("perhaps", "yes"), planner("perhaps")

    good = build(toolbox, models={"executor": learns}).invoke(given(steps))
    bad = build(toolbox, models={"executor": never}).invoke(given(steps))

    assert outputs(good) == {"judge": "yes"}
    assert len(learns.prompts) == 2
    assert bad["status"] == "failed"
    assert statuses(bad) == {"judge": "failed"}
    assert len(never.prompts) == 3


def test_an_llm_steps_schema_gives_an_object(toolbox: Toolbox) -> None:
    schema = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}
    steps = plan(
        {"id": "judge", "action": "llm", "instruction": "How late?", "output_schema": schema},
        write("save", "${judge.days + 1}"),
    )
    model = planner('{"days": "many"}', '{"days": 4}')

    result = build(toolbox, models={"executor": model}).invoke(given(steps))

    assert result["status"] == "succeeded"
    assert outputs(result)["judge"] == {"days": 4}
    assert toolbox.calls("write_file")[0]["content"] == 5
    assert len(model.prompts) == 2


def test_an_llm_step_without_a_model_is_refused_before_anything_runs(toolbox: Toolbox) -> None:
    steps = plan(
        step("find", "web_search", {"query": "q"}),
        {"id": "judge", "action": "llm", "instruction": "Say ${find.count}."},
    )

    with pytest.raises(Exception, match=r"(?i)model"):
        build(toolbox).invoke(given(steps))

    assert toolbox.calls() == []
