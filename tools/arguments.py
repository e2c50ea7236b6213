"""Judging a call's arguments against the tool's own validator, references still in them or not."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jsonschema.protocols import Validator
from pydantic import BaseModel, ValidationError

from graph.plan import JSON, has_reference, whole_reference

Location = Sequence[int | str]

_SHAPE_FAULTS = frozenset({"missing", "extra_forbidden", "required", "additionalProperties", "type"})
_TEXT_FAULTS = frozenset({"int_parsing", "float_parsing", "bool_parsing"})


@dataclass(frozen=True, slots=True)
class _Fault:
    """One finding of a validator: where, of which kind, and the sentence."""

    at: tuple[int | str, ...]
    kind: str
    message: str


def argument_problems(
    args: Mapping[str, JSON],
    validator: type[BaseModel] | Validator,
    known: frozenset[str],
    injected: frozenset[str],
    open_ended: bool,
) -> list[tuple[str, str]]:
    """Return (argument, message) for each fault; messages never show a value.

    A value that is one whole reference has no known type and is not judged. Text with a reference in it
    is text: whether it is the right text is not judged, that text is wanted there is.

    Args:
        args: Arguments by name.
        validator: The tool's pydantic model, or a JSON Schema validator.
        known: Names the tool accepts from a plan.
        injected: Names that only the machinery may fill.
        open_ended: Whether the tool takes names beyond `known`.
    """
    problems = [(name, _injected_message(name)) for name in args if name in injected]
    if not open_ended:
        unknown = [name for name in args if name not in known and name not in injected]
        problems += [(name, _unknown_message(name, known)) for name in unknown]
    plain = {name: value for name, value in args.items() if name not in injected}
    for fault in _faults(plain, validator):
        if not (fault.at and fault.at[0] in injected) and _certain(fault, plain):
            problems.append(_described(fault))
    return list(dict.fromkeys(problems))


def _faults(args: dict[str, JSON], validator: type[BaseModel] | Validator) -> Iterator[_Fault]:
    return _model_faults(args, validator) if isinstance(validator, type) else _schema_faults(args, validator)


def _injected_message(name: str) -> str:
    return f"{name!r} is filled in by the program and may not be given; leave it out"


def _unknown_message(name: str, known: frozenset[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"there is no argument {name!r}; did you mean {close[0]!r}?"
    return f"there is no argument {name!r}; the arguments are: {', '.join(sorted(known)) or 'none'}"


def _model_faults(args: dict[str, JSON], model: type[BaseModel]) -> Iterator[_Fault]:
    try:
        model.model_validate(args)
    except ValidationError as error:
        for found in error.errors(include_url=False, include_context=False, include_input=False):
            yield _Fault(tuple(found["loc"]), found["type"], found["msg"])
    except Exception as error:  # noqa: BLE001 - validators are the tool author's code
        yield _Fault((), "value_error", f"the tool's own validator failed with {type(error).__name__}")


def _schema_faults(args: dict[str, JSON], validator: Validator) -> Iterator[_Fault]:
    for error in validator.iter_errors(args):
        at = tuple(error.absolute_path)
        if error.validator == "required" and isinstance(error.instance, dict):
            wanted: list[str] = list(error.validator_value)  # type: ignore[arg-type]  # the rule's own list
            missing = [name for name in wanted if name not in error.instance]
            yield from (_Fault((*at, name), "missing", "Field required") for name in missing)
        else:
            rule = str(error.validator)
            yield _Fault(at, rule, _schema_message(rule, error.validator_value))


def _schema_message(rule: str, wanted: Any) -> str:
    if rule == "type":
        return f"must be of type {wanted if isinstance(wanted, str) else ' or '.join(wanted)}"
    if rule in {"anyOf", "oneOf", "allOf", "not", "if"}:
        return f"does not fit the schema's {rule}"
    shown = str(wanted)
    return f"does not satisfy {rule} {shown if len(shown) <= 120 else shown[:120] + '…'}"  # noqa: PLR2004


def _certain(fault: _Fault, args: Mapping[str, JSON]) -> bool:
    """Tell whether a fault stands whatever the references turn out to be."""
    value: Any = args
    for part in fault.at:
        child = _child(value, part)
        value = value if child is None else child[0]
        if whole_reference(value) is not None:
            return False
    if not has_reference(value):
        return True
    shape = fault.kind in _SHAPE_FAULTS or fault.kind.endswith("_type")
    return shape or (isinstance(value, str) and fault.kind in _TEXT_FAULTS)


def _child(value: Any, part: int | str) -> tuple[Any] | None:
    """Return the value under a location's part, or None where the part only names a union's branch."""
    if isinstance(value, dict) and part in value:
        return (value[part],)
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return (value[part],)
    return None


def _described(fault: _Fault) -> tuple[str, str]:
    if not fault.at:
        return "", fault.message
    inner = ".".join(str(part) for part in fault.at[1:])
    return str(fault.at[0]), f"{inner}: {fault.message}" if inner else fault.message
