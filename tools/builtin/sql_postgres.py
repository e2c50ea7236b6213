"""Reading a PostgreSQL database in a transaction that its server keeps read-only."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from graph.plan import JSON
from tools.builtin.sql_results import QueryLimits, tabulate
from tools.builtin.sql_sqlite import Params
from tools.errors import HardToolError, SoftToolError, ToolSetupError

if TYPE_CHECKING:
    import psycopg

_PAGE_ROWS = 100
_SOFT_CLASSES = ("08", "40", "53", "55", "57")
"""SQLSTATE classes of lost connections, rollbacks, full or busy servers, and servers that shut down."""

_CANCELED, _READ_ONLY, _FORBIDDEN, _SYNTAX = "57014", "25006", "42501", "42601"
_BAD_PARAMS = ("08P01", "42P02", "42P18", "22P02", "22023")
_MULTIPLE = "cannot insert multiple commands"
_FOR_GOOD = ("authentication failed", "does not exist", "no pg_hba.conf entry", "no password supplied")
"""What a server says when it turns a connection down for good; the SQLSTATE is lost on that way."""


def check_postgres(dsn: str) -> None:
    """Make sure that the driver is there and understands the address; connect to nothing.

    Raises:
        ToolSetupError: What is missing or wrong, without the address, which may hold a password.
    """
    try:
        import psycopg  # noqa: PLC0415 - an extra that SQLite alone does not need
    except ImportError as error:
        remedy = "pip install 'planrail[postgres]'"
        raise ToolSetupError(f"query_sql needs psycopg for PostgreSQL: {remedy}") from error
    try:
        psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        form = "postgresql://USER@HOST:PORT/DATABASE"
        raise ToolSetupError(f"the PostgreSQL address of query_sql cannot be read; write {form}") from None


def read_postgres(dsn: str, sql: str, params: Params, limits: QueryLimits) -> dict[str, JSON]:
    """Run one query and return its table, as `tabulate` does.

    The statement becomes a cursor of the server's, in a read-only transaction that is rolled back: only a
    SELECT or VALUES can be one, and no more rows come over than are wanted.

    Raises:
        HardToolError: "database_unavailable", "not_read_only", "sql_error", "bad_params",
            "permission_denied", "query_too_slow" or "result_too_large".
        SoftToolError: The server is busy, locked, not there, or went away.
    """
    if isinstance(params, Mapping):
        raise HardToolError("bad_params", "PostgreSQL takes a list of params, for $1, $2 and so on")
    text = sql.strip().rstrip(";").rstrip()
    if not text:
        raise HardToolError("sql_error", "the query is empty; write one SELECT statement")
    with _connected(dsn, limits) as connection, _translated(limits):
        return _read(connection, text, [_bound(value) for value in params or ()], limits)


def _read(
    connection: "psycopg.Connection[Any]", sql: str, params: list[Any], limits: QueryLimits
) -> dict[str, JSON]:
    import psycopg  # noqa: PLC0415 - an extra that SQLite alone does not need

    deadline = time.monotonic() + limits.seconds
    connection.read_only = True
    _bound_time(connection, limits, deadline)
    try:
        with psycopg.RawServerCursor(connection, "planrail") as cursor:
            cursor.execute(sql.encode(), params or None)
            names = [column.name for column in cursor.description or ()]
            return tabulate(names, _rows(connection, cursor, limits, deadline), limits)
    finally:
        if not connection.broken:
            connection.rollback()


def _rows(
    connection: "psycopg.Connection[Any]", cursor: Any, limits: QueryLimits, deadline: float
) -> Iterator[tuple[Any, ...]]:
    """Yield rows page by page, so that no more come over than the caller takes."""
    while page := cursor.fetchmany(_PAGE_ROWS):
        yield from page
        _bound_time(connection, limits, deadline)


def _bound_time(connection: "psycopg.Connection[Any]", limits: QueryLimits, deadline: float) -> None:
    """Let the server end the next statement in time, whatever the query itself has set."""
    left = {"statement_timeout": deadline - time.monotonic(), "lock_timeout": limits.busy_seconds}
    for name, seconds in left.items():
        milliseconds = max(1, round(seconds * 1000))
        connection.execute("SELECT set_config(%s, %s, true)", (name, str(milliseconds)))


def _bound(value: object) -> Any:
    from psycopg.types.json import Jsonb  # noqa: PLC0415 - an extra that SQLite alone does not need

    return Jsonb(value) if isinstance(value, dict) else value


@contextmanager
def _connected(dsn: str, limits: QueryLimits) -> "Iterator[psycopg.Connection[Any]]":
    import psycopg  # noqa: PLC0415 - an extra that SQLite alone does not need

    try:
        connection = psycopg.connect(
            dsn, connect_timeout=max(2, round(limits.busy_seconds)), application_name="planrail query_sql"
        )
    except psycopg.OperationalError as error:
        text = _safe(error, dsn)
        if any(phrase in text for phrase in _FOR_GOOD):
            refused = f"PostgreSQL refuses the connection: {text}"
            raise HardToolError("database_unavailable", refused) from None
        raise SoftToolError(f"PostgreSQL cannot be reached: {text}") from None
    with connection:
        yield connection


def _safe(error: Exception, dsn: str) -> str:
    """Return one line of what the driver says, without the password."""
    import psycopg  # noqa: PLC0415 - an extra that SQLite alone does not need

    text = " ".join(str(error).split())
    password = psycopg.conninfo.conninfo_to_dict(dsn).get("password")
    return text.replace(str(password), "***") if password else text


@contextmanager
def _translated(limits: QueryLimits) -> Iterator[None]:
    """Turn the server's errors into later or never, each with its remedy."""
    import psycopg  # noqa: PLC0415 - an extra that SQLite alone does not need

    try:
        yield
    except psycopg.Error as error:
        raise _meaning(error, limits) from error
    except UnicodeEncodeError as error:
        raise HardToolError("bad_params", "the statement or a parameter holds half a character") from error


def _meaning(error: "psycopg.Error", limits: QueryLimits) -> Exception:
    state = error.sqlstate or ""
    text = " ".join((error.diag.message_primary or str(error)).split())
    if state == _CANCELED:
        slow = f"the query took more than {limits.seconds:g} s; select less, or join and sort less"
        return HardToolError("query_too_slow", slow)
    if state == _READ_ONLY or _MULTIPLE in text:
        return HardToolError("not_read_only", f"this tool only reads, one SELECT statement at a time: {text}")
    if state == _FORBIDDEN:
        return HardToolError("permission_denied", f"PostgreSQL: {text}")
    if state in _BAD_PARAMS:
        return HardToolError("bad_params", f"PostgreSQL: {text}")
    if _is_lost(error) or state.startswith(_SOFT_CLASSES):
        return SoftToolError(f"PostgreSQL: {text}")
    return HardToolError("sql_error", f"PostgreSQL: {_placed(error, text)}")


def _is_lost(error: "psycopg.Error") -> bool:
    """Tell a connection that broke, for which the driver has no SQLSTATE."""
    import psycopg  # noqa: PLC0415 - an extra that SQLite alone does not need

    return isinstance(error, psycopg.OperationalError) and not error.sqlstate


def _placed(error: "psycopg.Error", text: str) -> str:
    hint = error.diag.message_hint
    if error.sqlstate == _SYNTAX:
        hint = "a query begins with SELECT, WITH, VALUES or TABLE"
    return f"{text} ({hint})" if hint else text
