"""The steps a plan is made of, as immutable data."""

from enum import Enum, StrEnum
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    field_validator,
    model_validator,
)

from graph.plan.json_values import JSON
from graph.plan.references import whole_reference
from graph.plan.risk import Risk

MAX_ID_CHARS = 200
"""Characters of an id that a plan gives a step; what a step is undone by has its id and a few more."""

_SUFFIX_CHARS = 20


class OnDependencyFailure(StrEnum):
    """What becomes of a step when a step it depends on fails."""

    ABORT = "abort"
    SKIP = "skip"
    DEGRADE = "degrade"


class Frozen(BaseModel):
    """A record of the plan language: immutable, without fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Call(Frozen):
    """One call of a tool beside a step's own work."""

    tool: str = Field(min_length=1)
    args: dict[str, JSON] = Field(default_factory=dict)


class StepBase(Frozen):
    """What every step has, whatever it does.

    `when` is a condition on earlier results: the step is not taken where it is false, or asks about what is
    not there. `expect` is a condition on the step's own `result`. `fallback` is called when the step's own
    work has failed for good; its result takes the place of the step's. `compensate` undoes the step when the
    run is given up; its arguments may name `result`. `timeout` is in seconds for one attempt; `max_attempts`
    counts the first attempt. Both are the own work's; None leaves either to the tool's policy, as it is for a
    fallback. With `verify` the result is held against what the plan assumes before anything is built on it.
    """

    action: str
    id: str = Field(min_length=1, max_length=MAX_ID_CHARS + _SUFFIX_CHARS)
    title: str = ""
    depends_on: tuple[str, ...] = ()
    when: str | None = Field(default=None, min_length=1)
    risk: Risk = Risk.LOW
    require_approval: StrictBool = False
    on_dependency_failure: OnDependencyFailure = OnDependencyFailure.ABORT
    optional: StrictBool = False
    verify: StrictBool = False
    expect: str | None = Field(default=None, min_length=1)
    fallback: Call | None = None
    compensate: Call | None = None
    timeout: float | None = Field(default=None, gt=0, strict=True, allow_inf_nan=False)
    max_attempts: StrictInt | None = Field(default=None, ge=1)

    @property
    def own_tools(self) -> tuple[str, ...]:
        """The tools of the step's own work."""
        return ()

    @property
    def tool_names(self) -> tuple[str, ...]:
        """All tools that the step may call, those of its fallback and compensation too."""
        extra = [call.tool for call in (self.fallback, self.compensate) if call is not None]
        return tuple(dict.fromkeys([*self.own_tools, *extra]))

    def to_json(self) -> dict[str, JSON]:
        """Return plain JSON data with id and action, without fields that have their default value."""
        return plain_object({"id": self.id, "action": self.action, **self.model_dump(exclude_defaults=True)})


class ToolStep(StepBase):
    """One guarded call of one tool.

    Arguments named in `fill` and absent from `args` are chosen when the step runs, from the results it
    depends on.
    """

    action: Literal["tool"] = "tool"
    tool: str = Field(min_length=1)
    args: dict[str, JSON] = Field(default_factory=dict)
    fill: tuple[str, ...] = ()

    @property
    def own_tools(self) -> tuple[str, ...]:
        """The tool it calls."""
        return (self.tool,)

    @property
    def open_args(self) -> tuple[str, ...]:
        """Names of the arguments that are chosen when the step runs."""
        return tuple(name for name in self.fill if name not in self.args)

    @property
    def asks_model(self) -> bool:
        """Whether running the step takes a model."""
        return bool(self.open_args)

    @property
    def does(self) -> str:
        """What the step does in a few words, for people."""
        return f"tool {self.tool}"


class _Instructed(StepBase):
    """A step that a model carries out: free text, one of `choices`, or data of `output_schema`.

    `token_budget` caps the tokens of one answer.
    """

    instruction: str = Field(min_length=1)
    output_schema: dict[str, JSON] | None = None
    choices: tuple[str, ...] | None = Field(default=None, min_length=1)
    token_budget: StrictInt | None = Field(default=None, ge=1)

    @property
    def asks_model(self) -> bool:
        """Whether running the step takes a model."""
        return True

    @model_validator(mode="after")
    def _one_kind_of_answer(self) -> Self:
        if self.choices is not None and self.output_schema is not None:
            msg = "choices and output_schema exclude each other; keep one"
            raise ValueError(msg)
        return self


class LlmStep(_Instructed):
    """One question to a model: the executor's, or the reporter's for what a person is told at the end.

    What the reporter says may name no code and no address that neither the goal nor a result holds.
    """

    action: Literal["llm"] = "llm"
    role: Literal["executor", "reporter"] = "executor"

    @property
    def does(self) -> str:
        """What the step does in a few words, for people."""
        return "llm"


