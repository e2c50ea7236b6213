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
    if any("\\" in text for step in steps for text in _texts(step)):
        return [dict(step) for step in steps], []  # an escape may hide a name
    repeats = _repeats(steps, registry)
    named = Counter(name for step in steps for name in _named(step))
    dropped: set[int] = set()
    for at in reversed(repeats):  # the last first: what it names may go then
        words = _WORD.findall(id_of(steps[at]["id"]))
        if words and not any(named[word] for word in words):
            dropped.add(at)
            named.subtract(_named(steps[at]))
    kept = [dict(step) for at, step in enumerate(steps) if at not in dropped]
    return kept, [
        f"{id_of(steps[at]['id'])[:40]}: dropped, the same lookup as {repeats[at][:40]}"
        for at in sorted(dropped)
    ]


def id_of(value: Any) -> str:
    """A step's id as text."""
    return str(value).strip()


def _repeats(steps: Steps, registry: ToolRegistry) -> dict[int, str]:
    """The places of lookups that ask what one before them asks, in order, each with the id of that one."""
    ids = Counter(id_of(step.get("id")) for step in steps)
    first: dict[str, str] = {}
    found: dict[int, str] = {}
    anytime: set[str] = set()
    for at, step in enumerate(steps):
        name, waits = id_of(step.get("id")), _named(step) & ids.keys()
        if not registry.reads(step.get("tool")) or _picks(step) or not waits <= anytime:
            continue
        anytime.add(name)
        asks = _asks(step)
        if asks in first and ids[name] == 1 and _is_plain(step.get("id")):
            found[at] = first[asks]
        first.setdefault(asks, name)
    return found


def _is_plain(step_id: Any) -> bool:
    return isinstance(step_id, (str, int)) and not isinstance(step_id, bool)


def _asks(step: Mapping[str, Any]) -> str:
    said = {name: value for name, value in step.items() if name not in _PLACE}
    return json.dumps(said, sort_keys=True, ensure_ascii=False)


def _named(step: Mapping[str, Any]) -> set[str]:
    """All that may be the name of another step: in its texts, or in what it says it depends on."""
    texts = [text for key, value in step.items() if key != "id" for text in _texts(value)]
    return {text.strip() for text in texts} | {word for text in texts for word in _WORD.findall(text)}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from (str(key), *_texts(each))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)
    elif value is not None:
        yield str(value)


def _picks(step: Mapping[str, Any]) -> bool:
    """Whether it takes something of the steps before it that no reference names."""
    args = step.get("args")
    return bool(step.get("fill")) or (isinstance(args, Mapping) and None in args.values())
