"""The tools of a run by name."""

from collections.abc import Iterator, Mapping
from typing import Self

from tools.errors import ToolSetupError
from tools.fallbacks import check_fallbacks
from tools.policy import ToolPolicy
from tools.registered import RegisteredTool
from tools.registration import AnyTool, register


class ToolRegistry(Mapping[str, RegisteredTool]):
    """The tools of a run by name; a read-only mapping that also serves as the plan check's catalog."""

    def __init__(self, tools: Mapping[str, RegisteredTool]) -> None:
        """Use `ToolRegistry.of` to make one from tools or functions."""
        self._tools = dict(tools)

    @classmethod
    def of(cls, *tools: AnyTool, policies: Mapping[str, ToolPolicy] | None = None) -> Self:
        """Register LangChain tools and plain functions.

        Args:
            *tools: Tools, or functions whose name, docstring and annotations describe them.
            policies: Policies by tool name, for tools that carry none or should have another.

        Raises:
            ToolSetupError: Two tools have one name, a policy names no tool, a tool cannot be used, or not as
                the fallback that a policy makes it.
        """
        given = dict(policies or {})
        registered: dict[str, RegisteredTool] = {}
        for item in tools:
            found = register(item, given)
            if found.name in registered:
                raise ToolSetupError(f"two tools are named {found.name!r}; rename one")
            registered[found.name] = found
        unused = sorted(given.keys() - registered.keys())
        if unused:
            raise ToolSetupError(f"policies name tools that are not registered: {', '.join(unused)}")
        check_fallbacks(registered)
        return cls(registered)

    def __getitem__(self, name: str) -> RegisteredTool:
        """Return the tool of that exact name."""
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._tools)

    def __len__(self) -> int:
        """Count the tools."""
        return len(self._tools)

    def reads(self, name: object) -> bool:
        """Tell whether there is a tool of that name, and it only looks things up."""
        tool = self._tools.get(name) if isinstance(name, str) else None
        return tool is not None and tool.effect == "read"

    def names(self) -> list[str]:
        """Return every tool's name, in the order of registration."""
        return list(self._tools)
