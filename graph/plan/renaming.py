"""Giving the names in expressions another meaning, where steps move into another plan."""

from collections.abc import Mapping

from graph.plan.expressions import STEPS, named_step, value_names
from graph.plan.json_values import JSON
from graph.plan.parts import WORKS_ON, referring_value
from graph.plan.references import condition_expression
from graph.plan.steps import Call, MapStep, Step
from graph.plan.tokens import BrokenText, escape_text, split_text, tokens

Names = Mapping[str, str]
"""What takes the place of each name: an expression, such as `steps['part.a']`."""


def step_name(step_id: str) -> str:
    """Return an expression that names a step whatever its id.

    Raises:
        ValueError: The id holds both kinds of quotes, or a backslash.
    """
    for quote in "'\"":
        if quote not in step_id and "\\" not in step_id:
            return f"{STEPS}[{quote}{step_id}{quote}]"
    raise ValueError(f"no expression can name the step {step_id!r}: use an id without quotes and backslashes")


def can_be_named(step_id: str) -> bool:
    """Tell whether an expression can name a step of this id."""
    try:
        step_name(step_id)
    except ValueError:
        return False
    return True


def renamed(expression: str, names: Names) -> str:
    """Return an expression with other names in it; one that cannot be read comes back as it is."""
    found, fault = tokens(expression)
    if fault is not None:
        return expression
    pieces: list[str] = []
    at = 0
    for place in value_names(found):
        begin, end, name = found[place].end - len(found[place].text), found[place].end, found[place].text
        if name == STEPS:
            name, end = named_step(found, place)
        if name in names:
            pieces += [expression[at:begin], names[name]]
            at = end
    return "".join([*pieces, expression[at:]])


def renamed_value(value: JSON, names: Names) -> JSON:
    """Return a value with other names in all its references."""
    if isinstance(value, str):
        return _renamed_text(value, names)
    if isinstance(value, list):
        return [renamed_value(item, names) for item in value]
    if isinstance(value, dict):
        return {key: renamed_value(item, names) for key, item in value.items()}
    return value


def renamed_step(step: Step, names: Names) -> Step:
    """Return a step with other names in all its expressions; its id and dependencies stay as they are."""
    changes: dict[str, object] = {WORKS_ON[step.action]: renamed_value(referring_value(step), names)}
    if isinstance(step, MapStep):
        changes["step"] = renamed_step(step.step, names)
    for field in ("when", "expect"):
        text = getattr(step, field)
        if text is not None:
            changes[field] = renamed(condition_expression(text).text, names)
    for field in ("fallback", "compensate"):
        call = getattr(step, field)
        if call is not None:
            changes[field] = renamed_call(call, names)
    return step.model_copy(update=changes)


def renamed_call(call: Call, names: Names) -> Call:
    """Return a call with other names in its arguments."""
    return Call(tool=call.tool, args={name: renamed_value(value, names) for name, value in call.args.items()})


def _renamed_text(text: str, names: Names) -> str:
    if "${" not in text:
        return text
    try:
        pieces = split_text(text)
    except BrokenText:
        return text
    return "".join(
        f"${{{renamed(piece.text, names)}}}" if piece.is_expression else escape_text(piece.text)
        for piece in pieces
    )
