"""Faults that systems of this kind are known for, each as its reporter met it."""

import json
import time
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, StateGraph

from tests.acceptance.support import (
    BASE_PLAN,
    CommandLine,
    Inline,
    Toolbox,
    build,
    by_id,
    given,
    opened,
    outputs,
    plan,
    planner,
    statuses,
    step,
    thread,
    waiting_steps,
    write,
)

# ---------------------------------------------------------------- text with code fences in a plan's values

DOCUMENTS = [
    pytest.param("# T\n```python\nprint(1)\n```\nend", id="fences"),
    pytest.param('an object {"a": {"b": 1}} and </think> in it', id="JSON and a tag"),
    pytest.param(
        "tab\there, \\n as two characters, \r\n and \u2028 as lines, \U0001f600", id="odd characters"
    ),
    pytest.param("```json\n{}\n```", id="only a fence"),
]


@pytest.mark.parametrize("content", DOCUMENTS)
def test_a_document_in_a_plan_file_arrives_byte_for_byte(
    inline: Inline, toolbox: Toolbox, content: str
) -> None:
    ran = inline.run(plan(write("s1", content)))

    assert ran.code == 0, ran.text
    assert toolbox.calls("write_file")[0]["content"] == content


@pytest.mark.parametrize("content", DOCUMENTS)
def test_a_document_in_a_fenced_reply_arrives_byte_for_byte(toolbox: Toolbox, content: str) -> None:
    reply = plan(step("s1", "write_file", {"path": "out.md", "content": content}), goal="write out.md")
    model = planner(f"Here is the plan.\n```json\n{json.dumps(reply, ensure_ascii=False)}\n```\n")

    result = build(toolbox, models={"planner": model}).invoke({"goal": "write out.md", "plan": None})

    assert result["status"] == "succeeded", result["reason"]
    assert toolbox.calls("write_file")[0]["content"] == content


def test_a_raw_line_break_in_a_value_is_kept_or_refused(inline: Inline, toolbox: Toolbox) -> None:
    content = "# T\n```python\nprint(1)\n```\nend"
    raw = json.dumps(plan(write("s1", "CONTENT"))).replace("CONTENT", content)

    ran = inline.run(raw)

    if ran.code == 2:
        ran.refused(2)
        assert toolbox.calls() == []
    else:
        assert ran.code == 0, ran.text
        assert toolbox.calls("write_file")[0]["content"] == content


# -------------------------------------------------------------------- dependencies that lead nowhere


def _search(name: str, *depends_on: str) -> dict[str, Any]:
    return step(name, "web_search", {"query": name}, depends_on=list(depends_on))


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        pytest.param([_search("s1"), _search("s2", "s9")], ["s2", "s9"], id="unknown"),
        pytest.param([_search("s1", "s2"), _search("s2", "s1")], ["s1", "s2"], id="two in a circle"),
        pytest.param([_search("s1", "s1")], ["s1"], id="itself"),
        pytest.param(
            [_search("s1", "s2"), _search("s2", "s3"), _search("s3", "s1"), _search("s4")],
            ["s1", "s2", "s3"],
            id="three in a circle beside a healthy one",
        ),
        pytest.param([_search("s1"), write("s1")], ["s1"], id="one id twice"),
    ],
)
def test_dependencies_that_cannot_be_met_are_refused_by_name(
    inline: Inline, toolbox: Toolbox, steps: list[dict[str, Any]], names: list[str]
) -> None:
    line = inline.run(plan(*steps)).refused(2)
    assert [name for name in names if name not in line] == []

    with pytest.raises(Exception, match=names[0]) as caught:
        build(toolbox).invoke(given(plan(*steps)))
    assert type(caught.value).__name__ in {"PlanError", "InputError"}
    assert toolbox.calls() == []


@pytest.mark.parametrize("depends_on", [["s1", "s1"], "s1", None])
def test_harmless_dependency_lists_are_taken(toolbox: Toolbox, depends_on: object) -> None:
    steps = plan(_search("s1"), {**_search("s2"), "depends_on": depends_on})

    result = build(toolbox).invoke(given(steps))

    assert statuses(result) == {"s1": "succeeded", "s2": "succeeded"}


