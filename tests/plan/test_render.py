"""Plans as pictures and lines, safe whatever they hold."""

import re

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from graph.plan import JSON, Plan, StepStatus, ToolStep, parse_plan, to_mermaid, to_text
from tests.plan.fakes import plan_of, tool
from tests.support.plans import P0

LINE = re.compile(
    r'^(flowchart (?:TD|LR)|    n\d+\["(?:[^\W_]|[ _.,:/…#;-]|<br/>)*"\]'
    r'|    n\d+ (?:-->|-\.->|-\. "(?:[^\W_]|[ _.,:/…#;-])*" \.->) n\d+'
    r"|    style n\d+ fill:#[0-9a-f]{6},color:#000000)$"
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
        "    style n0 fill:#bbf7d0,color:#000000\n"
    )


def test_the_base_plan_as_text() -> None:
    plan, _ = parse_plan(P0, plan_id="p")
    assert plan is not None
    assert to_text(plan, {"s1": StepStatus.SUCCEEDED}) == (
        "plan p revision 1 by caller: g\n"
        "  s1  succeeded  tool web_search  low\n"
        "  s2  pending    tool write_file  high + approval  after s1\n"
    )


def test_columns_of_a_text_start_where_they_start_whatever_is_wide() -> None:
    one, other = ({**tool(name, "w"), "title": "look"} for name in ("查询订单", "b"))
    _, *lines = to_text(plan_of(tool("w"), one, other)).splitlines()
    assert [cell_len(line[: line.index("tool")]) for line in lines] == [12, 12, 12]
    assert [cell_len(line[: line.index("look")]) for line in lines[1:]] == [37, 37]


def test_a_step_that_waits_for_many_moves_no_title_but_its_own() -> None:
    many = [{**tool(f"s{n}"), "title": "look"} for n in range(60)]
    lines = to_text(
        plan_of(*many, {**tool("join", *(f"s{n}" for n in range(60))), "title": "join"})
    ).splitlines()
    assert max(map(len, lines[1:-1])) < 40
    assert lines[-1].endswith("s59  join")


def test_a_condition_leaves_no_gap_in_the_lines_of_other_steps() -> None:
    plan = plan_of(
        {**tool("a"), "title": "look"}, {**tool("b"), "when": "params.x", "title": "pay"}, params={"x": True}
    )
    assert to_text(plan).splitlines()[1:] == [
        "  a  tool read  low    look",
        "  b  tool read  low    pay   when params.x",
    ]


def test_quotes_brackets_newlines_and_chinese_are_shown_escaped() -> None:
    plan = plan_of({**tool('a"]'), "title": "查询 <b>\n`x` #1;"})
    assert 'n0["a#34;#93;<br/>查询 #60;b#62;#10;#96;x#96; #35;1#59;"]' in to_mermaid(plan)


def test_text_on_a_colour_is_dark_on_dark_pages_too() -> None:
    drawn = to_mermaid(plan_of(tool("a")), {"a": StepStatus.FAILED})
    assert "style n0 fill:#fecaca,color:#000000" in drawn


def test_dollars_begin_no_formula() -> None:
    drawn = to_mermaid(plan_of({**tool("a"), "title": "$$\\frac{$$"}, {**tool("b"), "when": "'$$' == '$$'"}))
    assert "#36;#36;" not in drawn
    assert drawn.count("#36;#8288;") == 8


def test_a_label_cannot_turn_its_text_round() -> None:
    assert 'n0["a<br/>x#65533;y"]' in to_mermaid(plan_of({**tool("a"), "title": "x\u202ey"}))


def test_a_long_condition_hides_neither_risk_nor_approval_nor_status() -> None:
    asked: dict[str, JSON] = {"when": f"'{'a' * 90}' == ''", "risk": "high", "require_approval": True}
    plan = plan_of({**tool("a"), **asked})
    assert '…, high risk, approval, failed"]' in to_mermaid(plan, {"a": StepStatus.FAILED})


def test_many_steps_side_by_side_are_drawn_one_below_the_other() -> None:
    first = tool("a")
    few, many = ([first, *(tool(f"b{n}", "a") for n in range(count))] for count in (8, 9))
    assert to_mermaid(plan_of(*few)).startswith("flowchart TD\n")
    assert to_mermaid(plan_of(*many)).startswith("flowchart LR\n")
    chain = [tool(f"c{n}", *([f"c{n - 1}"] if n else [])) for n in range(10)]
    assert to_mermaid(plan_of(*chain, *(tool(f"b{n}") for n in range(8)))).startswith("flowchart TD\n")


def test_more_arrows_than_mermaid_draws_are_counted() -> None:
    steps = [ToolStep(id=f"s{n}", tool="t", depends_on=tuple(f"s{m}" for m in range(n))) for n in range(40)]
    drawn = to_mermaid(Plan(plan_id="p", goal="g", steps=tuple(steps)))
    assert drawn.count("-->") == 499
    assert 'more["and 281 more arrows"]' in drawn


def test_more_text_than_mermaid_draws_is_cut_and_keeps_each_step_and_its_status() -> None:
    odd = "<" * 100
    steps = tuple(ToolStep(id=f"{n}{odd}", title=odd, tool="t") for n in range(200))
    drawn = to_mermaid(Plan(plan_id="p", goal="g", steps=steps), {s.id: StepStatus.NOT_TAKEN for s in steps})
    assert len(drawn) <= 50_000
    assert len(re.findall(r'n\d+\["\d+#60;.*…<br/>.*…<br/>not_taken"\]', drawn)) == 200
