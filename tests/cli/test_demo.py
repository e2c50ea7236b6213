"""`planrail demo`: the complaint plan on the shop, held for a person, finished by the printed command."""

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from checkpoints import open_store
from graph.cli.setups import RunSetup, remember
from graph.demo import RECORDED_JUDGEMENT
from tests.cli.support import Prompt
from tools.shop import open_shop


def _outbox(prompt: Prompt, shop: str = "planrail-shop.db") -> list[str]:
    return [str(row["text"]) for row in open_shop(prompt.folder / shop).rows("outbox")]


def test_the_demo_waits_with_the_resolved_reply_and_approving_sends_it(prompt: Prompt) -> None:
    said = prompt("demo", "--run-id", "d1")

    assert said.code == 3
    assert "RECORDED" in said.out
    assert f"text = {RECORDED_JUDGEMENT}" in said.out
    assert "waiting s4 " in said.out
    assert re.search(r"approve d1 ap-\w+$", said.out, re.MULTILINE)
    assert _outbox(prompt) == []

    approved = prompt("approve", "d1", "s4")

    assert approved.code == 0
    assert _outbox(prompt) == [RECORDED_JUDGEMENT]
    assert "li.wei@example.com" in approved.out.partition("outbox in ")[2]


def test_rejecting_sends_nothing(prompt: Prompt) -> None:
    prompt("demo", "--run-id", "d1")

    assert prompt("reject", "d1", "--reason", "not in this tone").code == 1
    assert _outbox(prompt) == []


def test_each_demo_is_a_run_of_its_own(prompt: Prompt) -> None:
    runs = [prompt("demo", "--json").document for _ in range(2)]

    assert len({run["plan"]["plan_id"] for run in runs}) == 2
    for question in [run["pending"][0] for run in runs]:
        assert prompt("approve", str(question["run_id"])).code == 0
    assert len(_outbox(prompt)) == 2


def test_json_keeps_the_words_around_it_off_stdout(prompt: Prompt) -> None:
    said = prompt("demo", "--json", "--db", "runs.db")

    assert said.document["status"] == "waiting"
    assert "RECORDED" in said.err
    assert (prompt.folder / "runs-shop.db").exists()


def test_a_missing_folder_is_refused_before_a_shop_is_made(prompt: Prompt) -> None:
    said = prompt("demo", "--db", "nowhere/runs.db", "--json")

    assert said.code == 4
    assert said.document["error"]["code"] == "store_unavailable"


@contextmanager
def _endpoint(reply: str) -> Iterator[str]:
    """An OpenAI-compatible endpoint on loopback that always says the same."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            message = {"role": "assistant", "content": reply}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            frame = {"id": "c", "created": 0, "model": "m", "object": "chat.completion"}
            body = json.dumps({**frame, "choices": choices}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def test_with_an_endpoint_the_judgement_is_asked_of_it(prompt: Prompt) -> None:
    with _endpoint("the warehouse is out of kettles") as url:
        prompt.patch.setenv("OPENAI_BASE_URL", url)
        said = prompt("demo", "--json")

    assert said.code == 3, said.err
    assert "RECORDED" not in said.err
    assert said.document["pending"][0]["args"]["text"] == "the warehouse is out of kettles"


def test_all_demos_are_listed_with_their_variants(prompt: Prompt) -> None:
    said = prompt("demo", "--list")
    assert said.code == 0
    assert "complaint: " in said.out
    assert "  --variant standard: " in said.out


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (("nope",), "there is no demo 'nope': choose complaint"),
        (("complaint", "--variant", "x"), "choose standard"),
    ],
)
def test_an_unknown_demo_is_refused_with_the_known_ones(
    prompt: Prompt, words: tuple[str, ...], remedy: str
) -> None:
    said = prompt("demo", *words)
    assert said.code == 2
    assert remedy in said.err


def test_a_demo_of_an_earlier_version_is_taken_up_on_its_shop() -> None:
    setup = RunSetup.model_validate({"tools": None, "folder": "", "settings": [], "shop": "/x/runs-shop.db"})
    assert setup.demo is not None
    assert (setup.demo.name, setup.demo.variant, setup.demo.place) == ("complaint", "standard", "/x/runs")


def test_an_id_that_another_process_is_just_beginning_is_busy(prompt: Prompt) -> None:
    with open_store(prompt.folder / "planrail.db") as opened, opened.run_lock("\0beginning\0d1"):
        said = prompt("demo", "--run-id", "d1")
    assert said.code == 4
    assert "d1" in said.err
    assert "\0" not in said.err


def test_an_id_whose_process_ended_before_its_run_began_is_free(prompt: Prompt) -> None:
    with open_store(prompt.folder / "planrail.db") as opened:
        asyncio.run(remember(opened.store, "d1", RunSetup()))
    assert prompt("demo", "--run-id", "d1").code == 3


def test_an_id_whose_run_never_began_is_free_again(prompt: Prompt) -> None:
    plan = {
        "goal": "x" * 100_001,
        "steps": [{"id": "a", "action": "tool", "tool": "query_stock", "args": {"sku": "K"}}],
    }
    (prompt.folder / "plan.json").write_text(json.dumps(plan))
    words = ("run", "--plan", "plan.json", "--tools", "tools.shop:tools_from_environment", "--run-id", "d1")
    assert [prompt(*words).code for _ in range(2)] == [2, 2]
    assert "the goal has 100001 characters" in prompt(*words).err
