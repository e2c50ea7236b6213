"""How a person is shown the calls of a map: all of them, or the first and where all are kept."""

import json
from typing import Any

from checkpoints import OutputRef
from graph.plan import JSON
from graph.state import Request

MOST_BYTES = 100_000
"""Bytes of JSON that the calls in a question have at most: checkpoints and streams have it whole."""

_FIRST = 10


def beyond_question(request: Request | None) -> list[JSON] | None:
    """The calls of a map that make too long a list to stand in the question; None where nothing is too long.

    They are to be kept as the input of the map's entry.
    """
    calls = request.args.get("all") if request is not None and request.tool is None else None
    return calls if isinstance(calls, list) and _bytes(calls) > MOST_BYTES else None


def with_reference(request: Request, kept: OutputRef | None) -> dict[str, Any]:
    """The question as it is asked; `kept` is where its calls are, when they do not stand in it.

    Then `first` has the first of them, `all` the reference, and `see` says how to see all.
    """
    asked, calls = request.to_json(), beyond_question(request)
    if kept is None or calls is None:
        return asked
    first, left = list[JSON](), MOST_BYTES
    for call in calls[:_FIRST]:
        left -= _bytes(call)
        first += [call] if left > 0 else []
    args = {name: value for name, value in asked["args"].items() if name != "all"}
    reference = {"$ref": kept.digest, "bytes": kept.bytes, "preview": kept.preview}
    see = f"`planrail show {request.run_id} --json` has all calls"
    return {**asked, "args": {**args, "first": first, "all": reference, "see": see}}


def _bytes(value: JSON) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
