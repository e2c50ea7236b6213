"""The complaint about a late order, on a small shop: what `planrail demo` runs."""

from graph.demo.complaint import complaint_plan
from graph.demo.recorded import RECORDED_JUDGEMENT, RecordedModel
from graph.demo.stage import demo_intro, demo_models, demo_tools, outbox_lines, shop_beside

__all__ = [
    "RECORDED_JUDGEMENT",
    "RecordedModel",
    "complaint_plan",
    "demo_intro",
    "demo_models",
    "demo_tools",
    "outbox_lines",
    "shop_beside",
]
