"""Reading a SQLite file with no way to change it, or anything else."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from graph.plan import JSON
from tools.builtin.sql_results import QueryLimits, tabulate
from tools.errors import HardToolError, SoftToolError

Params: TypeAlias = Sequence[object] | Mapping[str, object] | None

_PRIMARY_CODE = 0xFF
_CLOCK_EVERY = 2000
"""SQLite instructions between two looks at the clock: well below a millisecond of work."""

_MAX_VALUE_BYTES = 10_000_000
_MAX_SQL_BYTES = 100_000
_MAX_PATTERN_BYTES = 200
"""Long LIKE and GLOB patterns can take for ever, and are not interrupted."""

_READING = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
_LOOKING_PRAGMAS = frozenset(
    {
        *("table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo"),
        *("foreign_key_list", "function_list", "collation_list", "compile_options", "data_version"),
    }
)
_REFUSED_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})
_ACTIONS = {
    sqlite3.SQLITE_INSERT: "INSERT",
    sqlite3.SQLITE_UPDATE: "UPDATE",
    sqlite3.SQLITE_DELETE: "DELETE",
    sqlite3.SQLITE_ATTACH: "ATTACH",
    sqlite3.SQLITE_DETACH: "DETACH",
    sqlite3.SQLITE_PRAGMA: "PRAGMA",
    sqlite3.SQLITE_TRANSACTION: "a transaction",
    sqlite3.SQLITE_SAVEPOINT: "SAVEPOINT",
    sqlite3.SQLITE_FUNCTION: "the function",
}


def read_sqlite(path: Path, sql: str, params: Params, limits: QueryLimits) -> dict[str, JSON]:
    """Run one query and return its table, as `tabulate` does.

    The file is opened read-only and held so by `query_only`; an authorizer refuses whatever is no reading.

    Raises:
        HardToolError: "database_unavailable", "not_read_only", "sql_error", "bad_params", "query_too_slow" or
            "result_too_large".
        SoftToolError: Another user has the database locked.
    """
    guard = _Guard(time.monotonic() + limits.seconds)
    with _translated(path, guard, limits), closing(_connect(path, limits)) as connection:
        connection.set_authorizer(guard.judge)
        connection.set_progress_handler(guard.late, _CLOCK_EVERY)
        with closing(_execute(connection, sql, params)) as cursor:
            if cursor.description is None:
                raise HardToolError("sql_error", "this is no query: write one SELECT statement")
            return tabulate([column[0] for column in cursor.description], cursor, limits)


class _Guard:
    """What SQLite asks while it prepares and runs a statement."""

    def __init__(self, deadline: float) -> None:
        self.refused = ""
        self._deadline = deadline

    def judge(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        """Allow what reads; note the first thing that does not."""
        if action == sqlite3.SQLITE_PRAGMA:
            allowed = (first or "").lower() in _LOOKING_PRAGMAS
        elif action == sqlite3.SQLITE_FUNCTION:
            allowed = (second or "").lower() not in _REFUSED_FUNCTIONS
        elif action == sqlite3.SQLITE_UPDATE:
            # So SQLite declares the columns of json_each and full-text tables; nobody may change this one.
            allowed = first == "sqlite_master"
        else:
            allowed = action in _READING
        if allowed:
            return sqlite3.SQLITE_OK
        name = second if action == sqlite3.SQLITE_FUNCTION else first
        self.refused = self.refused or " ".join(
            filter(None, (_ACTIONS.get(action, "a change of the schema"), name))
        )
        return sqlite3.SQLITE_DENY

    def late(self) -> bool:
        """Tell SQLite to stop when the time is up."""
        return time.monotonic() > self._deadline


def _connect(path: Path, limits: QueryLimits) -> sqlite3.Connection:
    if not path.is_file():
        raise HardToolError("database_unavailable", f"there is no database file {path}")
    uri = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, timeout=limits.busy_seconds, isolation_level=None)
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, _MAX_SQL_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _MAX_PATTERN_BYTES)
    connection.text_factory = _text
    return connection


def _text(stored: bytes) -> str:
    """SQLite keeps any bytes as text; one bad cell must not cost the whole result."""
    return stored.decode("utf-8", "replace")


def _execute(connection: sqlite3.Connection, sql: str, params: Params) -> sqlite3.Cursor:
    given: Any = () if params is None else params
    if isinstance(given, Mapping):
        return connection.execute(sql, {name.lstrip(":@$"): _bound(value) for name, value in given.items()})
    return connection.execute(sql, [_bound(value) for value in given])


def _bound(value: object) -> Any:
    """SQLite has no lists: they go in as JSON text, which `json_each(?)` takes apart."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else value


@contextmanager
def _translated(path: Path, guard: _Guard, limits: QueryLimits) -> Iterator[None]:
    """Turn SQLite's errors into later or never, each with its remedy."""
    try:
        yield
    except sqlite3.Error as error:
        raise _meaning(error, path, guard, limits) from error
    except OverflowError as error:
        raise HardToolError("bad_params", f"a parameter is too large for SQLite: {error}") from error
    except UnicodeEncodeError as error:
        raise HardToolError("bad_params", "the statement or a parameter holds half a character") from error
    except sqlite3.Warning as error:
        raise HardToolError("sql_error", f"{error}") from error


def _meaning(error: sqlite3.Error, path: Path, guard: _Guard, limits: QueryLimits) -> Exception:
    if guard.refused:
        refused = f"this tool only reads, and refuses {guard.refused}; write one SELECT statement"
        return HardToolError("not_read_only", refused)
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # raised by the Python module itself, before SQLite saw the statement
        wrong_params = "binding" in str(error) or "parameter" in str(error)
        return HardToolError("bad_params" if wrong_params else "sql_error", str(error))
    make = _MEANINGS.get(code & _PRIMARY_CODE)
    return make(error, path, limits) if make else HardToolError("sql_error", f"SQLite: {error}")


def _busy(_error: sqlite3.Error, path: Path, limits: QueryLimits) -> Exception:
    return SoftToolError(f"the database {path.name} was locked for more than {limits.busy_seconds:g} s")


def _too_slow(_error: sqlite3.Error, _path: Path, limits: QueryLimits) -> Exception:
    message = f"the query took more than {limits.seconds:g} s; select less, or join and sort less"
    return HardToolError("query_too_slow", message)


def _unavailable(error: sqlite3.Error, path: Path, _limits: QueryLimits) -> Exception:
    return HardToolError("database_unavailable", f"{path} cannot be read as a SQLite database: {error}")


_MEANINGS: Mapping[int, Callable[[sqlite3.Error, Path, QueryLimits], Exception]] = {
    sqlite3.SQLITE_BUSY: _busy,
    sqlite3.SQLITE_LOCKED: _busy,
    sqlite3.SQLITE_INTERRUPT: _too_slow,
    sqlite3.SQLITE_NOTADB: _unavailable,
    sqlite3.SQLITE_CORRUPT: _unavailable,
    sqlite3.SQLITE_CANTOPEN: _unavailable,
    sqlite3.SQLITE_IOERR: _unavailable,
    sqlite3.SQLITE_READONLY: _unavailable,
    sqlite3.SQLITE_PERM: _unavailable,
}
