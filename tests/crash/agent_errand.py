"""The run with an agent that is killed: two lookups and two writes, one a turn, then its result."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from checkpoints import OpenedStore
from graph.build import build_graph
from graph.running import PlanrailGraph
from tests.crash.errand import Errand, append, effects
from tests.support.models import Speaking, prompt_of

ORDER, AMOUNT = "A1234", 10
TURNS: list[dict[str, Any]] = [
    {"tool": "query_order", "args": {"order_id": ORDER}},
    {"tool": "query_logistics", "args": {"order_id": ORDER}},
    {"tool": "issue_refund", "args": {"order_id": ORDER, "amount": AMOUNT}},
    {"tool": "send_reply", "args": {"order_id": ORDER, "text": f"{AMOUNT} came back to you."}},
    {"result": "made up for"},
]
EFFECT_OF = {"issue_refund": f"refund_{ORDER}", "send_reply": f"reply_{ORDER}"}
AFTER = "after"
PLAN: dict[str, Any] = {
    "goal": "make up for a late order",
    "steps": [
        {
            "id": "work",
            "action": "agent",
            "instruction": f"Pay {AMOUNT} of order {ORDER} back and say so.",
            "tools": [turn["tool"] for turn in TURNS[:-1]],
        },
        {"id": AFTER, "action": "llm", "instruction": "after: ${work}"},
    ],
}


class AgentErrand(Errand):
    """As the errand on the shop, done by an agent; what follows it is one more question."""

    plan = PLAN

    def graph(self, opened: OpenedStore) -> PlanrailGraph:
        return build_graph(
            tools=self._tools,
            models={"executor": Agent(folder=str(self.folder))},
            settings={"approve_at": "never", "backoff_base": 0},
            checkpointer=opened.checkpointer,
            store=opened.store,
        )

    def truth_about(self, question: Mapping[str, Any]) -> dict[str, Any]:
        happened = EFFECT_OF[question["args"]["call"]["tool"]] in effects(self.folder)
        return (
            {"decision": "happened", "result": {"amount": AMOUNT}}
            if happened
            else {"decision": "not_happened"}
        )


class Agent(Speaking):
    """Takes the turn that is due after those it is shown, and writes down which one it was asked for."""

    folder: str

    def reply(self, messages: Sequence[BaseMessage]) -> AIMessage:
        if "Your step: after" in prompt_of(messages):
            return self._said(AFTER, "all is well")
        at = sum(isinstance(message, AIMessage) for message in messages)
        return self._said(f"turn {at}", json.dumps({"next": TURNS[at]}))

    def _said(self, asked: str, text: str) -> AIMessage:
        append(Path(self.folder) / "asked", asked)
        return AIMessage(text)
