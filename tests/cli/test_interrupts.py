"""Ctrl-C, kill, and what the next command says about it."""

import signal
import subprocess
import time

import pytest

from tests.cli.support import Prompt, step

LONG = (
    step("s1", "nap", args={"seconds": 1.5}),
    step("s2", "save", args={"text": "${s1}"}),
)
ENDLESS = (step("s1", "nap", args={"seconds": 100}, timeout=200.0),)

pytestmark = pytest.mark.crash


def _wait_for_call(prompt: Prompt, process: subprocess.Popen[str]) -> None:
    limit = time.monotonic() + 60
    while not prompt.calls():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_the_first_interrupt_lets_running_steps_end_and_resume_does_the_rest(prompt: Prompt) -> None:
    with prompt.spawn(*prompt.run_words(*LONG)) as process:
        _wait_for_call(prompt, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "Ctrl-C again" in err
    assert "resume r1" in out
    assert prompt.calls() == ["nap"]

    resumed = prompt("resume", "r1", "--json")
    assert resumed.code == 0
    assert prompt.calls() == ["nap", "save"]
    assert [row["output"] for row in resumed.document["steps"]] == ["rested", "rested"]


def test_the_second_interrupt_ends_at_once(prompt: Prompt) -> None:
    with prompt.spawn(*prompt.run_words(*ENDLESS)) as process:
        _wait_for_call(prompt, process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate(timeout=10)

    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_killed_run_is_shown_as_interrupted_and_a_living_one_is_not(prompt: Prompt) -> None:
    with prompt.spawn(*prompt.run_words(*ENDLESS)) as process:
        _wait_for_call(prompt, process)
        living = prompt("show", "r1")
        process.kill()
        process.communicate()
    killed = prompt("show", "r1")

    assert living.code == killed.code == 0
    assert "run r1  running" in living.out
    assert "resume" not in living.out
    assert "run r1  interrupted" in killed.out
    assert "resume r1" in killed.out