def test_integer_ids_and_a_step_after_its_dependent_are_taken(toolbox: Toolbox) -> None:
    steps = plan(
        {**write("2", "second"), "id": 2, "depends_on": [1]},
        {**write("1", "first"), "id": 1},
    )

    result = build(toolbox).invoke(given(steps))

    assert result["status"] == "succeeded"
    assert [call["content"] for call in toolbox.calls("write_file")] == ["first", "second"]


# ------------------------------------------------------------------------------------ references inside


def test_references_in_nested_arguments_and_twice_in_a_text(inline: Inline, toolbox: Toolbox) -> None:
    arguments = {
        "body": {"parts": ["a ${s1.query} b ${s2.query} c", {"k": "${s1.items[1].name}"}]},
        "n": "${s2.count}",
    }
    steps = plan(
        step("s3", "write_file", {"path": "p", "content": arguments}, depends_on=["s1"]),
        step("s1", "web_search", {"query": "one"}),
        step("s2", "web_search", {"query": "two"}),
    )

    ran = inline.run(steps)

    assert ran.code == 0, ran.text
    assert toolbox.calls("write_file")[0]["content"] == {
        "body": {"parts": ["a one b two c", {"k": "y"}]},
        "n": 3,
    }
    assert [each["query"] for each in toolbox.calls() if "query" in each] in (["one", "two"], ["two", "one"])
    (row,) = [each for each in ran.document["plan"]["steps"] if each["id"] == "s3"]
    assert set(row["depends_on"]) == {"s1", "s2"}


def test_nothing_but_a_reference_is_filled_in_and_what_is_filled_in_is_left_alone(
    toolbox: Toolbox, inline: Inline
) -> None:
    nasty = 'REF ${s2.secret} {"a": {"b": 1}} {0} {s1} %(s1)s {{x}}'
    content = [
        "{s1.__class__.__init__.__globals__}",
        "{{ ''.__class__.__mro__ }}",
        "%(s1)s ${s1}",
        "{api_key}",
        '{"a": {"b": 1}}',
        "$${s1}",
        "${s1}",
    ]
    steps = plan(
        step("s1", "plain", {"text": nasty.replace("${", "$${")}),
        step("s2", "plain", {"text": "secret"}),
        write("s3", content, depends_on=["s2"]),
        write("s4", "${s3} ${s1}"),
    )

    ran = inline.run(steps)

    assert ran.code == 0, ran.text
    assert toolbox.calls("plain")[0]["text"] in {nasty, "secret"}
    first, second = toolbox.calls("write_file")
    assert first["content"] == [*content[:2], f"%(s1)s {nasty}", *content[3:5], "${s1}", nasty]
    assert second["content"] == f"s3.md {nasty}"


@pytest.mark.parametrize(
    "expression",
    [
        "s1.__class__", "s1.__dict__", "s1['__class__']", "s1.__class__.__init__.__globals__",
        "__import__('os').getcwd()", "open('x')", "s1.format('x')", "params.__class__",
    ],
)  # fmt: skip
def test_an_objects_insides_are_never_reached(inline: Inline, toolbox: Toolbox, expression: str) -> None:
    steps = plan(step("s1", "plain", {"text": "hello"}), write("s2", f"${{{expression}}}"))

    ran = inline.run(steps)

    assert ran.code in {1, 2}, ran.text
    assert toolbox.calls("write_file") == []


def test_an_expression_too_costly_to_run_is_refused(inline: Inline, toolbox: Toolbox) -> None:
    three = "s1.items.map(a, s1.items.map(b, s1.items.map(c, c)))"
    started = time.monotonic()

    inline.run(plan(step("s1", "web_search", {"query": "q"}), write("s2", f"${{{three}}}"))).refused(2)
    inline.run(plan(step("s1", "web_search", {"query": "q"}), write("s2", f"${{{'1+' * 50_000}1}}"))).refused(
        2
    )

    assert time.monotonic() - started < 30
    assert toolbox.calls() == []


# ------------------------------------------------------------------------- approvals beside attempts


