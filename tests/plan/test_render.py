"""Plans as pictures and lines, safe whatever they hold."""

import re

from hypothesis import given
from hypothesis import strategies as st

from graph.plan import Plan, StepStatus, ToolStep, parse_plan, to_mermaid, to_text
from tests.plan.fakes import P0, plan_of, tool

LINE = re.compile(
    r'^(flowchart TD|    n\d+\["(?:[^\W_]|[ _.,:/…#;-]|<br/>)*"\]'
    r'|    n\d+ (?:-->|-\.->|-\. "(?:[^\W_]|[ _.,:/…#;-])*" \.->) n\d+|    style n\d+ fill:#[0-9a-f]{6})$'
)


@given(st.lists(st.tuples(st.text(min_size=1, max_size=200), st.text()), max_size=4))
def test_no_id_or_title_can_break_out_of_its_label(names: list[tuple[str, str]]) -> None:
    steps = tuple(ToolStep(id=step_id, title=title, tool="t") for step_id, title in names)
    plan = Plan(plan_id="p", goal="g", steps=steps)
    drawn = to_mermaid(plan, {step.id: StepStatus.FAILED for step in steps})
    assert all(LINE.match(line) for line in drawn.rstrip("\n").split("\n"))
    assert len(to_text(plan).splitlines()) == len(steps) + 1


@given(st.text(min_size=1, max_size=80), st.booleans())
def test_no_condition_can_break_out_of_its_arrow(text: str, asks: bool) -> None:
    when = f"{text} == a" if asks else text
    steps = (
        ToolStep(id="a", tool="t"),
        ToolStep(id="b", tool="t", depends_on=("a",), when=when, expect=when),
    )
    plan = Plan(plan_id="p", goal="g", steps=steps)
    assert all(LINE.match(line) for line in to_mermaid(plan).rstrip("\n").split("\n"))
    assert len(to_text(plan).splitlines()) == 3


def test_the_base_plan_as_a_flowchart() -> None:
    plan, _ = parse_plan(P0)
    assert plan is not None
    assert to_mermaid(plan, {"s1": StepStatus.SUCCEEDED}) == (
        "flowchart TD\n"
        '    n0["s1<br/>tool web_search<br/>succeeded"]\n'
        '    n1["s2<br/>tool write_file<br/>high risk, approval"]\n'
        "    n0 --> n1\n"
        "    style n0 fill:#bbf7d0\n"
    )


def test_the_base_plan_as_text() -> None:
    plan, _ = parse_plan(P0, plan_id="p")
    assert plan is not None
    assert to_text(plan, {"s1": StepStatus.SUCCEEDED}) == (
        "plan p revision 1 by caller: g\n"
        "  s1  succeeded  tool web_search  low\n"
        "  s2  pending    tool write_file  high + approval  after s1\n"
    )


def test_quotes_brackets_newlines_and_chinese_are_shown_escaped() -> None:
    plan = plan_of({**tool('a"]'), "title": "查询 <b>\n`x` #1;"})
    assert 'n0["a#34;#93;<br/>查询 #60;b#62;#10;#96;x#96; #35;1#59;"]' in to_mermaid(plan)
