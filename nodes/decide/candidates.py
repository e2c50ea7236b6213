"""Which parts of earlier results an argument may have meant: by their place, their names and their types."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graph.plan import JSON, Expression, Step, ToolStep, whole_reference
from nodes.endpoint.argument_schema import kinds
from tools import RegisteredTool

MOST_PARTS = 120
MOST_ITEMS = 3
MOST_DEPTH = 6
_NAME = re.compile(r"[^\W\d]\w*")
_ID = re.compile(r"(?:.*[^a-z])?ids?|.*[a-z]I[dD]s?", re.DOTALL)
_SHORTEST_SHARED = 3
_SCALARS = frozenset({"string", "number", "integer", "boolean"})

Key = str | int


@dataclass(frozen=True)
class Part:
    """A part of a result: how a plan refers to it, its place (step id, then keys and indexes), its value."""

    path: str
    keys: tuple[Key, ...]
    value: JSON

    @property
    def name(self) -> str:
        """The last key on the way to it; empty for a whole result."""
        return next((key for key in reversed(self.keys[1:]) if isinstance(key, str)), "")


@dataclass(frozen=True)
class Want:
    """What a reference is to give: the argument that is nothing but it, and the JSON types that it takes.

    `identifies` says that the argument is an id, an address or an amount, which is never chosen freely.
    """

    argument: str = ""
    kinds: frozenset[str] = frozenset({"any"})
    identifies: bool = False

    def takes(self, value: JSON) -> bool:
        """Whether the argument can be of that value's type; a number can be text, and text a number."""
        kind = _kind(value)
        if "any" in self.kinds or kind in self.kinds:
            return True
        if kind == "number":
            return bool(self.kinds & {"integer", "string"})
        return kind == "string" and bool(self.kinds & {"number", "integer"}) and _is_number(value)

    @property
    def is_id(self) -> bool:
        return _ID.fullmatch(self.argument) is not None

    @property
    def takes_scalars_only(self) -> bool:
        return self.kinds - {"null"} <= _SCALARS


ANY = Want()


def wants(step: Step, tool: RegisteredTool | None) -> dict[str, Want]:
    """By expression, what the references are to give that a tool's argument consists of."""
    if not isinstance(step, ToolStep) or tool is None:
        return {}
    found: dict[str, Want] = {}
    for name, value in tool.decode_args(step.args).items():
        expression = whole_reference(value)
        if expression is not None:
            want = _want(tool, name)
            found[expression.text] = want if found.get(expression.text, want) == want else ANY
    return found


def _want(tool: RegisteredTool, name: str) -> Want:
    schema = tool.args_schema
    taken = frozenset(kinds(schema.get("properties", {}).get(name, {}), schema))
    return Want(name, taken, identifies=name in tool.grounded)


def as_texts(tool: RegisteredTool, step: ToolStep, args: Mapping[str, JSON]) -> dict[str, JSON]:
    """The arguments with each number that a reference gave as text, where the tool takes only text."""
    numbers = [name for name, value in args.items() if _kind(value) == "number"]
    if not numbers:
        return dict(args)
    given = tool.decode_args(step.args)
    referred = [name for name in numbers if whole_reference(given.get(name)) is not None]
    texts = [name for name in referred if _want(tool, name).kinds - {"null"} == {"string"}]
    return {**args, **{name: json.dumps(args[name]) for name in texts}}


def parts_of(results: Mapping[str, JSON]) -> list[Part]:
    """Parts of the results, breadth first: of long lists the first items, at most MOST_PARTS."""
    parts: list[Part] = []
    todo = [(Part(_root(name), (name,), value), 0) for name, value in results.items() if value is not None]
    while todo and len(parts) < MOST_PARTS:
        part, depth = todo.pop(0)
        parts.append(part)
        if depth < MOST_DEPTH:
            todo.extend((child, depth + 1) for child in _children(part))
    return parts


def _root(name: str) -> str:
    return name if _NAME.fullmatch(name) else f"steps[{_quoted(name)}]"


def _children(part: Part) -> Iterator[Part]:
    if isinstance(part.value, dict):
        for key, value in part.value.items():
            if _NAME.fullmatch(key):
                yield Part(f"{part.path}.{key}", (*part.keys, key), value)
            elif _quotable(key):
                yield Part(f"{part.path}[{_quoted(key)}]", (*part.keys, key), value)
    elif isinstance(part.value, list):
        for at, value in enumerate(part.value[:MOST_ITEMS]):
            yield Part(f"{part.path}[{at}]", (*part.keys, at), value)


