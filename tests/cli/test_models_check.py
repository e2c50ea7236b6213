"""`planrail models check`: what an endpoint supports, as its answers to tiny calls show."""

from dataclasses import replace
from typing import Any

import pytest

from tests.cli.support import Prompt, Said
from tests.support.openai_server import SECRET, Json, OpenAIServer, Reply, call, calls, error, message, text


def _capable(body: Json) -> Reply:
    if "tools" in body:
        return calls(call("answer", {"word": "ok"}))
    return text('{"word": "ok"}')


def _narrow(body: Json) -> Reply:
    """Knows no schema, ignores tools, tells no usage."""
    kind = body.get("response_format", {}).get("type")
    if kind == "json_schema":
        return error(400, "response_format json_schema is not supported")
    return message('{"it": "is"}' if kind == "json_object" else "ok", usage=None)


def _checked(prompt: Prompt, server: OpenAIServer, *words: str, **environ: str) -> Said:
    for name, value in {**server.environment, **environ}.items():
        prompt.patch.setenv(name, value)
    return prompt("models", "check", *words)


def _support(document: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["support"] for each in document["models"][0]["probes"]}


def test_an_endpoint_that_can_do_all_is_said_to(prompt: Prompt) -> None:
    with OpenAIServer(_capable) as server:
        said = _checked(prompt, server, "--json")

    assert said.code == 0, said.err
    assert set(_support(said.document).values()) == {"yes"}
    assert list(_support(said.document)) == [
        "answers",
        "json_schema",
        "function_calling",
        "json_mode",
        "streaming",
    ]
    assert len(server.requests) == 5


def test_what_is_refused_and_what_is_ignored_are_told_apart(prompt: Prompt) -> None:
    with OpenAIServer(_narrow) as server:
        said = _checked(prompt, server, "--json")

    assert said.code == 0
    assert _support(said.document) == {
        "answers": "yes",
        "json_schema": "no",
        "function_calling": "ignored",
        "json_mode": "yes",
        "streaming": "yes",
    }
    details = {each["name"]: each["detail"] for each in said.document["models"][0]["probes"]}
    assert "estimated" in details["answers"]
    assert "not supported" in details["json_schema"]


def test_an_endpoint_that_does_not_answer_is_not_asked_further(prompt: Prompt) -> None:
    with OpenAIServer(error(401, f"Incorrect API key provided: {SECRET}")) as server:
        said = _checked(prompt, server)

    assert said.code == 1
    assert "answers  no" in said.out
    assert SECRET not in said.out + said.err
    assert len(server.requests) == 1


def test_a_slow_endpoint_is_given_up(prompt: Prompt) -> None:
    with OpenAIServer(replace(text("ok"), delay=3.0)) as server:
        said = _checked(prompt, server, "--timeout", "0.3")

    assert said.code == 1
    assert "no answer within 0.3 s" in said.out


def test_roles_with_one_address_are_asked_once(prompt: Prompt) -> None:
    with OpenAIServer(_capable) as server:
        said = _checked(
            prompt,
            server,
            "--json",
            PLANRAIL_MODEL="big",
            PLANRAIL_PLANNER_MODEL="big",
            PLANRAIL_VALIDATOR_MODEL="small",
        )

    assert [(each["model"], each["roles"]) for each in said.document["models"]] == [
        ("big", ["default", "planner"]),
        ("small", ["validator"]),
    ]
    assert len(server.requests) == 10


def test_without_a_model_there_is_nothing_to_check(prompt: Prompt) -> None:
    said = prompt("models", "check")

    assert said.code == 2
    assert "OPENAI_API_KEY" in said.err


@pytest.mark.parametrize("words", [["models"], ["template"]])
def test_a_group_without_a_command_shows_its_help(prompt: Prompt, words: list[str]) -> None:
    said = prompt(*words)

    assert "Commands" in said.out + said.err
