"""Making a template of a plan that ran: values become parameters, its goal becomes a rule."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml  # type: ignore[import-untyped]  # the distribution has no types
from pydantic import ValidationError

from graph.plan.json_values import JSON, compact_json
from graph.plan.models import Plan
from graph.plan.references import condition_expression
from graph.plan.steps import Step
from graph.plan.templates.params import Param
from graph.plan.templates.template import Template, TemplateError
from graph.plan.tokens import Token, escape_text, split_text, tokens

_WORKED_ON = ("args", "instruction", "over", "goal")
_CONDITIONS = ("when", "expect")
_WITHIN = ("step", "fallback", "compensate")

_WORD = r"[^\s,;、。]+"


def template_of(
    plan: Plan,
    name: str,
    values: Mapping[str, str],
    *,
    version: int = 1,
    description: str = "",
    fingerprints: Mapping[str, str] | None = None,
) -> Template:
    """A template of this plan.

    Args:
        plan: A plan that ran to a good end.
        name: The template's name.
        values: Parameters by name, each with the value it has in this plan; the plan's own params are
            parameters too. Each place where the value stands alone will take the parameter.
        version: Its version.
        description: What it is for, in words.
        fingerprints: Of the tools, by name.

    Raises:
        TemplateError: A value occurs nowhere in the plan, or the name does not fit.
    """
    swaps = [_Swap(param, value, plan) for param, value in values.items()]
    for swap in swaps:
        if not swap.occurs:
            raise TemplateError(
                f"{swap.value!r} ({swap.name}) occurs in no step of the plan: give another -p"
            )
    own = {param: value for param, value in plan.params.items() if param not in values}
    strange = [param for param, value in own.items() if not isinstance(value, (str, int, float))]
    if strange:
        raise TemplateError(
            f"param {strange[0]} of the plan is no text, number or truth: no template takes it"
        )
    used = {name for step in plan.steps for name in step.tool_names}
    known = {**own, **values}
    data = {
        "name": name,
        "version": version,
        "description": description,
        "params": {**{n: {"type": _type_of(v)} for n, v in own.items()}, **{s.name: s.param for s in swaps}},
        "match": _rules(plan.goal, known),
        "tools": {tool: print_ for tool, print_ in (fingerprints or {}).items() if tool in used},
        "plan": {
            "goal": _in_words(plan.goal, known),
            **({"assumptions": [_in_words(a, known) for a in plan.assumptions]} if plan.assumptions else {}),
            "steps": [_step(step, swaps, known) for step in plan.steps],
        },
    }
    try:
        return Template.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        raise TemplateError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def to_yaml(template: Template) -> str:
    """The template as the text of its file."""
    data = template.model_dump(mode="json", exclude_defaults=True)
    data = {"name": template.name, "version": template.version, **data}
    for name, param in data.get("params", {}).items():
        param["type"] = template.params[name].type
    for rule in data.get("match", ()):
        if "keywords" in rule:
            rule["keywords"] = [words[0] if len(words) == 1 else words for words in rule["keywords"]]
    text = yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=100)
    return str(text)


class _Swap:
    """One value of a plan on its way to become `${params.NAME}`."""

    def __init__(self, name: str, value: str, plan: Plan) -> None:
        self.name, self.value = name, value
        self.reference = f"${{params.{name}}}"
        self._number = _as_number(value)
        steps = [step.to_json() for step in plan.steps]
        numbers = [each for step in steps for each in _numbers(step)]
        self.numeric = any(self._is_number(each) for each in numbers)
        self._pattern = _alone(value)
        self.occurs = any(self.into_step(step) != step for step in steps)

    @property
    def param(self) -> dict[str, JSON]:
        return {"type": "str" if not self.numeric else "int" if isinstance(self._number, int) else "number"}

    def into_step(self, step: Mapping[str, JSON]) -> dict[str, JSON]:
        """A step's JSON, or that of a call beside it, with the parameter wherever it works on the value."""
        changes = {key: self.into(step[key]) for key in _WORKED_ON if key in step}
        changes |= {key: self._into_condition(str(step[key])) for key in _CONDITIONS if key in step}
        inner = {key: each for key in _WITHIN if isinstance(each := step.get(key), dict)}
        return {**step, **changes, **{key: self.into_step(each) for key, each in inner.items()}}

    def _into_condition(self, text: str) -> str:
        inside = condition_expression(text).text
        pieces: list[str] = []
        at = 0
        for token in tokens(inside)[0]:
            begin = token.end - len(token.text)
            pieces.append(inside[at:begin] + (self._in_condition(token) or token.text))
            at = token.end
        swapped = "".join([*pieces, inside[at:]])
        return text if swapped == inside else swapped

    def _in_condition(self, token: Token) -> str | None:
        """What stands for a literal of a condition that is the value."""
        if token.kind == "string" and token.text[1:-1] == self.value:
            return f"string(params.{self.name})" if self.numeric else f"params.{self.name}"
        number = token.kind == "number" and self._is_number(_as_number(token.text))
        return f"params.{self.name}" if number else None

    def into(self, value: JSON) -> JSON:
        if isinstance(value, dict):
            return {key: self.into(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.into(each) for each in value]
        if isinstance(value, str):
            return self._into_text(value)
        return self.reference if self._is_number(value) else value

    def _into_text(self, text: str) -> str:
        # A number that fills a whole text stays text.
        whole = self.numeric and text == self.value
        put = f"${{string(params.{self.name})}}" if whole else self.reference
        pieces = split_text(text)
        if not any(self._pattern.search(piece.text) for piece in pieces if not piece.is_expression):
            return text
        return "".join(
            f"${{{piece.text}}}"
            if piece.is_expression
            else put.join(escape_text(part) for part in self._pattern.split(piece.text))
            for piece in pieces
        )

    def _is_number(self, value: JSON) -> bool:
        return (
            self._number is not None
            and isinstance(value, (int, float))
            and not isinstance(value, bool)
            and value == self._number
        )


def _numbers(step: Mapping[str, JSON]) -> Iterator[JSON]:
    """The numbers that a step's JSON works on, and those in its conditions."""
    for key in _WORKED_ON:
        yield from _scalars(step.get(key))
    for key in _CONDITIONS:
        found = tokens(condition_expression(str(step.get(key, ""))).text)[0]
        yield from (_as_number(token.text) for token in found if token.kind == "number")
    for key in _WITHIN:
        inner = step.get(key)
        if isinstance(inner, dict):
            yield from _numbers(inner)


def _scalars(value: JSON) -> Iterable[JSON]:
    if isinstance(value, dict):
        return [each for item in value.values() for each in _scalars(item)]
    if isinstance(value, list):
        return [each for item in value for each in _scalars(item)]
    return [value]


def _as_number(text: str) -> int | float | None:
    param = Param(type="number")
    try:
        found: Any = param.read(text)
    except ValueError:
        return None
    return found if isinstance(found, (int, float)) else None


def _alone(value: str) -> re.Pattern[str]:
    """The value where no Latin letter or digit goes on before or after it."""
    return re.compile(f"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])")


def _type_of(value: JSON) -> str:
    if isinstance(value, bool):
        return "bool"
    return "int" if isinstance(value, int) else "number" if isinstance(value, float) else "str"


def _shown(value: JSON) -> str:
    return value if isinstance(value, str) else compact_json(value)


def _step(step: Step, swaps: list[_Swap], known: Mapping[str, JSON]) -> JSON:
    data = step.to_json()
    for swap in swaps:
        data = swap.into_step(data)
    if step.title:
        data["title"] = _in_words(step.title, known)
    return data


def _in_words(text: str, known: Mapping[str, JSON]) -> str:
    """A text that people read, with parameters for the values; in one go, so that nothing is put in twice."""
    names = {_shown(value): name for name, value in known.items()}
    if not names:
        return text
    longest_first = sorted(names, key=len, reverse=True)
    pattern = re.compile("|".join(_alone(value).pattern for value in longest_first))
    return pattern.sub(lambda match: f"${{params.{names[match[0]]}}}", text)


def _rules(goal: str, known: Mapping[str, JSON]) -> list[JSON]:
    """One rule that fits this goal with other values, or none when the goal does not name them all."""
    text = unicodedata.normalize("NFKC", goal).strip()
    values = {name: unicodedata.normalize("NFKC", _shown(value)) for name, value in known.items()}
    if not all(_alone(value).search(text) for value in values.values()):
        return []
    parts = [text]
    for name, value in values.items():
        parts = [piece for part in parts for piece in _cut(part, name, value)]
    seen: set[str] = set()
    return [{"regex": f"^{''.join(_pattern(part, values, seen) for part in parts)}$"}]


def _cut(part: str, name: str, value: str) -> list[str]:
    """The part cut at each place of the value; a cut is told by a NUL, which no goal has."""
    if part.startswith("\0"):
        return [part]
    pieces = _alone(value).split(part)
    return [each for piece in pieces for each in (f"\0{name}", piece)][1:]


def _pattern(part: str, values: Mapping[str, str], seen: set[str]) -> str:
    if not part.startswith("\0"):
        return re.sub(r"(?:\\?\s)+", lambda _match: r"\s+", re.escape(part))
    name = part[1:]
    if name in seen:
        return f"(?P={name})"
    seen.add(name)
    body = ".+?" if re.search(r"\s", values[name]) else _WORD
    return f"(?P<{name}>{body})"
