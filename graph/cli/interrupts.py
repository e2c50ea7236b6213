"""Ctrl-C: once to stop in good order, twice to stop at once."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from langgraph.runtime import RunControl

from graph.cli.errors import ExitCode

NOTICE = b"\nstopping when the running steps have ended; Ctrl-C again stops at once\n"


@contextlib.contextmanager
def draining_on_interrupt(control: RunControl) -> Iterator[None]:
    """While inside, the first SIGINT asks the run to drain and the second ends the process.

    Ending at once is safe: what was under way is in the journal, and `resume` takes it up.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_interrupt(_number: int, _frame: FrameType | None) -> None:
        if control.drain_requested:
            os._exit(ExitCode.INTERRUPTED)
        control.request_drain("interrupted")
        with contextlib.suppress(OSError):
            os.write(2, NOTICE)  # print() may be what the signal came in the middle of

    previous = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
