"""Harmless slips of a model are mended and noted; whatever might mean something else goes back."""

from typing import Any

import pytest

from nodes.endpoint.mending import mended
from tests.endpoint.office import Office, steps_of
from tests.support.openai_server import OpenAIServer, Reply, obj

REGISTRY = Office().tools()


def search(step_id: Any, **more: Any) -> dict[str, Any]:
    return {"id": step_id, "action": "tool", "tool": "web_search", "args": {"query": "q"}, **more}


def write(step_id: str, content: str = "x", **more: Any) -> dict[str, Any]:
    args = {"path": "p", "content": content}
    return {"id": step_id, "action": "tool", "tool": "write_file", "args": args, **more}


def mend(
    *steps: dict[str, Any], known: frozenset[str] = frozenset()
) -> tuple[list[dict[str, Any]], list[str]]:
    plan = mended({"steps": list(steps)}, REGISTRY, known)
    return plan["steps"], plan.get("repairs", [])


@pytest.mark.parametrize("zero", ["0", 0, "s0", "step 0", "step_0", "Step0"])
def test_a_dependency_on_step_zero_is_dropped(zero: Any) -> None:
    steps, notes = mend(search("s1"), write("s2", depends_on=[zero]))
    assert steps[1]["depends_on"] == []
    assert len(notes) == 1
    assert notes[0].startswith("s2: dropped the dependency")


def test_a_dependency_on_no_step_is_dropped_where_the_order_stays() -> None:
    steps, notes = mend(
        search("s1", depends_on=["s7"]),
        search("s2", depends_on=["s8"]),
        write("s3", depends_on=["s9", "s1"]),
        write("s4", content="${s2}", depends_on=["s9"]),
    )
    assert [step["depends_on"] for step in steps] == [[], [], ["s1"], []]
    assert len(notes) == 4


def test_a_dependency_that_may_be_what_a_write_waits_for_stays() -> None:
    steps, notes = mend(search("s1"), write("s2", depends_on=["s9"]))
    assert steps[1]["depends_on"] == ["s9"]
    assert notes == []


def test_a_dependency_that_a_reference_needs_or_that_is_done_stays() -> None:
    steps, notes = mend(
        search("s1", args={"query": "${s9}"}, depends_on=["s9"]),
        search("s2", depends_on=["done"]),
        known=frozenset({"done"}),
    )
    assert [step["depends_on"] for step in steps] == [["s9"], ["done"]]
    assert notes == []


def test_unknown_fields_that_say_nothing_are_dropped_and_others_stay() -> None:
    args = {"query": "q", "limit": None, "site": "", "page": 2}
    (step,), notes = mend(search("s1", only_if="", note=None, loop=[], why="because", risk="", args=args))
    assert step == search("s1", why="because", risk="", args={"query": "q", "page": 2})
    assert len(notes) == 5


def test_a_number_becomes_text_only_where_a_tool_takes_nothing_but_text() -> None:
    args = {"slot": {"start": "now"}, "count": 3, "tags": [1, "b"], "note": 2.5}
    (step,), notes = mend({"id": "s1", "tool": "book", "action": "tool", "args": args})
    assert step["args"] == {"slot": {"start": "now"}, "count": 3, "tags": ["1", "b"], "note": "2.5"}
    assert len(notes) == 2
    (step,), notes = mend(search("s1", args={"query": True}))
    assert (step["args"], notes) == ({"query": True}, [])


def test_null_says_nothing_where_the_schema_asks_for_it_and_elsewhere_stays() -> None:
    (step,), notes = mend(search("s1", require_approval=None, optional=None, risk=None))
    assert (step, notes) == (search("s1", risk=None), [])


def test_a_needed_argument_that_is_null_is_left_open_where_there_is_something_to_choose_from() -> None:
    args = {"query": None}
    steps, notes = mend(search("s1", args=args), search("s2", args=args, depends_on=["s1"]))
    assert steps[0]["args"] == {"query": None}
    assert "fill" not in steps[0]
    assert (steps[1]["args"], steps[1]["fill"]) == ({}, ["query"])
    assert notes == []


