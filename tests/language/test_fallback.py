"""What is called when a step's own work has failed for good."""

import pytest
from langgraph.types import interrupt

from tests.language.support import Desk, breaks, code, gets_lost, gives, row, statuses, stays_busy, step
from tests.support.models import says

ASKED = {"tool": "ask", "args": {"of": "instead"}}


@pytest.mark.parametrize(
    ("does", "found", "tries"), [(breaks(), "gone", 1), (stays_busy, "soft_tool_error", 2)]
)
async def test_a_fallback_gives_the_steps_result(desk: Desk, does: object, found: str, tries: int) -> None:
    desk.office.does["look"] = does  # type: ignore[assignment]

    document = await desk.run(
        step("first", "look", fallback=ASKED, max_attempts=2), step("then", "send", "${first.of}")
    )

    assert statuses(document) == {"first": "succeeded", "then": "succeeded"}
    assert desk.office.did("look") == ["first"] * tries
    assert (desk.office.did("ask"), desk.office.did("send")) == (["instead"], ["instead"])
    told = row(document, "first")
    assert (told["fallback_tool"], told["attempts"]) == ("ask", tries + 1)
    assert told["note"].startswith(f"by fallback ask after {found}: ")


async def test_a_fallback_without_arguments_takes_those_of_the_step(desk: Desk) -> None:
    desk.office.does["look"] = breaks()

    await desk.run(step("before", "ask"), step("first", "look", "${before.of}", fallback="ask"))

    assert desk.office.did("ask") == ["before", "before"]


async def test_when_both_fail_the_step_tells_of_both(desk: Desk) -> None:
    desk.office.does |= {"look": breaks(), "ask": breaks("shut")}

    document = await desk.run(step("first", "look", fallback=ASKED))

    assert code(document, "first") == "gone"
    words = row(document, "first")["error"]["message"]
    assert words == "it is gone; its fallback tool ask failed too: shut: it is shut"


def goes_silent() -> object:
    raise TimeoutError("no answer")


async def test_a_write_that_may_have_happened_under_its_key_is_not_made_by_another_tool(desk: Desk) -> None:
    desk.office.does["post"] = goes_silent

    document = await desk.run(step("mail", "post", fallback="send", max_attempts=2))

    assert (document["status"], code(document, "mail")) == ("failed", "timeout")
    assert (desk.office.did("post"), desk.office.did("send")) == (["mail"] * 2, [])


async def test_a_lookup_may_take_the_place_of_a_write_that_may_have_happened(desk: Desk) -> None:
    desk.office.does["post"] = goes_silent

    document = await desk.run(step("mail", "post", fallback="ask", max_attempts=2))

    assert (document["status"], desk.office.did("ask")) == ("succeeded", ["mail"])


async def test_a_write_in_doubt_is_never_followed_by_a_fallback(desk: Desk) -> None:
    desk.office.does["send"] = gets_lost

    waiting = await desk.run(step("mail", "send", fallback="post"))

    assert [(each["kind"], each["tool"]) for each in waiting["pending"]] == [("outcome", "send")]
    assert desk.office.did("post") == []

    desk.office.does["send"] = breaks()
    document = await desk.resume({"mail": "not_happened"})

    assert (document["status"], desk.office.did("post")) == ("succeeded", ["mail"])


async def test_a_write_that_surely_did_not_happen_is_made_by_another_tool(desk: Desk) -> None:
    desk.office.does["send"] = [gets_lost, stays_busy]

    await desk.run(step("mail", "send", fallback="post", max_attempts=2))
    document = await desk.resume({"mail": "not_happened"})

    assert (document["status"], desk.office.did("post")) == ("succeeded", ["mail"])


async def test_a_fallback_in_doubt_is_asked_about_as_what_it_is(desk: Desk) -> None:
    desk.office.does |= {"look": breaks(), "send": gets_lost}

    waiting = await desk.run(step("first", "look", fallback={"tool": "send", "args": {"of": 7}}))

    (question,) = waiting["pending"]
    assert (question["kind"], question["tool"], question["args"]) == ("outcome", "send", {"of": 7})

    document = await desk.resume({"first": {"decision": "happened", "result": {"ok": True}}})

    assert (document["status"], row(document, "first")["output"]) == ("succeeded", {"ok": True})
    assert desk.office.did("look") == ["first"]
    assert [effect["tool"] for effect in document["effects"]] == ["send"]


