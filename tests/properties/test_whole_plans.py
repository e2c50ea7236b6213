"""What holds of every plan that checks clean: it ends, with a reason, the same in lanes and in layers."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from graph.build import build_graph
from graph.plan import parse_plan
from tests.plan.strategies import good_plan_data
from tests.properties.drawing import specs
from tests.properties.durable import InFile, Memory
from tests.properties.harness import Fault, Harness, drive, finish
from tests.properties.models import Echo
from tests.properties.reference import Reference
from tests.properties.specs import Spec
from tools import ToolRegistry, policy

QUIET = settings(
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


def _ended(steps: tuple[Spec, ...], scheduling: str) -> dict[str, Any]:
    harness = Harness(steps, Memory(), max_concurrency=3, scheduling=scheduling)
    asyncio.run(finish(harness, Reference(steps), lambda ids: ids[0]))
    assert harness.document is not None
    return harness.document


@settings(QUIET, max_examples=25)
@given(specs(max_steps=8, lossy=False))
def test_lanes_and_layers_give_the_same_document(steps: tuple[Spec, ...]) -> None:
    lanes, layers = _ended(steps, "lanes"), _ended(steps, "layered")

    for document in (lanes, layers):
        del document["plan"]["plan_id"]
        document["usage"] = {name: document["usage"][name] for name in ("model_calls", "tool_calls")}
        for row in (*document["steps"], *document["effects"]):
            for changing in ("started_at", "ended_at", "at", "idempotency_key", "revision"):
                row.pop(changing, None)
        document["effects"].sort(key=lambda effect: str(effect["step"]))
    assert lanes == layers


@settings(QUIET, max_examples=12)
@given(
    specs(max_steps=7), st.data(), st.lists(st.builds(Fault, st.just("kill"), st.integers(1, 50)), max_size=4)
)
def test_what_a_killed_process_left_in_a_file_is_enough(
    steps: tuple[Spec, ...], data: st.DataObject, faults: list[Fault]
) -> None:
    with TemporaryDirectory() as folder:
        harness = Harness(steps, InFile(Path(folder) / "runs.db"), max_concurrency=4, compensate=True)
        drive(harness, steps, data, faults)


@policy(effect="read", backoff_base=0)
async def read(q: str, x: Any) -> dict[str, Any]:
    """Look something up."""
    return {"out": q, "x": x}


READING = build_graph(
    tools=ToolRegistry.of(read), models={"executor": Echo()}, settings={"approve_at": "never"}
)


@settings(QUIET, max_examples=40)
@given(good_plan_data())
def test_a_plan_that_checks_clean_runs_to_an_end(plan: dict[str, Any]) -> None:
    plan["steps"] = [step for step in plan["steps"] if step["action"] == "tool"] or [
        {"id": "s", "action": "tool", "tool": "read", "args": {"q": "q", "x": 1}}
    ]
    kept = {step["id"] for step in plan["steps"]}
    for step in plan["steps"]:
        step["depends_on"] = [dep for dep in step.get("depends_on", []) if dep in kept]
        if not all(f"${{{other}." not in str(step["args"]) or other in kept for other in _referred(step)):
            step["args"]["q"] = "plain"
            for name in ("when", "expect", "fallback"):
                step.pop(name, None)
    parsed, problems = parse_plan(plan)
    assert parsed is not None, problems

    document = asyncio.run(READING.ainvoke({"goal": "any", "plan": parsed}))

    statuses = {row["status"] for row in document["steps"]}
    assert statuses <= {"succeeded", "failed", "skipped", "cancelled", "not_taken"}
    assert document["status"] in {"succeeded", "partial", "failed"}
    assert document["success"] or document["reason"]


def _referred(step: dict[str, Any]) -> list[str]:
    text = str(step["args"]["q"])
    return [text.partition("${")[2].partition(".")[0]] if "${" in text else []
