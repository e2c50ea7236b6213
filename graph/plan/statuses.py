"""The states of steps and runs, and which step states may follow each other."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class StepStatus(StrEnum):
    """Where one step stands."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_TAKEN = "not_taken"
    UNKNOWN = "unknown"
    REJECTED = "rejected"
    CANCELLED = "cancelled"

    @property
    def settled(self) -> bool:
        """Whether nothing more happens to the step unless a person decides so."""
        return self not in _OPEN

    @property
    def ok(self) -> bool:
        """Whether the step did what it was meant to do."""
        return self is StepStatus.SUCCEEDED


class RunStatus(StrEnum):
    """Where one run stands."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    REJECTED = "rejected"
    STOPPED = "stopped"
    WAITING = "waiting"


_S = StepStatus
_OPEN = frozenset({_S.PENDING, _S.RUNNING, _S.WAITING, _S.UNKNOWN})

STEP_TRANSITIONS: Mapping[StepStatus, frozenset[StepStatus]] = MappingProxyType(
    {
        _S.PENDING: frozenset(
            {_S.RUNNING, _S.WAITING, _S.SUCCEEDED, _S.SKIPPED, _S.NOT_TAKEN, _S.FAILED, _S.CANCELLED}
        ),
        _S.RUNNING: frozenset(
            {_S.SUCCEEDED, _S.FAILED, _S.UNKNOWN, _S.PENDING, _S.WAITING, _S.CANCELLED, _S.SKIPPED}
        ),
        _S.WAITING: frozenset(
            {_S.PENDING, _S.RUNNING, _S.REJECTED, _S.CANCELLED, _S.SUCCEEDED, _S.FAILED, _S.SKIPPED}
        ),
        _S.UNKNOWN: frozenset({_S.SUCCEEDED, _S.PENDING, _S.FAILED, _S.CANCELLED}),
        _S.SUCCEEDED: frozenset(),
        _S.FAILED: frozenset(),
        _S.SKIPPED: frozenset(),
        _S.NOT_TAKEN: frozenset(),
        _S.REJECTED: frozenset(),
        _S.CANCELLED: frozenset(),
    }
)
"""A failed or rejected step is never taken up again: a replan makes a new step.

A step may succeed without having run: by the kept result of an equal call, or by what the steps of its part
gave.
"""