def test_null_for_an_argument_that_takes_null_or_anything_is_its_value() -> None:
    (_first, step), _notes = mend(
        search("s1"), write("s2", depends_on=["s1"], args={"path": "p", "content": None})
    )
    assert step["args"] == {"path": "p", "content": None}


def test_options_are_the_steps_own_words() -> None:
    said = {"on_dependency_failure": None, "optional": True, "require_approval": None}
    steps, notes = mend(
        search("s1", options=said),
        search("s2", options=None),
        search("s3", options={"optional": "x", "n": 1}),
    )
    assert steps[0] == search("s1", optional=True)
    assert steps[1] == search("s2")
    assert steps[2]["options"] == {"optional": "x", "n": 1}, "what is not known is for the check to refuse"
    assert notes == []


@pytest.mark.parametrize("own", [None, True, False])
def test_options_never_make_a_step_less_careful(own: bool | None) -> None:
    (step,), _notes = mend(search("s1", require_approval=own, options={"require_approval": True}))
    assert step.get("require_approval") is (own is not False)
    assert ("options" in step) is (own is False), "a contradiction is for the check to refuse"


def test_a_missing_action_follows_from_the_fields_where_they_agree() -> None:
    look = {"id": "d", "instruction": "look", "tools": ["web_search"]}
    steps, notes = mend(
        {"id": "a", "tool": "web_search"}, {"id": "b", "instruction": "think"}, {"id": "c"}, look
    )
    assert [step.get("action") for step in steps] == ["tool", "llm", None, "agent"]
    assert notes == [], "a plan's schema does not ask for it"


@pytest.mark.parametrize("plan", [{}, {"steps": None}, {"steps": [1]}, {"steps": "s1"}])
def test_what_is_no_plan_is_left_as_it_is(plan: dict[str, Any]) -> None:
    assert mended(plan, REGISTRY, frozenset()) == plan


async def test_repairs_are_noted_in_the_revision_and_cost_no_call() -> None:
    steps = [search("s1", depends_on=["s0"], args={"query": 42}), write("s2", content="${s1}", only_if="")]
    with OpenAIServer(obj({"plan": {"steps": steps}})) as server:
        result = await Office().run(server, approve_at="never")
    assert steps_of(result) == ["s1:succeeded", "s2:succeeded"], result["reason"]
    assert len(result["plan"]["repairs"]) == 3
    assert len(server.requests) == 1


async def test_a_model_cannot_write_its_own_repairs() -> None:
    with OpenAIServer(obj({"plan": {"steps": [search("s1")], "repairs": ["all is well"]}})) as server:
        result = await Office().run(server)
    assert "repairs" not in result["plan"]


async def test_what_is_not_mended_goes_back_with_codes_and_step_ids() -> None:
    bad = {"plan": {"steps": [search("s1"), write("s2", depends_on=["s9"], risk="none")]}}
    good = {"plan": {"steps": [search("s1")]}}
    with OpenAIServer([obj(bad), obj(good)]) as server:
        result = await Office().run(server, word_answers=False)
    assert steps_of(result) == ["s1:succeeded"]
    told = server.requests[1]["messages"][-1]["content"]
    assert "bad_plan in s2" in told
    assert "risk" in told


def test_an_empty_list_to_go_over_is_no_stranger() -> None:
    given = {"id": "m", "action": "map", "over": [], "step": {"action": "llm", "instruction": "say ${item}"}}
    (step,), notes = mend(given)
    assert step == given
    assert notes == []


def test_a_lookup_that_is_said_again_is_dropped_where_nothing_names_it() -> None:
    again = [search(f"s{n}") for n in range(3, 20)]
    steps, notes = mend(search("s1"), write("s2", "${s1}"), *again)
    assert [step["id"] for step in steps] == ["s1", "s2"]
    assert len(notes) == len(again)
    assert notes[0] == "s3: dropped, the same lookup as s1"


