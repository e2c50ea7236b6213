"""Plans and steps as immutable data."""

from enum import Enum, StrEnum
from typing import Annotated, Literal, Self, TypeAlias
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, StrictBool, StrictInt, model_validator

from graph.plan.json_values import JSON
from graph.plan.mermaid import flowchart


class Risk(StrEnum):
    """How much harm a step can do if it is wrong."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    @property
    def rank(self) -> int:
        """0 for low, 1 for medium, 2 for high."""
        return list(Risk).index(self)


def max_risk(first: Risk, *others: Risk) -> Risk:
    """Return the highest of the given risks."""
    return max((first, *others), key=lambda risk: risk.rank)


class OnDependencyFailure(StrEnum):
    """What becomes of a step when a step it depends on fails."""

    ABORT = "abort"
    SKIP = "skip"
    DEGRADE = "degrade"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StepBase(_Frozen):
    """What every step has, whatever it does.

    `timeout` is in seconds for one attempt; `max_attempts` counts the first attempt. None leaves either
    to the tool's policy. With `verify` the result is held against what the plan assumes before anything is
    built on it.
    """

    action: str
    id: str = Field(min_length=1, max_length=200)
    title: str = ""
    depends_on: tuple[str, ...] = ()
    risk: Risk = Risk.LOW
    require_approval: StrictBool = False
    on_dependency_failure: OnDependencyFailure = OnDependencyFailure.ABORT
    optional: StrictBool = False
    verify: StrictBool = False
    timeout: float | None = Field(default=None, gt=0, strict=True, allow_inf_nan=False)
    max_attempts: StrictInt | None = Field(default=None, ge=1)

    def to_json(self) -> dict[str, JSON]:
        """Return plain JSON data with id and action, without fields that have their default value."""
        return _plain_object({"id": self.id, "action": self.action, **self.model_dump(exclude_defaults=True)})


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
    def tool_names(self) -> tuple[str, ...]:
        """The tools that the step may call."""
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
    """One question to a model."""

    action: Literal["llm"] = "llm"

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools that the step may call: none."""
        return ()

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
    def tool_names(self) -> tuple[str, ...]:
        """The tools that the step may call."""
        return self.tools

    @property
    def does(self) -> str:
        """What the step does in a few words, for people."""
        return f"agent with {', '.join(self.tools)}"


Step: TypeAlias = Annotated[ToolStep | LlmStep | AgentStep, Field(discriminator="action")]
StepModel: TypeAlias = type[ToolStep] | type[LlmStep] | type[AgentStep]


class Plan(_Frozen):
    """One revision of a plan; a change makes a new revision, never a changed one.

    `author` is planner, replanner, caller, template:NAME or human:WHO. `repairs` says which harmless slips
    of a model were mended in it.
    """

    plan_id: str = Field(default_factory=lambda: uuid4().hex, min_length=1, max_length=200)
    revision: StrictInt = Field(default=1, ge=1)
    parent_revision: StrictInt | None = Field(default=None, ge=1)
    author: str = Field(default="caller", pattern=r"^(planner|replanner|caller|template:.+|human:.+)$")
    goal: str
    assumptions: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    params: dict[str, JSON] = Field(default_factory=dict)
    steps: tuple[Step, ...]

    _by_id: dict[str, Step] = PrivateAttr(default_factory=dict)
    _indexed: tuple[Step, ...] | None = PrivateAttr(default=None)

    def step(self, step_id: str) -> Step:
        """Return the step of that id.

        Raises:
            KeyError: The plan has no such step.
        """
        # A copy with other steps carries this index along, so it is tied to the tuple it was made from.
        if self._indexed is not self.steps:
            self._by_id = {step.id: step for step in reversed(self.steps)}
            self._indexed = self.steps
        return self._by_id[step_id]

    def __eq__(self, other: object) -> bool:
        """Compare by content; whether a plan was looked into does not count."""
        return isinstance(other, Plan) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> dict[str, JSON]:
        """Return plain JSON data without the fields that have their default value."""
        dumped = self.model_dump(exclude_defaults=True, exclude={"steps"})
        steps: list[JSON] = [step.to_json() for step in self.steps]
        head = {"plan_id": self.plan_id, "revision": self.revision, "author": self.author}
        return {**_plain_object({**head, **dumped}), "steps": steps}

    def _repr_markdown_(self) -> str:
        return f"```mermaid\n{flowchart(self.steps)}```"

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read what `to_json` wrote.

        Raises:
            pydantic.ValidationError: The data is not such a plan; `parse_plan` explains better.
        """
        return cls.model_validate(data)


def _plain_object(value: dict[str, object]) -> dict[str, JSON]:
    return {key: _plain(item) for key, item in value.items()}


def _plain(value: object) -> JSON:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value  # type: ignore[return-value]  # every field is JSON, an enum or a tuple of these
