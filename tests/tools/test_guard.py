"""A guarded tool looks like what it guards, at no cost per call."""

import inspect
from typing import get_type_hints

import pytest
from langchain_core.tools import BaseTool, StructuredTool, tool

from tools.guard import guarded


@tool
async def look_up(i: int) -> str:
    """Look something up."""
    return str(i)


@pytest.mark.parametrize("hook", ["_run", "_arun"])
def test_a_guard_has_the_signature_and_the_hints_of_what_it_guards(hook: str) -> None:
    guard, original = getattr(guarded(look_up), hook), getattr(look_up, hook)
    assert inspect.signature(guard) == inspect.signature(original)
    assert get_type_hints(guard, include_extras=True) == get_type_hints(original, include_extras=True)


@pytest.mark.parametrize("hook", ["_run", "_arun"])
def test_no_hint_of_a_guard_is_text_that_each_call_would_compile(hook: str) -> None:
    assert any(isinstance(hint, str) for hint in getattr(StructuredTool, hook).__annotations__.values())
    assert not any(isinstance(hint, str) for hint in getattr(guarded(look_up), hook).__annotations__.values())


def test_hints_that_name_nothing_are_left_as_they_are() -> None:
    class Odd(BaseTool):
        name: str = "odd"
        description: str = "odd"

        def _run(self, i: "NoSuchName") -> str:  # type: ignore[name-defined]  # noqa: F821
            return str(i)

    assert guarded(Odd())._run.__annotations__["i"] == "NoSuchName"
