"""Plans that come back from a strict server, as the planner's schema has them, through the whole graph."""

import json
from typing import Any

from tests.endpoint.office import Office, steps_of
from tests.endpoint.test_plan_schema import schemas
from tests.support.openai_server import OpenAIServer, Reply, error, obj


async def test_what_a_plan_needs_is_no_part_of_it_and_its_conditions_and_checks_are() -> None:
    common: dict[str, Any] = {"depends_on": [], "when": None, "options": None}
    look = {"id": "s1", "tool": "web_search", "args": {"query": "q"}, **common}
    options = {"on_dependency_failure": None, "optional": None, "require_approval": None, "verify": True}
    again = {**look, "id": "s2", "when": "s1 == 'found q'", "options": options}
    never = {**look, "id": "s3", "when": "${s1 == 'x'}"}
    plan = {"steps": [look, again, never], "assumptions": []}
    with OpenAIServer(obj({"reply": {"needs": ["web_search", "book"], "plan": plan}})) as server:
        result = await Office().run(server, word_answers=False)
    assert steps_of(result) == ["s1:succeeded", "s2:succeeded", "s3:not_taken"], result["reason"]
    first, second, third = result["plan"]["steps"]
    assert first == {"id": "s1", "action": "tool", "tool": "web_search", "args": {"query": "q"}}
    assert (second["when"], second["verify"], third["depends_on"]) == ("s1 == 'found q'", True, ["s1"])
    assert result["plan"].keys().isdisjoint({"needs", "repairs"})


def _openai(body: dict[str, Any]) -> Reply:
    """What OpenAI answers to a schema under strict that it does not take."""
    sent = body["response_format"]["json_schema"]
    assert sent["strict"] is True
    for part in schemas(sent["schema"]):
        closed = part.get("additionalProperties") is False and set(part["required"]) == set(
            part["properties"]
        )
        if part.get("type") == "object" and not closed:
            return error(
                400, "Invalid schema: 'additionalProperties' is required to be supplied and to be false"
            )
    step = {"id": "s1", "action": "tool", "tool": "book", "depends_on": []}
    said = {"options": {"on_dependency_failure": None, "optional": None, "require_approval": None}}
    args = {"slot": {"start": "now", "names": ["a", "b"]}, "count": 3, "tags": ["x", "y"], "note": None}
    return obj({"reply": {"plan": {"steps": [{**step, "args": args, **said}], "assumptions": []}}})


async def test_the_first_call_to_a_strict_server_succeeds_and_nested_arguments_arrive() -> None:
    office = Office()
    with OpenAIServer(_openai) as server:
        result = await office.run(server, word_answers=False)
    assert steps_of(result) == ["s1:succeeded"], result["reason"]
    args = {"slot": {"start": "now", "names": ["a", "b"]}, "count": 3, "tags": ["x", "y"], "note": None}
    assert office.made == [("book", args)]
    assert len(server.requests) == 1


async def test_arguments_as_text_arrive_as_what_they_say() -> None:
    office = Office()
    args = {"slot": json.dumps({"start": "${s1}"}), "count": "3", "tags": '["x"]'}
    steps = [
        {"id": "s1", "tool": "web_search", "args": json.dumps({"query": "q"})},
        {"id": "s2", "tool": "book", "args": json.dumps(args)},
    ]
    with OpenAIServer(obj({"plan": {"steps": steps}})) as server:
        result = await office.run(server, word_answers=False)
    assert steps_of(result) == ["s1:succeeded", "s2:succeeded"], result["reason"]
    slot = {"start": "found q", "names": []}
    assert office.made[1] == ("book", {"slot": slot, "count": 3, "tags": ["x"], "note": None})
