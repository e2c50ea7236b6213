"""Lookups that a model says again: a small one that has said all there is to say goes on with the same."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tools import ToolRegistry

_WORD = re.compile(r"\w+")
_PLACE = ("id", "depends_on")

Steps = Sequence[Mapping[str, Any]]


def without_repeated_lookups(steps: Steps, registry: ToolRegistry) -> tuple[list[dict[str, Any]], list[str]]:
    """The steps without lookups that are there already and on which nothing else builds, and notes of them.

    When a lookup runs makes no difference to it as long as it stands behind lookups only. To what stands
    behind the lookup itself it may.
    """
    kept = [dict(step) for step in steps]
    notes: list[str] = []
    if any("\\" in text for step in steps for text in _texts(step)):
        return kept, notes  # an escape may hide a name
    while (found := _last_repeated(kept, registry)) is not None:
        at, before = found
        notes.insert(0, f"{id_of(kept[at]['id'])[:40]}: dropped, the same lookup as {before[:40]}")
        del kept[at]
    return kept, notes


def id_of(value: Any) -> str:
    """A step's id as text."""
    return str(value).strip()


def _last_repeated(steps: Steps, registry: ToolRegistry) -> tuple[int, str] | None:
    """The place of the last step that may go, and the id of the one that it repeats."""
    ids = Counter(id_of(step.get("id")) for step in steps)
    built_on = {word for step in steps for word in _named(step)}
    first: dict[str, int] = {}
    found: tuple[int, str] | None = None
    anytime: set[str] = set()
    for at, step in enumerate(steps):
        name, waits = id_of(step.get("id")), set(_named(step)) & ids.keys()
        if not _looks_up(step, registry) or _picks(step) or not waits <= anytime:
            continue
        anytime.add(name)
        before = steps[first.setdefault(_asks(step), at)]
        if before is not step and ids[name] == 1 and _is_plain(step.get("id")):
            words = _WORD.findall(name)
            found = (at, id_of(before.get("id"))) if words and built_on.isdisjoint(words) else found
    return found


def _is_plain(step_id: Any) -> bool:
    return isinstance(step_id, (str, int)) and not isinstance(step_id, bool)


def _asks(step: Mapping[str, Any]) -> str:
    said = {name: value for name, value in step.items() if name not in _PLACE}
    return json.dumps(said, sort_keys=True, ensure_ascii=False)


def _named(step: Mapping[str, Any]) -> Iterator[str]:
    """All that may be the name of another step: in its texts, or in what it says it depends on."""
    for key, value in step.items():
        if key != "id":
            for text in _texts(value):
                yield from (text.strip(), *_WORD.findall(text))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from (str(key), *_texts(each))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)
    elif value is not None:
        yield str(value)


def _looks_up(step: Mapping[str, Any], registry: ToolRegistry) -> bool:
    tool = registry.get(str(step.get("tool")))
    return tool is not None and tool.effect == "read"


def _picks(step: Mapping[str, Any]) -> bool:
    """Whether it takes something of the steps before it that no reference names."""
    args = step.get("args")
    return bool(step.get("fill")) or (isinstance(args, Mapping) and None in args.values())
