"""The run with maps that is killed: writes for each of some items, then a question about each."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from tests.crash.errand import Errand, append, lines
from tools import IdempotencyKey, policy

ITEMS = 3
EFFECTS = "effects"


def _plan(put: str) -> dict[str, Any]:
    put_it = {"action": "tool", "tool": put, "args": {"value": "${item.value}"}}
    ask = {"action": "llm", "instruction": "asks#${index}: of ${item}"}
    return {
        "goal": "put a list away",
        "steps": [
            {"id": "list", "action": "tool", "tool": "list_values", "args": {"count": ITEMS}},
            {"id": "puts", "action": "map", "over": "${list}", "step": put_it},
            {"id": "asks", "action": "map", "over": "${puts.results}", "step": ask},
        ],
    }


class ListErrand(Errand):
    """As the errand on the shop; every effect is a line of a file, with its key."""

    def tools(self, *, idempotent: bool) -> list[Callable[..., Any]]:
        self.plan = _plan("put" if idempotent else "put_away")

        def once(value: str, key: str) -> str:
            self._note_call("put", {"order_id": value})
            if not idempotent or f"{value} {key}" not in lines(self.folder / EFFECTS):
                append(self.folder / EFFECTS, f"{value} {key}")
            return f"put {value}"

        @policy(effect="read", backoff_base=0)
        def list_values(count: int) -> list[dict[str, str]]:
            """List some values."""
            return [{"value": f"v{number}"} for number in range(count)]

        if idempotent:

            @policy(effect="write", idempotent=True, risk="low", backoff_base=0)
            def put(value: str, key: Annotated[str, IdempotencyKey]) -> str:
                """Put a value away, once for each key."""
                return once(value, key)

            return [list_values, put]

        @policy(effect="write", risk="low", backoff_base=0)
        def put_away(value: str) -> str:
            """Put a value away."""
            return once(value, str(time.monotonic_ns()))

        return [list_values, put_away]

    def truth_about(self, question: Mapping[str, Any]) -> dict[str, Any]:
        value = question["args"]["call"]["args"]["value"]
        if value not in done(self.folder):
            return {"decision": "not_happened"}
        return {"decision": "happened", "result": f"put {value}"}


def done(folder: Path) -> list[str]:
    """Every effect there has been; a value twice when it happened twice."""
    return [line.split()[0] for line in lines(folder / EFFECTS)]
