"""A catalog for checking a plan without its tools: every name is a tool that takes anything."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from graph.plan import JSON, Risk


@dataclass(frozen=True)
class AnyTool:
    """A tool about which nothing is known."""

    name: str
    effect: Literal["read", "write"] = "write"
    risk: Risk = Risk.HIGH
    injected: frozenset[str] = frozenset()
    grounded: frozenset[str] = frozenset()

    def args_problems(self, _args: Mapping[str, JSON]) -> list[tuple[str, str]]:
        return []

    def denied(self, _args: Mapping[str, JSON]) -> str | None:
        return None


class AnyTools:
    """Every name is a tool."""

    def get(self, name: str) -> AnyTool:
        return AnyTool(name)

    def names(self) -> list[str]:
        return []
