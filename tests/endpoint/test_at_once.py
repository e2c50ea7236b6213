"""Several questions at once, and from several event loops: what one finds out, all know."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from graph.state.endpoints import FirstAlone
from nodes.endpoint.structured import ask_structured
from nodes.models import ask
from tests.endpoint.office import Office, steps_of
from tests.endpoint.support import Waits, ask_of, session_of
from tests.support.openai_server import OpenAIServer, Reply, call, calls, error, obj, text

NO_FORMAT = error(400, "This response_format type is unavailable now")
NO_TOOLS = error(400, '"m" does not support tools')
MANY = 6
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def only_json_mode(body: dict[str, Any]) -> Reply:
    if body.get("tools"):
        return NO_TOOLS
    return obj({"n": 1}) if body.get("response_format", {}).get("type") == "json_object" else NO_FORMAT


def plan_of(*steps: dict[str, Any]) -> Any:
    return {"goal": "g", "plan": {"steps": list(steps)}}


async def test_steps_side_by_side_find_out_once_what_the_endpoint_takes() -> None:
    steps = [
        {"id": f"s{n}", "action": "llm", "instruction": "How many?", "output_schema": SCHEMA}
        for n in range(MANY)
    ]
    with OpenAIServer(only_json_mode) as server:
        result = await Office().graph(server).ainvoke(plan_of(*steps))
    assert steps_of(result) == [f"s{n}:succeeded" for n in range(MANY)]
    refused = [body for body in server.requests if only_json_mode(body).status == 400]
    assert [bool(body.get("tools")) for body in refused] == [False, True]
    assert len(server.requests) == len(refused) + MANY


async def test_agents_side_by_side_find_out_once_that_the_endpoint_calls_no_tools() -> None:
    def objects_only(body: dict[str, Any]) -> Reply:
        return NO_TOOLS if body.get("tools") else obj({"next": {"result": "done"}})

    steps = [
        {"id": f"s{n}", "action": "agent", "instruction": "Look.", "tools": ["web_search"]}
        for n in range(MANY)
    ]
    with OpenAIServer(objects_only) as server:
        result = await Office().graph(server).ainvoke(plan_of(*steps))
    assert steps_of(result) == [f"s{n}:succeeded" for n in range(MANY)]
    assert sum(bool(body.get("tools")) for body in server.requests) == 1
    assert len(server.requests) == 1 + MANY


async def test_an_endpoint_that_settles_nothing_is_not_asked_by_one_after_another() -> None:
    """The first fails over a busy endpoint; the others then ask side by side, not each after the last."""
    asking, most = 0, 0
    lock = threading.Lock()
    gate = threading.Barrier(MANY - 1)

    def busy(_body: dict[str, Any]) -> Reply:
        nonlocal asking, most
        with lock:
            asking += 1
            first = asking == 1
        if not first:
            gate.wait(30)
        return error(503, "overloaded")

    with OpenAIServer(busy) as server:
        session = session_of(server.model(), {"llm_attempts": 1}, Waits())
        found = await asyncio.gather(
            *(ask_structured(session, ask_of(session), [HumanMessage("x")], SCHEMA, "x") for _ in range(MANY))
        )
    assert [getattr(each, "code", None) for each in found] == ["http_503"] * MANY


async def test_a_parameter_refused_to_several_at_once_fails_none_of_them() -> None:
    gate = threading.Barrier(MANY)

    def cold(body: dict[str, Any]) -> Reply:
        if "temperature" in body:
            gate.wait(30)
            return error(400, "Unsupported parameter: 'temperature'", param="temperature")
        return text("fine")

    with OpenAIServer(cold) as server:
        session = session_of(server.model(temperature=0.5))
        found = await asyncio.gather(
            *(ask(session.engine, ask_of(session), [HumanMessage("x")]) for _ in range(MANY))
        )
    assert [str(getattr(each, "content", each)) for each in found] == ["fine"] * MANY
    assert len(server.requests) == 2 * MANY


async def test_who_waits_for_the_first_goes_on_when_the_first_is_cancelled() -> None:
    alone, entered = FirstAlone(), asyncio.Event()

    async def stay() -> None:
        async with alone.turn():
            entered.set()
            await asyncio.Event().wait()

    async def pass_through() -> str:
        async with alone.turn():
            return "through"

    first = asyncio.create_task(stay())
    await entered.wait()
    second = asyncio.create_task(pass_through())
    first.cancel()
    assert await asyncio.wait_for(second, 30) == "through"


class _KeepAlive(BaseHTTPRequestHandler):
    """Answers in HTTP/1.1 and keeps the connection, as real servers do."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        said = {"role": "assistant", "content": json.dumps({"reply": {"answer": "Hello."}})}
        choice = {"index": 0, "message": said, "finish_reason": "stop"}
        body = json.dumps({"id": "c", "object": "chat.completion", "created": 0, "model": "m",
                           "choices": [choice]}).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Stay silent."""


@pytest.fixture
def keeping_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _KeepAlive)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_one_model_answers_in_one_event_loop_after_another(keeping_server: str) -> None:
    model = ChatOpenAI(model="m", api_key=SecretStr("x"), base_url=keeping_server, max_retries=0)
    graph = Office().graph_of(model, llm_timeout=20.0)
    given: Any = {"goal": "Say hello."}
    answers = [asyncio.run(graph.ainvoke(given))["answer"] for _ in range(3)]
    answers += [graph.invoke(given)["answer"], asyncio.run(graph.ainvoke(given))["answer"]]
    assert answers == ["Hello."] * 5


def test_headers_of_the_model_go_along() -> None:
    with OpenAIServer(calls(call("x", {}))) as server:
        model = server.model(model_kwargs={"extra_headers": {"X-Team": "ours"}})
        session = session_of(model)
        asyncio.run(_asked_once(session))
    sent = {name.lower(): value for name, value in server.headers[0].items()}
    assert (sent["x-team"], sent["connection"]) == ("ours", "close")


async def _asked_once(session: Any) -> None:
    await ask(session.engine, ask_of(session), [HumanMessage("x")])
