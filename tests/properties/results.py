"""What calls give and how they fail, in the words of the reference model."""

import json
from typing import Any

from tests.properties.specs import Behaviour, Form, Kind, Spec


class NoSuchField(Exception):  # noqa: N818 - an outcome of the model, not an error of the test
    """A step refers to a field that the result does not have."""


class NoTruth(Exception):  # noqa: N818 - an outcome of the model, not an error of the test
    """A condition is neither true nor false."""


def shaped(form: Form, output: Any) -> Any:
    """What a reference of that form makes of a result."""
    if form is Form.WHOLE:
        return output
    if not isinstance(output, dict):
        raise NoSuchField
    return output["value"] if form is Form.FIELD else f"got {output['step']}!"


def given_by(spec: Spec, value: Any) -> Any:
    """The result of a call that goes well."""
    if spec.kind is Kind.LLM:
        return f"said {spec.id}: {shown(value)}"
    return {"step": spec.id, "value": value}


def failure(item: Spec) -> dict[str, str]:
    """What is told of a map's item that failed, with its fallback where there is one."""
    own = _why(item)
    if item.fallback is None:
        return own
    other = _why(item.fallback)
    also = f"its fallback tool {item.fallback.kind.value} failed too: {other['code']}: {other['message']}"
    return {**own, "message": f"{own['message']}; {also}"}


def _why(spec: Spec) -> dict[str, str]:
    if spec.behaviour is Behaviour.HARD:
        return {"code": "not_found", "message": f"{spec.id} is not there"}
    return {"code": "soft_tool_error", "message": f"{spec.id} is busy"}


def shown(value: Any) -> str:
    """A value inside a longer text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