def _quotable(key: str) -> bool:
    return "'" not in key and "\\" not in key and "\n" not in key and "\r" not in key


def _quoted(key: str) -> str:
    return f"'{key}'"


def certain(expression: Expression, want: Want, parts: Sequence[Part]) -> str | None:
    """The path that the reference must have meant, when there is but one it can have meant.

    That is a part of the name it asks for behind nothing but list indexes, or, where an id, an address or
    an amount is wanted, one of that argument's own name, below what the reference names and is there.
    """
    path = _path_of(expression)
    if path is None or len(parts) >= MOST_PARTS:
        return None
    place = _longest_known(path, parts)
    below = [part for part in parts if part.keys[: len(place)] == place and part.keys != place]
    leaf = next((key for key in reversed(path[len(place) :]) if isinstance(key, str)), "")
    listed = [p for p in below if p.name == leaf and all(isinstance(k, int) for k in p.keys[len(place) : -1])]
    named = [p for p in below if _same(p.name, want.argument)] if want.identifies or want.is_id else []
    for found in (listed, named):
        fitting = [part for part in found if isinstance(part.keys[-1], str) and want.takes(part.value)]
        if fitting and all(part.value == fitting[0].value for part in fitting):
            return fitting[0].path
    return None


def candidates(
    expression: Expression, want: Want, parts: Iterable[Part], *, careful: bool = False
) -> list[str]:
    """The paths that the reference may have meant: of its steps, of a type that fits, of a name alike.

    Where no name is alike, any that fits; but an id, an address or an amount is never taken for another
    thing's, and with `careful`, for what is to be written, nothing is taken for a thing of another name.
    """
    named = [part for part in parts if part.keys[0] in expression.step_ids]
    fitting = [part for part in named if want.takes(part.value)]
    leaf = last_name(expression)
    close = _alike if want.is_id else _related
    alike = [part for part in fitting if close(part.name, leaf) or close(part.name, want.argument)]
    is_strict = careful or want.is_id or want.identifies
    return [part.path for part in (alike if alike or is_strict else fitting)]


def known_values(tool: RegisteredTool, names: Iterable[str], results: Mapping[str, JSON]) -> dict[str, JSON]:
    """Of the open arguments the ids, addresses and amounts that the results have one value for, by name."""
    parts = parts_of(results)
    found: dict[str, JSON] = {}
    for name in names:
        want = _want(tool, name)
        if len(parts) >= MOST_PARTS or not (want.identifies or want.is_id):
            continue
        values = [p.value for p in parts if isinstance(p.keys[-1], str) and _same(p.name, name)]
        if values and want.takes(values[0]) and all(value == values[0] for value in values):
            found[name] = values[0]
    return found


def last_name(expression: Expression) -> str:
    """The last key that a plain reference names below its step; empty when there is none."""
    path = _path_of(expression) or ()
    return next((key for key in reversed(path[1:]) if isinstance(key, str)), "")


def _path_of(expression: Expression) -> tuple[Key, ...] | None:
    """The place that a plain reference names: step id, keys and indexes."""
    path = expression.path
    if path is None:
        return None
    whole = path[1:] if path[0] == "steps" and path[0] not in expression.step_ids else path
    return whole if whole and whole[0] in expression.step_ids else None


def _longest_known(path: tuple[Key, ...], parts: Sequence[Part]) -> tuple[Key, ...]:
    known = {part.keys for part in parts}
    return next((path[:end] for end in range(len(path), 0, -1) if path[:end] in known), ())


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _same(one: str, other: str) -> bool:
    return bool(one and other) and _plain(one) == _plain(other)


def _alike(one: str, other: str) -> bool:
    """Whether names share more than an ending: one is the other, or within it."""
    first, second = sorted((_plain(one), _plain(other)), key=len)
    long_enough = len(first) >= _SHORTEST_SHARED or first == "id"
    return first == second != "" or (long_enough and first in second)


def _kind(value: JSON) -> str:
    if isinstance(value, bool) or value is None:
        return "null" if value is None else "boolean"
    found = {str: "string", dict: "object", list: "array"}
    return next((name for kind, name in found.items() if isinstance(value, kind)), "number")


def _related(one: str, other: str) -> bool:
    """Whether names are alike, or share a word."""
    return _alike(one, other) or bool(set(_words(one)) & set(_words(other)))


def _words(name: str) -> list[str]:
    found = re.findall(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])", name)
    return [word.casefold() for word in found if len(word) >= _SHORTEST_SHARED or not word.isascii()]


def _is_number(value: JSON) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\s*-?\d+(?:\.\d+)?\s*", value) is not None
