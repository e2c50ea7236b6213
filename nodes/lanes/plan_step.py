"""A `plan` step: planned when it is reached, finished when its sub-steps are."""

from collections.abc import Sequence

from graph.plan import Plan, PlanProblem, PlanStep, StepStatus, last_sub_steps, stray_problems, sub_results
from nodes.books import charged
from nodes.decide.outcome import is_lost
from nodes.expansion import part_problems
from nodes.history import history_of
from nodes.lanes.asking import ask_for
from nodes.lanes.rebuild import read_state
from nodes.lanes.results import Result, failed, failed_call, started
from nodes.lanes.run import StepRun
from nodes.metering import BUDGET_SPENT, STEP_BUDGET_SPENT
from nodes.prompts import part_messages
from nodes.proposals import Check, Request, propose, read_plan
from tools import ToolRegistry


async def run_plan(run: StepRun, step: PlanStep, goal: str) -> Result:
    """The step's result; it is pending still once it is planned, since its sub-steps come first then.

    What was planned is written down before it is used: a resume asks no model again.
    """
    run.entry = run.entry.model_copy(update={"input": {"goal": goal}})
    if step.sub_steps:
        return await _finished(run, step)
    session, board = run.session, run.board
    results = {dep: await session.output_of(dep) for dep in step.depends_on if board.has_result(dep)}
    tools = _tools_of(run, step)
    proposal = await propose(
        session,
        "planner",
        Request(goal, lambda some: part_messages(goal, board.plan.goal, some, results, session.settings)),
        read=read_plan(goal, board.plan.plan_id, "planner"),
        check=await _check(run, step, frozenset(results), frozenset(tools)),
        completed=frozenset(results),
        registry=tools,
        how=ask_for(run, step, lambda tries: _begin(run, tries), role="planner"),
    )
    if proposal.answer is not None:
        return Result(StepStatus.SUCCEEDED, proposal.answer)
    if proposal.failed is not None and proposal.failed.code in (BUDGET_SPENT, STEP_BUDGET_SPENT):
        return failed_call(proposal.failed)
    if proposal.plan is None:
        return failed("hard", "not_planned", str(proposal.cannot))
    await _keep(run, proposal.plan)
    return Result(StepStatus.PENDING)


async def _finished(run: StepRun, step: PlanStep) -> Result:
    """The end of a part whose sub-steps have ended: what they gave, or a failure that names the lost ones."""
    board = run.board
    wanted = [sub for sub in last_sub_steps(step) if not board.step(sub).optional]
    lost = [sub for sub in wanted if is_lost(board.statuses[sub])]
    if lost:
        causes = [sub for sub in step.sub_steps if board.statuses[sub] is StepStatus.FAILED] or lost
        return failed("hard", "part_failed", "; ".join(_how_lost(run, sub) for sub in causes))
    outputs = {each: await run.session.output_of(each) for each in step.sub_steps}
    return Result(StepStatus.SUCCEEDED, sub_results(step, outputs))


def _how_lost(run: StepRun, sub: str) -> str:
    entry = run.board.entries.get(sub)
    error = entry.error if entry is not None else None
    return f"{sub} {run.board.statuses[sub].value}" + (f": {error.code}: {error.message}" if error else "")


def _tools_of(run: StepRun, step: PlanStep) -> ToolRegistry:
    registry = run.session.engine.registry
    return ToolRegistry({name: registry[name] for name in step.tools}) if step.tools else registry


async def _check(run: StepRun, step: PlanStep, known: frozenset[str], tools: frozenset[str]) -> Check:
    """The rules that the part's plan must keep: those of any plan, in its place, and its own bounds."""
    history = await history_of(run.session, read_state("failed_calls").get("failed_calls") or ())

    def check(part: Plan) -> Sequence[PlanProblem]:
        stray = list(stray_problems(part, known, tools))
        return stray or part_problems(run.session, run.board.plan, step.id, part, history)

    return check


def _begin(run: StepRun, tries: int) -> None:
    run.entry = charged(started(run.entry, run.session.engine.now()), run.spent.committed)
    run.emit("step_started" if tries == 0 else "step_attempt")


async def _keep(run: StepRun, part: Plan) -> None:
    """Write down what was planned. The scheduler puts it into the plan; no lane begins a step before."""
    told = {
        "steps": part.to_json()["steps"],
        "assumptions": list(part.assumptions),
        "repairs": list(part.repairs),
    }
    entry = run.entry.model_copy(update={"status": StepStatus.PENDING, "planned": told})
    run.entry = charged(entry, run.spent.used)
    run.board.entries[run.step.id] = run.entry
    run.board.regroup()
    await run.session.journal.commit(run.entry)
    run.emit("step_planned", f"{len(part.steps)} steps")