class AgentStep(_Instructed):
    """A model that works on its own with a few tools, in at most `max_iterations` tool calls.

    It may use tools that write only when the step as a whole was approved.
    """

    action: Literal["agent"] = "agent"
    tools: tuple[str, ...] = Field(min_length=1)
    max_iterations: StrictInt = Field(default=8, ge=1, le=50)

    @property
    def own_tools(self) -> tuple[str, ...]:
        """The tools it may choose from."""
        return self.tools

    @property
    def does(self) -> str:
        """What the step does in a few words, for people."""
        return f"agent with {', '.join(self.tools)}"


ItemStep: TypeAlias = Annotated[ToolStep | LlmStep | AgentStep, Field(discriminator="action")]


class MapStep(StepBase):
    """The same `step` for each item of a list, which its expressions see as `item`, with its `index`.

    `over` is the list, or one reference to it. The result is `{"results": [...], "failures": [...]}`:
    `results` in the order of the items, null for an item that failed or was not taken; each failure is
    `{"index", "item", "code", "message"}`. `min_success` says how many items must succeed for the step to:
    a whole number of items, or a share of those taken as a fraction (0 < share <= 1.0); all of those taken
    when absent. `timeout` and `max_attempts` are those of each item that has none of its own. `step` has the
    map's id.
    """

    action: Literal["map"] = "map"
    over: str | list[JSON]
    step: ItemStep
    min_success: StrictInt | StrictFloat | None = None

    @model_validator(mode="before")
    @classmethod
    def _name_the_inner_step(cls, data: Any) -> Any:
        inner = data.get("step") if isinstance(data, dict) else None
        return {**data, "step": {**inner, "id": data.get("id")}} if isinstance(inner, dict) else data

    @field_validator("over", mode="before")
    @classmethod
    def _list_or_reference(cls, value: Any) -> Any:
        if isinstance(value, list) or whole_reference(value) is not None:
            return value
        raise ValueError("give a list, or one reference to one, as in ${s1.items}")

    @field_validator("min_success", mode="before")
    @classmethod
    def _count_or_share(cls, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise ValueError("give a whole number of items, or a share such as 0.9; all must succeed without")
        if isinstance(value, int) and value < 0:
            raise ValueError("a number of items is 0 or more")
        if isinstance(value, float) and not 0 < value <= 1:
            raise ValueError("a share is above 0 and at most 1.0; a number of items is a whole number")
        return value

    @property
    def own_tools(self) -> tuple[str, ...]:
        """The tools that its items may use."""
        return self.step.tool_names

    @property
    def asks_model(self) -> bool:
        """Whether running the step takes a model."""
        return self.step.asks_model

    @property
    def does(self) -> str:
        """What the step does in a few words, for people."""
        return f"map of {self.step.does}"

    def to_json(self) -> dict[str, JSON]:
        """Return plain JSON data as every step does; the inner step without the id it shares."""
        inner = {name: value for name, value in self.step.to_json().items() if name != "id"}
        return {**super().to_json(), "step": inner}


class PlanStep(StepBase):
    """A part of the work that is planned when it is reached, with a context of its own.

    `tools` are what its plan may use, all when empty. `sub_steps` are the ids of the steps that took its
    place, all of the form `ID.NAME`; they are there once it is planned, and the step then waits for those
    of them that no other needs. Its result is theirs: the value of the one, or an object by `NAME`.
    """

    action: Literal["plan"] = "plan"
    goal: str = Field(min_length=1)
    tools: tuple[str, ...] = ()
    sub_steps: tuple[str, ...] = ()

    @property
    def own_tools(self) -> tuple[str, ...]:
        """The tools that its plan may use; none named means all."""
        return self.tools

    @property
    def asks_model(self) -> bool:
        """Whether running the step takes a model."""
        return not self.sub_steps

    @property
    def does(self) -> str:
        """What the step does in a few words, for people."""
        return "plan of its own"


Step: TypeAlias = Annotated[
    ToolStep | LlmStep | AgentStep | MapStep | PlanStep, Field(discriminator="action")
]
StepModel: TypeAlias = type[ToolStep] | type[LlmStep] | type[AgentStep] | type[MapStep] | type[PlanStep]


def plain_object(value: dict[str, object]) -> dict[str, JSON]:
    """Return data of enums, tuples and JSON as plain JSON."""
    return {key: _plain(item) for key, item in value.items()}


def _plain(value: object) -> JSON:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value  # type: ignore[return-value]  # every field is JSON, an enum or a tuple of these
