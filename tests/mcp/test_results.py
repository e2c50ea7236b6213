"""What a server answers, as a result or a failure."""

from typing import Any

import pytest

from tests.mcp.support import call, odd, only
from tools import CallFailed, CallSucceeded
from tools.mcp import mcp_tools
from tools.mcp.results import Answer, McpToolError, is_wrapped, result_of, unwrapped


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(content=[_text("a"), _text("b")]), "a\nb"),
        (Answer(content=[_text('{"a": 1}')]), '{"a": 1}'),
        (Answer(content=[_text("x")], structuredContent={"a": [1]}), {"a": [1]}),
        (Answer(content=[]), None),
        (Answer(content=7), None),
        (Answer(content=[7, None, _text("a")]), "a"),
        (
            Answer(content=[_text("a"), {"type": "image", "data": "AA==", "mimeType": "image/png"}]),
            [_text("a"), {"type": "image", "base64": "AA==", "mime_type": "image/png"}],
        ),
        (Answer(content=[{"type": "audio", "data": "AA=="}]), [{"type": "audio", "base64": "AA=="}]),
        (
            Answer(content=[{"type": "resource_link", "uri": "file:///a", "name": "a"}]),
            [{"type": "file", "url": "file:///a"}],
        ),
        (Answer(content=[{"type": "resource", "resource": {"uri": "u", "text": "t"}}]), "t"),
        (
            Answer(content=[{"type": "resource", "resource": {"blob": "AA==", "mimeType": "image/gif"}}]),
            [{"type": "image", "base64": "AA==", "mime_type": "image/gif"}],
        ),
        (
            Answer(content=[{"type": "resource", "resource": {"blob": "AA=="}}]),
            [{"type": "file", "base64": "AA=="}],
        ),
        (Answer(content=[{"type": "hologram"}]), [{"type": "hologram"}]),
    ],
)
def test_each_kind_of_content_has_one_form(answer: Answer, expected: object) -> None:
    assert result_of(answer, unwrap=False, json_text=False) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [('{"a": 1}', {"a": 1}), (" [1]\n", [1]), ("7", "7"), ("{a: 1}", "{a: 1}"), ("[NaN]", "[NaN]")],
)
def test_text_is_read_as_json_only_where_it_is_asked_for_and_is_an_object_or_a_list(
    text: str, expected: object
) -> None:
    answer = Answer(content=[_text(text)])
    assert result_of(answer, unwrap=False, json_text=True) == expected
    assert result_of(answer, unwrap=False, json_text=False) == text


def test_a_value_wrapped_for_the_protocol_is_taken_out() -> None:
    schema = {
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/X"}}},
        "$defs": {"X": {"type": "string"}},
    }
    assert is_wrapped(schema)
    assert unwrapped(schema) == {"type": "array", "items": {"$ref": "#/$defs/X"}, "$defs": schema["$defs"]}
    answer = Answer(structuredContent={"result": ["a"]})
    assert result_of(answer, unwrap=True, json_text=False) == ["a"]
    assert result_of(answer, unwrap=False, json_text=False) == {"result": ["a"]}
    assert not is_wrapped(None)
    assert not is_wrapped({"properties": {"result": {}, "more": {}}})


@pytest.mark.parametrize(
    ("content", "words"), [([_text("no")], "^no$"), ([], "said nothing"), (None, "nothing")]
)
def test_a_tools_error_has_its_words_and_never_none(content: object, words: str) -> None:
    with pytest.raises(McpToolError, match=words):
        result_of(Answer(content=content, isError=True), unwrap=False, json_text=False)


@pytest.mark.parametrize(
    ("mode", "read", "write"),
    [
        ("refuses", "hard", "hard"),
        ("quota", "hard", "hard"),
        ("breaks", "soft", "unknown"),
    ],
)
async def test_an_error_of_the_protocol_means_what_it_tells_of_the_call(
    mode: str, read: str, write: str
) -> None:
    for effect, expected in (("read", read), ("write", write)):
        entry = odd(mode, policies={"good": {"effect": effect}}, env={"API_KEY": "sesame-open"})
        async with mcp_tools({"odd": entry}) as tools:
            outcome = await call(only(tools), text="x")
        assert isinstance(outcome, CallFailed)
        assert (outcome.kind, mode) == (expected, mode)
        assert "sesame" not in outcome.message


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("no_result", None),
        ("strange_block", [{"type": "hologram", "depth": 3}]),
        ("sound", [{"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"}]),
    ],
)
async def test_a_call_that_was_answered_has_happened_whatever_the_answer_looks_like(
    mode: str, expected: object
) -> None:
    async with mcp_tools({"odd": odd(mode)}) as tools:
        assert await call(only(tools), text="x") == CallSucceeded(expected)  # type: ignore[arg-type]


async def test_half_an_answer_is_no_answer() -> None:
    schema = {"type": "object", "required": ["price"]}
    for effect, kind in (("read", "soft"), ("write", "unknown")):
        entry = odd("half", policies={"good": {"output_schema": schema, "effect": effect}})
        async with mcp_tools({"odd": entry}) as tools:
            outcome = await call(only(tools), text="x")
        assert isinstance(outcome, CallFailed)
        assert (outcome.kind, outcome.code) == (kind, "incomplete_output")
