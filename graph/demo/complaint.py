"""The demo's plan: two reads at once, a judgement, and a reply that a person lets out."""

from graph.plan import Plan
from graph.plan.templates import load_templates

ORDER_ID = "A1234"


def complaint_plan() -> Plan:
    """A new plan each time, with an id of its own: a second demo is a second reply."""
    return load_templates().require("complaint").fill({"order_id": ORDER_ID})
