"""A map's items at work: a window of them at once, each to its own journaled end."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

from langgraph.errors import GraphBubbleUp

from checkpoints import StepEntry, StepError
from graph.plan import JSON, MapStep, StepStatus, ToolStep, undoes_another
from graph.state import Decision
from nodes.books import charged
from nodes.decide.map_items import (
    Tally,
    enough,
    failures_text,
    items_of,
    map_output,
    oldest,
    out_of_reach,
    shortfall,
    slim,
)
from nodes.lanes.binding import bind
from nodes.lanes.map_calls import inner_of, is_taken, item_entry, runnable
from nodes.lanes.map_done import DoneBefore
from nodes.lanes.results import Result, ended, failed
from nodes.lanes.run import StepRun

CarryOut = Callable[[StepRun], Awaitable[Result | None]]
ItemWork = Callable[[int], Awaitable[None]]

TOO_FEW_SUCCEEDED = "too_few_succeeded"

_WINDOW = 2
"""Items at work, or waiting for a place, for each place there is: a long list costs no task per item."""

_TOLD = 50
"""Times that a map's progress is told, however long its list is."""


class ItemQuestion(Exception):  # noqa: N818 (an item waits for a person; nothing went wrong)
    """The tool of an item asks a question of its own; `cause` is LangGraph's way of asking it."""

    def __init__(self, cause: GraphBubbleUp, item: StepRun) -> None:
        """Keep who asks."""
        super().__init__()
        self.cause, self.item = cause, item


