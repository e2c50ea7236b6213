"""The tool `query_sql`: one SELECT on a SQLite file or a PostgreSQL database, which it cannot change."""

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from langchain_core.tools import BaseTool, StructuredTool

from graph.plan import JSON
from tools.builtin.shapes import FLAG, TEXT, record
from tools.builtin.sql_postgres import check_postgres, read_postgres
from tools.builtin.sql_results import QueryLimits
from tools.builtin.sql_sqlite import read_sqlite
from tools.errors import HardToolError, ToolSetupError
from tools.policy import policy

Scalar: TypeAlias = str | int | float | bool | None
QueryParams: TypeAlias = list[Scalar | list[Scalar]] | dict[str, Scalar | list[Scalar]]

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_POSTGRES = frozenset({"postgres", "postgresql", "postgresql+psycopg"})
_KEYWORDS = re.compile(r"\s*(?:host|hostaddr|port|dbname|user|password|service|sslmode)\s*=")
_GRACE_SECONDS = 10.0
_RESULT = record(
    columns={"type": "array", "items": TEXT},
    rows={"type": "array", "items": {"type": "object"}},
    truncated=FLAG,
)
_MOST_TABLES = 100
_MOST_CHARS = 4000
_SQLITE_TABLES = """
SELECT m.name AS name, group_concat(p.name, ', ') AS columns
FROM sqlite_master AS m, pragma_table_info(m.name) AS p
WHERE m.type = '{}' AND m.name NOT LIKE 'sqlite_%' GROUP BY m.name ORDER BY m.name
"""
_POSTGRES_TABLES = """
SELECT CASE table_schema WHEN 'public' THEN '' ELSE table_schema || '.' END || table_name AS name,
    string_agg(column_name, ', ' ORDER BY ordinal_position) AS columns
FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
GROUP BY table_schema, table_name ORDER BY table_schema, table_name
"""


@dataclass(frozen=True, slots=True)
class _Database:
    """Where queries go, and how they are written there."""

    dialect: str
    placeholders: str
    tables: tuple[str, ...]
    read: Callable[[str, QueryParams | None], dict[str, JSON]]


def sql_tool(
    database: str | Path, *, limits: QueryLimits | None = None, about: str = "", name: str = "query_sql"
) -> BaseTool:
    """Return a tool that runs one SELECT and returns `{"columns", "rows", "truncated"}`.

    Nothing is connected to or opened before the first call.

    Args:
        database: The path of a SQLite file, `sqlite:///PATH`, or a PostgreSQL address such as
            `postgresql://USER@HOST/DATABASE`, which needs the extra `postgres`.
        limits: What one query may take.
        about: For the models that write queries: which tables and columns there are; see `tables_in`.
        name: The tool's name, for when there is more than one database.

    Raises:
        ToolSetupError: The address leads to no database that this tool can read, or the driver is missing.
    """
    bounds = limits or QueryLimits()
    target = _database(database, bounds)

    @policy(
        effect="read",
        timeout=bounds.seconds + 2 * bounds.busy_seconds + _GRACE_SECONDS,
        output_schema=_RESULT,
    )
    def query_sql(sql: str, params: QueryParams | None = None) -> dict[str, JSON]:
        return target.read(sql, params)

    description = (
        f"Run one SELECT statement of {target.dialect}. Its rows are objects, at most {bounds.max_rows}; "
        f"`truncated` tells whether there were more. Values go into `params`, for {target.placeholders}, "
        f"never into the text of the statement. {about}"
    )
    return StructuredTool.from_function(query_sql, name=name, description=description.strip())


def tables_in(database: str | Path) -> str:
    """Return the tables and their columns, as `sql_tool`'s `about` may tell them: `sales(day, amount)`.

    The database is opened for it. What is beyond 4,000 characters is left out.

    Raises:
        ToolSetupError: The address leads to no database.
        HardToolError: The database cannot be read.
        SoftToolError: It is busy or not there now.
    """
    limits = QueryLimits(max_rows=_MOST_TABLES)
    target = _database(database, limits)
    first, *more = target.tables
    found: list[Any] = [target.read(first, None)["rows"]]
    for query in more:
        with contextlib.suppress(HardToolError):  # a view may be of something that is no longer there
            found.append(target.read(query, None)["rows"])
    told = "; ".join(f"{row['name']}({row['columns']})" for rows in found for row in rows)
    return f"Tables: {told if len(told) <= _MOST_CHARS else f'{told[:_MOST_CHARS]} ...'}." if told else ""


def is_sqlite(database: str | Path) -> bool:
    """Tell whether an address is that of a SQLite file."""
    return isinstance(database, Path) or (
        _scheme(database) in {"", "sqlite"} and not _KEYWORDS.match(database)
    )


def _scheme(database: str) -> str:
    found = _SCHEME.match(database)
    return found[1].lower() if found else ""


def _database(database: str | Path, limits: QueryLimits) -> _Database:
    if isinstance(database, Path):
        return _sqlite(database, limits)
    word = _scheme(database)
    if word in _POSTGRES or _KEYWORDS.match(database):
        return _postgres(re.sub(r"^[a-z+]+://", "postgresql://", database, flags=re.IGNORECASE), limits)
    if word == "sqlite":
        return _sqlite(Path(_sqlite_path(database)), limits)
    if word:
        forms = "the path of a SQLite file, sqlite:///PATH or postgresql://HOST/DATABASE"
        raise ToolSetupError(f"query_sql cannot read a {word} database; give {forms}")
    return _sqlite(Path(database), limits)


def _sqlite_path(url: str) -> str:
    parts = urlsplit(url)
    if parts.netloc or parts.query or not parts.path.strip("/"):
        raise ToolSetupError(
            "write the address of a SQLite file as sqlite:///PATH, with no host and no options"
        )
    return unquote(parts.path[1:])


def _sqlite(path: Path, limits: QueryLimits) -> _Database:
    if not path.name or path.name == ":memory:":
        raise ToolSetupError("query_sql needs the path of a SQLite file: one in memory would always be empty")

    def read(sql: str, params: QueryParams | None) -> dict[str, JSON]:
        return read_sqlite(path, sql, params, limits)

    tables = tuple(_SQLITE_TABLES.format(kind) for kind in ("table", "view"))
    return _Database("SQLite", "? in the order of a list, or :name by an object's keys", tables, read)


def _postgres(dsn: str, limits: QueryLimits) -> _Database:
    check_postgres(dsn)

    def read(sql: str, params: QueryParams | None) -> dict[str, JSON]:
        return read_postgres(dsn, sql, params, limits)

    return _Database("PostgreSQL", "$1, $2 and so on in the order of a list", (_POSTGRES_TABLES,), read)
