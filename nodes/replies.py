"""What a model said, read as data: strict where a plan is meant, tolerant of wrapping only."""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from jsonschema.exceptions import best_match
from langchain_core.messages import AIMessage
from referencing.exceptions import Unresolvable

from graph.plan import AgentStep, LlmStep, json_fault
from graph.plan.json_schema import schema_fault, validator_of
from nodes.endpoint.endings import was_cut
from nodes.endpoint.near_json import EndsEarly, NotReadable, read_value
from tools.results import clean_text

THINK_END = "</think>"
THINK_START = "<think>"
MAX_OBJECTS = 200
_FAULT_CHARS = 500
"""Of what a schema finds wrong: the message shows the value, which may be the whole reply."""
FENCE = re.compile(r"```[A-Za-z0-9_-]*[ \t]*\r?\n")

T = TypeVar("T")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


class BadReply(Exception):  # noqa: N818 (a reply is bad; nothing of the program is in error)
    """The reply does not fit; the message says why, in words a model can act on.

    `words` are those in which the model is told, when the message alone would not do. `afresh` says that it
    is not to see its reply again, and `final` that telling it has no use any more.
    """

    def __init__(
        self, message: str, *, words: str | None = None, afresh: bool = False, final: bool = False
    ) -> None:
        """Tell the fault."""
        super().__init__(message)
        self.words = words
        self.afresh = afresh
        self.final = final


def text_of(reply: AIMessage) -> str:
    """The reply's visible text: reasoning blocks are no part of it, nor is what no store can hold.

    Raises:
        BadReply: The model refused, was cut off, or said nothing.
    """
    refusal = reply.additional_kwargs.get("refusal")
    if refusal:
        raise BadReply(f"the model refused: {refusal}")
    if was_cut(reply):
        raise BadReply("the reply was cut off at the token limit: be briefer")
    text = _without_reasoning(clean_text(str(reply.text)))
    if not text.strip():
        raise BadReply("the reply is empty")
    return text


def _without_reasoning(text: str) -> str:
    """What follows the reasoning. A `</think>` inside a JSON object is data and ends nothing."""
    if text.lstrip().startswith(THINK_START):
        return text.partition(THINK_END)[2]
    ends = [match.end() for match in re.finditer(THINK_END, text)]
    spans = _object_spans(text) if ends else []
    outside = [end for end in ends if not any(first < end <= last for first, last in spans)]
    return text[outside[-1] :] if outside else text


def _object_spans(text: str) -> list[tuple[int, int]]:
    """Where whole JSON objects stand in a text, as (start, end)."""
    spans: list[tuple[int, int]] = []
    start = text.find("{")
    for _ in range(MAX_OBJECTS):
        if start < 0:
            break
        try:
            _, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            spans.append((start, end))
        start = text.find("{", end)
    return spans


def json_object_in(text: str) -> dict[str, Any]:
    """The one JSON object of a reply, bare, fenced, or with prose around it; raises BadReply.

    The parser itself finds the object's end, so fences and braces inside its strings are data. An object
    that is cut off ends the search: what comes later is a part of it.
    """
    starts = [_skip(text, 0), *(_skip(text, match.end()) for match in FENCE.finditer(text)), text.find("{")]
    problem = "the reply holds no JSON object"
    for start in starts:
        if start < 0 or start >= len(text) or text[start] not in '{"':
            continue
        try:
            value, _ = read_value(text, start)
        except EndsEarly as error:
            if text[start] == "{":
                raise BadReply(f"the JSON object cannot be read: {error}") from None
            continue
        except NotReadable as error:
            problem = f"the JSON object cannot be read: {error}"
            continue
        if isinstance(value, str) and value.lstrip().startswith("{"):
            return json_object_in(value)
        if isinstance(value, dict):
            return storable(value)
    raise BadReply(problem)


def storable(value: dict[str, Any]) -> dict[str, Any]:
    """The object itself; raises BadReply when it holds what is no JSON or what no store can hold."""
    fault = json_fault(value)
    if fault is not None:
        raise BadReply(fault)
    return value


def _skip(text: str, start: int) -> int:
    while start < len(text) and text[start] in " \t\r\n\ufeff":
        start += 1
    return start


def read_step_output(step: LlmStep | AgentStep, reply: AIMessage) -> Any:
    """A step's result: text, one of `choices`, or JSON that fits `output_schema`.

    Raises:
        BadReply: It fits none of them.
    """
    text = text_of(reply)
    if step.choices is not None:
        return _choice(text, step.choices)
    if step.output_schema is None:
        return text.strip()
    return fitting(json_object_in(text), step.output_schema)


def fitting_answer(step: LlmStep | AgentStep, result: Any) -> Any:
    """A result that came as JSON, as the step wants it; raises BadReply."""
    if step.choices is not None:
        return _choice(result if isinstance(result, str) else "", step.choices)
    if step.output_schema is not None:
        return fitting(result, step.output_schema)
    return result.strip() if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def _choice(text: str, choices: tuple[str, ...]) -> str:
    said = text.strip().strip("\"'`.").strip().casefold()
    for choice in choices:
        if choice.casefold() == said:
            return choice
    raise BadReply(f"answer with exactly one of: {', '.join(choices)}")


def fitting(value: T, schema: Mapping[str, Any]) -> T:
    """The value itself; raises BadReply when it does not fit the JSON schema."""
    wrong = schema_fault(schema)
    if wrong is not None:
        raise BadReply(f"the schema asked for is itself not valid: {wrong}")
    judged: Any = value
    try:
        fault = best_match(validator_of(schema).iter_errors(judged))
    except (RecursionError, Unresolvable):
        raise BadReply("the schema asked for refers to what is not in it, or has no end") from None
    if fault is not None:
        raise BadReply(f"{fault.json_path}: {fault.message[:_FAULT_CHARS]}")
    return value
