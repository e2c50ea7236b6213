"""The run's books: opened from the journal, written back into entries and the output document."""

from collections.abc import Mapping
from typing import Any

from checkpoints import RunEntry, RunLog, StepEntry
from graph.plan import RunStatus
from graph.state import Engine, Settings
from nodes.accounts import Account
from nodes.decide.budget import NOTHING, Limits, Used
from nodes.ledger import STEPS, Ledger

BY_ROLE = "by_role"
WALL = "wall_seconds"


def run_limits(settings: Settings) -> Limits:
    return Limits(
        settings.max_model_calls,
        settings.max_tokens,
        settings.max_cost,
        settings.max_tool_calls,
        settings.max_wall_seconds,
    )


def step_limits(settings: Settings) -> Limits:
    return Limits(
        settings.step_max_model_calls,
        settings.step_max_tokens,
        settings.step_max_cost,
        settings.step_max_tool_calls,
        settings.step_max_wall_seconds,
        prefix="step_max_",
    )


def open_ledger(engine: Engine, log: RunLog) -> Ledger:
    """The ledger as the journal leaves it: what a process was at when it ended counts as spent."""
    usage: Mapping[str, Any] = log.run.usage if log.run else {}
    roles = usage.get(BY_ROLE)
    books = {role: Used.from_json(used) for role, used in roles.items()} if isinstance(roles, dict) else {}
    books[STEPS] = sum((used_by(entry) for entry in log.steps.values()), NOTHING)
    return Ledger(
        run_limits(engine.settings), books=books, now=engine.now, seconds=active_seconds(log.run, log.steps)
    )


def active_seconds(run: RunEntry | None, steps: Mapping[str, StepEntry]) -> float:
    """How long a run has worked, up to the last sign of life of the process before."""
    if run is None:
        return 0.0
    told = run.usage.get(WALL)
    seconds = float(told) if isinstance(told, int | float) else 0.0
    if run.status is not RunStatus.RUNNING:
        return seconds
    times = [time for e in steps.values() for time in (e.started_at, e.ended_at) if time is not None]
    last = max(times, default=run.updated_at)
    return seconds + max(0.0, (last - run.updated_at).total_seconds())


def used_by(entry: StepEntry) -> Used:
    """What a step's entry says was spent on it."""
    return Used(
        model_calls=entry.model_calls,
        tool_calls=_tool_calls(entry),
        input_tokens=entry.input_tokens or 0,
        output_tokens=entry.output_tokens or 0,
        cost=entry.cost if entry.model_calls else 0.0,
        estimated=entry.estimated,
    )


def _tool_calls(entry: StepEntry) -> int:
    """How often the entry's tools were called; what a model's step tried before its fallback was no call."""
    if entry.tool is not None:
        return entry.attempts
    before = entry.fallback.get("tries") if entry.fallback else None
    return entry.attempts - before if isinstance(before, int) else 0


def step_account(engine: Engine, prior: StepEntry | None) -> Account:
    """A step's own account; what it spent before a resume counts on."""
    used = used_by(prior) if prior else NOTHING
    return Account(step_limits(engine.settings), used, now=engine.now)


def charged(entry: StepEntry, used: Used) -> StepEntry:
    """The entry with what its step has spent on models."""
    if not used.model_calls:
        return entry
    return entry.model_copy(
        update={
            "model_calls": used.model_calls,
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "cost": used.cost,
            "estimated": used.estimated,
        }
    )


def usage_of(ledger: Ledger) -> dict[str, Any]:
    """What the run has spent, for its document: the sums, and those of each role beside the steps.

    Calls under way count as they were reserved.
    """
    committed = ledger.committed()
    return {
        **sum(committed.values(), NOTHING).to_json(),
        WALL: round(ledger.run.wall_seconds, 3),
        BY_ROLE: {role: used.to_json() for role, used in committed.items() if role != STEPS},
    }
