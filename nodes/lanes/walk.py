"""A lane: one ready step, then whatever its end made ready, until a gate."""

import asyncio
from collections.abc import Awaitable, Callable

from nodes.lanes.board import Board

RunStep = Callable[[str], Awaitable[None]]


async def walk(board: Board, first: str, run_step: RunStep, *, follow: bool) -> None:
    """Run `first`, and with `follow` go on along the plan.

    When a step's end makes several steps ready, the lane takes the one with the longest remaining
    path itself and the others become sibling tasks. What cannot be a step's own fault (the journal
    cannot be written, a tool asks a person) halts the board; the lane then waits for every step
    that is still running, so that nothing is cut off in the middle of a call.

    Raises:
        BaseException: What halted the board.
    """
    if not board.claim(first):
        return
    chains: set[asyncio.Task[None]] = set()

    async def chain(step_id: str) -> None:
        current: str | None = step_id
        while current is not None:
            await _run_claimed(board, current, run_step)
            following = board.claim_dependents(current) if follow else []
            current = following[0] if following else None
            for sibling in following[1:]:
                start(sibling)

    def start(step_id: str) -> None:
        task = asyncio.create_task(chain(step_id))
        chains.add(task)
        task.add_done_callback(chains.discard)

    try:
        await chain(first)
        while chains:
            await asyncio.wait(chains)
    finally:
        for task in chains:
            task.cancel()
    if board.halted is not None:
        await board.idle()
        raise board.halted


async def _run_claimed(board: Board, step_id: str, run_step: RunStep) -> None:
    board.enter()
    try:
        await run_step(step_id)
    except Exception as cause:  # noqa: BLE001 (not lost: every lane of the board raises it)
        board.halt(cause)
    finally:
        board.leave()
