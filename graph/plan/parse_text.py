"""Reading a plan from the text of a file."""

import json
from collections.abc import Sequence

from graph.plan.errors import PlanProblem
from graph.plan.parse import BAD_PLAN, Parsed, parse_plan

MAX_BYTES = 4_000_000


class _Refused(ValueError):  # noqa: N818 - never leaves this file
    """Something JSON readers accept that a plan may not have."""


def parse_plan_text(
    text: str | bytes, *, goal: str | None = None, plan_id: str | None = None, author: str | None = None
) -> Parsed:
    """Read a plan from JSON text. Never raises, whatever the text.

    Args:
        text: UTF-8 bytes or text of at most 4 MB, with or without a byte order mark.
        goal: As for `parse_plan`.
        plan_id: As for `parse_plan`.
        author: As for `parse_plan`.

    Returns:
        As for `parse_plan`; faults of the text are one problem with line and column where there is one.
    """
    data, fault = _decode(text)
    if fault is not None:
        return None, (PlanProblem(BAD_PLAN, None, fault),)
    return parse_plan(data, goal=goal, plan_id=plan_id, author=author)


def _decode(text: str | bytes) -> tuple[object, str | None]:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(raw) > MAX_BYTES:
        return None, f"the plan has {len(raw)} bytes, at most {MAX_BYTES} are read; split it"
    try:
        plain = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return None, f"the plan is not UTF-8 text (byte {error.start + 1}); save it as UTF-8"
    if not plain.strip():
        return None, "the plan is empty; give a JSON object with goal and steps"
    return _load(plain)


def _load(plain: str) -> tuple[object, str | None]:
    try:
        data = json.loads(plain, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        return None, f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}"
    except _Refused as error:
        return None, str(error)
    except RecursionError:
        return None, "the plan is nested too deep; flatten it"
    except ValueError:
        return None, "a number in the plan is too long; write it as text"
    if isinstance(data, str):
        return None, "the plan is JSON inside a JSON text (encoded twice); give the object itself"
    return data, None


def _unique_keys(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            msg = f"the key {json.dumps(key[:40])} occurs twice in one object; keep one"
            raise _Refused(msg)
        found[key] = value
    return found


def _no_constant(name: str) -> object:
    msg = f"{name} is not JSON; use a finite number or null"
    raise _Refused(msg)
