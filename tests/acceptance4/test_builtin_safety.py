"""The built-in tools keep their word: no way out of the workspace, no inner addresses, no writing SQL."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from graph.build import build_graph
from tests.acceptance.support import given, outputs, plan, statuses, step
from tests.acceptance4.support import code, each, inner
from tests.builtin.site import Site, site
from tools.builtin import file_tools, html_tool, http_get, sql_tool

OUT = [
    r"../secret.txt",
    r"..",
    r"a/../../secret.txt",
    r"/etc/passwd",
    r"~/secret.txt",
    r"..\secret.txt",
    r"C:\secret.txt",
    r"C:secret.txt",
    r"\\host\share\x",
    r"%2e%2e/secret.txt",
    r"..%2fsecret.txt",
    r"%252e%252e/secret.txt",
    r"link/secret.txt",
    r"link.txt",
    r"file:///etc/passwd",
    r"．．/secret.txt",
]
ODD = [
    "a b.txt",
    "报告/第一季度.md",
    "-rf",
    "..x",
    "a%20b.txt",
    "x'\";.txt",
    "$(id).txt",
    "a..b",
    ".hidden",
    "émoji 🎉.txt",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("SECRET", "utf-8")
    (folder / "link").symlink_to(tmp_path, target_is_directory=True)
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


def run_each(tools: Any, tool: str, arguments: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Call a tool with each of these, in one map, and give the map's output."""
    keys = list(arguments[0])
    args = {key: f"${{item.{key}}}" for key in keys}
    value = {
        **plan(each("m", "${params.all}", inner(tool, args, max_attempts=1), min_success=0)),
        "params": {"all": arguments},
    }
    settings = {"approve_at": "never", "max_replans": 0, **more}
    result = build_graph(tools=tools, settings=settings).invoke(given(value))
    assert statuses(result)["m"] == "succeeded", result["reason"]
    output: dict[str, Any] = outputs(result)["m"]
    return output


@pytest.mark.parametrize("tool", ["read_file", "write_file"])
def test_no_way_out_of_the_workspace(workspace: Path, tool: str) -> None:
    more = {"content": "OVERWRITTEN"} if tool == "write_file" else {}

    output = run_each(file_tools(workspace), tool, [{"path": path, **more} for path in OUT])

    assert output["results"] == [None] * len(OUT)
    assert {row["code"] for row in output["failures"]} <= {"outside_workspace", "invalid_path"}
    assert (workspace.parent / "secret.txt").read_text("utf-8") == "SECRET"
    assert sorted(path.name for path in workspace.parent.iterdir()) == ["secret.txt", "workspace"]
    assert "SECRET" not in str(output)


def test_no_listing_of_what_is_outside(workspace: Path) -> None:
    output = run_each(file_tools(workspace), "list_files", [{"folder": path} for path in OUT])

    assert output["results"] == [None] * len(OUT)
    listed = build_graph(tools=file_tools(workspace)).invoke(given(plan(step("l", "list_files"))))
    assert outputs(listed)["l"]["files"] == []


def test_odd_but_good_names_work(workspace: Path) -> None:
    tools = file_tools(workspace)

    run_each(tools, "write_file", [{"path": path, "content": f"in {path}"} for path in ODD])
    output = run_each(tools, "read_file", [{"path": path} for path in ODD])

    assert [row and row["text"] for row in output["results"]] == [f"in {path}" for path in ODD]
    assert (workspace / "报告" / "第一季度.md").read_text("utf-8") == "in 报告/第一季度.md"


# -------------------------------------------------------------------------------------------- web pages


@pytest.fixture
def web() -> Iterator[Site]:
    with site() as running:
        yield running


def test_no_address_of_this_machine_in_any_form(web: Site) -> None:
    port = web.url.rstrip("/").rpartition(":")[2]
    hosts = [
        "127.0.0.1",
        "localhost",
        "localhost.",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "127.0.0.1.",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "user@127.0.0.1",
        "１２７.0.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "10.0.0.1",
        "192.168.1.1",
        "[fd00::1]",
        "[fe80::1]",
        "224.0.0.1",
        "255.255.255.255",
    ]
    urls = [f"http://{host}:{port}/" for host in hosts]
    urls += [
        r"file:///etc/passwd",
        r"ftp://127.0.0.1/",
        r"gopher://127.0.0.1/",
        r"http:///",
        r"//127.0.0.1/",
        r"data:text/plain,x",
        r"javascript:1",
        r"http://127.0.0.1\@example.com/",
    ]

    output = run_each([http_get(ports=(80, int(port)))], "http_get", [{"url": url} for url in urls])

    assert output["results"] == [None] * len(urls)
    assert {row["code"] for row in output["failures"]} <= {"refused_address", "refused_url"}, output
    assert web.asked == []


