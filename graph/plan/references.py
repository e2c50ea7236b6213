"""References inside step arguments: finding them, and putting results in their place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from graph.plan.cel import evaluate
from graph.plan.errors import ReferenceFailure
from graph.plan.expressions import PARAMS, STEPS, Expression, Key, read_expression, step_id_of
from graph.plan.json_values import JSON, compact_json, json_type
from graph.plan.tokens import BrokenText, split_text

_SHOWN_NAMES = 10
_SHOWN_CHARS = 40


@dataclass(frozen=True, slots=True)
class Scope:
    """The values expressions see.

    `steps` has the output of each step by id. `absent` names steps without one that dependents go on
    without (degraded, not taken): whatever is read from them is null. `healed` has the values of expressions
    for which the results themselves have none, or none that fits. `local_values` are those of `item`, `index`
    and `result`, where these have one.
    """

    steps: Mapping[str, JSON]
    params: Mapping[str, JSON] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()
    healed: Mapping[str, JSON] = field(default_factory=dict)
    local_values: Mapping[str, JSON] = field(default_factory=dict)


def references(value: object) -> tuple[Expression, ...]:
    """Return every `${...}` at any depth of a value, in order of appearance.

    Keys of objects are never references. An unclosed `${` comes back as an expression with a fault.
    """
    return tuple(expression for text in _texts(value) for expression in _expressions(text))


def has_reference(value: object) -> bool:
    """Tell whether any text inside a value holds a `${...}`."""
    return any(_expressions(text) for text in _texts(value))


def whole_reference(value: object) -> Expression | None:
    """Return the expression when a value is one text that is one reference and nothing else."""
    if not isinstance(value, str) or not value.startswith("${"):
        return None
    try:
        pieces = split_text(value)
    except BrokenText:
        return None
    return read_expression(pieces[0].text) if len(pieces) == 1 and pieces[0].is_expression else None


def resolve(value: JSON, scope: Scope) -> JSON:
    """Put results in the place of references.

    A text that is one whole reference becomes the value itself, of its own type. Inside longer text, text
    goes in as it is and everything else as compact JSON. What was put in is never read as a reference.

    Raises:
        ReferenceFailure: A step, key or index is missing, or an expression cannot be evaluated.
    """
    if isinstance(value, str):
        return _resolve_text(value, scope)
    if isinstance(value, list):
        return [resolve(item, scope) for item in value]
    if isinstance(value, dict):
        return {key: resolve(item, scope) for key, item in value.items()}
    return value


def resolve_words(text: str, scope: Scope, most_chars: int) -> str:
    """Put results into text for a model: always text, and of each result at most so many characters.

    Raises:
        ReferenceFailure: As for `resolve`.
    """
    try:
        pieces = split_text(text)
    except BrokenText as broken:
        raise ReferenceFailure(text, str(broken)) from None
    words = [
        clipped(_as_text(value_of(read_expression(piece.text), scope), piece.text), most_chars)
        if piece.is_expression
        else piece.text
        for piece in pieces
    ]
    return "".join(words)


def clipped(text: str, most_chars: int) -> str:
    """Return the beginning of a text with a visible mark of what was cut off."""
    if len(text) <= most_chars:
        return text
    return f"{text[:most_chars]} ... (truncated {most_chars} of {len(text)} characters)"


def value_of(expression: Expression, scope: Scope) -> JSON:
    """Return what one expression stands for.

    Raises:
        ReferenceFailure: As for `resolve`.
    """
    if expression.fault is not None:
        raise ReferenceFailure(expression.text, expression.fault)
    if expression.text in scope.healed:
        return scope.healed[expression.text]
    try:
        return _evaluated(expression, scope)
    except ReferenceFailure:
        if expression.step_ids & scope.absent:
            return None
        raise


def condition_expression(text: str) -> Expression:
    """Read a condition, written bare or as one whole `${...}`."""
    return whole_reference(text.strip()) or read_expression(text.strip())


def condition(text: str, scope: Scope) -> bool:
    """Evaluate a condition, written bare or as one whole `${...}`.

    One that cannot be told because a step it names has no result is false: nothing speaks for it.

    Raises:
        ReferenceFailure: As for `resolve`, or the result is not true or false.
    """
    expression = condition_expression(text)
    result = value_of(expression, scope)
    if result is None and expression.step_ids & scope.absent:
        return False
    if not isinstance(result, bool):
        message = (
            f"a condition must be true or false, this is a {json_type(result)}; compare it with something"
        )
        raise ReferenceFailure(expression.text, message)
    return result


def _texts(value: object) -> Iterator[str]:
    todo = [value]
    while todo:
        current = todo.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, dict):
            todo.extend(reversed(current.values()))
        elif isinstance(current, (list, tuple)):
            todo.extend(reversed(current))


def _expressions(text: str) -> tuple[Expression, ...]:
    if "${" not in text:
        return ()
    try:
        return tuple(read_expression(piece.text) for piece in split_text(text) if piece.is_expression)
    except BrokenText as broken:
        return (Expression(text, fault=str(broken)),)


def _resolve_text(text: str, scope: Scope) -> JSON:
    if "${" not in text:
        return text
    whole = whole_reference(text)
    if whole is not None:
        return value_of(whole, scope)
    try:
        pieces = split_text(text)
    except BrokenText as broken:
        raise ReferenceFailure(text, str(broken)) from None
    return "".join(
        _as_text(value_of(read_expression(piece.text), scope), piece.text)
        if piece.is_expression
        else piece.text
        for piece in pieces
    )


def _as_text(value: JSON, expression: str) -> str:
    try:
        return value if isinstance(value, str) else compact_json(value)
    except RecursionError:
        raise ReferenceFailure(expression, "the value is nested too deep to be put in text") from None


def _evaluated(expression: Expression, scope: Scope) -> JSON:
    if expression.path is not None:
        return _walk(expression, expression.path, scope)
    return evaluate(expression, _variables(expression, scope))


def _variables(expression: Expression, scope: Scope) -> dict[str, JSON]:
    outputs = {step_id: _output(expression, step_id, scope) for step_id in sorted(expression.step_ids)}
    named: dict[str, JSON] = {root: outputs[root] for root in expression.roots if root in outputs}
    if STEPS in expression.roots:
        named[STEPS] = dict(outputs)
    if PARAMS in expression.roots:
        named[PARAMS] = dict(scope.params)
    return named | {name: _local(expression, name, scope) for name in expression.local_names}


def _local(expression: Expression, name: str, scope: Scope) -> JSON:
    if name not in scope.local_values:
        raise ReferenceFailure(expression.text, f"{name} has no value here")
    return scope.local_values[name]


def _output(expression: Expression, step_id: str, scope: Scope) -> JSON:
    if step_id in scope.absent:
        return None
    if step_id not in scope.steps:
        raise ReferenceFailure(
            expression.text, f"no result of a step {step_id!r}; {_known(scope.steps, 'steps')}"
        )
    return scope.steps[step_id]


def _walk(expression: Expression, path: tuple[Key, ...], scope: Scope) -> JSON:
    value = _root_value(expression, path, scope)
    at = 2 if path[0] == STEPS else 1
    for key in path[at:]:
        value = _member(expression, value, key)
    return value


def _root_value(expression: Expression, path: tuple[Key, ...], scope: Scope) -> JSON:
    step_id = step_id_of(path)
    if step_id is not None:
        return _output(expression, step_id, scope)
    return dict(scope.params) if path[0] == PARAMS else _local(expression, str(path[0]), scope)


def _member(expression: Expression, value: JSON, key: Key) -> JSON:
    if isinstance(value, dict) and isinstance(key, str):
        if key in value:
            return value[key]
        raise ReferenceFailure(expression.text, f"no key {key!r}; {_known(value, 'keys')}")
    if isinstance(value, list) and isinstance(key, int):
        if key < len(value):
            return value[key]
        raise ReferenceFailure(expression.text, f"no index {key}; the list has {len(value)} items")
    wanted = "an index in a list" if isinstance(key, int) else "a key of an object"
    raise ReferenceFailure(
        expression.text, f"{key!r} must be {wanted}, but the value is a {json_type(value)}"
    )


def _known(names: Mapping[str, JSON], what: str) -> str:
    if not names:
        return f"there are no {what}"
    first = list(names)[:_SHOWN_NAMES]
    shown = [name if len(name) <= _SHOWN_CHARS else name[:_SHOWN_CHARS] + "…" for name in first]
    more = f" and {len(names) - len(first)} more" if len(names) > len(first) else ""
    return f"the {what} are {', '.join(shown)}{more}"
