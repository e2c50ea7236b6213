"""What code, not the model, decides about a tool."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, Self, TypeAlias, TypeVar

from jsonschema import SchemaError
from jsonschema.validators import validator_for
from langchain_core.tools import BaseTool, InjectedToolArg
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from graph.plan import JSON, Risk
from tools.breaker import BreakerField
from tools.errors import ToolSetupError
from tools.rate import RateField

Effect = Literal["read", "write"]
CacheScope = Literal["run", "shared"]
Happened = Literal["done", "not_done", "unknown"]
ReconcileAnswer: TypeAlias = Happened | tuple[Happened, object]
Reconcile: TypeAlias = Callable[[str, Mapping[str, JSON]], ReconcileAnswer | Awaitable[ReconcileAnswer]]
"""Called with the idempotency key and the arguments of a write whose outcome is in doubt."""

STALE_CACHE = "stale_cache"
"""The fallback that is no tool: what an equal call gave before."""

Fallbacks = Annotated[
    tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)
]

_Declared = TypeVar("_Declared", bound=Callable[..., Any] | BaseTool)
_ATTRIBUTE = "__planrail_policy__"


class IdempotencyKey(InjectedToolArg):
    """Marks the argument that receives the step's idempotency key: `key: Annotated[str, IdempotencyKey]`.

    Models never see the argument and plans may not give it.
    """


class ToolPolicy(BaseModel):
    """How one tool may be called.

    Attributes:
        effect: Whether a call changes anything outside.
        idempotent: Whether the same call with the same key, made twice, has one effect.
        timeout: Seconds one attempt may take.
        max_attempts: Attempts in all, the first included.
        backoff_base: Seconds before the second attempt.
        backoff_factor: Growth of the wait from attempt to attempt.
        backoff_cap: Longest wait in seconds; a service's own Retry-After may be longer.
        max_concurrency: Calls of this tool at one time; None leaves it to the run's own cap.
        session_arg: Argument whose value names a session in which calls run one at a time.
        service_arg: Argument whose value names the service that a call goes to, such as a host: each has
            places, a rate and a breaker of its own, so that one in trouble holds up no other.
        rate: Most calls in a stretch of time, over all runs of a graph: `"5/s"`, `"100/min"`, `"20/10s"`, or
            a pair of calls and seconds.
        breaker: When a tool that keeps failing is left alone, over all runs of a graph: a pair of failures in
            a row and seconds, or a `BreakerPolicy`.
        cache_ttl: Seconds for which a read's result answers equal calls; None calls each time. Calls with
            secret arguments and failures are never kept.
        cache_scope: Who shares a result: the calls of one run, or those of all runs in one store that have
            the same setting `cache_scope`.
        fallback: What takes the place of a call that has failed for good: names of tools that take the same
            arguments, tried in this order, and `"stale_cache"`, tried last: an equal call's older result. A
            write falls back only when it surely did not happen and no person approved that very call.
        stale_ttl: Oldest result, in seconds, that `"stale_cache"` may give.
        risk: Lowest risk of a call; None means low for reads and medium for writes.
        approve_when: CEL rules over the arguments (by name, and all as `args`); one that holds, or cannot
            be evaluated, makes a person approve the call.
        deny_when: The same, and the call is refused.
        hard_errors: Exception types of this tool that no retry can help.
        soft_errors: Exception types of this tool that a retry can help.
        output_schema: JSON Schema that a complete result satisfies.
        money: Whether a call moves money: its result is held against what the plan assumes before anything is
            built on it.
        redact: Names of arguments, at any depth, whose values are secret.
        grounded: Arguments whose value a model may not make up: it must occur in the goal, the params or a
            result. None means, for writes, those that look like an id, an address or an amount.
        reconcile: Finds out whether a write in doubt happened: "done", "not_done" or "unknown", or a pair
            of that and the output. May be async.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    effect: Effect = "write"
    idempotent: bool = False
    timeout: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    max_attempts: int = Field(default=3, ge=1)
    backoff_base: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    backoff_factor: float = Field(default=2.0, ge=1, allow_inf_nan=False)
    backoff_cap: float = Field(default=20.0, ge=0, allow_inf_nan=False)
    max_concurrency: int | None = Field(default=None, ge=1)
    session_arg: str | None = None
    service_arg: str | None = None
    rate: RateField | None = None
    breaker: BreakerField | None = None
    cache_ttl: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    cache_scope: CacheScope = "run"
    fallback: Fallbacks = ()
    stale_ttl: float = Field(default=86_400.0, gt=0, allow_inf_nan=False)
    risk: Risk | None = None
    approve_when: tuple[str, ...] = ()
    deny_when: tuple[str, ...] = ()
    hard_errors: tuple[type[BaseException], ...] = ()
    soft_errors: tuple[type[BaseException], ...] = ()
    output_schema: dict[str, Any] | None = None
    redact: frozenset[str] = frozenset()
    money: bool = False
    grounded: frozenset[str] | None = None
    reconcile: Reconcile | None = None

    @model_validator(mode="after")
    def _schema_is_one(self) -> Self:
        if self.output_schema is not None:
            try:
                validator_for(self.output_schema).check_schema(self.output_schema)
            except SchemaError as error:
                raise ValueError(f"output_schema is not a JSON Schema: {error.message}") from error
        return self

    @model_validator(mode="after")
    def _only_reads_are_kept(self) -> Self:
        if self.effect == "read":
            return self
        if self.cache_ttl is not None:
            raise ValueError("cache_ttl is for reads, a write must happen each time: drop it")
        if self.falls_back_to_stale:
            raise ValueError("fallback stale_cache is for reads, an old result is no write: drop it")
        return self

    @property
    def falls_back_to_stale(self) -> bool:
        """Whether an equal call's older result may take the place of a failed call."""
        return STALE_CACHE in self.fallback

    @property
    def fallback_tools(self) -> tuple[str, ...]:
        """The tools that may take the place of a failed call, in order."""
        return tuple(name for name in dict.fromkeys(self.fallback) if name != STALE_CACHE)

    @property
    def keeps_for(self) -> float:
        """Seconds after which a kept result is of no use any more."""
        return max(self.cache_ttl or 0.0, self.stale_ttl if self.falls_back_to_stale else 0.0)

    @property
    def repeatable(self) -> bool:
        """Whether calling once more, not knowing what became of the last call, does no harm."""
        return self.effect == "read" or self.idempotent

    @property
    def risk_floor(self) -> Risk:
        """The lowest risk a call can have."""
        if self.risk is not None:
            return self.risk
        return Risk.LOW if self.effect == "read" else Risk.MEDIUM


