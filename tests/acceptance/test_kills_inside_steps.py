"""Killed inside a step, while it waits, or before anything was written down."""

import subprocess
import time
from pathlib import Path

import pytest

from tests.acceptance.command_line import CommandLine, kill, outcome_of
from tests.acceptance.support import by_id, outputs, plan, statuses, step, write
from tests.acceptance.toolbox import Toolbox
from tests.support.openai_server import OpenAIServer, text

pytestmark = pytest.mark.crash
SLOW_WRITE = '''

@policy(effect="write", idempotent=False)
@tool
def slow_write(label: str) -> str:
    """Do it, and take long to say so."""
    note("slow_write", "begin", label=label)
    time.sleep(30)
    return label


@policy(effect="write", idempotent=True)
@tool
def slow_safe_write(label: str, key: Annotated[str, IdempotencyKey]) -> str:
    """Do it under a key; only the first time takes long."""
    first = not LOG.exists() or "slow_safe_write" not in LOG.read_text("utf-8")
    note("slow_safe_write", "begin", label=label, key=key)
    time.sleep(30 if first else 0)
    return label


TOOLS += [slow_write, slow_safe_write]
'''


def _wait_for(toolbox: Toolbox, process: subprocess.Popen[str], tool: str, count: int = 1) -> None:
    limit = time.monotonic() + 60
    while len(toolbox.calls(tool, "begin")) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.01)


@pytest.fixture
def slow(cli: CommandLine, toolbox: Toolbox) -> CommandLine:
    with toolbox.path.open("a", encoding="utf-8") as module:
        module.write(SLOW_WRITE)
    return cli


def test_a_kill_inside_a_write_asks_a_person_or_repeats_the_key(slow: CommandLine, toolbox: Toolbox) -> None:
    steps = plan(
        step("done", "web_search", {"query": "q"}),
        step("once", "slow_write", {"label": "once"}, risk="low", depends_on=["done"]),
        step("keyed", "slow_safe_write", {"label": "keyed"}, risk="low", depends_on=["done"]),
        write("after", "${once}"),
    )
    process = slow.spawn(*slow.run_arguments(steps))
    _wait_for(toolbox, process, "slow_write")
    _wait_for(toolbox, process, "slow_safe_write")
    kill(process)

    resumed = slow.on("resume", "r1", "--json")

    assert resumed.code == 3, resumed.text
    told = statuses(resumed.document)
    assert (told["done"], told["once"], told["keyed"]) == ("succeeded", "unknown", "succeeded")
    assert len(toolbox.calls("web_search")) == 1
    assert len(toolbox.calls("slow_write", "begin")) == 1
    first, second = toolbox.calls("slow_safe_write", "begin")
    assert first["key"] == second["key"] == by_id(resumed.document)["keyed"]["idempotency_key"]
    assert toolbox.calls("write_file") == []


def test_finished_llm_steps_are_not_asked_again(slow: CommandLine, toolbox: Toolbox) -> None:
    steps = plan(
        {"id": "judge", "action": "llm", "instruction": "Say a number that nobody can guess."},
        step("keyed", "slow_safe_write", {"label": "${judge}"}, risk="low"),
    )
    numbers = iter(range(7, 100))
    with OpenAIServer(lambda _body: text(f"number {next(numbers)}")) as server:
        slow.extra.update(server.environment)
        process = slow.spawn(*slow.run_arguments(steps))
        _wait_for(toolbox, process, "slow_safe_write")
        kill(process)
        before = len(server.requests)
        resumed = slow.on("resume", "r1", "--json")

    assert resumed.code == 0, resumed.text
    assert before == 1
    assert outputs(resumed.document) == {"judge": "number 7", "keyed": "number 7"}
    assert [each["label"] for each in toolbox.calls("slow_safe_write", "begin")] == ["number 7", "number 7"]


def test_of_two_processes_that_resume_at_once_one_works(cli: CommandLine, toolbox: Toolbox) -> None:
    steps = plan(
        step("a", "web_search", {"query": "q"}),
        step("nap", "pause", {"seconds": 8, "label": "nap"}, depends_on=["a"]),
        write("w", "${nap}"),
    )
    process = cli.spawn(*cli.run_arguments(steps))
    _wait_for(toolbox, process, "pause")
    time.sleep(1)  # what a read gave may be written down with the next batch
    kill(process)

    both = [cli.spawn("resume", "r1", "--db", str(cli.database), "--json") for _ in range(2)]
    ended = [outcome_of(each) for each in both]

    assert sorted(each.code for each in ended) == [0, 4], [each.text for each in ended]
    (refused,) = [each for each in ended if each.code == 4]
    refused.refused(4, naming="r1")
    assert len(toolbox.calls("web_search")) == 1
    assert len(toolbox.calls("pause", "begin")) == 2
    assert len(toolbox.calls("write_file")) == 1


def test_a_kill_while_waiting_loses_no_question(cli: CommandLine, toolbox: Toolbox) -> None:
    steps = plan(
        write("s1", "one", require_approval=True),
        step("nap", "pause", {"seconds": 1.5, "label": "nap"}),
    )
    process = cli.spawn(*cli.run_arguments(steps))
    _wait_for(toolbox, process, "pause")
    kill(process)

    resumed = cli.on("resume", "r1", "--json")
    assert resumed.code == 3, resumed.text
    assert statuses(resumed.document) == {"s1": "waiting", "nap": "succeeded"}
    assert cli.on("approve", "r1", "s1").code == 0
    assert [each["content"] for each in toolbox.calls("write_file")] == ["one"]


def test_a_run_killed_before_it_was_written_down_is_not_found(cli: CommandLine, tmp_path: Path) -> None:
    process = cli.spawn(*cli.run_arguments(plan(write("s1"))))
    kill(process)

    told = cli.on("resume")

    told.refused(2, naming="r1")
    assert not (tmp_path / "calls.jsonl").exists()
