"""Killed while it undoes, or inside a part that was planned: each thing once, and no part planned twice."""

import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.acceptance.command_line import CommandLine
from tests.acceptance.support import outputs, plan, statuses, step
from tests.acceptance.toolbox import Toolbox
from tests.acceptance4.support import part
from tests.support.openai_server import OpenAIServer, obj

pytestmark = pytest.mark.crash

SOURCE = '''
"""Writes that take a while; every call is a line, every effect a file named by its key."""
import json
import time
from pathlib import Path
from typing import Annotated

from tools import HardToolError, IdempotencyKey, policy

HERE = Path(__file__).parent


@policy(effect="write", idempotent=True, risk="low", grounded=frozenset())
def act(what: str, key: Annotated[str, IdempotencyKey]) -> str:
    """Do it, once for each key."""
    with (HERE / "calls.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps({"tool": "act", "event": "call", "args": {"what": what}}) + "\\n")
    time.sleep(0.1)
    (HERE / f"effect-{key}").write_text(what, "utf-8")
    return f"did {what}"


@policy(effect="read")
def look(name: str) -> str:
    """Find nothing."""
    raise HardToolError("not_there", f"there is no {name}")


TOOLS = [act, look]
'''


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path, Toolbox.written(tmp_path, SOURCE))


def killed(line: CommandLine, arguments: list[str], calls: int) -> None:
    """Start a command and kill it as soon as so many calls were made."""
    process = line.spawn(*arguments)
    limit = time.monotonic() + 60
    while len(line.toolbox.calls("act")) < calls and process.poll() is None:
        assert time.monotonic() < limit
        time.sleep(0.003)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)


def effects(line: CommandLine) -> Counter[str]:
    return Counter(path.read_text("utf-8") for path in line.folder.glob("effect-*"))


def order(line: CommandLine) -> list[str]:
    """What was called, the first time of each."""
    return list(dict.fromkeys(row["what"] for row in line.toolbox.calls("act")))


def test_undoing_goes_on_where_it_was_killed(line: CommandLine) -> None:
    names = ["a", "b", "c"]
    steps = [
        step(
            name, "act", {"what": name}, depends_on=names[:at][-1:],
            compensate={"tool": "act", "args": {"what": "undo ${result}"}},
        )
        for at, name in enumerate(names)
    ]  # fmt: skip
    value = plan(*steps, step("bad", "look", {"name": "x"}, depends_on=["c"]))
    start = line.run_arguments(value, "--set", "compensate=true", "--set", "max_replans=0")
    resume = ["resume", "r1", "--db", str(line.database), "--json"]

    killed(line, start, 4)  # the first undoing is under way
    killed(line, resume, 6)
    ended = line(*resume)

    assert ended.code == 1, ended.text
    assert order(line) == ["a", "b", "c", "undo did c", "undo did b", "undo did a"]
    assert effects(line) == Counter(order(line))
    found = statuses(ended.document)
    assert {found[f"{name}@undo"] for name in names} == {"succeeded"}
    assert len([row for row in ended.document["effects"] if row["status"] == "succeeded"]) == 6


def test_a_part_that_was_planned_is_not_planned_again(line: CommandLine) -> None:
    steps = [
        step(f"s{number}", "act", {"what": f"s{number}"}, depends_on=[f"s{number - 1}"][: number > 0])
        for number in range(3)
    ]
    with OpenAIServer(obj({"plan": {"steps": steps}})) as server:
        line.extra.update(server.environment)
        value = plan(
            step("first", "act", {"what": "first"}),
            part("p", "carry on after ${first}", ["act"]),
            step("last", "act", {"what": "last after ${p}"}),
        )
        killed(line, line.run_arguments(value), 3)
        asked = len(server.requests)
        assert asked >= 1

        ended = line("resume", "r1", "--db", str(line.database), "--json")

        assert ended.code == 0, ended.text
        assert len(server.requests) == asked
    assert order(line) == ["first", "s0", "s1", "s2", "last after did s2"]
    assert effects(line) == Counter(order(line))
    assert outputs(ended.document)["p"] == "did s2"
    assert ended.document["plan"]["revision"] == 2
