"""A map that is killed: what is done stays done, the rest is done once, and a person is asked once."""

import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.command_line import CommandLine
from tests.acceptance.support import by_id, outputs, plan, statuses
from tests.acceptance.toolbox import Toolbox
from tests.acceptance4.support import each, inner, step

pytestmark = pytest.mark.crash

SOURCE = '''
"""Tools for a map that is killed; every call is a line, every effect a file named by its key."""
import json
import time
from pathlib import Path
from typing import Annotated

from tools import HardToolError, IdempotencyKey, policy

HERE = Path(__file__).parent


def note(**what):
    with (HERE / "calls.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(what) + "\\n")


@policy(effect="write", idempotent=True, risk="low", max_concurrency=2)
def describe(product: str, key: Annotated[str, IdempotencyKey]) -> str:
    """Describe a product, once for each key."""
    note(tool="describe", event="call", args={"product": product})
    time.sleep(0.03)
    if product.endswith("7"):
        raise HardToolError("no_such_product", f"there is no {product}")
    (HERE / f"effect-{key}").write_text(product, "utf-8")
    return f"about {product}"


@policy(effect="write", idempotent=False, risk="low", max_concurrency=1)
def ship(product: str) -> str:
    """Ship a product; nobody knows of keys here."""
    note(tool="ship", event="call", args={"product": product})
    time.sleep(0.05)
    return f"shipped {product}"


@policy(effect="read")
def after(results: list) -> int:
    """Count."""
    note(tool="after", event="call", args={})
    return sum(result is not None for result in results)


TOOLS = [describe, ship, after]
'''

PRODUCTS = [f"p{number}" for number in range(30)]
GOOD = [name for name in PRODUCTS if not name.endswith("7")]


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path, Toolbox.written(tmp_path, SOURCE))


def whole(tool: str, products: list[str] = PRODUCTS, **more: Any) -> dict[str, Any]:
    return plan(
        each("m", products, inner(tool, {"product": "${item}"}), min_success=0.5, **more),
        step("n", "after", {"results": "${m.results}"}),
    )


def killed(line: CommandLine, arguments: list[str], tool: str, calls: int) -> None:
    """Start a command and kill it as soon as a tool was called so often."""
    process = line.spawn(*arguments)
    limit = time.monotonic() + 60
    while len(line.toolbox.calls(tool)) < calls and process.poll() is None:
        assert time.monotonic() < limit
        time.sleep(0.003)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)


def test_each_item_happens_once_however_often_it_is_killed(line: CommandLine) -> None:
    arguments = line.run_arguments(whole("describe"))
    killed(line, arguments, "describe", 6)
    before = {path.name for path in line.folder.glob("effect-*")}
    resume = ["resume", "r1", "--db", str(line.database), "--json"]
    killed(line, resume, "describe", 18)

    ended = line(*resume)

    assert ended.code == 0, ended.text
    document = ended.document
    assert outputs(document)["m"]["results"] == [
        None if name.endswith("7") else f"about {name}" for name in PRODUCTS
    ]
    assert [row["index"] for row in outputs(document)["m"]["failures"]] == [7, 17, 27]
    assert outputs(document)["n"] == 27
    effects = [path.read_text("utf-8") for path in line.folder.glob("effect-*")]
    assert Counter(effects) == Counter(GOOD)
    assert before <= {path.name for path in line.folder.glob("effect-*")}
    made = Counter(row["product"] for row in line.toolbox.calls("describe"))
    assert set(made) == set(PRODUCTS)
    assert sum(made.values()) <= len(PRODUCTS) + 4  # only what was under way is called again, by its key
    assert len([row for row in document["effects"] if row["status"] == "succeeded"]) == 27


def test_a_write_without_keys_that_was_under_way_is_a_persons_to_decide(line: CommandLine) -> None:
    products = PRODUCTS[:6]
    arguments = line.run_arguments(whole("ship", products))
    killed(line, arguments, "ship", 3)

    resumed = line("resume", "r1", "--db", str(line.database), "--json")

    made = Counter(row["product"] for row in line.toolbox.calls("ship"))
    assert set(made.values()) == {1}, "no write in doubt is called again by itself"
    if resumed.code == 0:  # the kill fell between two calls
        assert statuses(resumed.document)["m"] == "succeeded"
        return
    assert resumed.code == 3, resumed.text
    assert {row["step"].split("#")[0] for row in resumed.document["pending"]} == {"m"}
    shown = line("show", "r1", "--db", str(line.database))
    assert "m" in shown.out


def test_an_approval_given_once_holds_for_all_items_after_a_kill(line: CommandLine) -> None:
    waiting = line.run(whole("describe", PRODUCTS[:20], require_approval=True))
    assert waiting.code == 3, waiting.text
    assert [row["step"] for row in waiting.document["pending"]] == ["m"]
    assert line.toolbox.calls("describe") == []
    killed(line, ["approve", "r1", "m", "--by", "ada", "--db", str(line.database)], "describe", 5)

    ended = line("resume", "r1", "--db", str(line.database), "--json")

    assert ended.code == 0, ended.text
    assert by_id(ended.document)["m"]["status"] == "succeeded"
    effects = [path.read_text("utf-8") for path in line.folder.glob("effect-*")]
    assert Counter(effects) == Counter(name for name in PRODUCTS[:20] if name in GOOD)
