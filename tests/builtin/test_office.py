"""The built-in tools in plans: in a compiled graph, and from the command line as the environment says."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph.state import CompiledStateGraph

from checkpoints import open_store
from graph import build_graph
from graph.cli.configuring import OTHER_VARIABLES
from nodes.prompts import tool_list
from tests.builtin.site import Site
from tests.executor.shop import plan, step
from tests.guards.source import ROOT
from tests.support.models import says
from tools import ToolLoadError, load_tools
from tools.builtin import FileLimits, WebLimits, file_tools, http_get, web_search
from tools.builtin.address import DEFAULT_PORTS
from tools.builtin.search import MAX_RESULTS

STEPS: list[dict[str, Any]] = [
    {"id": "search", "action": "tool", "tool": "web_search", "args": {"query": "咖啡 价格"}},
    {"id": "page", "action": "tool", "tool": "http_get", "args": {"url": "${search.results[0].url}"}},
    {
        "id": "save",
        "action": "tool",
        "tool": "write_file",
        "args": {"path": "报告/${search.results[0].title}.md", "content": "# 结果\n\n${page.text}\n"},
    },
    {"id": "read", "action": "tool", "tool": "read_file", "args": {"path": "${save.path}"}},
    {
        "id": "list",
        "action": "tool",
        "tool": "list_files",
        "args": {"folder": "报告", "pattern": "*.md"},
        "depends_on": ["save"],
    },
]


def _serve(web: Site) -> None:
    web.answers_json("/search", {"results": [{"title": "咖啡", "url": f"{web.url}/coffee", "content": "豆"}]})
    web.answers("/coffee", "每公斤 98 元", "text/plain; charset=utf-8")


def _outputs(document: dict[str, Any]) -> dict[str, Any]:
    return {step["id"]: step["output"] for step in document["steps"]}


def test_a_plan_searches_fetches_writes_and_reads(web: Site, tmp_path: Path) -> None:
    _serve(web)
    tools = [
        *file_tools(tmp_path / "workspace"),
        http_get(allow=[f"127.0.0.1:{web.port}"]),
        web_search("searxng", url=web.url),
    ]
    with open_store(tmp_path / "runs.db") as opened:
        graph = build_graph(tools=tools, checkpointer=opened.checkpointer, store=opened.store)
        plan = {"goal": "save the price", "steps": STEPS}
        result = graph.invoke(
            {"goal": "save the price", "plan": plan}, {"configurable": {"thread_id": "office"}}
        )
    assert result["status"] == "succeeded", result["reason"]
    found = _outputs(result)
    assert found["read"]["text"] == "# 结果\n\n每公斤 98 元\n"
    assert [each["path"] for each in found["list"]["files"]] == ["报告/咖啡.md"]
    assert [effect["step"] for effect in result["effects"]] == ["save"]
    assert (tmp_path / "workspace" / "报告" / "咖啡.md").read_text("utf-8") == found["read"]["text"]


def test_what_a_page_leads_to_is_refused_as_what_a_plan_leads_to(web: Site, tmp_path: Path) -> None:
    """Nothing that a plan, a page or a search result says makes the tools reach outside."""
    web.redirects("/start", "http://169.254.169.254/latest/meta-data/")
    web.answers_json("/search", {"results": [{"title": "../../out", "url": f"{web.url}/start"}]})
    tools = [
        *file_tools(tmp_path / "workspace"),
        http_get(allow=[f"127.0.0.1:{web.port}"]),
        web_search("searxng", url=web.url),
    ]
    save = {**STEPS[2], "args": {"path": "报告/${search.results[0].title}.md", "content": "x"}}
    plan = {"goal": "look", "steps": [STEPS[0], STEPS[1], save]}
    result = build_graph(tools=tools).invoke({"goal": "look", "plan": plan})
    errors = {step["id"]: step["error"] for step in result["steps"]}
    assert errors["page"]["code"] == "refused_address"
    assert errors["save"]["code"] == "outside_workspace"
    assert not any(tmp_path.rglob("*.md"))


def test_the_command_line_takes_the_tools_from_the_environment(web: Site, tmp_path: Path) -> None:
    _serve(web)
    (tmp_path / "plan.json").write_text(json.dumps({"goal": "g", "steps": STEPS}), encoding="utf-8")
    command = [sys.executable, "-m", "graph.cli", "run", "--plan", "plan.json", "--json"]
    done = subprocess.run(
        [*command, "--tools", "tools.builtin:office"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PLANRAIL_WORKSPACE": "files",
            "PLANRAIL_HTTP_ALLOW": f"other.example, 127.0.0.1:{web.port}",
            "PLANRAIL_SEARCH_URL": web.url,
            "PLANRAIL_SEARCH_KEY": "s3cret-key",
        },
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert _outputs(json.loads(done.stdout))["read"]["path"] == "报告/咖啡.md"
    assert (tmp_path / "files" / "报告" / "咖啡.md").is_file()
    assert web.asked[0].headers["authorization"] == "Bearer s3cret-key"
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"s3cret-key" in path.read_bytes()]


def test_planners_are_told_what_the_tools_give() -> None:
    told = tool_list(load_tools("tools.builtin:office"))
    assert "-> {path: string, text: string, chars: integer, truncated: boolean} [read]" in told
    assert "results: list of ({title: string, url: string, snippet: string})" in told
    assert "http_get(url: string) -> {url: string, status: integer" in told


async def test_a_model_cannot_carry_data_out_in_a_url_that_it_made_up(web: Site) -> None:
    web.answers("/page", "hello")

    def reads(url: str) -> dict[str, Any]:
        return plan(step("get", "http_get", {"url": url}))

    model = says(reads(f"{web.url}/page?all=secrets"), reads(f"{web.url}/page"))
    graph = build_graph(tools=[http_get(allow=["127.0.0.1"], grounded=True)], models=model)
    result = await graph.ainvoke({"goal": f"read {web.url}/page"})
    assert result["status"] == "succeeded", result["reason"]
    assert [(asked.path, asked.query) for asked in web.asked] == [("/page", {})]


PAGE = (ROOT / "docs" / "tools.md").read_text("utf-8")
BASE = {"read_file", "write_file", "list_files", "http_get"}


def test_the_search_is_there_when_it_can_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(load_tools("tools.builtin:office").names()) >= BASE | {"web_search"}
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "ddgs" else found(name, *more)
    )
    without = set(load_tools("tools.builtin:office").names())
    assert without >= BASE
    assert "web_search" not in without
    monkeypatch.setenv("PLANRAIL_SEARCH_URL", "https://searx.example/")
    assert "web_search" in load_tools("tools.builtin:office").names()


@pytest.mark.parametrize(
    ("variable", "value", "why"),
    [
        ("PLANRAIL_WORKSPACE", __file__, "is no folder"),
        ("PLANRAIL_WORKSPACE_ENCODINGS", "utf-8, klingon", "klingon"),
        ("PLANRAIL_HTTP_ALLOW", "http://x", "cannot be allowed"),
        ("PLANRAIL_SEARCH_PROVIDER", "bing", "choose one of"),
        ("PLANRAIL_SEARCH_PROVIDER", "json", "needs a url"),
    ],
)
def test_a_variable_that_cannot_work_is_named_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, why: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ToolLoadError, match=why):
        load_tools("tools.builtin:office")


def test_the_command_line_knows_the_variables_that_the_tools_read() -> None:
    source = (ROOT / "tools" / "builtin" / "office.py").read_text("utf-8")
    read = set(re.findall(r'_(?:variable|listed)\("(PLANRAIL_[A-Z_]+)"', source))
    assert read
    assert read - set(OTHER_VARIABLES) == set()
    assert [name for name in sorted(read) if f"`{name}`" not in PAGE] == []


def test_the_program_on_the_page_gives_a_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)[0]
    scope: dict[str, Any] = {}
    exec(compile(program, "tools.md", "exec"), scope)
    assert isinstance(scope["graph"], CompiledStateGraph)
    assert not any(tmp_path.iterdir())


def test_the_page_tells_the_limits_that_hold() -> None:
    files, web, told = FileLimits(), WebLimits(), " ".join(PAGE.split())
    for limit in (
        f"`max_chars` ({files.read_chars:,} at most)",
        f"A file may have {files.read_bytes // 1_000_000} MB",
        f"up to {files.write_bytes // 1_000_000} MB",
        f"sorted, {files.listed:,} at most",
        f"At most {web.max_bytes:,} bytes",
        f"each redirect ({web.redirects} at most)",
        f"may take {web.seconds:g} seconds",
        f"ports={DEFAULT_PORTS}",
        f"{MAX_RESULTS} results at most",
    ):
        assert limit in told
