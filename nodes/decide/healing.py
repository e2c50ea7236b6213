"""What a reference may have meant, when the result that it names lacks its path, or has what does not fit."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from graph.plan import (
    Expression,
    ReferenceFailure,
    Scope,
    Sources,
    read_expression,
    resolve,
)
from nodes.decide.candidates import ANY, Want, candidates, certain, last_name, parts_of

_PLAIN = ("string", "number", "boolean", "null")
_LONGEST_PART = 60
"""Characters of a text that may as a whole be what a reference into it meant: a name, not a letter."""


def failing(
    expressions: Iterable[Expression], wanted: Mapping[str, Want], scope: Scope
) -> tuple[dict[str, ReferenceFailure], list[str]]:
    """The references, by text, without a value, and why; and those with one that cannot be their argument's.

    The latter give a list or an object where neither is taken. An expression that computes something stands
    for no part of a result: half an amount is not to become all of it.
    """
    lost: dict[str, ReferenceFailure] = {}
    misfit: list[str] = []
    for expression in expressions:
        try:
            value = resolve(f"${{{expression.text}}}", scope)
        except ReferenceFailure as failure:
            if expression.path is not None:
                lost[expression.text] = failure
            continue
        if isinstance(value, (dict, list)) and wanted.get(expression.text, ANY).takes_scalars_only:
            misfit.append(expression.text)
    return lost, misfit


@dataclass(frozen=True)
class Healing:
    """What lost references may stand for.

    `certain` are the paths of those that can have meant but one thing; `choices` those of the others, that
    a model is asked to choose from; what is in neither stays lost. With `by_value` a model gives values
    instead: inside results that are plain text there are no paths.
    """

    certain: Mapping[str, str]
    choices: Mapping[str, list[str]]
    by_value: bool = False
    wanted: Mapping[str, Want] = field(default_factory=dict)

    @property
    def keys(self) -> dict[str, str]:
        """The keys of the model's answer, by reference: `r1`, `r2`, ..., or what a value is called.

        A small model copies the right value out of a text under its name, and the text or the name under a
        number. Paths it chooses better under a number.
        """
        numbers = [f"r{at}" for at in range(1, len(self.choices) + 1)]
        found = dict(zip(self.choices, numbers, strict=True))
        for text in found if self.by_value else ():
            name = self.wanted.get(text, ANY).argument or last_name(read_expression(text))
            if name and name not in {*found.values(), *numbers}:
                found[text] = name
        return found

    @property
    def known(self) -> dict[str, Any]:
        """The certain ones in their journaled form."""
        return {text: {"path": path} for text, path in self.certain.items()}


def healing_of(
    lost: Iterable[str],
    misfit: Iterable[str],
    wanted: Mapping[str, Want],
    results: Mapping[str, Any],
    *,
    careful: bool = False,
) -> Healing:
    """What can be done about lost references, and about those that give what does not fit.

    Args:
        lost: Expressions without a value.
        misfit: Expressions whose value cannot be the argument's; only what is certain helps them.
        wanted: What they are to give, by expression.
        results: The results at hand, by step id.
        careful: Whether the step writes; then nothing is taken for a thing of another name.
    """
    parts = parts_of(results)
    found = {text: certain(read_expression(text), wanted.get(text, ANY), parts) for text in (*lost, *misfit)}
    known = {text: path for text, path in found.items() if path is not None}
    open_ones = [text for text in lost if text not in known]
    if needs_values(open_ones, results):
        return Healing(known, {text: [] for text in open_ones}, by_value=True, wanted=wanted)
    choices = {
        text: candidates(read_expression(text), wanted.get(text, ANY), parts, careful=careful)
        for text in open_ones
    }
    return Healing(known, {text: paths for text, paths in choices.items() if paths}, wanted=wanted)


def healing_schema(healing: Healing) -> dict[str, Any]:
    """The shape of the answer: what each lost reference stands for, or null."""
    properties = {
        key: {
            **(
                {"type": _plain_kinds(healing.wanted.get(text, ANY))}
                if healing.by_value
                else {"enum": [*healing.choices[text], None]}
            ),
            "description": _meaning(text, healing.wanted.get(text, ANY)),
        }
        for text, key in healing.keys.items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _meaning(text: str, want: Want) -> str:
    given = f", given as {want.argument}" if want.argument else ""
    return f"What ${{{text}}} stands for{given}; null when nothing does."


def _plain_kinds(want: Want) -> list[str]:
    """The plain types that a value may have; a number is also found written in text."""
    fitting = [kind for kind in _PLAIN if kind == "null" or "any" in want.kinds or kind in want.kinds]
    numeric = "integer" in want.kinds and "number" not in fitting
    return [*(["number"] if numeric else []), *fitting] if len(fitting) > 1 or numeric else list(_PLAIN)


def healed_by(
    answer: Mapping[str, Any], healing: Healing, results: Mapping[str, Any]
) -> tuple[dict[str, Any], str | None]:
    """The healed references, `{"path": ...}` or `{"value": ...}` by expression, and why the answer is none.

    A value must stand in the results, and be a part of them: healing finds, it does not make up.
    """
    chosen = {text: answer[key] for text, key in healing.keys.items()}
    given = {text: choice for text, choice in chosen.items() if choice is not None}
    if not healing.by_value:
        return {**healing.known, **{text: {"path": path} for text, path in given.items()}}, None
    found = {**healing.known, **{text: {"value": value} for text, value in given.items()}}
    whole = next((text for text, value in given.items() if _is_whole_text(value, results)), None)
    if whole is not None:
        return (
            found,
            f"${{{whole}}} stands for a part of the text, not for all of it: give that part, or null",
        )
    made_up = Sources(dict(results)).lacks(dict(given))
    fault = f"{made_up[0]!r} is in none of the results; copy it from there, or give null" if made_up else None
    return found, fault


def _is_whole_text(value: Any, results: Mapping[str, Any]) -> bool:
    if not isinstance(value, str) or len(value) <= _LONGEST_PART:
        return False
    return any(isinstance(text, str) and value.split() == text.split() for text in results.values())


def healed_values(healed: Mapping[str, Any] | None, scope: Scope) -> dict[str, Any]:
    """The values of healed references by expression, from their journaled form."""
    found: dict[str, Any] = {}
    for text, choice in (healed or {}).items():
        found[text] = resolve(f"${{{choice['path']}}}", scope) if "path" in choice else choice["value"]
    return found


def needs_values(lost: Iterable[str], results: Mapping[str, Any]) -> bool:
    """Whether a lost reference goes into a result that is plain text, so that no path leads to its part."""
    named = {step_id for text in lost for step_id in read_expression(text).step_ids}
    return any(isinstance(results.get(step_id), str) for step_id in named)
