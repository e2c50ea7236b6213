"""`query_sql` on a real SQLite file."""

import hashlib
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph.plan import JSON, Risk
from tools import (
    CallFailed,
    CallOutcome,
    CallSucceeded,
    HardToolError,
    ToolRegistry,
    ToolSetupError,
    call_tool,
)
from tools.builtin.sql import sql_tool, tables_in
from tools.builtin.sql_results import QueryLimits

QUICK = QueryLimits(seconds=0.2, busy_seconds=0.05)
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

WORDS = (
    *("SELECT", "DELETE FROM sales", "UPDATE sales SET amount = 1", "sales", "*", "FROM", "RETURNING *", ";"),
    *("PRAGMA", "ATTACH 'x' AS y", "WITH a AS (SELECT 1)", "--", "/*", "*/", "(", ")", "COMMIT"),
)


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    path = tmp_path / "sales #1 100%20销售.db"
    with closing(sqlite3.connect(path)) as base, base:
        base.executescript(
            "CREATE TABLE sales (day TEXT, region TEXT, amount REAL, note BLOB);"
            "INSERT INTO sales VALUES ('2026-03-02', '华东', 120.5, NULL),"
            " ('2026-03-02', 'Nord', 9e999, NULL), ('2026-03-03', '华东', 80, x'00ff');"
            "CREATE VIRTUAL TABLE notes USING fts5(text); INSERT INTO notes VALUES ('quiet week');"
            "CREATE VIEW trap AS SELECT load_extension('x') AS y;"
        )
    return path


@pytest.fixture
def renamed(sales: Path) -> Path:
    return sales.rename(sales.with_name("plain 销售.db"))


async def _query(database: str | Path, args: dict[str, Any], limits: QueryLimits = QUICK) -> CallOutcome:
    registry = ToolRegistry.of(sql_tool(database, limits=limits))
    return await call_tool(registry["query_sql"], args, key=None)


async def _rows(database: str | Path, sql: str, params: JSON = None, **options: Any) -> list[Any]:
    outcome = await _query(database, {"sql": sql, "params": params}, **options)
    assert isinstance(outcome, CallSucceeded), outcome
    assert isinstance(outcome.output, dict)
    rows = outcome.output["rows"]
    assert isinstance(rows, list)
    return rows


async def _failure(database: str | Path, sql: str, params: JSON = None) -> CallFailed:
    outcome = await _query(database, {"sql": sql, "params": params})
    assert isinstance(outcome, CallFailed), outcome
    return outcome


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


async def test_a_query_gives_columns_rows_and_whether_there_were_more(sales: Path) -> None:
    sql = "SELECT region, sum(amount) AS total FROM sales WHERE day >= ? GROUP BY region ORDER BY region DESC"
    outcome = await _query(sales, {"sql": sql, "params": ["2026-03-01"]})
    assert outcome == CallSucceeded(
        {
            "columns": ["region", "total"],
            "rows": [{"region": "华东", "total": 200.5}, {"region": "Nord", "total": "Infinity"}],
            "truncated": False,
        }
    )


async def test_the_row_cap_shows(sales: Path) -> None:
    outcome = await _query(sales, {"sql": "SELECT day FROM sales"}, QueryLimits(max_rows=2))
    assert isinstance(outcome, CallSucceeded)
    assert isinstance(outcome.output, dict)
    assert (len(outcome.output["rows"]), outcome.output["truncated"]) == (2, True)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["sqlite:///{}", "SQLITE:///{}", "{}"])
async def test_a_database_is_named_by_path_or_url(
    renamed: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await _rows(form.format(renamed), "SELECT 1 AS one") == [{"one": 1}]
    monkeypatch.chdir(renamed.parent)
    assert await _rows(form.format(renamed.name), "SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.parametrize(
    ("sql", "params", "first"),
    [
        ("SELECT ? AS v", ["'; DROP TABLE sales; --"], "'; DROP TABLE sales; --"),
        ("SELECT :v AS v", {"v": "中文"}, "中文"),
        ("SELECT :v AS v", {":v": None}, None),
        ("SELECT $v + 1 AS v", {"v": 2}, 3),
        ("SELECT group_concat(value) AS v FROM json_each(?)", [[1, 2]], "1,2"),
        ("SELECT text AS v FROM notes WHERE notes MATCH ?", ["quiet"], "quiet week"),
        ("SELECT name AS v FROM pragma_table_info('sales')", None, "day"),
        ("SELECT cast(x'ff41' AS TEXT) AS v", None, "\ufffdA"),
        ("PRAGMA table_info(sales)", None, None),
        ("EXPLAIN QUERY PLAN SELECT 1", None, None),
        ("SELECT 1 AS v; -- done", None, 1),
    ],
)
async def test_whatever_only_reads_is_allowed(sales: Path, sql: str, params: JSON, first: JSON) -> None:
    rows = await _rows(sales, sql, params)
    assert rows[0].get("v") == first


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO sales VALUES (1, 2, 3, 4)",
        "UPDATE sales SET amount = 0 RETURNING amount",
        "WITH x AS (SELECT 1) DELETE FROM sales",
        "REPLACE INTO sales VALUES (1, 2, 3, 4)",
        "CREATE TABLE other (x)",
        "CREATE TEMP TABLE other (x)",
        "DROP TABLE sales",
        "ALTER TABLE sales ADD COLUMN x",
        "ATTACH 'other.db' AS other",
        "VACUUM",
        "VACUUM INTO 'copy.db'",
        "PRAGMA query_only = OFF",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA writable_schema = ON",
        "PRAGMA user_version = 7",
        "BEGIN IMMEDIATE",
        "SAVEPOINT s",
        "REINDEX",
        "ANALYZE",
        "SELECT load_extension('x')",
    ],
)
async def test_whatever_does_more_than_read_is_refused_without_effect(sales: Path, sql: str) -> None:
    before, names = _digest(sales), sorted(sales.parent.iterdir())
    failure = await _failure(sales, sql)
    assert (failure.kind, failure.code) == ("hard", "not_read_only")
    assert "write one SELECT statement" in failure.message
    assert (_digest(sales), sorted(sales.parent.iterdir())) == (before, names)


