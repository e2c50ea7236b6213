"""The execution of one claimed step: what it works with, and its entry as it grows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from checkpoints import StepEntry
from graph.plan import JSON, Step, StepStatus
from graph.state import Decision
from nodes.lanes.board import Board
from nodes.lanes.results import Result, blank_entry
from nodes.lanes.work import Work
from nodes.ledger import Spent
from nodes.metering import BUDGET_SPENT
from nodes.session import RunSession
from tools import RegisteredTool

_TOLD_OF_ALL_ITEMS = frozenset({"step_started", "step_attempt", "step_from_cache"})
"""What is told of a map's items together, as its progress."""


@dataclass
class StepRun:
    """One step's execution. `prior` is its entry from before, when a process ended or a person was asked.

    A call that an agent makes within its step has an `item` of its own, as each item of a map has; the
    values of `item` and `index` there are `local_values`. `asked_ahead` says that whether it may run was
    asked for all items together. Once its own work has failed for good, what it falls back to is its step,
    `in_place` of that work. `tries_before` are the attempts made before this execution, or this fallback.
    """

    session: RunSession
    board: Board
    step: Step
    tool: RegisteredTool | None
    prior: StepEntry | None
    decision: Decision | None
    entry: StepEntry
    spent: Spent
    item: int | None = None
    local_values: Mapping[str, JSON] = field(default_factory=dict)
    asked_ahead: bool = False
    in_place: bool = False
    tries_before: int = field(init=False)

    def __post_init__(self) -> None:
        """Remember how often the step was tried before."""
        self.tries_before = self.entry.attempts

    @classmethod
    def of(cls, session: RunSession, step_id: str, decision: Decision | None) -> "StepRun":
        board = session.require_board()
        step = board.step(step_id)
        prior = board.entries.get(step_id)
        return cls(
            session=session,
            board=board,
            step=step,
            tool=session.engine.tool_of(step),
            prior=prior,
            decision=decision,
            entry=blank_entry(session.run_id, board.plan, step, prior),
            spent=session.spent_on(prior),
        )

    @property
    def identity(self) -> str:
        """By what a write of the step is told from all others, beside its item, tool and arguments."""
        return f"{self.step.id}@fallback" if self.in_place else self.step.id

    @property
    def work(self) -> Work:
        """The step with what is known of it by now."""
        return Work(self.step, self.entry, self.decision, self.local_values)

    def stays_open(self, result: Result) -> bool:
        """Whether the step stays as it is: more comes first, or no budget was left to begin it."""
        if result.status is StepStatus.PENDING:
            return True
        refused = result.error is not None and result.error.code == BUDGET_SPENT
        return refused and self.entry.attempts == self.tries_before

    def emit(self, event: str, message: str = "") -> None:
        """Tell the stream; what happens to an agent's call is told as `call_...`, with its tool.

        Of a map's items only what goes wrong is told: there may be thousands.
        """
        if self.local_values:
            if event in _TOLD_OF_ALL_ITEMS:
                return
            message = f"item {self.item}: {message}"
        elif self.item is not None and self.tool is not None:
            event = event.replace("step_", "call_", 1)
            message = f"{self.tool.name}: {message}" if message else self.tool.name
        self.session.emit({"type": event, "step": self.step.id, "message": message})
