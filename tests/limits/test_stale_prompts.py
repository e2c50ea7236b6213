"""A model that works on an old result is told how old it is."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkpoints import open_store
from graph.build import build_graph
from tests.limits.support import Clock, step, thread, wish
from tests.support.models import says
from tools import SoftToolError, policy

ASKING: list[dict[str, Any]] = [
    {"id": "told", "action": "llm", "instruction": "tell the price", "depends_on": ["a", "b"]},
    {"id": "told", "action": "agent", "instruction": "tell it", "tools": ["stock"], "depends_on": ["a", "b"]},
]


@pytest.mark.parametrize("asking", ASKING, ids=["llm", "agent"])
def test_the_age_of_an_old_result_stands_in_the_prompt(tmp_path: Path, asking: dict[str, Any]) -> None:
    down: list[bool] = []

    @policy(effect="read", max_attempts=1, cache_scope="shared", fallback="stale_cache")
    async def price(sku: str) -> str:
        """Tell a price."""
        if down:
            raise SoftToolError("closed")
        return f"{sku}: 9 EUR"

    @policy(effect="read")
    async def stock(sku: str) -> str:
        """Tell the stock."""
        return f"{sku}: 3 pieces"

    told = {"action": "finish", "result": "9 EUR", "thought": "known"}
    model = says("9 EUR" if asking["action"] == "llm" else told)
    clock = Clock()
    steps = (step("a", "price", args={"sku": "K"}), step("b", "stock", args={"sku": "K"}), asking)
    with open_store(tmp_path / "runs.db") as opened:
        graph: Any = build_graph(
            tools=[price, stock], models=model, checkpointer=opened.checkpointer, store=opened.store
        )
        graph.engine = replace(graph.engine, now=clock.now)
        graph.invoke(wish(*steps), thread("r1"))
        clock.move(3600)
        down.append(True)
        graph.invoke(wish(*steps), thread("r2"))

    fresh, old = model.prompts[0], model.prompts[-1]
    assert "s old" not in fresh
    assert "What a gave is 3600 s old" in old
    assert "What b gave" not in old
