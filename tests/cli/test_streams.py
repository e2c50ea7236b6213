"""Stdout is for the results alone, and a reader that leaves stops nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from graph.cli import main
from tests.cli.support import ROOT, Prompt, Said, prompt_in, step

LOUD = '''
"""Tools that print, each in its own way."""
import atexit
import os
import sys

from tools import policy

print("IMPORTED")
os.system("echo SHELL-IMPORTED")
if "pytest" not in sys.modules:
    atexit.register(print, "LEFT")


@policy(effect="read")
def loud(what: str) -> str:
    """Say it."""
    print("SYNC")
    sys.__stdout__.write("PAST\\n")
    os.write(1, b"RAW\\n")
    os.system("echo SUBPROC")
    return what


@policy(effect="read")
async def aloud(what: str) -> str:
    """Say it."""
    print("ASYNC")
    return what


TOOLS = [loud, aloud]
'''
PRINTED = ("IMPORTED", "SHELL-IMPORTED", "SYNC", "PAST", "RAW", "SUBPROC", "ASYNC")
STEPS = (step("s1", "loud", args={"what": "it"}), step("s2", "aloud", args={"what": "${s1}"}))
ASKED = step("s3", "aloud", args={"what": "it"}, require_approval=True)

FULL = Path("/dev/full")
needs_full_device = pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")


@pytest.fixture
def loud(prompt: Prompt) -> Prompt:
    (prompt.folder / "mytools.py").write_text(LOUD, encoding="utf-8")
    return prompt


def _process(prompt: Prompt, *words: str, out: int | IO[bytes], err: int | IO[bytes]) -> Said:
    done = subprocess.run(
        [sys.executable, "-m", "graph.cli", *words],
        cwd=prompt.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        timeout=90,
        check=False,
    )
    return Said(done.returncode, (done.stdout or b"").decode(), (done.stderr or b"").decode())


def _left_pipe() -> IO[bytes]:
    """The writing end of a pipe whose reader has left."""
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "wb")


def test_whatever_tools_print_stdout_is_one_document(loud: Prompt) -> None:
    words = [*loud.run_words(*STEPS), "--json"]
    piped = _process(loud, *words, out=subprocess.PIPE, err=subprocess.PIPE)

    assert piped.code == 0, piped.err
    assert piped.document["status"] == "succeeded"
    assert set(piped.err.split()) >= {*PRINTED, "LEFT"}


def test_a_file_gets_the_text_of_the_run_alone(loud: Prompt) -> None:
    with (loud.folder / "out").open("wb") as out:
        said = _process(loud, *loud.run_words(*STEPS, ASKED), out=out, err=subprocess.PIPE)

    written = (loud.folder / "out").read_text("utf-8")
    assert said.code == 3, said.err
    assert written.startswith("run r1  waiting")
    assert not {*PRINTED, "LEFT"} & set(written.split())


def test_prints_are_kept_apart_from_a_captured_stdout(loud: Prompt) -> None:
    streams = sys.stdout, sys.stderr

    said = loud.run(*STEPS, more=("--json",))

    assert said.document["status"] == "succeeded"
    assert set(said.err.split()) >= {"IMPORTED", "SYNC", "ASYNC"}
    assert (sys.stdout, sys.stderr) == streams


@pytest.mark.parametrize("argv", [True, False])
def test_captured_descriptors_are_what_they_were_after_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], argv: bool
) -> None:
    loud = prompt_in(tmp_path, monkeypatch, capfd, LOUD)
    words = [*loud.run_words(*STEPS), "--json"]
    loud.patch.setattr(sys, "argv", ["planrail", *words])

    code = main(words if argv else None)
    said = capfd.readouterr()
    os.write(1, b"after")

    assert code == 0
    assert json.loads(said.out)["status"] == "succeeded"
    assert set(said.err.split()) >= set(PRINTED) - {"PAST"}
    assert capfd.readouterr().out == "after"


def test_a_module_that_exits_at_import_is_an_error_document(loud: Prompt) -> None:
    (loud.folder / "mytools.py").write_text("print('IMPORTED')\nraise SystemExit(0)\n", encoding="utf-8")

    words = [*loud.run_words(*STEPS), "--json"]
    said = _process(loud, *words, out=subprocess.PIPE, err=subprocess.PIPE)

    assert said.code == 2
    assert said.document["error"]["message"] in said.err
    assert "IMPORTED" in said.err


def test_a_module_that_wraps_stdout_anew_takes_nothing_away(loud: Prompt) -> None:
    wrapping = "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\n"
    (loud.folder / "mytools.py").write_text(f"{wrapping}{LOUD}sys.stdout.close()\n", encoding="utf-8")

    words = [*loud.run_words(step("s2", "aloud", args={"what": "it"}), run_id="r2"), "--json"]
    said = _process(loud, *words, out=subprocess.PIPE, err=subprocess.PIPE)

    assert said.document["status"] == "failed"
    assert "closed file" in said.document["steps"][0]["error"]["message"]
    assert "s2  failed" in said.err


def test_the_run_goes_on_when_the_reader_of_stderr_has_left(loud: Prompt) -> None:
    with _left_pipe() as err:
        said = _process(loud, *loud.run_words(*STEPS), "--json", out=subprocess.PIPE, err=err)

    assert said.code == 0
    assert [row["status"] for row in said.document["steps"]] == ["succeeded", "succeeded"]


def test_a_reader_of_stdout_that_leaves_changes_no_exit_code(loud: Prompt) -> None:
    with _left_pipe() as out:
        run = _process(loud, *loud.run_words(*STEPS, ASKED), out=out, err=subprocess.PIPE)
        shown = _process(loud, "show", "r1", "--json", out=out, err=subprocess.PIPE)

    assert (run.code, shown.code) == (3, 0)
    assert "error" not in run.err + shown.err
    assert "Traceback" not in run.err + shown.err


@needs_full_device
@pytest.mark.parametrize("words", [("runs", "--json"), ("runs",), ("--help",)])
def test_results_that_cannot_be_written_are_one_line_of_error(prompt: Prompt, words: tuple[str, ...]) -> None:
    with FULL.open("wb") as full:
        said = _process(prompt, *words, out=full, err=subprocess.PIPE)

    assert said.code == 1
    assert said.err.count("\n") == 1
    assert "No space left" in said.err


@needs_full_device
def test_news_that_cannot_be_written_fails_no_run(loud: Prompt) -> None:
    quiet = step("s2", "aloud", args={"what": "it"})
    with FULL.open("wb") as full:
        said = _process(loud, *loud.run_words(quiet), "--json", out=subprocess.PIPE, err=full)

    assert said.code == 0
    assert said.document["status"] == "succeeded"


def test_closed_streams_are_no_error(prompt: Prompt) -> None:
    script = f"{sys.executable} -m graph.cli runs"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(
            ["sh", "-c", f"{script} {closed}"], cwd=prompt.folder, env=environment, check=False, timeout=90
        )
        assert done.returncode == 0, closed
