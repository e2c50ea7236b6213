"""A plan with a part, and what its planner says."""

from typing import Any

from tests.executor.shop import Shop, graph, step, thread

Json = dict[str, Any]
LOOK_AND_MAIL: Json = {
    "plan": {
        "steps": [
            step("a", "look", {"order": "A1"}),
            step("b", "mail", {"to": "${a.customer.email}", "text": "about ${first.id}"}),
        ],
        "assumptions": ["the customer has an address"],
    }
}


def part(step_id: str = "p", **more: Any) -> Json:
    return {"id": step_id, "action": "plan", "goal": "tell the customer of order ${first.id}", **more}


def plan(*steps: Json, **more: Any) -> Json:
    return {"goal": "care for order A1", "steps": [step("first", "look", {"order": "A1"}), *steps], **more}


async def run(shop: Shop, given: Json, model: Any, **settings: Any) -> Json:
    document: Json = await graph(shop, model, **settings).ainvoke(
        {"goal": "care for order A1", "plan": given}, thread()
    )
    return document
