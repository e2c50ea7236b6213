"""Asking a tool's own hook whether a write in doubt happened."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from graph.plan import JSON
from tools.attempt import Call, Raised, Returned, attempt
from tools.classify import describe
from tools.errors import UnsupportedResult
from tools.guard import Probe
from tools.policy import Happened
from tools.registered import RegisteredTool
from tools.results import to_json
from tools.scrub import scrubbed

_ANSWERS: tuple[Happened, ...] = ("done", "not_done", "unknown")


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What became of a write in doubt.

    `output` is the write's result when the hook gave one; `message` says why the answer is "unknown".
    """

    happened: Happened
    output: JSON = None
    message: str = ""


async def reconcile(tool: RegisteredTool, args: Mapping[str, JSON], *, key: str) -> Reconciled:
    """Ask the policy's `reconcile` hook once, within the tool's timeout.

    Args:
        tool: The tool whose write is in doubt.
        args: The arguments it was called with.
        key: The idempotency key it was called with.

    Returns:
        The hook's answer; "unknown" when there is no hook, it fails, or its answer is none.

    Raises:
        asyncio.CancelledError: The caller itself was cancelled.
    """
    hook = tool.policy.reconcile
    if hook is None:
        return Reconciled("unknown", message=f"{tool.name} has no reconcile hook")
    call = Call(
        f"reconcile {tool.name}", partial(hook, key, dict(args)), _is_async(hook), tool.policy.timeout
    )
    match await attempt(call, Probe()):
        case Returned(value):
            return _read(value, tool.name)
        case Raised(error):
            message = scrubbed(describe(error), args, tool.policy.redact)
            return Reconciled("unknown", message=f"the reconcile hook of {tool.name} failed: {message}")
    limit = f"{tool.policy.timeout:g} s"
    return Reconciled("unknown", message=f"the reconcile hook of {tool.name} gave no answer within {limit}")


def _is_async(hook: object) -> bool:
    return inspect.iscoroutinefunction(hook) or inspect.iscoroutinefunction(getattr(hook, "__call__", None))  # noqa: B004


def _read(answer: object, name: str) -> Reconciled:
    pair = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)  # noqa: PLR2004
    happened = next((word for word in _ANSWERS if word == pair[0]), None)
    if happened is None:
        expected = f"one of {', '.join(_ANSWERS)}, alone or in a pair with the output"
        return Reconciled("unknown", message=f"the reconcile hook of {name} must answer {expected}")
    try:
        return Reconciled(happened, to_json(pair[1]))
    except UnsupportedResult as error:
        return Reconciled("unknown", message=f"the reconcile hook of {name}: {error}")
