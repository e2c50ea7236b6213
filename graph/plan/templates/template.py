"""A template: a plan with typed parameters, the rules that recognise its goals, the tools it was made for."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, StrictInt, model_validator

from graph.plan.errors import PlanError, PlanrailError
from graph.plan.json_values import JSON, compact_json
from graph.plan.models import Plan
from graph.plan.parse import parse_plan
from graph.plan.parts import all_references
from graph.plan.templates.params import Param
from graph.plan.templates.rules import Rule

_IN_TEXT = re.compile(r"\$\{params\.(\w+)\}")
_NAME = r"^\w[\w-]{0,63}$"
_PLAN_FIELDS = frozenset({"goal", "assumptions", "steps"})


class TemplateError(PlanrailError):
    """A template that cannot be used, or not with these parameters; the message says why."""

    code: ClassVar[str] = "bad_template"


class Template(BaseModel):
    """One template.

    `plan` holds goal, assumptions and steps; strings in it name parameters as `${params.NAME}`. `tools`
    are the fingerprints of the tools it was made for; a tool without one is not compared.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=_NAME)
    version: StrictInt = Field(default=1, ge=1)
    description: str = ""
    params: dict[str, Param] = Field(default_factory=dict)
    match: tuple[Rule, ...] = ()
    tools: dict[str, str] = Field(default_factory=dict)
    plan: dict[str, JSON]

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        strange = sorted(self.plan.keys() - _PLAN_FIELDS)
        if strange:
            raise ValueError(f"plan has {', '.join(strange)}; it may have {', '.join(sorted(_PLAN_FIELDS))}")
        bad = sorted(name for name in self.params if not name.isidentifier())
        if bad:
            raise ValueError(f"param {bad[0]!r} is no name: use letters, digits and _")
        unknown = sorted(_named_params(self._parsed()) - self.params.keys())
        if unknown:
            raise ValueError(f"the plan names params.{unknown[0]}, which params does not declare")
        for number, rule in enumerate(self.match, 1):
            self._check_rule(number, rule)
        return self

    def _check_rule(self, number: int, rule: Rule) -> None:
        strange = sorted(rule.groups - self.params.keys())
        if strange:
            raise ValueError(f"rule {number} has a group {strange[0]}, which params does not declare")
        missing = sorted(n for n, param in self.params.items() if param.required and n not in rule.groups)
        if missing:
            raise ValueError(
                f"rule {number} never gives {missing[0]}: add a group (?P<{missing[0]}>...) or a default"
            )

    def _parsed(self) -> Plan:
        plan, problems = parse_plan(self.plan, goal=self.description or self.name)
        if plan is None:
            raise ValueError("; ".join(map(str, problems)))
        return plan

    @property
    def used_tools(self) -> frozenset[str]:
        """The tools that its steps call."""
        return frozenset(name for step in self._parsed().steps for name in step.tool_names)

    @property
    def asks_model(self) -> bool:
        """Whether a step of it needs a model."""
        return any(step.asks_model for step in self._parsed().steps)

    def bind(self, given: Mapping[str, JSON]) -> dict[str, JSON]:
        """The parameters in their types, defaults filled in.

        Raises:
            TemplateError: One is unknown, missing, or does not fit.
        """
        for name in given:
            if name not in self.params:
                close = get_close_matches(name, self.params, n=3) or sorted(self.params)
                hint = f"it has {', '.join(close)}" if close else "it has none"
                raise TemplateError(f"template {self.name!r} has no parameter {name!r}: {hint}")
        return {name: self._value(name, param, given) for name, param in self.params.items()}

    def _value(self, name: str, param: Param, given: Mapping[str, JSON]) -> JSON:
        if name not in given:
            if param.required:
                told = f" ({param.description})" if param.description else ""
                raise TemplateError(f"template {self.name!r} needs {name}{told}: give -p {name}=VALUE")
            return param.default
        try:
            return param.read(given[name])
        except ValueError as error:
            raise TemplateError(f"{name} of template {self.name!r}: {error}") from None

    def fill(self, given: Mapping[str, JSON], *, goal: str | None = None) -> Plan:
        """A plan of this template, by author `template:NAME`, with an id of its own.

        Args:
            given: The parameters; texts are read as the types declared.
            goal: The goal in the caller's words; the template's own when absent.

        Raises:
            TemplateError: The parameters do not fit.
            PlanError: What came out is no plan.
        """
        params = self.bind(given)
        data = {
            **self.plan,
            "params": params,
            "steps": [_titled(s, params) for s in _list(self.plan, "steps")],
        }
        data["assumptions"] = [_text(each, params) for each in _list(self.plan, "assumptions")]
        data["goal"] = goal or _text(self.plan.get("goal") or self.description or self.name, params)
        plan, problems = parse_plan(data, author=f"template:{self.name}")
        if plan is None:
            raise PlanError(problems)
        return plan


def _named_params(plan: Plan) -> frozenset[str]:
    texts = [plan.goal, *plan.assumptions, *(step.title for step in plan.steps)]
    named = {name for text in texts for name in _IN_TEXT.findall(text)}
    for step in plan.steps:
        named.update(name for each in all_references(step) for name in each.param_names)
    return frozenset(named)


def _list(plan: Mapping[str, JSON], name: str) -> list[JSON]:
    value = plan.get(name)
    return value if isinstance(value, list) else []


def _titled(step: JSON, params: Mapping[str, JSON]) -> JSON:
    if not isinstance(step, dict) or "title" not in step:
        return step
    return {**step, "title": _text(step["title"], params)}


def _text(value: JSON, params: Mapping[str, JSON]) -> JSON:
    """A text that people read, with the parameters put in; what is put in is not looked at again."""
    if not isinstance(value, str):
        return value
    return _IN_TEXT.sub(lambda match: _shown(params[match[1]]), value)


def _shown(value: JSON) -> str:
    return value if isinstance(value, str) else compact_json(value)
