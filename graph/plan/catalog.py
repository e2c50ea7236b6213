"""What checking a plan needs to know about tools; the tools package provides it."""

from collections.abc import Mapping
from typing import Literal, Protocol

from graph.plan.json_values import JSON
from graph.plan.risk import Risk


class ToolSpec(Protocol):
    """One tool as the plan check sees it."""

    @property
    def name(self) -> str:
        """The name that plans use."""
        ...

    @property
    def effect(self) -> Literal["read", "write"]:
        """Whether a call changes anything outside."""
        ...

    @property
    def risk(self) -> Risk:
        """The lowest risk a call of this tool can have."""
        ...

    @property
    def injected(self) -> frozenset[str]:
        """Arguments that the machinery fills and a plan may never give."""
        ...

    @property
    def grounded(self) -> frozenset[str]:
        """Arguments whose value must occur in the goal, the params or a result, never be made up."""
        ...

    def args_problems(self, args: Mapping[str, JSON]) -> list[tuple[str, str]]:
        """Judge a plan's arguments against the tool's schema.

        An argument that is one whole reference has no known type yet and is not judged; text with a
        reference in it is text.

        Args:
            args: Arguments as the plan has them.

        Returns:
            (argument, message) for each fault; the argument is "" for the call as a whole.
        """
        ...

    def denied(self, args: Mapping[str, JSON]) -> str | None:
        """Return the reason when a policy forbids this call, else None.

        Args:
            args: Arguments without any reference in them.
        """
        ...


class ToolCatalog(Protocol):
    """The tools a plan may use."""

    def get(self, name: str) -> ToolSpec | None:
        """Return the tool of that exact name, or None."""
        ...

    def names(self) -> list[str]:
        """Return every tool's name."""
        ...
