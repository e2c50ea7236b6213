"""The run that is killed and undone: a write, a part that is planned, a fallback, and then no way on."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from checkpoints import OpenedStore
from graph.build import build_graph
from graph.running import PlanrailGraph
from tests.crash.errand import Errand, append, lines
from tests.crash.list_errand import EFFECTS
from tests.support.models import says
from tools import HardToolError, IdempotencyKey, policy

DONE = ["book", "pay", "instead", "not put pay", "not put book"]
"""Every effect, in its order."""

STEPS = {
    **dict.fromkeys(("book", "part.pay", "part", "way", "part.pay@undo", "book@undo"), "succeeded"),
    "lost": "failed",
}
STEP_OF = dict(zip(DONE, ("book", "part.pay", "way", "part.pay@undo", "book@undo"), strict=True))


def _put(step_id: str, put: str, **more: Any) -> dict[str, Any]:
    undo = {"tool": put, "args": {"value": "not ${result}"}}
    return {
        "id": step_id,
        "action": "tool",
        "tool": put,
        "args": {"value": step_id},
        "compensate": undo,
        **more,
    }


def _plan(put: str) -> dict[str, Any]:
    instead = {"tool": put, "args": {"value": "instead"}}
    return {
        "goal": "book a journey",
        "steps": [
            _put("book", put),
            {"id": "part", "action": "plan", "goal": "pay for what ${book} said"},
            {"id": "way", "action": "tool", "tool": "find", "depends_on": ["part"], "fallback": instead},
            {"id": "lost", "action": "tool", "tool": "find", "depends_on": ["way"]},
        ],
    }


class UndoErrand(Errand):
    """As the errand on the shop; every effect is a line of a file, with its key."""

    def tools(self, *, idempotent: bool) -> list[Callable[..., Any]]:
        self.put = "put" if idempotent else "put_away"
        self.plan = _plan(self.put)

        def once(value: str, key: str) -> str:
            self._note_call("put", {"order_id": value.replace(" ", "_")})
            if not idempotent or f"{value}\t{key}" not in lines(self.folder / EFFECTS):
                append(self.folder / EFFECTS, f"{value}\t{key}")
            return f"put {value}"

        @policy(effect="read")
        def find() -> str:
            """Find what is not there."""
            raise HardToolError("not_found", "there is none")

        @policy(effect="write", idempotent=True, risk="low", backoff_base=0)
        def put(value: str, key: Annotated[str, IdempotencyKey]) -> str:
            """Put a value away, once for each key."""
            return once(value, key)

        @policy(effect="write", risk="low", backoff_base=0)
        def put_away(value: str) -> str:
            """Put a value away."""
            return once(value, str(time.monotonic_ns()))

        return [find, put if idempotent else put_away]

    def graph(self, opened: OpenedStore) -> PlanrailGraph:
        return build_graph(
            tools=self._tools,
            models={"planner": says(self._planned)},
            settings={"approve_at": "never", "backoff_base": 0, "compensate": True, "max_replans": 0},
            checkpointer=opened.checkpointer,
            store=opened.store,
        )

    def _planned(self, _prompt: str) -> dict[str, Any]:
        """Plan the part, and write down that it was asked for."""
        append(self.folder / "asked", "part")
        return {"plan": {"steps": [_put("pay", self.put)]}}

    def truth_about(self, question: Mapping[str, Any]) -> dict[str, Any]:
        value = question["args"]["value"]
        if value not in done(self.folder):
            return {"decision": "not_happened"}
        return {"decision": "happened", "result": f"put {value}"}


def done(folder: Path) -> list[str]:
    """Every effect there has been, in its order; a value twice when it happened twice."""
    return [line.partition("\t")[0] for line in lines(folder / EFFECTS)]
