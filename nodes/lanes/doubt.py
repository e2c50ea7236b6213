"""A write in doubt: what the tool's own hook knows of it."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any, Literal

from tools import RegisteredTool, to_json

Happened = Literal["done", "not_done", "unknown"]

_log = logging.getLogger(__name__)


async def reconcile(tool: RegisteredTool, key: str, args: Mapping[str, Any]) -> tuple[Happened, Any]:
    """What the tool's own hook says of a write in doubt; "unknown" without one, or when it fails."""
    hook = tool.policy.reconcile
    if hook is None:
        return "unknown", None
    try:
        said = await asyncio.wait_for(_awaited(hook, key, args), tool.policy.timeout)
        verdict, output = said if isinstance(said, tuple) else (said, None)
        return (verdict, to_json(output)) if verdict in ("done", "not_done") else ("unknown", None)
    except Exception as error:  # noqa: BLE001 (a hook that fails leaves the doubt where it is)
        _log.warning("the reconcile hook of %s failed: %s", tool.name, type(error).__name__)
        return "unknown", None


async def _awaited(hook: Callable[..., Any], key: str, args: Mapping[str, Any]) -> Any:
    said = hook(key, args) if inspect.iscoroutinefunction(hook) else await asyncio.to_thread(hook, key, args)
    return await said if inspect.isawaitable(said) else said
