"""The records of the journal: what is known about a run and about each of its steps."""

from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from checkpoints.keys import step_key, step_of
from graph.plan.json_values import JSON
from graph.plan.statuses import RunStatus, StepStatus

ENTRY_FORMAT = 1
"""Version of the records below.

A field may be added, with a default: entries without it still open, and an older planrail refuses those with
it by name. A field that goes away, must be given, or means something else takes the next number.
"""

UNEXPECTED_RESULT = "unexpected_result"
"""The code of a step whose call did its work and whose result is not what the plan expects."""

UtcTime = Annotated[AwareDatetime, AfterValidator(lambda time: time.astimezone(UTC))]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class OutputRef(_Record):
    """Where an output, or an input, that is too large for its entry is kept.

    `bytes` is the size of its JSON text in UTF-8, `preview` the beginning of that text.
    """

    digest: str
    bytes: int
    preview: str


class StepError(_Record):
    """Why a step did not succeed."""

    kind: Literal["hard", "soft", "unknown", "redo"]
    code: str
    message: str


class StepEntry(_Record):
    """What is known about one step, or about one item of a step.

    `cost` is None where a model had no price; `estimated` marks counts of which some are guesses. Times are
    UTC. `input` and `output` are None when `input_ref` and `output_ref` say where they are. `premise` is
    the verdict of the last check whether the plan still holds. `filled` has the arguments that a model
    chose when the step ran, `healed` by expression what took the place of a reference that the results
    lacked: `{"path": ...}` or `{"value": ...}`. `items` is how many items a map step has.
    `age` is how many seconds old a result was that an earlier, equal call had given, `stale` that it was
    taken because the tool failed; `fallback_tool` is the tool that was called in the place of `tool`.
    `taken` is true once the step's condition was found to hold. `fallback` is there once the step's own work
    has failed for good and the plan's fallback took its place: `{"tool", "after": the error, "decided": id
    of the approval of that work, "tries": its attempts}`, with `"done": {"tool", "args", "digest",
    "idempotency_key", "at"}` where it was a write that happened and gave what nobody expected. `planned` is
    what a `plan` step was planned as, until its steps are in the plan.
    """

    format: int = ENTRY_FORMAT
    run_id: str
    plan_id: str
    revision: int
    step_id: str
    item: int | None = None
    action: str
    tool: str | None = None
    effect: Literal["read", "write"] | None = None
    status: StepStatus
    attempts: int = 0
    input: JSON = None
    input_ref: OutputRef | None = None
    output: JSON = None
    output_ref: OutputRef | None = None
    error: StepError | None = None
    idempotency_key: str | None = None
    started_at: UtcTime | None = None
    ended_at: UtcTime | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    model_calls: int = 0
    cost: float | None = None
    estimated: bool = False
    note: str = ""
    approval: JSON = None
    filled: dict[str, JSON] | None = None
    healed: dict[str, JSON] | None = None
    premise: JSON = None
    age: float | None = None
    stale: bool = False
    fallback_tool: str | None = None
    planned: JSON = None
    items: int | None = None
    taken: bool | None = None
    fallback: dict[str, JSON] | None = None

    @property
    def own_failure(self) -> str:
        """How the step's own work ended before its fallback took over, as code and message; else empty."""
        after = self.fallback.get("after") if self.fallback else None
        return f"{after.get('code')}: {after.get('message')}" if isinstance(after, dict) else ""

    @property
    def done_before_fallback(self) -> dict[str, JSON] | None:
        """The write that the step's own work was, see `fallback`; None when no fallback followed one."""
        done = self.fallback.get("done") if self.fallback else None
        return done if isinstance(done, dict) else None

    @property
    def wrote(self) -> bool:
        """Whether its call was a write that happened; what it gave may still not be what the plan expects."""
        if self.effect != "write":
            return False
        own = self.fallback is None
        unexpected = own and self.error is not None and self.error.code == UNEXPECTED_RESULT
        return self.status is StepStatus.SUCCEEDED or (self.status is StepStatus.FAILED and unexpected)

    @property
    def key(self) -> str:
        """The entry's key within its run."""
        return step_key(self.step_id, self.item)

    @property
    def of_step(self) -> str:
        """The id of the plan's step that it belongs to; an agent in a map is itself an item of one."""
        return step_of(self.step_id)


class RunEntry(_Record):
    """What is known about one run. Times are UTC."""

    format: int = ENTRY_FORMAT
    run_id: str
    goal: str
    plan_id: str | None = None
    revision: int | None = None
    status: RunStatus
    success: bool | None = None
    answer: str | None = None
    reason: str | None = None
    replans: int = 0
    pending: list[JSON] = Field(default_factory=list)
    hidden: dict[str, list[str]] = Field(default_factory=dict)
    settings: dict[str, JSON] = Field(default_factory=dict)
    usage: dict[str, JSON] = Field(default_factory=dict)
    created_at: UtcTime
    updated_at: UtcTime


_PLAIN = frozenset({str, int, float, bool, dict, list})
"""Types of values that are stored as they are."""


def to_stored(entry: StepEntry | RunEntry) -> dict[str, Any]:
    """Return an entry as plain data, without the fields that have their default."""
    return {**_told(entry), "format": entry.format}


def _told(record: BaseModel) -> dict[str, Any]:
    defaults = _defaults(type(record))
    return {
        name: value if type(value) in _PLAIN else _plain(value)
        for name, value in record.__dict__.items()
        if value is not None and value != defaults[name]
    }


@cache
def _defaults(kind: type[BaseModel]) -> dict[str, Any]:
    """Return each field's default, or None for one that must be given, which is never None."""
    return {
        name: None if field.is_required() else field.get_default(call_default_factory=True)
        for name, field in kind.model_fields.items()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, _Record):
        return _told(value)
    if isinstance(value, StepStatus | RunStatus):
        return value.value
    return value.isoformat() if isinstance(value, datetime) else value
