"""Arguments as text, errors of other libraries, and large results."""

import json
import time
from typing import Any

import pytest

from tests.acceptance.command_line import Inline
from tests.acceptance.support import plan, statuses, step
from tests.acceptance.toolbox import Toolbox

TYPED_TOOLS = '''
import json
from pathlib import Path

import httpx
import openai
import requests
from langchain_core.tools import tool
from pydantic import BaseModel
from tools import policy

LOG = Path(__file__).with_name("calls.jsonl")


def note(name, **args):
    with LOG.open("a", encoding="utf-8") as log:
        log.write(json.dumps({"tool": name, "event": "call", "at": 0, "args": args}) + "\\n")


class Slot(BaseModel):
    start: str


@policy(effect="read")
@tool
def book(slot: Slot, tags: list[str], n: int, remark: str) -> str:
    """Book a slot."""
    note("book", start=slot.start, tags=tags, n=n, remark=remark)
    return "booked"


def _answer(status):
    response = requests.Response()
    response.status_code = status
    return response


REQUEST = httpx.Request("GET", "http://127.0.0.1/")
ERRORS = {
    "requests 404": lambda: requests.HTTPError("404 Not Found", response=_answer(404)),
    "requests 503": lambda: requests.HTTPError("503 Unavailable", response=_answer(503)),
    "requests connection": lambda: requests.ConnectionError("refused"),
    "httpx connect": lambda: httpx.ConnectError("refused", request=REQUEST),
    "httpx 400": lambda: httpx.HTTPStatusError("400", request=REQUEST, response=httpx.Response(400)),
    "httpx 429": lambda: httpx.HTTPStatusError("429", request=REQUEST, response=httpx.Response(429)),
    "timeout": lambda: TimeoutError("too slow"),
    "connection": lambda: ConnectionResetError("reset"),
    "openai 401": lambda: openai.AuthenticationError(
        "no key", response=httpx.Response(401, request=REQUEST), body=None
    ),
    "permission": lambda: PermissionError("not yours"),
    "bug": lambda: ZeroDivisionError("1 / 0"),
}


@policy(effect="read")
@tool
def fails(kind: str) -> str:
    """Fail as some library does."""
    note("fails", kind=kind)
    raise ERRORS[kind]()


@policy(effect="read")
@tool
def blob(size: int) -> str:
    """Give a large text."""
    return "0123456789" * (size // 10)


TOOLS = [book, fails, blob]
'''


@pytest.fixture
def typed(inline: Inline) -> Inline:
    inline.line.toolbox.path.write_text(TYPED_TOOLS, encoding="utf-8")
    return inline


@pytest.mark.parametrize("whole", [False, True], ids=["each", "all of them"])
def test_structured_arguments_given_as_text_are_read_and_texts_stay_texts(
    typed: Inline, toolbox: Toolbox, *, whole: bool
) -> None:
    args = {"slot": '{"start": "2026-01-01"}', "tags": '["a"]', "n": "3", "remark": '{"a":1}'}
    one: dict[str, Any] = {"id": "s1", "action": "tool", "tool": "book", "args": args}
    if whole:
        one["args"] = json.dumps(args)

    ran = typed.run(plan(one))

    assert ran.code == 0, ran.text
    assert toolbox.calls("book") == [{"start": "2026-01-01", "tags": ["a"], "n": 3, "remark": '{"a":1}'}]


def test_foreign_errors_are_tried_again_only_where_that_may_help(typed: Inline, toolbox: Toolbox) -> None:
    again = {"requests 503", "requests connection", "httpx connect", "httpx 429", "timeout", "connection"}
    once = {"requests 404", "httpx 400", "openai 401", "permission", "bug"}
    steps = [
        step(f"s{number}", "fails", {"kind": kind}, max_attempts=2, optional=True)
        for number, kind in enumerate(sorted(again | once))
    ]

    ran = typed.run(plan(*steps))

    assert ran.code == 0, ran.text
    assert set(statuses(ran.document).values()) == {"failed"}
    kinds = [call["kind"] for call in toolbox.calls("fails")]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        **dict.fromkeys(again, 2),
        **dict.fromkeys(once, 1),
    }


def test_large_results_are_stored_about_once(typed: Inline) -> None:
    size, count = 200_000, 20
    chain = [
        step(f"s{number}", "blob", {"size": size}, depends_on=[f"s{number - 1}"] if number else [])
        for number in range(count)
    ]

    ran = typed.run(plan(*chain))
    stored = sum(path.stat().st_size for path in typed.line.folder.glob("runs.db*"))
    started = time.monotonic()
    listed = typed("runs", "--db", str(typed.line.database))

    assert ran.code == 0, ran.text[:2000]
    assert stored < 5 * size * count
    assert listed.code == 0
    assert time.monotonic() - started < 2
