"""Keeps stdout for what a command itself tells: whatever tools print, in or out of Python, goes to stderr."""

import contextlib
import functools
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, ParamSpec, TextIO, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_OUT, _ERR = 1, 2
_RESULTS: ContextVar[TextIO | None] = ContextVar("planrail_results", default=None)


def results() -> TextIO:
    """Where the document or the text of the command goes."""
    return _RESULTS.get() or sys.stdout


@contextlib.contextmanager
def reserved_stdout(*, for_good: bool) -> Iterator[None]:
    """Inside, descriptor 1 is stderr's, and `results()` writes to what it was before.

    A reader of stdout or stderr that leaves stops nothing: what it would have read is dropped.

    Args:
        for_good: The process ends after this, so that descriptor 1 stays as it is inside, unless stdout was
            captured: what tools' modules say at exit is no part of the results.
    """
    _ensure_open(_OUT)
    _ensure_open(_ERR)
    before = sys.stdout, sys.stderr
    _flush(before[0])
    saved = os.dup(_OUT)
    os.dup2(_ERR, _OUT)
    found = _results_on(before[0], saved)
    sys.stdout, sys.stderr = found, _messages_on(before[1])
    token = _RESULTS.set(found)
    try:
        yield
    finally:
        _RESULTS.reset(token)
        opened = found is not before[0]
        _flush(found, close=opened)
        if for_good and opened:
            sys.stdout = _open(_OUT, before[1], _Messages)
        else:
            _put_back(saved, before)
        os.close(saved)


def among_messages(command: Callable[P, T]) -> Callable[P, T]:
    """The command, with `print` going to stderr while it works, and so while code of users may run."""

    @functools.wraps(command)
    def working(*args: P.args, **kwargs: P.kwargs) -> T:
        stand_in = _open(_OUT, sys.stderr, _Messages) if _is_on(sys.stderr, _ERR) else sys.stderr
        with contextlib.redirect_stdout(stand_in):
            return command(*args, **kwargs)

    return working


class _Results(io.FileIO):
    """A descriptor whose reader may leave; any other fault is told."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            _lead_nowhere(self.fileno())
            return memoryview(data).nbytes


class _Messages(io.FileIO):
    """A descriptor for what is only news: that it cannot be written is no reason to fail."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            # Also for the programs that tools start: they would fail by it, or be killed.
            _lead_nowhere(_OUT)
            _lead_nowhere(_ERR)
        except OSError:
            pass
        return memoryview(data).nbytes


def _results_on(stdout: TextIO | None, saved: int) -> TextIO:
    """The stream for results: a captured stdout as it is, else one on the saved descriptor."""
    if stdout is None or _is_on(stdout, _OUT):
        return _open(saved, stdout, _Results)
    return stdout


def _messages_on(stderr: TextIO | None) -> TextIO:
    return _open(_ERR, stderr, _Messages) if stderr is None or _is_on(stderr, _ERR) else stderr


def _open(descriptor: int, like: TextIO | None, kind: type[io.FileIO]) -> TextIO:
    """A text stream on a descriptor that outlives it, in the encoding of another stream."""
    encoding = getattr(like, "encoding", None) or "utf-8"
    if os.isatty(descriptor):  # the console of Windows is not written like a file
        return open(descriptor, "w", 1, encoding=encoding, errors="backslashreplace", closefd=False)
    raw = kind(descriptor, "wb", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=True
    )


def _is_on(stream: TextIO, descriptor: int) -> bool:
    try:
        return stream.fileno() == descriptor
    except (OSError, ValueError, AttributeError):
        return False


def _ensure_open(descriptor: int) -> None:
    """Let no file that is opened later be taken for a standard stream that was closed."""
    try:
        os.fstat(descriptor)
    except OSError:
        _lead_nowhere(descriptor)


def _lead_nowhere(descriptor: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)


def _flush(stream: TextIO | None, *, close: bool = False) -> None:
    if stream is not None:
        with contextlib.suppress(OSError, ValueError):
            stream.close() if close else stream.flush()


def _put_back(saved: int, before: tuple[TextIO, TextIO]) -> None:
    _flush(before[0])  # what was printed past `sys.stdout` belongs to where descriptor 1 still leads
    os.dup2(saved, _OUT)
    sys.stdout, sys.stderr = before
