"""Slips of small models whose meaning is certain, mended in code and noted; all else goes back."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from graph.plan import AgentStep, LlmStep, MapStep, PlanStep, ToolStep, references
from nodes.endpoint.argument_schema import kinds, options
from nodes.endpoint.near_json import NotReadable, read_value
from nodes.endpoint.repeated import id_of, without_repeated_lookups
from tools import RegisteredTool, ToolRegistry

_KINDS = (ToolStep, LlmStep, AgentStep, MapStep, PlanStep)
_KNOWN_FIELDS = frozenset(name for kind in _KINDS for name in kind.model_fields)
_NULL_SAYS_NOTHING = ("require_approval", "optional", "on_dependency_failure", "verify", "when")
"""Fields that a plan's schema makes a model give, with null for what it does not want to say."""


def mended(plan: Mapping[str, Any], registry: ToolRegistry, known: AbstractSet[str]) -> dict[str, Any]:
    """A model's plan with its harmless slips mended; what was done is in its `repairs`.

    Mended are a dependency on step 0, or on a step that is not there and that nothing in the step refers
    to; an unknown field that says nothing; a number where a tool wants text; a lookup that is said twice. A
    write that would lose its only place in the order keeps the dependency, and goes back for it. No slips,
    because a plan's schema asks for them, are a missing `action`, and null for an argument that the tool
    needs, which goes into `fill`.

    Args:
        plan: The model's object, of any shape.
        registry: The tools.
        known: Ids of steps that are done and need not be listed.
    """
    steps = plan.get("steps")
    if not isinstance(steps, list) or not all(isinstance(step, Mapping) for step in steps):
        return dict(plan)
    steps, repeated = without_repeated_lookups(steps, registry)
    ids = [id_of(step.get("id")) for step in steps]
    work = [_Mending(dict(step), index, registry, {*ids, *known}) for index, step in enumerate(steps)]
    for each in work:
        each.run()
    before = plan.get("repairs")
    own = [*repeated, *(note for each in work for note in each.notes)]
    notes = [*(before if isinstance(before, list) else []), *own]
    return {**plan, "steps": [each.step for each in work], **({"repairs": notes} if notes else {})}


