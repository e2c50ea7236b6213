"""The walkthroughs: shipped examples on real parts, which `planrail demo NAME` runs."""

from collections.abc import Mapping

from graph.demo.batch import BATCH
from graph.demo.complaint import COMPLAINT
from graph.demo.complaint_answers import RECORDED_JUDGEMENT
from graph.demo.price_watch import PRICE_WATCH
from graph.demo.research import RESEARCH
from graph.demo.walkthrough import STANDARD, Prelude, RecordedModel, Stage, Variant, Walkthrough
from graph.demo.weekly_report import WEEKLY_REPORT

WALKTHROUGHS: Mapping[str, Walkthrough] = {
    each.name: each for each in (COMPLAINT, RESEARCH, PRICE_WATCH, WEEKLY_REPORT, BATCH)
}
"""All walkthroughs by name, the first one that `planrail demo` runs by itself."""

__all__ = [
    "RECORDED_JUDGEMENT",
    "STANDARD",
    "WALKTHROUGHS",
    "Prelude",
    "RecordedModel",
    "Stage",
    "Variant",
    "Walkthrough",
]
