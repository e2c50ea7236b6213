"""The answer that a run without a reporter's model gives: its last results, never longer than one reads."""

from hypothesis import given
from hypothesis import strategies as st

from graph.plan import Plan, StepStatus, ToolStep
from nodes.decide.outcome import ANSWER_CHARS, answer_of


def answer(outputs: list[str]) -> str:
    steps = tuple(ToolStep(id=f"s{n}", tool="look_up") for n in range(len(outputs)))
    plan = Plan(plan_id="p", author="caller", goal="g", steps=steps)
    found = answer_of(
        plan,
        {step.id: StepStatus.SUCCEEDED for step in steps},
        {step.id: output for step, output in zip(steps, outputs, strict=True)},
    )
    assert found is not None
    return found


def test_results_that_fit_are_given_in_full() -> None:
    long = "x" * (ANSWER_CHARS - 10)
    assert answer([long]) == long
    assert answer(["a", long, "b"]) == f"s0: a\ns1: {long}\ns2: b"


def test_no_long_result_hides_another() -> None:
    lines = answer(["x" * ANSWER_CHARS, "y" * ANSWER_CHARS]).splitlines()
    assert lines[0].startswith("s0: xxx")
    assert lines[1].startswith("s1: yyy")
    assert f"of {ANSWER_CHARS})" in lines[1]


def test_results_beyond_what_one_reads_are_counted() -> None:
    lines = answer(["z" * 1_000] * 1_000).splitlines()
    assert lines[-1] == f"... and {1_000 - len(lines) + 1} more results"


@given(st.lists(st.integers(0, 3 * ANSWER_CHARS), min_size=1, max_size=400))
def test_an_answer_has_a_bounded_length(lengths: list[int]) -> None:
    assert len(answer(["r" * length for length in lengths])) <= ANSWER_CHARS * 1.5
