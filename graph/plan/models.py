"""A plan: one immutable revision of steps."""

from typing import Self
from uuid import uuid4

from pydantic import Field, PrivateAttr, StrictInt

from graph.plan.json_values import JSON
from graph.plan.mermaid import flowchart
from graph.plan.steps import Frozen, Step, plain_object

UNDO_AUTHOR = "undo"


class Plan(Frozen):
    """One revision of a plan; a change makes a new revision, never a changed one.

    `author` is planner, replanner, caller, template:NAME, human:WHO, or undo for a revision that undoes what
    was done. `repairs` says which harmless slips of a model were mended in it.
    """

    plan_id: str = Field(default_factory=lambda: uuid4().hex, min_length=1, max_length=200)
    revision: StrictInt = Field(default=1, ge=1)
    parent_revision: StrictInt | None = Field(default=None, ge=1)
    author: str = Field(default="caller", pattern=r"^(planner|replanner|undo|caller|template:.+|human:.+)$")
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
        return {**plain_object({**head, **dumped}), "steps": steps}

    def _repr_markdown_(self) -> str:
        # A notebook made into a page puts this into it as HTML, where a tag would be lost; a newline is not.
        drawn = flowchart(self.steps).replace("<br/>", "\n")
        return f"```mermaid\n{drawn}```"

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read what `to_json` wrote.

        Raises:
            pydantic.ValidationError: The data is not such a plan; `parse_plan` explains better.
        """
        return cls.model_validate(data)