def test_a_step_with_attempts_to_spare_still_waits_and_spends_none(inline: Inline, toolbox: Toolbox) -> None:
    ran = inline.run(plan(write("s1", require_approval=True, max_attempts=3, timeout=5)))

    assert ran.code == 3, ran.text
    assert waiting_steps(ran.document) == {"s1"}
    row = by_id(ran.document)["s1"]
    assert (row["status"], row["attempts"], row["error"]) == ("waiting", 0, None)

    assert inline.on("approve", "r1", "s1").code == 0
    row = by_id(inline.on("show", "r1", "--json").document)["s1"]
    assert (row["status"], row["attempts"]) == ("succeeded", 1)
    assert len(toolbox.calls("write_file")) == 1


def test_a_failure_hides_no_approval_and_an_approval_no_failure(inline: Inline, toolbox: Toolbox) -> None:
    ran = inline.run(
        plan(write("s1", require_approval=True), step("s2", "missing", {"what": "order"}, max_attempts=3))
    )

    assert ran.code == 3, ran.text
    assert statuses(ran.document) == {"s1": "waiting", "s2": "failed"}
    assert waiting_steps(ran.document) == {"s1"}
    assert "there is no order" in json.dumps(by_id(ran.document)["s2"]["error"])

    approved = inline.on("approve", "r1", "s1")
    assert approved.code == 1, approved.text
    document = inline.on("show", "r1", "--json").document
    assert document["status"] == "partial"
    assert statuses(document) == {"s1": "succeeded", "s2": "failed"}
    assert len(toolbox.calls("write_file")) == 1
    assert len(toolbox.calls("missing")) == 1


# ------------------------------------------------------------------------------------------ long plans

LONG = plan(
    step("s1", "plain", {"text": "x"}),
    *(step(f"s{number}", "plain", {"text": f"${{s{number - 1}}}"}) for number in range(2, 61)),
)


def _long_done(result: dict[str, Any], toolbox: Toolbox) -> None:
    assert result["status"] == "succeeded", result["reason"]
    assert set(statuses(result).values()) == {"succeeded"}
    assert outputs(result)["s60"] == "x"
    assert len(toolbox.calls("plain")) == 60


@pytest.mark.parametrize("scheduling", ["lanes", "layered"])
def test_a_chain_of_sixty_runs_from_the_command_line(
    inline: Inline, toolbox: Toolbox, scheduling: str
) -> None:
    ran = inline.run(LONG, "--set", f"scheduling={scheduling}")

    assert ran.code == 0, ran.text
    _long_done(ran.document, toolbox)


def test_a_chain_of_sixty_runs_behind_a_runnable(toolbox: Toolbox, tmp_path: Path) -> None:
    with opened(tmp_path / "runs.db") as both:
        chain = RunnableLambda(given) | build(toolbox, checkpointer=both.checkpointer, store=both.store)

        _long_done(chain.invoke(LONG, thread()), toolbox)


def test_a_chain_of_sixty_runs_inside_a_node_of_another_graph(toolbox: Toolbox) -> None:
    inner = build(toolbox)

    class Outer(TypedDict):
        result: dict[str, Any]

    def work(state: Outer) -> Outer:
        return {"result": {**state["result"], **inner.invoke(given(LONG))}}

    outer = StateGraph(Outer)
    outer.add_node("work", work)
    outer.add_edge(START, "work")
    outer.add_edge("work", END)

    _long_done(outer.compile().invoke({"result": {}})["result"], toolbox)


def test_a_limit_of_the_callers_own_stops_cleanly_and_is_resumable(toolbox: Toolbox, tmp_path: Path) -> None:
    with opened(tmp_path / "runs.db") as both:
        graph = build(
            toolbox, checkpointer=both.checkpointer, store=both.store, settings={"scheduling": "layered"}
        )
        try:
            result = graph.invoke(given(LONG), thread(recursion_limit=25))
        except RecursionError as error:
            assert "25" in str(error)  # noqa: PT017 - it may as well end in a result
            result = None
        if result is None or result["status"] != "succeeded":
            assert len(toolbox.calls("plain")) < 60
            result = graph.invoke(None, thread(recursion_limit=1000))

        _long_done(result, toolbox)


# ---------------------------------------------------------------------------------- tools that misbehave

