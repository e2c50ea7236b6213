"""What a plan expects of results."""

import pytest

from tests.language.support import Desk, breaks, code, gets_lost, gives, row, statuses, step
from tests.support.models import says

FULL: dict[str, list[int]] = {"items": [1, 2]}
HALF: dict[str, list[int]] = {"items": []}


async def test_a_lookup_is_tried_again_until_its_result_is_as_expected(desk: Desk) -> None:
    desk.office.does["look"] = [gives(HALF), gives(FULL)]

    document = await desk.run(step("list", "look", expect="size(result.items) > 0"))

    assert (row(document, "list")["output"], row(document, "list")["attempts"]) == (FULL, 2)


async def test_a_lookup_that_never_gives_what_is_expected_fails_softly(desk: Desk) -> None:
    desk.office.does["look"] = gives(HALF)

    document = await desk.run(step("list", "look", expect="${size(result.items) > 0}", max_attempts=2))

    error = row(document, "list")["error"]
    assert (error["kind"], error["code"]) == ("soft", "unexpected_result")
    assert "size(result.items) > 0" in error["message"]
    assert len(desk.office.calls) == 2


async def test_what_cannot_be_told_of_a_result_is_not_met_and_says_why(desk: Desk) -> None:
    document = await desk.run(step("list", "look", expect="result.total == 3", max_attempts=1))

    assert "no key 'total'" in row(document, "list")["error"]["message"]


@pytest.mark.parametrize("tool", ["send", "post"])
async def test_a_write_that_gave_the_unexpected_has_happened_and_is_not_repeated(
    desk: Desk, tool: str
) -> None:
    desk.office.does[tool] = gives({"state": "queued"})

    document = await desk.run(
        step("mail", tool, expect="result.state == 'sent'"), step("after", "look", "${mail}")
    )

    assert len(desk.office.did(tool)) == 1
    assert statuses(document) == {"mail": "failed", "after": "cancelled"}
    assert (code(document, "mail"), row(document, "mail")["error"]["kind"]) == ("unexpected_result", "hard")
    assert row(document, "mail")["output"] == {"state": "queued"}
    (effect,) = document["effects"]
    assert (effect["step"], effect["tool"], effect["status"]) == ("mail", tool, "succeeded")
    assert document["answer"].endswith(f"Effects: mail ({tool}, succeeded).")


async def test_a_write_that_happened_is_not_planned_again(desk: Desk) -> None:
    desk.office.does["send"] = gives({"state": "queued"})
    again = {"steps": [step("again", "send", "mail")]}
    desk.models = says(again, {"steps": [step("ring", "look")]})

    document = await desk.run(step("mail", "send", expect="result.state == 'sent'"))

    assert "already done" in desk.models.prompts[1]
    assert desk.office.did("send") == ["mail"]
    assert statuses(document) == {"ring": "succeeded"}
    assert [(effect["tool"], effect["status"]) for effect in document["effects"]] == [("send", "succeeded")]


async def test_a_model_is_told_what_is_expected_and_answers_again(desk: Desk) -> None:
    desk.models = says({"n": 3}, {"n": 12})
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    document = await desk.run(
        step("most", "look", 10),
        {
            "id": "guess",
            "action": "llm",
            "instruction": "How many?",
            "output_schema": schema,
            "expect": "result.n > most.of",
        },
    )

    assert row(document, "guess")["output"] == {"n": 12}
    assert "must fulfil result.n > most.of" in desk.models.prompts[1]


async def test_a_model_that_never_gives_what_is_expected_fails(desk: Desk) -> None:
    desk.models, desk.settings = says("no"), {"redo_attempts": 1, "max_replans": 0}

    document = await desk.run(
        {"id": "word", "action": "llm", "instruction": "Say", "expect": "result == 'yes'"}
    )

    assert (code(document, "word"), len(desk.models.prompts)) == ("output_rejected", 2)


async def test_an_agent_goes_on_until_its_result_is_as_expected(desk: Desk) -> None:
    desk.models = says({"result": "no"}, {"tool": "look", "args": {"of": 1}}, {"result": "yes"})
    agent = {"id": "find", "action": "agent", "instruction": "Find", "tools": ["look"]}

    document = await desk.run({**agent, "expect": "result == 'yes'"})

    assert row(document, "find")["output"] == "yes"
    assert "must fulfil" in desk.models.prompts[1]
    assert desk.office.did("look") == [1]


async def test_a_kept_result_that_is_not_as_expected_is_looked_up_anew(desk: Desk) -> None:
    desk.policies = {"look": {"cache_ttl": 60}}
    desk.office.does["look"] = [gives(HALF), gives(FULL)]

    document = await desk.run(
        step("first", "look", "it"),
        step("second", "look", "it", depends_on=["first"], expect="size(result.items) == 2"),
        step("third", "look", "it", depends_on=["second"]),
    )

    outputs = {each["id"]: each["output"] for each in document["steps"]}
    assert outputs == {"first": HALF, "second": FULL, "third": HALF} or outputs["third"] == FULL
    assert outputs["second"] == FULL


async def test_a_fallback_follows_a_write_that_gave_the_unexpected_and_both_are_told(desk: Desk) -> None:
    desk.office.does["send"] = gives({"state": "lost"})

    document = await desk.run(
        step("mail", "send", expect="result.state == 'sent'", fallback={"tool": "post", "args": {"of": "it"}})
    )

    assert document["status"] == "succeeded"
    told = [(effect["tool"], effect["args"], effect["status"]) for effect in document["effects"]]
    assert sorted(told) == [("post", {"of": "it"}, "succeeded"), ("send", {"of": "mail"}, "succeeded")]


async def test_no_expectation_is_held_against_a_failure(desk: Desk) -> None:
    desk.office.does["look"] = breaks()

    assert code(await desk.run(step("list", "look", expect="result == 1")), "list") == "gone"


async def test_what_a_person_tells_of_a_write_in_doubt_is_held_against_it_too(desk: Desk) -> None:
    desk.office.does["send"] = gets_lost
    await desk.run(step("mail", "send", expect="result.state == 'sent'", fallback="ask"))

    document = await desk.resume({"mail": {"decision": "happened", "result": {"state": "queued"}}})

    assert (document["status"], row(document, "mail")["output"]) == ("succeeded", {"of": "mail"})
    assert (desk.office.did("send"), desk.office.did("ask")) == (["mail"], ["mail"])
    assert [(effect["tool"], effect["status"]) for effect in document["effects"]] == [("send", "succeeded")]


async def test_nothing_is_held_against_a_write_whose_result_nobody_knows(desk: Desk) -> None:
    desk.office.does["send"] = gets_lost
    await desk.run(step("mail", "send", expect="result.state == 'sent'"))

    assert (await desk.resume({"mail": "happened"}))["status"] == "succeeded"


async def test_equal_lookups_at_once_are_each_held_against_their_own_expectation(desk: Desk) -> None:
    desk.policies = {"look": {"cache_ttl": 60, "max_attempts": 2}}

    document = await desk.run(
        step("a", "look", "it", expect="result.of == 'else'"),
        step("b", "look", "it"),
        step("c", "look", "it", expect="result.of == 'it'"),
    )

    assert statuses(document) == {"a": "failed", "b": "succeeded", "c": "succeeded"}
