"""Order and remaining paths, without recursion."""

from itertools import pairwise

from hypothesis import given

from graph.plan import JSON, Plan, ToolStep, dependents, longest_remaining, parse_plan, topological_order
from tests.plan.fakes import plan_of, tool
from tests.plan.strategies import good_plan_data


@given(good_plan_data())
def test_the_order_has_every_step_once_and_after_what_it_needs(data: dict[str, JSON]) -> None:
    plan, _ = parse_plan(data)
    assert plan is not None
    order = topological_order(plan.steps)
    place = {step_id: index for index, step_id in enumerate(order)}
    assert sorted(order) == sorted(step.id for step in plan.steps)
    assert all(place[needed] < place[step.id] for step in plan.steps for needed in step.depends_on)


@given(good_plan_data())
def test_the_remaining_path_is_the_step_and_the_longest_of_its_dependents(data: dict[str, JSON]) -> None:
    plan, _ = parse_plan(data)
    assert plan is not None
    durations = {step.id: float(len(step.id) + index) for index, step in enumerate(plan.steps)}
    remaining = longest_remaining(plan, durations)
    for step_id, after in dependents(plan.steps).items():
        assert remaining[step_id] == durations[step_id] + max(
            (remaining[later] for later in after), default=0
        )


def test_a_chain_of_five_thousand_steps_needs_no_recursion() -> None:
    ids = [f"s{index}" for index in range(5000)]
    first = ToolStep(id="s0", tool="read")
    steps = (first, *(ToolStep(id=b, tool="read", depends_on=(a,)) for a, b in pairwise(ids)))
    plan = Plan(plan_id="p", goal="g", steps=tuple(reversed(steps)))
    assert topological_order(plan.steps) == tuple(ids)
    assert longest_remaining(plan)["s0"] == 5000


def test_steps_on_or_behind_a_cycle_are_left_out() -> None:
    plan = plan_of(tool("a", "b"), tool("b", "a"), tool("c", "b"), tool("d", "gone"))
    assert topological_order(plan.steps) == ("d",)