ODD_TOOLS = '''
import asyncio
import time
from pathlib import Path

from langchain_core.tools import StructuredTool, ToolException, tool
from tools import policy

HERE = Path(__file__).parent


class Silent(Exception):
    def __str__(self):
        return ""


@policy(effect="read")
@tool
def mcp() -> str:
    """Raise what MCP tools raise."""
    raise ToolException("mcp said no")


@policy(effect="read")
@tool
def value() -> str:
    """Raise a ValueError."""
    raise ValueError("no such value")


@policy(effect="read")
@tool
def key() -> str:
    """Raise a KeyError."""
    return {}["x"]


def _handled() -> str:
    """Raise what the tool itself turns into text."""
    raise ToolException("handled, but no result")


handled = policy(effect="read")(
    StructuredTool.from_function(_handled, name="handled", handle_tool_error=True)
)


@policy(effect="read")
@tool
def leave() -> str:
    """Try to end the process."""
    raise SystemExit(7)


@policy(effect="read")
@tool
def silent() -> str:
    """Raise an exception that says nothing."""
    raise Silent


@policy(effect="read")
@tool
def loud() -> str:
    """Raise an exception that says too much."""
    raise RuntimeError("x" * 2_000_000)


@policy(effect="read")
@tool
def unprintable() -> object:
    """Return what JSON cannot hold."""
    return object()


@policy(effect="read")
@tool
def sibling(text: str) -> str:
    """Do well."""
    (HERE / "sibling").write_text(text)
    return text


@policy(effect="read")
@tool
async def sleeps() -> str:
    """Never come back, in the loop."""
    await asyncio.sleep(3600)


@policy(effect="read")
@tool
def hangs() -> str:
    """Never come back, in a thread."""
    time.sleep(3600)


@policy(effect="read")
@tool
async def blocks() -> str:
    """Block the loop."""
    time.sleep(3)
    return "late"


@policy(effect="read")
@tool
async def stubborn() -> str:
    """Not let itself be cancelled."""
    end = time.monotonic() + 4
    while time.monotonic() < end:
        try:
            await asyncio.sleep(0.2)
        except asyncio.CancelledError:
            pass
    return "late"


@policy(effect="read")
@tool
def late() -> str:
    """Come back after the timeout with a file."""
    time.sleep(2)
    (HERE / "late").write_text("late")
    return "late"


TOOLS = [
    mcp, value, key, handled, leave, silent, loud, unprintable, sibling,
    sleeps, hangs, blocks, stubborn, late,
]
'''


@pytest.fixture
def odd(cli: CommandLine) -> CommandLine:
    cli.toolbox.path.write_text(ODD_TOOLS, encoding="utf-8")
    return cli


def test_every_kind_of_exception_is_a_failed_step_with_its_name(odd: CommandLine) -> None:
    expected = {
        "mcp": "mcp said no",
        "value": "no such value",
        "key": "KeyError",
        "handled": "handled, but no result",
        "leave": "SystemExit",
        "silent": "Silent",
        "loud": "RuntimeError",
    }
    steps = [step(name, name, {}, optional=True) for name in expected]

    ran = odd.run(plan(*steps, step("good", "sibling", {"text": "fine"})))

    assert ran.code == 0, ran.text
    rows = by_id(ran.document)
    assert rows["good"]["output"] == "fine"
    for name, words in expected.items():
        assert rows[name]["status"] == "failed", name
        assert rows[name]["attempts"] == 1, name
        told = json.dumps(rows[name]["error"])
        assert words in told, told[:500]
        assert len(told) < 20_000, name


def test_a_result_that_json_cannot_hold_loses_no_run(odd: CommandLine) -> None:
    ran = odd.run(
        plan(step("u", "unprintable", {}, optional=True), step("good", "sibling", {"text": "fine"}))
    )

    assert ran.code == 0, ran.text
    rows = by_id(ran.document)
    assert rows["good"]["status"] == "succeeded"
    assert rows["u"]["status"] in {"succeeded", "failed"}
    assert rows["u"]["attempts"] == 1