@dataclass
class _Mending:
    """The mending of one step; `index` is its place in the list."""

    step: dict[str, Any]
    index: int
    registry: ToolRegistry
    ids: AbstractSet[str]
    notes: list[str] = field(default_factory=list)

    def run(self) -> None:
        self._open_options()
        for name in _NULL_SAYS_NOTHING:
            if name in self.step and self.step[name] is None:
                del self.step[name]
        self._drop_empty_strangers(self.step, _KNOWN_FIELDS, "field")
        self._name_action()
        self._mend_dependencies()
        tool, args = self._tool(), _decoded(self.step.get("args"))
        if tool is not None and isinstance(args, Mapping):
            self.step["args"] = self._arguments(tool, self._without_open(tool, args))

    def _open_options(self) -> None:
        """Take what the step says under `options` as its own, which is how a plan's schema has it.

        What is not known there, or contradicts the step, stays for the check to refuse.
        """
        options = self.step.get("options")
        if not isinstance(options, Mapping | None):
            return
        said = {name: value for name, value in (options or {}).items() if value is not None}
        own = {name: value for name, value in self.step.items() if value is not None}
        agrees = all(own.get(name, value) == value for name, value in said.items())
        if agrees and said.keys() <= set(_NULL_SAYS_NOTHING):
            self.step = {**self.step, **said}
            self.step.pop("options", None)

    def _note(self, what: str) -> None:
        self.notes.append(f"{id_of(self.step.get('id'))}: {what}")

    def _tool(self) -> RegisteredTool | None:
        name = self.step.get("tool")
        return self.registry.get(name) if isinstance(name, str) else None

    def _drop_empty_strangers(self, fields: dict[str, Any], known: Iterable[str], what: str) -> None:
        for name in [name for name in fields if name not in known]:
            if fields[name] in (None, "", [], {}):
                del fields[name]
                self._note(f"dropped the unknown and empty {what} {name[:40]!r}")

    def _name_action(self) -> None:
        if self.step.get("action") is None:
            told = "agent" if self.step.get("tools") else "llm"
            does = [name for name, says in (("tool", "tool"), (told, "instruction")) if self.step.get(says)]
            if len(does) == 1:
                self.step["action"] = does[0]

    def _mend_dependencies(self) -> None:
        given = self.step.get("depends_on")
        listed = given if isinstance(given, list) else [given]
        if given is None or not all(isinstance(dep, (str, int)) for dep in listed):
            return
        needed = {
            name
            for part in (self.step.get("args"), self.step.get("instruction"))
            for expression in references(part)
            for name in expression.step_ids
        }
        missing = [dep for dep in listed if id_of(dep) not in self.ids and id_of(dep) not in needed]
        kept = [dep for dep in listed if dep not in missing]
        placed = bool(kept) or bool(needed & self.ids) or self.index == 0 or not self._writes()
        dropped = [dep for dep in missing if placed or _is_step_zero(dep)]
        if dropped:
            self.step["depends_on"] = [dep for dep in listed if dep not in dropped]
            names = ", ".join(repr(id_of(dep)[:40]) for dep in dropped)
            self._note(f"dropped the dependency on {names}, which is no step and which nothing refers to")

    def _writes(self) -> bool:
        tool = self._tool()
        return self.step.get("tool") is not None and (tool is None or tool.effect != "read")

    def _without_open(self, tool: RegisteredTool, args: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments without those that are null because they are to be chosen when the step runs.

        Only a step that depends on others has anything to choose from.
        """
        properties = tool.args_schema.get("properties", {})
        needed = [
            name
            for name in tool.args_schema.get("required", ())
            if name in args
            and args[name] is None
            and not kinds(properties.get(name, {}), tool.args_schema) & {"null", "any"}
        ]
        if not needed or not self.step.get("depends_on"):
            return dict(args)
        named = self.step.get("fill") or []
        given = [named] if isinstance(named, str) else list(named) if isinstance(named, list) else []
        self.step["fill"] = [*given, *(name for name in needed if name not in given)]
        return {name: value for name, value in args.items() if name not in needed}

    def _arguments(self, tool: RegisteredTool, given: Mapping[str, Any]) -> dict[str, Any]:
        schema = tool.args_schema
        properties: Mapping[str, Any] = schema.get("properties", {})
        optional = properties.keys() - set(schema.get("required", ()))
        args = {name: value for name, value in given.items() if value is not None or name not in optional}
        if not schema.get("additionalProperties"):
            self._drop_empty_strangers(args, {*properties, *tool.injected}, "argument")
        decoded = dict(tool.decode_args(args))
        return {n: self._value(n, v, properties.get(n, {}), schema) for n, v in decoded.items()}

    def _value(self, name: str, value: Any, schema: Any, root: Mapping[str, Any]) -> Any:
        """The value with each number as text where the tool takes text and no number."""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if kinds(schema, root) - {"null"} != {"string"}:
                return value
            self._note(f"took the number of {name[:40]!r} as text")
            return str(value)
        if isinstance(value, list):
            lists = [each for each in options(schema, root) if isinstance(each.get("items"), Mapping)]
            return (
                [self._value(name, v, lists[0]["items"], root) for v in value] if len(lists) == 1 else value
            )
        return value


def _decoded(args: Any) -> Any:
    """Arguments that came as JSON text, as a schema without the tools' own wants them."""
    if not isinstance(args, str):
        return args
    try:
        value, end = read_value(args.strip())
    except NotReadable:
        return args
    return value if end == len(args.strip()) else args


def _is_step_zero(dependency: Any) -> bool:
    return id_of(dependency).casefold().strip("step_- ") == "0"
