"""Any LangChain tool: whatever it is made of and whatever it gives, in both modes."""

import dataclasses
import datetime as dt
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool, Tool, tool
from pydantic import BaseModel, Field

from graph.build import build_graph
from tests.acceptance.support import given, outputs, plan, statuses, step
from tests.acceptance4.support import code, each, inner
from tools import policy


class Order(BaseModel):
    number: str
    lines: list[int] = Field(default_factory=list)


@dataclasses.dataclass
class Parcel:
    weight: Decimal


def lookup(made: Any) -> Any:
    return policy(effect="read")(made)


@lookup
@tool
def model(number: str) -> Order:
    """Give a model."""
    return Order(number=number, lines=[1, 2])


@lookup
def parcel() -> Parcel:
    """Give a dataclass."""
    return Parcel(weight=Decimal("1.5"))


@lookup
def generator(many: int) -> Iterator[int]:
    """Give items one by one."""
    yield from range(many)


@lookup
async def later(many: int) -> AsyncIterator[int]:
    """Give items one by one, in a loop."""
    for number in range(many):
        yield number


@lookup
@tool(response_format="content_and_artifact")
def artifact(name: str) -> tuple[str, dict[str, object]]:
    """Give content, and an artifact that no plan can name."""
    return f"content of {name}", {"object": object()}


@lookup
@tool
def blocks() -> list[dict[str, str]]:
    """Give content blocks."""
    return [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]


@lookup
def raw() -> bytes:
    """Give bytes."""
    return b"\x00\xff"


@lookup
def when() -> dict[str, Any]:
    """Give dates and sets."""
    return {"day": dt.date(2026, 11, 30), "names": {"a"}}


@lookup
def handle() -> object:
    """Give what has no form at all."""
    calls.append("handle")
    return object()


calls: list[str] = []


async def _only_async(text: str) -> str:
    return text.upper()


class Loud(BaseTool):
    """A tool as a class."""

    name: str = "loud"
    description: str = "Say it loud."

    def _run(self, text: str) -> str:
        return f"{text}!"


TOOLS = [
    model, parcel, generator, later, artifact, blocks, raw, when, handle,
    lookup(StructuredTool.from_function(coroutine=_only_async, name="only_async", description="Say it.")),
    lookup(Tool(name="single", description="One text.", func=lambda text: f"<{text}>")),
    lookup(Loud()),
]  # fmt: skip

GIVES: list[tuple[str, dict[str, Any], Any]] = [
    ("model", {"number": "A1"}, {"number": "A1", "lines": [1, 2]}),
    ("generator", {"many": 3}, [0, 1, 2]),
    ("later", {"many": 3}, [0, 1, 2]),
    ("artifact", {"name": "x"}, "content of x"),
    ("blocks", {}, [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]),
    ("only_async", {"text": "loud"}, "LOUD"),
    ("loud", {"text": "hey"}, "hey!"),
]
VALUE = plan(
    *[step(name, name, args) for name, args, _ in GIVES],
    step("single", "single", {"__arg1": "x"}),
)


def test_all_kinds_in_sync_mode() -> None:
    result = build_graph(tools=TOOLS).invoke(given(VALUE))

    assert {name: outputs(result)[name] for name, _, _ in GIVES} == {name: out for name, _, out in GIVES}
    assert outputs(result)["single"] == "<x>"


async def test_all_kinds_in_async_mode() -> None:
    graph: Any = build_graph(tools=TOOLS)

    result = await graph.ainvoke(given(VALUE))

    assert {name: outputs(result)[name] for name, _, _ in GIVES} == {name: out for name, _, out in GIVES}


@pytest.mark.parametrize("name", ["parcel", "raw", "when"])
def test_what_json_cannot_hold_has_a_form(name: str) -> None:
    result = build_graph(tools=TOOLS).invoke(given(plan(step("a", name))))

    assert result["status"] == "succeeded"
    assert outputs(result)["a"] not in (None, "")


def test_what_has_no_form_fails_after_one_call() -> None:
    calls.clear()

    result = build_graph(tools=TOOLS, settings={"max_replans": 0}).invoke(given(plan(step("a", "handle"))))

    assert statuses(result)["a"] == "failed"
    assert code(result, "a")
    assert "object" in result["reason"]
    assert calls == ["handle"]


def test_models_and_lists_go_on_in_expressions_and_maps() -> None:
    value = plan(
        step("o", "model", {"number": "A1"}, expect="size(result.lines) == 2"),
        step("g", "generator", {"many": "${o.lines[1]}"}),
        each("m", "${g}", inner("only_async", {"text": "${o.number} ${item}"}, when="item > 0")),
    )

    result = build_graph(tools=TOOLS).invoke(given(value))

    assert outputs(result)["m"]["results"] == [None, "A1 1"]


def test_a_tool_without_a_policy_is_a_risky_write() -> None:
    @tool
    def bare(text: str) -> str:
        """Do something."""
        calls.append(text)
        return text

    calls.clear()

    result = build_graph(tools=[bare]).invoke(given(plan(step("a", "bare", {"text": "x"}))))

    assert result["status"] == "waiting"
    assert result["pending"][0]["risk"] == "high"
    assert calls == []