@pytest.mark.parametrize(
    ("sql", "params", "code"),
    [
        ("SELEC 1", None, "sql_error"),
        ("SELECT nothing FROM sales", None, "sql_error"),
        ("", None, "sql_error"),
        ("-- nothing", None, "sql_error"),
        ("SELECT 1; DROP TABLE sales", None, "sql_error"),
        ("UPDATE sqlite_master SET sql = ''", None, "sql_error"),
        ("SELECT * FROM trap", None, "sql_error"),
        ("SELECT zeroblob(900000000)", None, "sql_error"),
        ("SELECT 1 \x00", None, "sql_error"),
        ("SELECT ?", None, "bad_params"),
        ("SELECT 1", [1], "bad_params"),
        ("SELECT :a", {"b": 1}, "bad_params"),
        ("SELECT ?", [2**70], "bad_params"),
        ("SELECT ?", ["\ud800"], "bad_params"),
    ],
)
async def test_a_wrong_query_is_a_hard_failure(sales: Path, sql: str, params: JSON, code: str) -> None:
    before = _digest(sales)
    failure = await _failure(sales, sql, params)
    assert (failure.kind, failure.code) == ("hard", code)
    assert _digest(sales) == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(words=st.lists(st.sampled_from(WORDS), max_size=8))
async def test_no_text_changes_the_file(sales: Path, words: list[str]) -> None:
    before = _digest(sales)
    await _query(sales, {"sql": " ".join(words)})
    assert _digest(sales) == before


async def test_a_query_without_end_is_stopped(sales: Path) -> None:
    failure = await _failure(sales, ENDLESS)
    assert (failure.kind, failure.code) == ("hard", "query_too_slow")


async def test_a_locked_database_is_a_soft_failure(sales: Path) -> None:
    with closing(sqlite3.connect(sales, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        failure = await _failure(sales, "SELECT * FROM sales")
    assert (failure.kind, failure.code) == ("soft", "soft_tool_error")
    assert "locked" in failure.message


async def test_a_database_in_wal_mode_is_read_while_another_writes(sales: Path) -> None:
    with closing(sqlite3.connect(sales, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM sales")
        assert await _rows(sales, "SELECT count(*) AS n FROM sales") == [{"n": 3}]


@pytest.mark.parametrize("content", [None, b"no database" * 100])
async def test_a_file_that_is_no_database_is_a_hard_failure(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "some.db"
    if content is not None:
        path.write_bytes(content)
    failure = await _failure(path, "SELECT * FROM sqlite_master")
    assert (failure.kind, failure.code) == ("hard", "database_unavailable")
    assert path.exists() == (content is not None)


@pytest.mark.parametrize(
    ("database", "says"),
    [
        ("mysql://host/db", "cannot read a mysql database"),
        (":memory:", "in memory"),
        ("", "needs the path"),
        ("sqlite://", "sqlite:///PATH"),
        ("sqlite://host/x.db", "no host"),
        ("postgresql://user:geheim@host/db?colour=1", "postgresql://USER@HOST"),
    ],
)
def test_an_address_that_cannot_be_read_is_refused_at_once(database: str, says: str) -> None:
    with pytest.raises(ToolSetupError, match=says) as caught:
        sql_tool(database)
    assert "geheim" not in str(caught.value)


def test_postgresql_without_its_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ToolSetupError, match=r"pip install 'planrail\[postgres\]'"):
        sql_tool("postgresql://host/db")


def test_the_tables_can_be_told_to_models(sales: Path, tmp_path: Path) -> None:
    told = tables_in(sales)
    assert told.startswith("Tables: notes(text)")
    assert told.endswith("; sales(day, region, amount, note).")
    with closing(sqlite3.connect(sales)) as base, base:
        base.execute("DROP VIEW trap")
        base.execute("CREATE VIEW totals AS SELECT region, sum(amount) AS total FROM sales GROUP BY 1")
    assert tables_in(sales).endswith("; sales(day, region, amount, note); totals(region, total).")
    empty = tmp_path / "empty.db"
    sqlite3.connect(empty).close()
    empty.touch()
    assert tables_in(empty) == ""
    with pytest.raises(HardToolError, match="there is no database file"):
        tables_in(tmp_path / "none.db")


def test_the_policy_is_that_of_a_read_and_models_are_told_the_dialect(sales: Path) -> None:
    tool = ToolRegistry.of(sql_tool(sales, about="Table sales(day, region, amount).", name="query_sales"))
    found = tool["query_sales"]
    assert (found.effect, found.risk, found.policy.repeatable) == ("read", Risk.LOW, True)
    assert "SQLite" in found.description
    assert "Table sales(day, region, amount)." in found.description
