"""Where runs are kept: the SQLite checkpointer and store, run locks, and the journal of steps."""

from checkpoints.durations import add_durations, mean_durations
from checkpoints.entries import UNEXPECTED_RESULT, OutputRef, RunEntry, StepEntry, StepError
from checkpoints.errors import (
    RunBusyError,
    RunIdError,
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreUnavailableError,
)
from checkpoints.journal import Journal, RunLog
from checkpoints.keys import check_run_id, step_of
from checkpoints.open import OpenedStore, open_store
from checkpoints.result_cache import KeptResult, ResultCache
from checkpoints.run_lock import RunLock
from checkpoints.runs import find_run, list_runs

__all__ = [
    "UNEXPECTED_RESULT",
    "Journal",
    "KeptResult",
    "OpenedStore",
    "OutputRef",
    "ResultCache",
    "RunBusyError",
    "RunEntry",
    "RunIdError",
    "RunLock",
    "RunLog",
    "StepEntry",
    "StepError",
    "StoreBusyError",
    "StoreError",
    "StoreFormatError",
    "StoreUnavailableError",
    "add_durations",
    "check_run_id",
    "find_run",
    "list_runs",
    "mean_durations",
    "open_store",
    "step_of",
]
