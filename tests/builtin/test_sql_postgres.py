"""`query_sql` on a real PostgreSQL server: the one of `PLANRAIL_TEST_POSTGRES`, or of this machine."""

import os
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from graph.plan import JSON
from tools import CallFailed, CallOutcome, CallSucceeded, ToolRegistry, call_tool
from tools.builtin.sql import sql_tool, tables_in
from tools.builtin.sql_results import QueryLimits

DSN = os.environ.get("PLANRAIL_TEST_POSTGRES", "postgresql:///test")
NAPS = "pg_sleep(0.01) FROM generate_series(1, 500)"
LATE_NAPS = "CASE WHEN g > 100 THEN pg_sleep(0.02) END FROM generate_series(1, 300) AS g"
QUICK = QueryLimits(seconds=0.5, busy_seconds=0.1)


@pytest.fixture(scope="module")
def sales() -> Iterator[str]:
    """The name of a table with three sales, and of its sequence with `_seq`."""
    try:
        connection = psycopg.connect(DSN, connect_timeout=5, autocommit=True)
    except psycopg.OperationalError as error:
        pytest.skip(f"no PostgreSQL server answers at {DSN}: {str(error).splitlines()[0]}")
    name = f"planrail_{uuid.uuid4().hex[:12]}"
    with connection:
        connection.execute(f"CREATE TABLE {name} (day date, region text, amount numeric(10, 2))")
        connection.execute(f"CREATE SEQUENCE {name}_seq")
        connection.execute(
            f"INSERT INTO {name} VALUES ('2026-03-02', '华东', 120.50), ('2026-03-03', '华东', 80),"
            " (NULL, 'Nord', 'NaN')"
        )
        yield name
        connection.execute(f"DROP TABLE {name}")
        connection.execute(f"DROP SEQUENCE {name}_seq")


async def _query(
    sql: str, params: JSON = None, *, dsn: str = DSN, limits: QueryLimits = QUICK
) -> CallOutcome:
    registry = ToolRegistry.of(sql_tool(dsn, limits=limits))
    return await call_tool(registry["query_sql"], {"sql": sql, "params": params}, key=None)


async def _output(sql: str, params: JSON = None, **options: Any) -> dict[str, Any]:
    outcome = await _query(sql, params, **options)
    assert isinstance(outcome, CallSucceeded), outcome
    assert isinstance(outcome.output, dict)
    return outcome.output


async def _failure(sql: str, params: JSON = None, **options: Any) -> CallFailed:
    outcome = await _query(sql, params, **options)
    assert isinstance(outcome, CallFailed), outcome
    return outcome


async def test_a_query_gives_json_data(sales: str) -> None:
    found = await _output(f"SELECT * FROM {sales} WHERE region = any($1) ORDER BY day", [["华东", "Nord"]])
    assert found == {
        "columns": ["day", "region", "amount"],
        "rows": [
            {"day": "2026-03-02", "region": "华东", "amount": 120.5},
            {"day": "2026-03-03", "region": "华东", "amount": 80},
            {"day": None, "region": "Nord", "amount": "NaN"},
        ],
        "truncated": False,
    }


@pytest.mark.parametrize(
    ("sql", "params", "value"),
    [
        ("SELECT $1::int + $2 AS v", [1, 2], 3),
        ("SELECT $1 AS v", ["'; DROP TABLE x; -- %s 中文"], "'; DROP TABLE x; -- %s 中文"),
        ("SELECT 'a%b' AS v WHERE 'a%b' LIKE '%b'", None, "a%b"),
        ("SELECT '{1,2}'::int[] AS v;", None, [1, 2]),
        ("""SELECT '{"a": [1.5]}'::jsonb AS v""", None, {"a": [1.5]}),
        ("SELECT '\\x00ff'::bytea AS v", None, {"$bytes": "AP8="}),
        ("SELECT '10.0.0.1'::inet AS v", None, "10.0.0.1"),
        ("SELECT '-Infinity'::float8 AS v", None, "-Infinity"),
    ],
)
@pytest.mark.usefixtures("sales")
async def test_values_of_all_kinds_come_and_go(sql: str, params: JSON, value: JSON) -> None:
    assert (await _output(sql, params))["rows"] == [{"v": value}]


