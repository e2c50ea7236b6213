"""The nodes' workspace during one invocation: the board, the run's entry, the stream."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langgraph._internal._constants import CONFIG_KEY_SCRATCHPAD
from langgraph.config import get_config
from langgraph.runtime import RunControl, Runtime

from checkpoints import (
    Journal,
    ResultCache,
    RunEntry,
    RunLog,
    StepEntry,
    add_durations,
    mean_durations,
)
from graph.plan import JSON, Plan, RunStatus
from graph.state import INVOCATION_KEY, Decision, Engine, Invocation, Settings
from nodes.accounts import Account
from nodes.books import open_ledger, step_account, usage_of
from nodes.decide.durations import expected_seconds, kind_of, seconds_taken
from nodes.lanes.board import Board
from nodes.ledger import Ledger, Spent


@dataclass
class RunSession:
    """What the nodes share while one invocation lasts."""

    invocation: Invocation
    answered: frozenset[str] | None
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    emit: Callable[[dict[str, Any]], None] = lambda _event: None
    board: Board | None = None
    run: RunEntry | None = None
    log: RunLog | None = None
    ledger: Ledger | None = None
    expected: tuple[Plan, dict[str, float]] | None = None
    building: asyncio.Lock = field(default_factory=asyncio.Lock)
    known_plan: tuple[Any, Plan] | None = None
    written_plan: tuple[Plan, dict[str, JSON]] | None = None

    @classmethod
    def of(cls, runtime: Runtime[None]) -> "RunSession":
        """The session of this invocation; events go to the stream of the node that asks."""
        invocation = get_config().get("configurable", {}).get(INVOCATION_KEY)
        assert isinstance(invocation, Invocation), (
            "planrail's nodes run in the graph that build_graph returns"
        )
        session: RunSession = invocation.workspace.setdefault("session", cls(invocation, invocation.answered))
        invocation.at_end = session.save_progress
        session.emit = runtime.stream_writer
        return session

    def gives_way(self, step_id: str) -> bool:
        """Whether a question that was asked before must not be asked again before the scheduler has looked.

        An answer that LangGraph has kept over a kill is still an answer.
        """
        if self.answered is None or step_id in self.answered:
            return False
        kept = get_config().get("configurable", {})[CONFIG_KEY_SCRATCHPAD].resume
        return not kept

    @property
    def engine(self) -> Engine:
        return self.invocation.engine

    @property
    def run_id(self) -> str:
        return self.invocation.run_id

    @property
    def journal(self) -> Journal:
        return self.invocation.journal

    @cached_property
    def results(self) -> ResultCache:
        """The kept results of the store that the journal is in."""
        return ResultCache(self.journal.store)

    @property
    def control(self) -> RunControl:
        return self.invocation.control

    @property
    def settings(self) -> Settings:
        return self.engine.settings

    def require_board(self) -> Board:
        assert self.board is not None, "a board is built before any step is looked at"
        return self.board

    def plan_of(self, written: Any) -> Plan:
        """The plan that the state holds as `written`; each node sees the same object, which is read once.

        Raises:
            pydantic.ValidationError: It is none.
        """
        if self.known_plan is None or self.known_plan[0] is not written:
            self.known_plan = written, Plan.from_json(written)
        return self.known_plan[1]

    def json_of(self, plan: Plan) -> dict[str, JSON]:
        """The plan's JSON, made once for as long as it is the same plan; nobody changes it."""
        if self.written_plan is None or self.written_plan[0] is not plan:
            self.written_plan = plan, plan.to_json()
        return self.written_plan[1]

    async def output_of(self, step_id: str) -> Any:
        """A step's result, from memory or, after a resume, from the journal; None when it has none."""
        board = self.require_board()
        if not board.has_result(step_id):
            return None
        if step_id not in board.outputs:
            board.outputs[step_id] = await self.journal.output(board.entries[step_id])
        return board.outputs[step_id]

    async def expected_seconds(self, plan: Plan) -> dict[str, float]:
        """How long each step of a plan is expected to take, by earlier runs of this store."""
        if self.expected is None or self.expected[0] is not plan:
            means = await mean_durations(self.journal.store, [kind_of(step) for step in plan.steps])
            self.expected = (plan, expected_seconds(plan, means))
        return self.expected[1]

    async def keep_durations(self) -> None:
        """Let later runs know how long the steps of this one took."""
        board = self.require_board()
        await add_durations(self.journal.store, seconds_taken(board.plan, board.entries))

    async def load(self) -> RunLog:
        """The journal as it stood when this invocation began. The first look opens the run's ledger.

        Nobody else writes it meanwhile, and what this invocation writes is on the board, or it forgets.
        """
        if self.log is None:
            self.log = await self.journal.load()
        if self.ledger is None:
            self.ledger = open_ledger(self.engine, self.log)
        return self.log

    def forget_board(self) -> None:
        """Have the next board built from the journal: what was written there has changed the plan."""
        self.board = self.log = None

    def require_ledger(self) -> Ledger:
        assert self.ledger is not None, "the ledger is opened before anything is spent"
        return self.ledger

    def spent_by(self, role: str) -> Spent:
        """Where a role beside the steps charges its questions; written down before each of them."""
        return Spent(self.require_ledger(), role, Account(now=self.engine.now), self.save_usage)

    def spent_on(self, prior: StepEntry | None) -> Spent:
        """Where a step charges its calls; `prior` is its entry from before."""
        return Spent(self.require_ledger(), account=step_account(self.engine, prior))

    async def save_usage(self) -> None:
        """Write down what was spent and is reserved, so that it counts however the process ends."""
        run = self.run or await self.load_run()
        changes = {"usage": usage_of(self.require_ledger()), "updated_at": self.engine.now()}
        self.run = run.model_copy(update=changes)
        await self.journal.put_run(self.run)

    async def save_progress(self) -> None:
        """Bring the entry of a run that goes on up to date; how it waits or ended is written already."""
        if self.run is not None and self.run.status is RunStatus.RUNNING:
            await self.save_usage()

    async def load_run(self) -> RunEntry:
        """The run's entry as journaled, or a new one."""
        log = await self.load()
        now = self.engine.now()
        return log.run or RunEntry(
            run_id=self.run_id, goal="", status=RunStatus.RUNNING, created_at=now, updated_at=now
        )
