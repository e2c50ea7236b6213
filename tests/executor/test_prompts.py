"""What enters a prompt, and what does not: digests, with what was cut off in sight."""

from typing import Any

import pytest

from graph.build import build_graph
from graph.plan import ReferenceFailure, Scope, resolve_words
from tests.executor.shop import LONG, Shop, by_id, given, graph, step, thread
from tests.support.models import says
from tools import ToolRegistry, policy

MARK = "truncated 2000 of 2000000 characters"


def test_results_in_words_are_text_of_bounded_length() -> None:
    scope = Scope({"a": {"n": 1}, "b": "x" * 50})

    assert resolve_words("${a}", scope, 40) == '{"n":1}'
    assert resolve_words("see ${b}!", scope, 40) == f"see {'x' * 40} ... (truncated 40 of 50 characters)!"
    assert resolve_words("$${b}", scope, 40) == "${b}"
    with pytest.raises(ReferenceFailure, match="never closed"):
        resolve_words("${b", scope, 40)


@pytest.mark.parametrize("instruction", ["Sum up", "Sum up ${long}", "${long}"])
async def test_a_large_result_enters_no_prompt_and_reaches_the_next_tool_whole(
    shop: Shop, instruction: str
) -> None:
    sizes: list[int] = []

    @policy(effect="write", risk="low")
    async def keep(text: str) -> int:
        """Keep a text."""
        sizes.append(len(text))
        return len(text)

    model = says("short")
    summing = {"id": "sum", "action": "llm", "instruction": instruction, "depends_on": ["long"]}
    steps = (step("long", "long"), summing, step("keep", "keep", {"text": "${long}"}))
    built: Any = build_graph(tools=ToolRegistry({**shop.tools(), **ToolRegistry.of(keep)}), models=model)

    result = await built.ainvoke(given(*steps), thread())

    assert by_id(result)["sum"]["output"] == "short"
    assert sizes == [len(LONG)]
    assert len(model.prompts[0]) < 10_000
    assert MARK in model.prompts[0]


@pytest.mark.parametrize(
    "asking",
    [
        step("ask", "mail", {"to": "ann@x.com"}, fill=["text"], depends_on=["long"]),
        step("ask", "mail", {"to": "ann@x.com", "text": "${long.summary}"}),
    ],
)
async def test_choosing_arguments_needs_digests_only(shop: Shop, asking: dict[str, Any]) -> None:
    model = says({"text": "hello"}, {"r1": "x"})

    await graph(shop, model, max_replans=0).ainvoke(given(step("long", "long"), asking), thread())

    assert len(model.prompts[0]) < 10_000
    assert MARK in model.prompts[0]
