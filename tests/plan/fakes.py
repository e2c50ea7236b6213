"""A hand-made tool catalog and short ways to make plans."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from graph.plan import JSON, Plan, Risk, ToolSpec, has_reference, parse_plan


@dataclass(frozen=True)
class FakeTool:
    """A tool whose arguments must be text unless they are references."""

    name: str
    effect: Literal["read", "write"] = "read"
    risk: Risk = Risk.LOW
    injected: frozenset[str] = frozenset()
    grounded: frozenset[str] = frozenset()
    arguments: frozenset[str] = frozenset({"q", "x", "y"})

    def args_problems(self, args: Mapping[str, JSON]) -> list[tuple[str, str]]:
        unknown = [(name, "unknown argument") for name in args if name not in self.arguments]
        return unknown + [("q", "must be text") for q in [args.get("q", "")] if _is_wrong(q)]

    def denied(self, args: Mapping[str, JSON]) -> str | None:
        return "q must not be evil" if args.get("q") == "${evil}" else None


def _is_wrong(value: JSON) -> bool:
    return not isinstance(value, str) and not has_reference(value)


@dataclass(frozen=True)
class FakeCatalog:
    tools: Mapping[str, FakeTool] = field(
        default_factory=lambda: {
            "read": FakeTool("read"),
            "write": FakeTool("write", effect="write", risk=Risk.HIGH, injected=frozenset({"key"})),
            "web_search": FakeTool("web_search", arguments=frozenset({"query"})),
            "write_file": FakeTool("write_file", effect="write", arguments=frozenset({"path", "content"})),
        }
    )

    def get(self, name: str) -> ToolSpec | None:
        return self.tools.get(name)

    def names(self) -> list[str]:
        return list(self.tools)


CATALOG = FakeCatalog()


def tool(step_id: str, *depends_on: str, name: str = "read", **args: JSON) -> dict[str, JSON]:
    return {"id": step_id, "action": "tool", "tool": name, "args": args, "depends_on": list(depends_on)}


def plan_of(*steps: JSON, **fields: JSON) -> Plan:
    plan, problems = parse_plan({"goal": "g", "plan_id": "p", "steps": list(steps), **fields})
    assert plan is not None, problems
    return plan