UNKNOWN_TOOL_POLICY = ToolPolicy(effect="write", idempotent=False, risk=Risk.HIGH)
"""For a tool that comes without a policy: nothing is known, so the worst is assumed."""


def policy(**fields: Any) -> Callable[[_Declared], _Declared]:
    """Declare a tool's policy beside the tool, above or below `@tool`, or on a plain function.

    Args:
        **fields: Fields of `ToolPolicy`.

    Returns:
        A decorator that returns the very object it was given.

    Raises:
        ToolSetupError: A field is unknown or its value is not allowed.
    """
    declared = _build(fields)

    def attach(target: _Declared) -> _Declared:
        try:
            # A tool is a pydantic model, whose own __setattr__ refuses what is not a field.
            holder = getattr(target, "__func__", target)
            object.__setattr__(holder, _ATTRIBUTE, declared)
        except AttributeError as error:
            kind = type(target).__name__
            raise ToolSetupError(f"@policy cannot mark a {kind}; decorate a function or a tool") from error
        return target

    return attach


def declared_policy(target: object) -> ToolPolicy | None:
    """Return the policy that `@policy` left on a tool or on the function inside it."""
    inner = getattr(target, "func", None) or getattr(target, "coroutine", None)
    for holder in (target, inner):
        found = getattr(holder, _ATTRIBUTE, None)
        if isinstance(found, ToolPolicy):
            return found
    return None


def _build(fields: Mapping[str, Any]) -> ToolPolicy:
    try:
        return ToolPolicy(**fields)
    except ValidationError as error:
        faults = "; ".join(f"{_where(fault['loc'])}: {fault['msg']}" for fault in error.errors())
        raise ToolSetupError(f"this tool policy cannot be used: {faults}") from error


def _where(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "policy"
