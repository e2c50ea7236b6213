"""Steps that ask a model."""

from pathlib import Path

import pytest
from langgraph.types import Command

from tests.acceptance.support import (
    build,
    given,
    opened,
    outputs,
    plan,
    planner,
    statuses,
    step,
    stored,
    thread,
    waiting_steps,
    write,
)
from tests.acceptance.toolbox import Toolbox


def test_an_llm_step_is_asked_once_even_if_the_run_waits_after_it(toolbox: Toolbox, database: Path) -> None:
    steps = plan(
        step("find", "web_search", {"query": "q"}),
        {"id": "judge", "action": "llm", "instruction": "Say who ${find.items[0].name} is."},
        write("save", "${judge}", require_approval=True),
    )
    model = planner("x is a letter", "something else")
    with opened(database) as both:
        waiting = stored(toolbox, both, models={"executor": model}).invoke(given(steps), thread())
        assert waiting_steps(waiting) == {"save"}
        assert "Say who x is." in model.prompts[0]
    with opened(database) as both:
        result = stored(toolbox, both, models={"executor": model}).invoke(Command(resume="approve"), thread())

    assert result["status"] == "succeeded"
    assert len(model.prompts) == 1
    assert outputs(result)["judge"] == "x is a letter"
    assert toolbox.calls("write_file")[0]["content"] == "x is a letter"


def test_an_answer_outside_the_choices_is_sent_back_with_the_reason(toolbox: Toolbox) -> None:
    steps = plan({"id": "judge", "action": "llm", "instruction": "Is it late?", "choices": ["yes", "no"]})
    learns, never = planner("perhaps", "yes"), planner("perhaps")

    good = build(toolbox, models={"executor": learns}).invoke(given(steps))
    bad = build(toolbox, models={"executor": never}).invoke(given(steps))

    assert outputs(good) == {"judge": "yes"}
    assert len(learns.prompts) == 2
    assert bad["status"] == "failed"
    assert statuses(bad) == {"judge": "failed"}
    assert len(never.prompts) == 3


def test_an_llm_steps_schema_gives_an_object(toolbox: Toolbox) -> None:
    schema = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}
    steps = plan(
        {"id": "judge", "action": "llm", "instruction": "How late?", "output_schema": schema},
        write("save", "${judge.days + 1}"),
    )
    model = planner('{"days": "many"}', '{"days": 4}')

    result = build(toolbox, models={"executor": model}).invoke(given(steps))

    assert result["status"] == "succeeded"
    assert outputs(result)["judge"] == {"days": 4}
    assert toolbox.calls("write_file")[0]["content"] == 5
    assert len(model.prompts) == 2


def test_an_llm_step_without_a_model_is_refused_before_anything_runs(toolbox: Toolbox) -> None:
    steps = plan(
        step("find", "web_search", {"query": "q"}),
        {"id": "judge", "action": "llm", "instruction": "Say ${find.count}."},
    )

    with pytest.raises(Exception, match=r"(?i)model"):
        build(toolbox).invoke(given(steps))

    assert toolbox.calls() == []