async def test_a_fallback_that_needs_approval_is_shown_and_waits(desk: Desk) -> None:
    desk.policies = {"send": {"risk": "high"}}
    desk.office.does["look"] = breaks()

    waiting = await desk.run(
        step("first", "look", fallback={"tool": "send", "args": {"of": "${params.to}"}}), params={"to": "Ann"}
    )

    (question,) = waiting["pending"]
    assert (question["tool"], question["args"], question["risk"]) == ("send", {"of": "Ann"}, "high")
    assert desk.office.did("send") == []

    document = await desk.resume({"first": {"decision": "edit", "args": {"of": "Bob"}}})

    assert document["status"] == "succeeded"
    assert (desk.office.did("look"), desk.office.did("send")) == (["first"], ["Bob"])


async def test_who_approved_the_step_has_not_approved_its_fallback(desk: Desk) -> None:
    desk.policies = {"send": {"risk": "high"}, "post": {"risk": "high"}}
    desk.office.does["send"] = breaks()

    await desk.run(step("mail", "send", fallback="post"))
    waiting = await desk.resume({"mail": {"decision": "edit", "args": {"of": "Ann"}}})

    (question,) = waiting["pending"]
    assert (question["tool"], question["args"]) == ("post", {"of": "mail"})
    assert desk.office.did("send") == ["Ann"]

    document = await desk.resume({"mail": {"decision": "reject", "reason": "no"}})

    assert statuses(document) == {"mail": "rejected"}
    assert desk.office.did("post") == []


async def test_a_rejected_step_has_no_fallback(desk: Desk) -> None:
    desk.policies = {"send": {"risk": "high"}}

    await desk.run(step("mail", "send", fallback="ask"))
    document = await desk.resume({"mail": {"decision": "reject", "reason": "no"}})

    assert (statuses(document), desk.office.calls) == ({"mail": "rejected"}, [])


async def test_a_spent_budget_has_no_fallback_and_a_larger_one_goes_on_with_it(desk: Desk) -> None:
    desk.office.does["look"] = breaks()
    desk.settings = {"max_tool_calls": 1}

    document = await desk.run(step("first", "look", fallback=ASKED))

    assert desk.office.did("ask") == []
    assert "max_tool_calls" in document["reason"]


async def test_a_models_step_falls_back_to_a_tool(desk: Desk) -> None:
    desk.models, desk.settings = says("maybe"), {"redo_attempts": 0}
    question = {"id": "word", "action": "llm", "instruction": "Say", "choices": ["yes", "no"]}

    document = await desk.run({**question, "fallback": ASKED})

    assert (document["status"], row(document, "word")["output"]) == ("succeeded", {"of": "instead"})
    assert (document["usage"]["tool_calls"], document["usage"]["model_calls"]) == (1, 1)


async def test_the_steps_own_fallback_comes_before_its_tools_policy(desk: Desk) -> None:
    desk.policies = {"look": {"fallback": "ask"}}
    desk.office.does |= {"look": breaks(), "ask:instead": breaks("shut"), "ask:first": gives("found")}

    document = await desk.run(step("first", "look", fallback=ASKED))

    assert desk.office.did("ask") == ["instead", "first"]
    assert row(document, "first")["output"] == "found"


async def test_a_fallback_is_checked_with_the_plan(desk: Desk) -> None:
    with pytest.raises(Exception, match=r"unknown_tool.*fax"):
        await desk.run(step("first", "look", fallback="fax"))
    with pytest.raises(Exception, match=r"bad_args.*fallback"):
        await desk.run(step("first", "look", fallback={"tool": "ask", "args": {"who": 1}}))


