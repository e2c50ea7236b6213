"""Lookups that a model says again: a small one that has said all there is to say goes on with the same."""

import json
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from tools import ToolRegistry

_WORD = re.compile(r"\w+")
_PLACE = ("id", "depends_on")


def without_repeated_lookups(
    steps: Sequence[Mapping[str, Any]], registry: ToolRegistry
) -> tuple[list[dict[str, Any]], list[str]]:
    """The steps without lookups that are there already and that no expression names, and notes of them.

    What depended on one that is dropped depends on the one before. When a lookup runs makes no difference as
    long as it stands behind lookups only.
    """
    named = {word for step in steps for word in _WORD.findall(_text(step, without=_PLACE))}
    first: dict[str, str] = {}
    instead: dict[str, str] = {}
    anytime: set[str] = set()
    kept, notes = [], []
    for step in steps:
        name = id_of(step.get("id"))
        is_anytime = _looks_up(step, registry) and _waits_for_none_but(anytime | instead.keys(), step)
        asks = _text(step, without=_PLACE if is_anytime else _PLACE[:1])
        before = first.setdefault(asks, name)
        words = _WORD.findall(name)
        if before != name and _looks_up(step, registry) and words and named.isdisjoint(words):
            instead[name] = before
            notes.append(f"{name[:40]}: dropped, the same lookup as {before[:40]}")
        else:
            anytime |= {name} if is_anytime else set()
            kept.append(step)
    return [_placed(step, instead) for step in kept], notes


def id_of(value: Any) -> str:
    """A step's id as text."""
    return str(value).strip()


def _text(step: Mapping[str, Any], *, without: Sequence[str]) -> str:
    said = {name: value for name, value in step.items() if name not in without}
    return json.dumps(said, sort_keys=True, ensure_ascii=False)


def _looks_up(step: Mapping[str, Any], registry: ToolRegistry) -> bool:
    tool = registry.get(str(step.get("tool")))
    return tool is not None and tool.effect == "read"


def _waits_for_none_but(ids: AbstractSet[str], step: Mapping[str, Any]) -> bool:
    """Whether only these come before it, and it takes nothing of them but what its references name."""
    args = step.get("args")
    picks = step.get("fill") or (isinstance(args, Mapping) and None in args.values())
    deps = _listed(step.get("depends_on"))
    return not deps or (not picks and {id_of(dep) for dep in deps} <= ids)


def _placed(step: Mapping[str, Any], instead: Mapping[str, str]) -> dict[str, Any]:
    deps = _listed(step.get("depends_on"))
    if instead.keys().isdisjoint(map(id_of, deps)):
        return dict(step)
    placed = [instead.get(id_of(dep), dep) for dep in deps]
    return {**step, "depends_on": [dep for index, dep in enumerate(placed) if dep not in placed[:index]]}


def _listed(deps: Any) -> list[Any]:
    return deps if isinstance(deps, list) else [] if deps is None else [deps]
