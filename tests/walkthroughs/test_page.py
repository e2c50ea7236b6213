"""The page about the walkthroughs names what there is, and all of it."""

import re
from pathlib import Path

from graph.demo import WALKTHROUGHS
from graph.plan.templates import load_templates, tool_faults
from tools import fingerprints

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "walkthroughs.md").read_text("utf-8")
COMMAND = re.compile(r"planrail demo ([a-z][\w-]*)(?: --variant ([\w-]+))?")


def test_the_page_tells_of_every_walkthrough_and_variant_and_of_no_other() -> None:
    told = {(name, variant or "standard") for name, variant in COMMAND.findall(PAGE)}
    there = {(each.name, variant) for each in WALKTHROUGHS.values() for variant in each.variants}
    assert told == there


def test_each_plan_goes_with_the_tools_of_its_stage(tmp_path: Path) -> None:
    library = load_templates()
    for each in WALKTHROUGHS.values():
        for name, variant in each.variants.items():
            template = library.require(variant.template or each.template)
            with each.stage(tmp_path / f"{each.name}-{name}", name) as stage:
                assert tool_faults(template, fingerprints(stage.tools)) == (), (each.name, name)
                assert set(template.tools) == template.used_tools
