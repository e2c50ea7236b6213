"""The tool `query_sql`: one SELECT on a SQLite file or a PostgreSQL database, which it cannot change."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from langchain_core.tools import BaseTool, StructuredTool

from graph.plan import JSON
from tools.builtin.sql_postgres import check_postgres, read_postgres
from tools.builtin.sql_results import QueryLimits
from tools.builtin.sql_sqlite import read_sqlite
from tools.errors import ToolSetupError
from tools.policy import policy

Scalar: TypeAlias = str | int | float | bool | None
QueryParams: TypeAlias = list[Scalar | list[Scalar]] | dict[str, Scalar | list[Scalar]]

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_POSTGRES = frozenset({"postgres", "postgresql", "postgresql+psycopg"})
_KEYWORDS = re.compile(r"\s*(?:host|hostaddr|port|dbname|user|password|service|sslmode)\s*=")
_GRACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class _Database:
    """Where queries go, and how they are written there."""

    dialect: str
    placeholders: str
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
        about: For the models that write queries: which tables and columns there are.
        name: The tool's name, for when there is more than one database.

    Raises:
        ToolSetupError: The address leads to no database that this tool can read, or the driver is missing.
    """
    bounds = limits or QueryLimits()
    target = _database(database, bounds)

    @policy(effect="read", timeout=bounds.seconds + 2 * bounds.busy_seconds + _GRACE_SECONDS)
    def query_sql(sql: str, params: QueryParams | None = None) -> dict[str, JSON]:
        return target.read(sql, params)

    description = (
        f"Run one SELECT statement of {target.dialect} and return its columns and its rows, as objects: "
        f"at most {bounds.max_rows}; `truncated` tells whether there were more. Values go into `params`, for "
        f"{target.placeholders}, never into the text of the statement. {about}"
    )
    return StructuredTool.from_function(query_sql, name=name, description=description.strip())


def _database(database: str | Path, limits: QueryLimits) -> _Database:
    if isinstance(database, Path):
        return _sqlite(database, limits)
    scheme = _SCHEME.match(database)
    word = scheme[1].lower() if scheme else ""
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

    return _Database("SQLite", "? in the order of a list, or :name by an object's keys", read)


def _postgres(dsn: str, limits: QueryLimits) -> _Database:
    check_postgres(dsn)

    def read(sql: str, params: QueryParams | None) -> dict[str, JSON]:
        return read_postgres(dsn, sql, params, limits)

    return _Database("PostgreSQL", "$1, $2 and so on in the order of a list", read)
