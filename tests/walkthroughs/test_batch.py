"""The batch: what it writes, what it says is missing, and that a killed one asks for nothing twice."""

import asyncio
import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from checkpoints import Journal, StepEntry, open_store
from graph.demo.batch import recorded_answer
from graph.demo.products import make_products, product_rows
from tests.cli.support import Prompt
from tests.support.openai_server import OpenAIServer, Reply, text

ROWS = {row[0]: row for row in product_rows()}
UNMEASURED = {sku for sku, row in ROWS.items() if row[2] is None}
UNDER_WAY = 16
"""Items at most that have begun and are not yet written down when a process is killed."""


def _catalogue(folder: Path) -> dict[str, str]:
    """Each product's description in the page that was written."""
    page = (folder / "planrail-batch" / "catalogue.html").read_text("utf-8")
    return dict(re.findall(r"<tr><td>(P\d+)</td><td>[^<]*</td>\s*<td>(.*?)</td></tr>", page))


def _failures(folder: Path) -> list[dict[str, Any]]:
    found = json.loads((folder / "planrail-batch" / "failures.json").read_text("utf-8"))
    assert isinstance(found, list)
    return found


def _assert_complete(folder: Path) -> None:
    """Every product is in the page, with its own material and size or as one without a description."""
    described = _catalogue(folder)
    assert list(described) == list(ROWS)
    for sku, (_, name, material, size, _) in ROWS.items():
        if material is None:
            assert described[sku] == '<span class="missing">没有介绍</span>'
        else:
            assert described[sku].startswith(name)
            assert material in described[sku]
            assert size in described[sku]
    failures = _failures(folder)
    assert [failure["item"]["sku"] for failure in failures] == sorted(UNMEASURED)
    assert {failure["code"] for failure in failures} == {"output_rejected"}


def _items(folder: Path) -> dict[int, StepEntry]:
    with open_store(folder / "planrail.db") as opened:
        steps = asyncio.run(Journal(opened.store, "b").load()).steps
    return {entry.item: entry for entry in steps.values() if entry.item is not None}


def test_it_describes_all_products_and_lists_those_that_lack_facts(prompt: Prompt) -> None:
    said = prompt("demo", "batch", "--run-id", "b")

    assert said.code == 0, said.err
    assert "RECORDED" in said.out
    assert "12 products without a description" in said.out
    _assert_complete(prompt.folder)
    page = (prompt.folder / "planrail-batch" / "catalogue.html").read_text("utf-8")
    assert page.count("缺少 material") == len(UNMEASURED)
    document = prompt("show", "b", "--json").document
    assert document["status"] == "succeeded"
    assert "12 of 300 items failed" in document["reason"]
    (describe,) = [row for row in document["steps"] if row["id"] == "describe"]
    assert describe["items"] == {"total": 300, "succeeded": 288, "failed": 12, "not_taken": 0}
    assert document["usage"]["model_calls"] == 288 + 12 * 3
    assert {row["tool"] for row in document["effects"]} == {"write_file"}
    assert all(row["args"] for row in document["effects"])


@pytest.mark.crash
def test_killed_and_resumed_it_asks_for_no_finished_product_again(prompt: Prompt) -> None:
    with OpenAIServer(_described) as server:
        for name, value in server.environment.items():
            prompt.patch.setenv(name, value)
        process = prompt.spawn("demo", "batch", "--run-id", "b")
        _kill_after(process, server, 120)
        finished = {at for at, entry in _items(prompt.folder).items() if entry.status.settled}
        assert 60 < len(finished) < 200
        assert "resume b" in prompt("show", "b").out

        resumed = prompt.spawn("resume", "b")
        out, err = resumed.communicate(timeout=120)

    assert resumed.returncode == 0, err
    assert "catalogue: " in out
    _assert_complete(prompt.folder)
    asked = Counter(re.findall(r'"sku": ?"(P\d+)"', "\n".join(server.prompts())))
    assert set(asked) == set(ROWS)
    twice = {sku for sku, count in asked.items() if count > (3 if sku in UNMEASURED else 1)}
    assert twice.isdisjoint(f"P{at + 1:04}" for at in finished)
    assert len(twice) <= UNDER_WAY


def _described(body: dict[str, Any]) -> Reply:
    asked = "\n".join(str(each["content"]) for each in body["messages"])
    return text(recorded_answer(asked), delay=0.02)


def _kill_after(process: subprocess.Popen[str], server: OpenAIServer, requests: int) -> None:
    deadline = time.monotonic() + 60
    while len(server.requests) < requests:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "no progress"
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)


def test_a_model_that_leaves_facts_out_is_stopped_early_and_nothing_is_written(prompt: Prompt) -> None:
    with OpenAIServer(text("一件好商品。")) as server:
        for name, value in server.environment.items():
            prompt.patch.setenv(name, value)
        said = prompt("demo", "batch", "--variant", "short", "--run-id", "b", "--json")

    assert said.code == 1, said.err
    assert "RECORDED" not in said.err
    document = said.document
    assert document["status"] == "partial"
    (describe,) = [row for row in document["steps"] if row["id"] == "describe"]
    assert describe["error"]["code"] == "too_few_succeeded"
    assert len(server.requests) < 40 * 3
    assert document["effects"] == []
    assert not (prompt.folder / "planrail-batch").exists()


def test_the_products_are_made_once(tmp_path: Path) -> None:
    path = tmp_path / "products.db"
    make_products(path)
    before = path.read_bytes()
    make_products(path)
    assert path.read_bytes() == before
    assert len(ROWS) == 300
    assert len(UNMEASURED) == 12


def test_the_picture_shows_the_map_between_the_lookup_and_the_files(prompt: Prompt) -> None:
    prompt.patch.setenv("OPENAI_API_KEY", "nobody-is-asked")
    prompt.patch.setenv("PLANRAIL_DATABASE", "products.db")
    prompt.patch.setenv("PLANRAIL_PAGE_TEMPLATES", ".")
    drawn = prompt("plan", "--template", "batch", "--tools", "tools.builtin:office", "--mermaid").out
    assert "describe<br/>describe each product" in drawn
    assert {"n0 --> n1", "n1 --> n2", "n2 --> n3", "n1 --> n4"} <= set(map(str.strip, drawn.splitlines()))
