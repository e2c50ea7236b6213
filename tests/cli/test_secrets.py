"""Keys are in no database, no output and no log, also when an endpoint repeats them in its errors."""

import logging
from pathlib import Path

import pytest

from tests.cli.support import Prompt, step
from tests.support.openai_server import OpenAIServer, Reply, error, obj, text

PLAIN_KEY = "correct horse battery staple 42"
PLAN = {"goal": "g", "steps": [step("s1", "look", args={"what": "it"})]}
ASKING = {"goal": "g", "steps": [{"id": "s1", "action": "llm", "instruction": "say something"}]}


def _files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.parametrize(
    "replies",
    [
        [obj(PLAN)],
        [obj(ASKING), text("done")],
        [error(401, f"Incorrect API key provided: {PLAIN_KEY}")],
        [obj(ASKING), error(403, f"the key {PLAIN_KEY} may not do this", code=PLAIN_KEY)],
        [obj(ASKING), error(500, f"while serving {PLAIN_KEY}")],
    ],
)
def test_a_key_is_in_nothing_that_a_run_leaves_behind(
    prompt: Prompt, replies: list[Reply], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "planrail")
    with OpenAIServer(replies) as server:
        prompt.patch.setenv("OPENAI_BASE_URL", server.url)
        prompt.patch.setenv("OPENAI_API_KEY", PLAIN_KEY)
        quick = ("--set", "llm_attempts=1", "--set", "max_replans=0")
        said = prompt("run", "a goal", "--tools", "mytools.py", "--run-id", "r1", *quick)
        shown = prompt("show", "r1", "--json")

    assert server.headers[0]["authorization"] == f"Bearer {PLAIN_KEY}"
    left = said.out + said.err + shown.out + caplog.text
    assert PLAIN_KEY not in left
    assert PLAIN_KEY.encode() not in _files(prompt.folder)


def test_an_endpoints_address_is_listed_without_its_login(prompt: Prompt) -> None:
    prompt.patch.setenv("OPENAI_BASE_URL", "http://ann:hunter2@127.0.0.1:1/v1")

    said = [prompt("settings"), prompt("settings", "--json"), prompt("models", "check", "--timeout", "1")]

    assert all("http://127.0.0.1:1/v1" in each.out for each in said)
    assert "hunter2" not in "".join(each.out + each.err for each in said)