async def test_the_key_of_a_fallback_is_its_own(desk: Desk) -> None:
    desk.office.does["post"] = [breaks(), gives("done")]

    document = await desk.run(step("mail", "post", "x", fallback="post"))

    keys = [args["key"] for tool, args in desk.office.calls if tool == "post"]
    assert document["status"] == "succeeded"
    assert len(set(keys)) == len(keys) == 2


async def test_a_fallback_may_ask_a_question_of_its_own(desk: Desk) -> None:
    def asks() -> object:
        return {"said": interrupt("which one?")}

    desk.office.does |= {"look": breaks(), "ask": asks}

    waiting = await desk.run(step("first", "look", fallback=ASKED))

    assert [(each["kind"], each["args"]) for each in waiting["pending"]] == [
        ("question", {"question": "which one?"})
    ]

    document = await desk.resume({"first": "that one"})

    assert row(document, "first")["output"] == {"said": "that one"}
    assert desk.office.did("look") == ["first"]


async def test_what_is_done_is_not_planned_as_a_fallback(desk: Desk) -> None:
    desk.office.does["look"] = breaks()
    bad = {"steps": [step("again", "ask", 1, fallback={"tool": "send", "args": {"of": "mail"}})]}
    desk.models = says(bad, {"steps": [step("other", "ask", 1)]})

    document = await desk.run(step("mail", "send"), step("lost", "look", depends_on=["mail"]))

    assert "send with the same arguments is already done" in desk.models.prompts[1]
    assert statuses(document) == {"mail": "succeeded", "other": "succeeded"}


async def test_what_a_fallback_did_is_not_planned_again(desk: Desk) -> None:
    desk.office.does["look"] = breaks()
    bad = {"steps": [step("again", "send", "instead")]}
    desk.models = says(bad, {"steps": [step("other", "ask", 1)]})

    await desk.run(
        step("first", "look", fallback={"tool": "send", "args": {"of": "instead"}}),
        step("lost", "look", depends_on=["first"]),
    )

    assert "send with the same arguments is already done" in desk.models.prompts[1]
    assert desk.office.did("send") == ["instead"]


async def test_a_part_of_the_work_is_planned_only_when_taken_and_has_a_fallback(desk: Desk) -> None:
    desk.models = says({"cannot": "there is no such tool"})
    part = {"action": "plan", "goal": "do the rest"}

    document = await desk.run(
        {"id": "no", **part, "when": "params.go"},
        {"id": "yes", **part, "fallback": ASKED},
        params={"go": False},
    )

    assert statuses(document) == {"no": "not_taken", "yes": "succeeded"}
    assert row(document, "yes")["output"] == {"of": "instead"}
    assert len(desk.models.prompts) == 1


async def test_the_reason_tells_of_the_failure_before_a_fallback_that_was_not_called(desk: Desk) -> None:
    desk.policies = {"send": {"risk": "high"}}
    desk.office.does["look"] = breaks()

    await desk.run(step("first", "look", fallback="send"))
    document = await desk.resume({"first": {"decision": "reject", "reason": "too dear"}})

    assert document["reason"] == "first failed: gone: it is gone; its fallback send was rejected: too dear"


async def test_an_older_result_is_the_last_that_a_failed_lookup_falls_back_to(desk: Desk) -> None:
    desk.policies = {"look": {"fallback": "stale_cache", "max_attempts": 1}}
    desk.office.does |= {"look": [gives("old"), stays_busy], "ask": breaks("shut")}

    document = await desk.run(
        step("first", "look", "it"), step("second", "look", "it", depends_on=["first"], fallback=ASKED)
    )

    told = row(document, "second")
    assert (told["output"], told["stale"], desk.office.did("ask")) == ("old", True, ["instead"])
    assert told["note"].startswith("after soft_tool_error: it is busy; stale, ")
    assert "fallback_tool" not in told


async def test_a_fallback_may_have_a_policy_of_its_own(desk: Desk) -> None:
    desk.policies = {"look": {"fallback": "ask"}}
    desk.office.does |= {"look": breaks(), "send": breaks(), "ask": gives("asked")}

    document = await desk.run(step("first", "send", fallback={"tool": "look", "args": {"of": 1}}))

    assert row(document, "first")["output"] == "asked"
    assert document["effects"] == []