def test_every_hop_and_every_answer_of_a_resolver_is_looked_at(web: Site) -> None:
    port = int(web.url.rstrip("/").rpartition(":")[2])
    web.redirects("/hop", f"http://127.0.0.1:{port}/inner")
    web.redirects("/named", f"http://rebinding.example:{port}/inner")
    web.redirects("/file", "file:///etc/passwd")
    web.answers("/inner", "SECRET")

    async def resolve(host: str, _port: int) -> list[str]:
        return {"two-faced.example": ["93.184.216.34", "127.0.0.1"]}.get(host, ["127.0.0.1"])

    fetch = http_get(allow=[f"start.example:{port}"], ports=(port,), resolve=resolve)
    urls = [f"http://start.example:{port}{path}" for path in ("/hop", "/named", "/file")]
    urls += [f"http://two-faced.example:{port}/inner", f"http://rebinding.example:{port}/inner"]

    output = run_each([fetch], "http_get", [{"url": url} for url in urls])

    assert output["results"] == [None] * len(urls)
    assert "SECRET" not in str(output)
    assert "/inner" not in [asked.path for asked in web.asked]


# --------------------------------------------------------------------------------------------- databases


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    path = tmp_path / "sales.db"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE sales (region TEXT, amount INTEGER)")
        base.executemany("INSERT INTO sales VALUES (?, ?)", [("华东", 3), ("north", 4)] * 700)
    return path


def test_sql_cannot_write_in_any_way(sales: Path, tmp_path: Path) -> None:
    before = sales.read_bytes()
    statements = [
        *["INSERT INTO sales VALUES ('x', 1)", "DELETE FROM sales", "UPDATE sales SET amount = 0"],
        *[
            "DROP TABLE sales",
            "CREATE TABLE t (x)",
            "CREATE TEMP TABLE t (x)",
            "VACUUM",
            "BEGIN",
            "COMMIT",
            "REINDEX",
            "",
        ],
        *["PRAGMA journal_mode = WAL", "PRAGMA writable_schema = 1", "REPLACE INTO sales VALUES ('x', 1)"],
        *["WITH x AS (SELECT 1) DELETE FROM sales", "/* SELECT */ DELETE FROM sales"],
        *["SELECT 1; DELETE FROM sales", "EXPLAIN DELETE FROM sales; DELETE FROM sales"],
        f"ATTACH '{tmp_path}/other.db' AS o",
        f"VACUUM INTO '{tmp_path}/copy.db'",
        "SELECT load_extension('x')",
    ]

    output = run_each([sql_tool(sales)], "query_sql", [{"sql": sql} for sql in statements])

    assert output["results"] == [None] * len(statements)
    assert sales.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sales.db"]


def test_values_are_values_and_rows_are_capped(sales: Path) -> None:
    value = plan(
        step(
            "p",
            "query_sql",
            {"sql": "SELECT count(*) AS n FROM sales WHERE region = ?", "params": ["华东' OR 1=1 --"]},
        ),
        step(
            "q",
            "query_sql",
            {"sql": "SELECT sum(amount) AS s FROM sales WHERE region = :r", "params": {"r": "华东"}},
        ),
        step("all", "query_sql", {"sql": "SELECT * FROM sales"}),
    )

    result = build_graph(tools=[sql_tool(sales)]).invoke(given(value))

    assert outputs(result)["p"]["rows"] == [{"n": 0}]
    assert outputs(result)["q"]["rows"] == [{"s": 2100}]
    assert len(outputs(result)["all"]["rows"]) == 1000
    assert outputs(result)["all"]["truncated"] is True


# ------------------------------------------------------------------------------------------------- pages


def test_values_in_pages_are_escaped_and_templates_stay_in_the_sandbox() -> None:
    data = {"name": "<script>alert(1)</script>", "rows": ["销售"]}
    good = {"template": "<p>{{ name }}</p>{% for row in rows %}{{ row }}{% endfor %}", "data": data}
    bad = [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{% include '/etc/passwd' %}", "{{ missing }}", "{% for x in %}",
    ]  # fmt: skip
    value = plan(
        step("good", "render_html", good),
        *[
            step(f"bad{number}", "render_html", {"template": text, "data": {}})
            for number, text in enumerate(bad)
        ],
    )

    result = build_graph(tools=[html_tool()], settings={"max_replans": 0, "heal_references": False}).invoke(
        given(value)
    )

    assert outputs(result)["good"] == "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>销售"
    assert {statuses(result)[f"bad{number}"] for number in range(len(bad))} == {"failed"}
    assert code(result, "bad3") == "template_undefined"
    assert code(result, "bad4") == "template_syntax"
