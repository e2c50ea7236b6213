"""Conditions, expectations and fallbacks of a map's items."""

from typing import Any

import pytest

from tests.language.support import Desk, breaks, gets_lost, gives, row, step


def each(of: object, tool: str, **more: object) -> dict[str, object]:
    inner = {"action": "tool", "tool": tool, "args": {"of": "${item}"}, **more}
    return {"id": "all", "action": "map", "over": of, "step": inner}


async def test_an_item_is_taken_by_its_own_condition(desk: Desk) -> None:
    document = await desk.run(each([1, 5, 9], "send", when="item > 3 && index < 2"))

    assert row(document, "all")["output"] == {"results": [None, {"of": 5}, None], "failures": []}
    assert row(document, "all")["items"] == {"total": 3, "succeeded": 1, "failed": 0, "not_taken": 2}
    assert desk.office.did("send") == [5]


async def test_an_item_falls_back_and_its_effects_are_told(desk: Desk) -> None:
    desk.office.does["send:2"] = breaks()

    document = await desk.run(each([1, 2], "send", fallback={"tool": "post", "args": {"of": "${item}"}}))

    assert row(document, "all")["output"]["results"] == [{"of": 1}, {"of": 2}]
    effects = sorted((effect["item"], effect["tool"]) for effect in document["effects"])
    assert effects == [(0, "send"), (1, "post")]


async def test_an_item_is_held_against_what_is_expected_of_it(desk: Desk) -> None:
    desk.office.does |= {"send:2": gives({"of": 3})}

    document = await desk.run(
        each([1, 2], "send", expect="result.of == item") | {"min_success": 1},
        step("then", "ask", "${all.results}"),
    )

    (failure,) = row(document, "all")["output"]["failures"]
    assert (failure["index"], failure["code"]) == (1, "unexpected_result")
    assert desk.office.did("send") == [1, 2]
    assert [effect["item"] for effect in document["effects"]] == [0, 1]


async def test_a_map_as_a_whole_is_taken_expected_and_fallen_back_from(desk: Desk) -> None:
    whole = {"expect": "size(result.failures) == 0", "fallback": {"tool": "ask", "args": {"of": "instead"}}}
    desk.office.does["look:2"] = breaks()

    document = await desk.run(
        each([1, 2], "look") | {"min_success": 1, "when": "params.go", **whole}, params={"go": True}
    )

    assert row(document, "all")["output"] == {"of": "instead"}
    assert row(document, "all")["note"].startswith("by fallback ask after unexpected_result: ")


async def test_a_map_that_is_not_taken_asks_and_does_nothing(desk: Desk) -> None:
    desk.policies = {"send": {"risk": "high"}}

    document = await desk.run(each([1, 2], "send") | {"when": "!params.go"}, params={"go": True})

    assert (row(document, "all")["status"], desk.office.calls) == ("not_taken", [])


@pytest.mark.parametrize("fallback", [None, {"tool": "ask", "args": {"of": "instead of ${item}"}}])
async def test_what_a_person_says_an_item_gave_is_held_against_what_is_expected(
    desk: Desk, fallback: dict[str, Any] | None
) -> None:
    desk.office.does["send:2"] = gets_lost
    more = {"fallback": fallback} if fallback else {}
    await desk.run(each([1, 2], "send", expect="result.of == item", **more) | {"min_success": 1})

    document = await desk.resume({"all": {"decision": "happened", "result": {"of": 7}}})

    given = row(document, "all")["output"]
    assert desk.office.did("send") == [1, 2]
    assert [effect["item"] for effect in document["effects"]] == [0, 1]
    assert desk.office.did("ask") == (["instead of 2"] if fallback else [])
    codes = [failure["code"] for failure in given["failures"]]
    assert codes == ([] if fallback else ["unexpected_result"])