def test_tools_that_never_come_back_are_given_up_and_hold_no_process(
    odd: CommandLine, tmp_path: Path
) -> None:
    names = ("sleeps", "hangs", "stubborn", "late")
    hanging = [step(name, name, {}, timeout=1, max_attempts=1, optional=True) for name in names]
    started = time.monotonic()

    ran = odd.run(plan(step("good", "sibling", {"text": "fine"}), *hanging))

    assert time.monotonic() - started < 30
    assert ran.code == 0, ran.text
    rows = by_id(ran.document)
    assert rows["good"]["status"] == "succeeded"
    for name in names:
        assert rows[name]["status"] == "failed", name
        assert rows[name]["output"] is None, name
        assert "time" in json.dumps(rows[name]["error"]).lower()
    again = odd.on("show", "r1", "--json")
    assert by_id(again.document)["late"]["status"] == "failed"


def test_a_tool_that_blocks_the_loop_past_its_timeout_has_not_succeeded(odd: CommandLine) -> None:
    blocking = step("b", "blocks", {}, timeout=1, max_attempts=1, optional=True)

    ran = odd.run(plan(blocking, step("good", "sibling", {"text": "fine"})))

    assert ran.code == 0, ran.text
    assert statuses(ran.document) == {"b": "failed", "good": "succeeded"}
    assert by_id(ran.document)["b"]["output"] is None


# ---------------------------------------------------------------- arguments as text, foreign errors, size

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


# ------------------------------------------------------------------------------------- ids as an attack

STRANGE = [
    "x') OR '1'='1",
    "r1' --",
    "%",
    "100%_",
    "a\nb",
    "é 步",
    "x" * 10_000,
    "",
    "a\x00b",
    "../../r1",
    "*",
]


@pytest.mark.parametrize("name", STRANGE, ids=range(len(STRANGE)))
def test_a_strange_run_id_shows_nobody_elses_run(inline: Inline, toolbox: Toolbox, name: str) -> None:
    assert inline.run(plan(step("s", "plain", {"text": "somebody's secret"})), run_id="r1").code == 0
    made = len(toolbox.calls())

    for command in ("show", "steps", "resume", "approve"):
        told = inline.on(command, name)
        told.refused(2)
        assert "secret" not in told.text

    own = inline.run(plan(step("mine", "plain", {"text": "my own"})), run_id=name)
    if own.code == 0:
        shown = inline.on("show", name, "--json")
        assert outputs(shown.document) == {"mine": "my own"}
        assert len(toolbox.calls()) == made + 1
    else:
        own.refused(2)
        assert len(toolbox.calls()) == made
    assert outputs(inline.on("show", "r1", "--json").document) == {"s": "somebody's secret"}
    assert inline("runs", "--db", str(inline.line.database)).code == 0


def test_filters_and_limits_of_the_saver_and_the_store_are_no_sql(toolbox: Toolbox, tmp_path: Path) -> None:
    with opened(tmp_path / "runs.db") as both:
        graph = build(toolbox, checkpointer=both.checkpointer, store=both.store)
        graph.invoke(given(plan(step("s", "plain", {"text": "secret"}))), thread("theirs"))

        for key in ("x') OR '1'='1", "source' OR 1=1 --", "a\x00b"):
            try:
                found = list(both.checkpointer.list(None, filter={key: "y"}))
            except ValueError:
                found = []
            assert found == []
            try:
                rows = list(both.store.search((), filter={key: "y"}))
            except ValueError:
                rows = []
            assert rows == []
        for name in ("x') OR '1'='1", "%", "theirs' --"):
            assert graph.get_state(thread(name)).values == {}
            assert list(graph.get_state_history(thread(name))) == []
        assert list(both.checkpointer.list(thread("theirs"), limit=1))


def test_a_base_plan_waits_in_the_graph_as_it_does_on_the_command_line(
    toolbox: Toolbox, tmp_path: Path
) -> None:
    with opened(tmp_path / "runs.db") as both:
        graph = build(toolbox, checkpointer=both.checkpointer, store=both.store)
        result = graph.invoke(given(BASE_PLAN), thread())

    assert waiting_steps(result) == {"s2"}
    assert statuses(result) == {"s1": "succeeded", "s2": "waiting"}