def test_a_lookup_that_is_said_again_behind_other_lookups_is_dropped_with_those_behind_it() -> None:
    chain = [search(f"s{n}", depends_on=[f"s{n - 1}"]) for n in range(2, 20)]
    steps, notes = mend(
        search("s1"), *chain, search("t", args={"query": "other"}), write("u", depends_on=["t"])
    )
    assert [step["id"] for step in steps] == ["s1", "t", "u"]
    assert len(notes) == len(chain)


@pytest.mark.timeout(30)
def test_thousands_of_them_hold_nothing_up() -> None:
    chain = [search(f"s{n}", depends_on=[f"s{n - 1}"]) for n in range(2, 5_000)]
    steps, _notes = mend(search("s1"), *chain)
    assert [step["id"] for step in steps] == ["s1"]


@pytest.mark.parametrize(
    "steps",
    [
        [search("s1"), search("s2", args={"query": "other"})],
        [search("s1"), search("s2"), write("s3", "${s2}")],
        [search("s1"), search("s2"), write("s3", depends_on=["s2"])],
        [search("s1"), search("g", when="s1 == 'x'", args={"query": "g"}), search("d", depends_on=["g"]),
         write("w", depends_on=["d"])],
        [search("s1"), write("s2"), search("s2"), write("s3", depends_on=["s2"])],
        [search("s1"), search("s2"), write("s2"), write("s3", depends_on=["s2"])],
        [write("w"), search("f", args={"query": "${w}"}), search("g1"), search("g2", depends_on=["f"])],
        [write("w"), search("f", when="w == 'ok'", args={"query": "f"}), search("g1"),
         search("g2", depends_on=["f"])],
        [search("s1"), search("s2"), search("s3", when="s1 == 'x' &&\ns2 == 'y'")],
        [search("s1"), search("s2"), write("s3", "${steps['s\\x32']}")],
        [search("s1"), search("s2"), write("s3", depends_on="s2, s1")],
        [search("s1"), search("s2"), write("s3", depends_on={"s2": 1})],
        [search("s1"), search(None), write("s3", depends_on=["None"])],
        [search("s1"), write("s2"), search("s3", depends_on=["s2"])],
        [search("s1"), write("s2"), search("s3", depends_on=["s2"]), search("s4", depends_on=["s3"])],
        [search("s1"), search(True), search("s3", args={"query": "other"})],
        [
            search("s1"),
            search("s2", args={"query": None}),
            search("s3", args={"query": None}, depends_on=["s1"]),
        ],
        [search("查1"), search("查2"), write("s3", "结果是${查2}")],
        [search("a-1"), search("a-2"), write("s3", "${steps['a-2']}")],
        [search("s1"), search("s2", when="s1 == 'x'")],
        [write("s1"), write("s2")],
        [search("s1"), search("s1")],
        [search("--"), search("++")],
    ],
)  # fmt: skip
def test_what_may_be_another_step_is_kept(steps: list[dict[str, Any]]) -> None:
    kept, _notes = mend(*steps)
    assert [step["id"] for step in kept] == [step["id"] for step in steps]


async def test_a_model_that_goes_on_and_on_ends_before_its_answer_is_cut_off() -> None:
    def reply(body: dict[str, Any]) -> Reply:
        schema = body["response_format"]["json_schema"]["schema"]
        (plan,) = (
            k["properties"]["plan"] for k in schema["properties"]["reply"]["anyOf"] if "plan" in k["required"]
        )
        most = plan["properties"]["steps"]["maxItems"]
        assert most == 20
        return obj({"plan": {"steps": [search(f"s{n}") for n in range(1, most + 1)]}})

    with OpenAIServer(reply) as server:
        result = await Office().run(server, word_answers=False, max_output_tokens=1_000)
    assert steps_of(result) == ["s1:succeeded"]
    assert len(result["plan"]["repairs"]) == 19