class Items:
    """The items of one map: which have ended and how, and those that are left."""

    def __init__(self, run: StepRun, step: MapStep, items: Sequence[JSON], carry_out: CarryOut) -> None:
        """Begin, or go on where the map was; `carry_out` runs one item to its end."""
        self.run, self.step, self.items = run, step, items
        self.inner = inner_of(run.work)
        self.question: ItemQuestion | None = None
        self._carry_out = carry_out
        self._tool = run.session.engine.tool_of(self.inner)
        self._decision: Decision | None = None
        self._results: list[JSON] = [None] * len(items)
        self._errors: dict[int, StepError] = {}
        self._doubts: set[int] = set()
        self._succeeded = self._not_taken = 0
        self._asking: list[int] = []
        self._begun: list[int] = []
        self._open: list[int] = []
        own = items_of(step.id, run.board.entries.values())
        self._done_before = DoneBefore(run.board, own)
        self._stopped = False
        self._fault: Exception | None = None

    async def take_up(self) -> None:
        """Read back what has ended."""
        for at in range(len(self.items)):
            entry = self._entry(at)
            if entry is None or not (entry.status.settled or entry.status is StepStatus.UNKNOWN):
                self._left_as(entry).append(at)
            else:
                self._count(at, entry, await self.run.session.journal.output(entry))
                self.run.board.entries[entry.key] = slim(entry)

    def _left_as(self, entry: StepEntry | None) -> list[int]:
        """With which items an open one belongs: those that ask, whose write was under way, or the others."""
        if entry is not None and entry.status is StepStatus.WAITING:
            return self._asking
        under_way = entry is not None and entry.status is StepStatus.RUNNING and entry.effect == "write"
        return self._begun if under_way else self._open

    async def fill_ahead(self) -> Result | None:
        """Have what a model is to fill in chosen for all items: a person is shown whole calls.

        Returns:
            None when all are filled in that can be, else that the map was stopped before.
        """
        if isinstance(self.inner, ToolStep) and self.inner.open_args:
            await self._all(self._open, self._fill)
        return self._end() if self._must_stop(begun=True) else None

    async def run_all(self, decision: Decision | None) -> Result:
        """Run what is left; pending when the run stopped before all items had ended.

        Args:
            decision: The approval of all their calls, where one was needed.

        Raises:
            ItemQuestion: The first of the items that wait for an answer; no other is at work.
        """
        self._decision = decision
        if self._asking:
            await self._one(self._asking.pop(0))
            if self.question is not None:
                raise self.question
        # What was under way when a process ended may have happened: it is settled whatever else has failed.
        await self._all(self._begun, self._one, begun=True)
        await self._all([*self._asking, *self._open], self._one)
        return self._end()

    @property
    def tally(self) -> Tally:
        """How far the map has come."""
        counts = (self._succeeded, len(self._errors), self._not_taken, len(self._doubts))
        return Tally(len(self.items), *counts)

    @property
    def is_lost(self) -> bool:
        """Whether too few items can succeed any more; what undoes the others is not kept from it by that."""
        lost = bool(self._errors) and out_of_reach(self.step.min_success, self.tally)
        return lost and not undoes_another(self.step.id)

    async def _all(self, todo: Sequence[int], work: ItemWork, *, begun: bool = False) -> None:
        """Work on items, a window at once; what fails in one lets the others come to their end.

        What was done is undone one item after the other, as it is step after step.
        """
        left = iter(todo)
        window = 1 if undoes_another(self.step.id) else _WINDOW * self.run.session.settings.max_concurrency
        most = min(len(todo), window)
        await asyncio.gather(*(self._work(left, work, begun=begun) for _ in range(most)))

    async def _work(self, left: Iterator[int], work: ItemWork, *, begun: bool) -> None:
        while not self._must_stop(begun=begun) and (at := next(left, None)) is not None:
            try:
                await work(at)
            except Exception as fault:  # noqa: BLE001 (not lost: raised once no item is at work)
                self._fault = self._fault or fault

    def _must_stop(self, *, begun: bool = False) -> bool:
        """Whether no further item may begin, or go on that had begun before."""
        board = self.run.board
        halted = self._stopped or self._fault is not None or self.question is not None
        if halted or board.halted is not None or board.draining():
            return True
        return not begun and self.is_lost

    async def _fill(self, at: int) -> None:
        item = self._item_run(at)
        if await is_taken(item.session, item.work):
            lost = await bind(item)
            if lost is not None:
                await self._settle(item, lost)

    async def _one(self, at: int) -> None:
        item = self._item_run(at)
        try:
            result = await self._done_already(item) or await self._carry_out(item)
        except GraphBubbleUp as cause:
            waiting = item.entry.model_copy(
                update={"status": StepStatus.WAITING, "approval": {"kind": "question"}}
            )
            self.run.board.entries[waiting.key] = waiting
            await self.run.session.journal.commit(waiting)
            self.question = self.question or ItemQuestion(cause, item)
            return
        if result is None:
            result = failed("hard", "not_approved", "it needs an approval that was not asked for")
        await self._settle(item, result)

    async def _settle(self, item: StepRun, result: Result) -> None:
        if item.stays_open(result):
            self._stopped = True
        else:
            await self._finish(item, result)

    async def _done_already(self, item: StepRun) -> Result | None:
        """The result of the same write, done before the plan was changed; None when it is to be made."""
        begun = item.prior is not None and item.prior.attempts > 0
        if self._tool is None or begun or not self._done_before:
            return None
        args = await runnable(item.session, item.work)
        if args is None or not await is_taken(item.session, item.work):
            return None
        done = self._done_before.take(self._tool, args)
        if done is None:
            return None
        item.entry = item.entry.model_copy(
            update={"input": done.input, "input_ref": done.input_ref, "idempotency_key": done.idempotency_key}
        )
        output = await item.session.journal.output(done)
        note = f"done already in revision {done.revision}"
        return Result(done.status, output, error=done.error, note=note)

    def _item_run(self, at: int) -> StepRun:
        run, prior = self.run, self._entry(at)
        return StepRun(
            session=run.session,
            board=run.board,
            step=self.inner,
            tool=self._tool,
            prior=prior,
            decision=self._decision,
            entry=item_entry(run.session, run.entry, self.inner, at, prior),
            spent=run.session.spent_on(prior),
            item=at,
            local_values={"item": self.items[at], "index": at},
            asked_ahead=True,
        )

    async def _finish(self, item: StepRun, result: Result) -> None:
        """Write an item's end down, and only then take it into account."""
        session = self.run.session
        entry = charged(ended(item.entry, result, session.engine.now()), item.spent.used)
        if result.status is StepStatus.NOT_TAKEN:
            (stored,) = session.journal.note(entry)  # after a kill its condition is read again
            await asyncio.sleep(0)
        else:
            again = entry.effect == "read" and result.status is StepStatus.SUCCEEDED
            (stored,) = await session.journal.commit(entry, synced=not again)
        self.run.board.entries[stored.key] = slim(stored)
        assert item.item is not None
        self._count(item.item, stored, result.output)
        self._tell()

    def _count(self, at: int, entry: StepEntry, output: JSON) -> None:
        match entry.status:
            case StepStatus.SUCCEEDED:
                self._results[at] = output
                self._succeeded += 1
            case StepStatus.UNKNOWN:
                self._doubts.add(at)
            case StepStatus.NOT_TAKEN:
                self._not_taken += 1
            case _:
                self._errors[at] = entry.error or StepError(
                    kind="hard", code=entry.status.value, message=entry.note
                )

    def _tell(self) -> None:
        tally = self.tally
        if tally.ended == tally.total or tally.ended % max(1, tally.total // _TOLD) == 0:
            failures = f", {tally.failed} failed" if tally.failed else ""
            self.run.emit("step_progress", f"{tally.ended}/{tally.total} items{failures}")

    def _end(self) -> Result:
        if self._fault is not None:
            raise self._fault
        tally, wanted = self.tally, self.step.min_success
        under_way = any(self._left_as(self._entry(at)) is self._begun for at in self._begun)
        if self.question is not None or under_way or (tally.left > tally.in_doubt and not self.is_lost):
            return Result(StepStatus.PENDING)
        if self._doubts:
            return self._in_doubt(min(self._doubts))
        output = map_output(self.items, self._results, self._errors)
        if enough(wanted, tally):
            marks = oldest(items_of(self.step.id, self.run.board.entries.values()))
            self.run.entry = self.run.entry.model_copy(update=marks)
            note = failures_text(self._errors, tally.total) if self._errors else ""
            return Result(StepStatus.SUCCEEDED, output, note=note)
        error = StepError(kind="hard", code=TOO_FEW_SUCCEEDED, message=shortfall(wanted, tally, self._errors))
        return Result(StepStatus.FAILED, output, error=error)

    def _in_doubt(self, at: int) -> Result:
        """The map while nobody knows whether an item's write happened; a person is asked about the first."""
        entry = self._entry(at)
        assert entry is not None
        error = entry.error or StepError(kind="unknown", code="unknown", message="it may have happened")
        more = f"; {len(self._doubts) - 1} more are in doubt" if len(self._doubts) > 1 else ""
        own = entry.input.get("call") if entry.tool is None and isinstance(entry.input, dict) else None
        call = own or {"tool": entry.fallback_tool or entry.tool, "args": entry.input}
        self.run.entry = self.run.entry.model_copy(update={"input": {"item": at, "call": call}})
        return failed("unknown", error.code, f"item {at}: {error.message}{more}")

    def _entry(self, at: int) -> StepEntry | None:
        return self.run.board.entries.get(f"{self.step.id}#{at}")