@pytest.mark.usefixtures("sales")
async def test_a_huge_result_is_cut_without_being_fetched() -> None:
    found = await _output("SELECT g FROM generate_series(1, 100000) AS g", limits=QueryLimits(max_rows=250))
    assert (len(found["rows"]), found["truncated"]) == (250, True)


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("INSERT INTO {t} VALUES (NULL, 'x', 1)", "sql_error"),
        ("WITH x AS (DELETE FROM {t} RETURNING 1) SELECT * FROM x", "sql_error"),
        ("SELECT 1; DELETE FROM {t}", "not_read_only"),
        ("SELECT 1; COMMIT; DELETE FROM {t}", "not_read_only"),
        ("SELECT nextval('{t}_seq')", "not_read_only"),
        ("SELECT * FROM {t} FOR UPDATE", "not_read_only"),
        ("SELECT set_config('transaction_read_only', 'off', true)", "sql_error"),
        ("COMMIT", "sql_error"),
        ("", "sql_error"),
        ("SELEC 1", "sql_error"),
        ("SELECT * FROM {t} WHERE region = $1", "bad_params"),
        ("SELECT pg_sleep(30)", "query_too_slow"),
        (f"SELECT set_config('statement_timeout', '0', true), {NAPS}", "query_too_slow"),
        (f"SELECT set_config('statement_timeout', '0', true), {LATE_NAPS}", "query_too_slow"),
    ],
)
async def test_what_is_wrong_or_writes_is_a_hard_failure_without_effect(
    sales: str, sql: str, code: str
) -> None:
    failure = await _failure(sql.format(t=sales))
    assert (failure.kind, failure.code) == ("hard", code), failure
    assert (await _output(f"SELECT count(*) AS n FROM {sales}"))["rows"] == [{"n": 3}]
    assert (await _output(f"SELECT is_called AS v FROM {sales}_seq"))["rows"] == [{"v": False}]


async def test_a_locked_table_is_a_soft_failure(sales: str) -> None:
    with psycopg.connect(DSN) as other:
        other.execute(f"LOCK TABLE {sales} IN ACCESS EXCLUSIVE MODE")
        failure = await _failure(f"SELECT * FROM {sales}")
        other.rollback()
    assert failure.kind == "soft"
    assert "lock timeout" in failure.message


@pytest.mark.usefixtures("sales")
async def test_a_lost_connection_is_a_soft_failure() -> None:
    failure = await _failure("SELECT pg_terminate_backend(pg_backend_pid())")
    assert failure.kind == "soft"


def test_the_tables_can_be_told_to_models(sales: str) -> None:
    assert f"{sales}(day, region, amount)" in tables_in(DSN)


@pytest.mark.usefixtures("sales")
async def test_named_params_are_refused_with_the_remedy() -> None:
    failure = await _failure("SELECT $1", {"a": 1})
    assert (failure.code, "$1, $2" in failure.message) == ("bad_params", True)


async def test_a_server_that_is_not_there_is_a_soft_failure() -> None:
    failure = await _failure("SELECT 1", dsn="postgresql://ann:geheim@127.0.0.1:1/test")
    assert failure.kind == "soft"
    assert "geheim" not in failure.message


@pytest.mark.usefixtures("sales")
async def test_a_database_that_does_not_exist_is_a_hard_failure() -> None:
    failure = await _failure("SELECT 1", dsn=f"{DSN.rpartition('/')[0]}/planrail_no_such_database")
    assert (failure.kind, failure.code) == ("hard", "database_unavailable")
