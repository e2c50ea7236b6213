"""Requests and prompt tokens on fixed tasks, beside a plain tool-calling agent on the same server."""

from pathlib import Path

import pytest

from graph.build import build_graph
from tests.benchmarks.conftest import Figures
from tests.endpoint.office import Office
from tests.endpoint.test_against_agent import STEPS, TASKS, Task, plain_agent, tokens
from tests.support.openai_server import OpenAIServer, text
from tests.templates.support import GREETING, hello, write


@pytest.mark.benchmark
async def test_a_plan_takes_no_more_calls_than_a_plain_agent(figures: Figures) -> None:
    for name, task in TASKS.items():
        ours, theirs = await _ours(task), await _theirs(task)
        calls = f"calls {len(ours.requests)} / {len(theirs.requests)}"
        figures(
            f"model: {name}", f"{calls}, prompt tokens {tokens(ours)} / {tokens(theirs)}", "no more calls"
        )
        assert len(ours.requests) <= len(theirs.requests)
        if len(theirs.requests) > STEPS:
            assert tokens(ours) <= tokens(theirs) / 2


@pytest.mark.benchmark
async def test_a_goal_that_a_template_fits_is_planned_without_a_call(
    tmp_path: Path, figures: Figures
) -> None:
    write(tmp_path, "greeting", GREETING)
    with OpenAIServer(text("unused")) as server:
        graph = build_graph(tools=[hello], models=server.model(), settings={"templates": str(tmp_path)})
        done = await graph.ainvoke({"goal": "greet Ada"})
    figures("model: template hit", f"planning calls {len(server.requests)}", "0")
    assert done["status"] == "succeeded"
    assert server.requests == []


async def _ours(task: Task) -> OpenAIServer:
    with OpenAIServer(task.plan) as server:
        result = await Office().run(server, task.goal)
    assert result["status"] == "succeeded", result["reason"]
    return server


async def _theirs(task: Task) -> OpenAIServer:
    with OpenAIServer(task.turns) as server:
        await plain_agent(server, task.goal)
    return server
