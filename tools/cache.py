"""Which calls may be answered from a cache, what makes two of them the same, and calls under way."""

import hashlib
from collections.abc import Hashable, Mapping
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

from graph.plan import JSON, canonical_json
from tools.decode import defaults
from tools.fingerprint import fingerprint
from tools.registered import RegisteredTool
from tools.scrub import redacted

T = TypeVar("T")


def keeps_results(tool: RegisteredTool) -> bool:
    """Whether the policy has results kept: for equal calls, or for when the tool fails."""
    policy = tool.policy
    return policy.effect == "read" and (policy.cache_ttl is not None or policy.falls_back_to_stale)


def has_secret(tool: RegisteredTool, args: Mapping[str, JSON]) -> bool:
    """Whether a call names a secret argument: what it gives belongs to whoever knows the secret."""
    return bool(tool.policy.redact) and redacted(dict(args), tool.policy.redact) != dict(args)


def whole_args(tool: RegisteredTool, args: Mapping[str, JSON]) -> dict[str, JSON]:
    """The arguments as the tool sees them: JSON text decoded, and defaults where none is given."""
    return defaults(tool.args_schema) | tool.decode_args(args)


def cache_key(tool: RegisteredTool, args: Mapping[str, JSON], scope: str) -> str:
    """Return 40 hex digits that only equal calls share, of the same code under the same policy and scope.

    Args:
        tool: The tool. Where its code stands, its arguments and its output schema count.
        args: Resolved arguments; their order does not count, and `1`, `"1"` and `true` differ.
        scope: Whose results these are.
    """
    identity: JSON = [scope, tool.name, _home(tool), fingerprint(tool), whole_args(tool, args)]
    return hashlib.sha256(canonical_json(identity).encode("ascii")).hexdigest()[:40]


def _home(tool: RegisteredTool) -> str:
    inner = getattr(tool.tool, "func", None) or getattr(tool.tool, "coroutine", None) or type(tool.tool)
    return f"{getattr(inner, '__module__', '')}.{getattr(inner, '__qualname__', '')}"


class Flight(Generic[T]):
    """One call that others may wait for, from any thread and any event loop.

    `leads` says that whoever boarded makes the call, and must end the flight whatever happens.
    """

    def __init__(self, future: "Future[T | None]", *, leads: bool) -> None:
        """Board it; `Flights.board` does."""
        self.future = future
        self.leads = leads


class Flights(Generic[T]):
    """Calls under way by key: of equal calls at once, one is made and the others wait for its end."""

    def __init__(self) -> None:
        """Begin with nothing under way."""
        self._under_way: dict[Hashable, Future[T | None]] = {}
        self._lock = Lock()

    def board(self, key: Hashable) -> Flight[T]:
        """Lead the flight of that key, or join the one that is under way."""
        with self._lock:
            found = self._under_way.get(key)
            if found is not None:
                return Flight(found, leads=False)
            made = self._under_way[key] = Future()
            return Flight(made, leads=True)

    def land(self, key: Hashable, end: T | None) -> None:
        """End the flight one leads; without an end, those who wait look after themselves."""
        with self._lock:
            future = self._under_way.pop(key, None)
        if future is not None:
            future.set_result(end)
