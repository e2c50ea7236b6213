"""The built-in tools as the environment sets them up: `--tools tools.builtin:office`."""

import importlib.util
import os
from collections.abc import Iterator

from langchain_core.tools import BaseTool

from tools.builtin.files import file_tools
from tools.builtin.html_page import html_tool
from tools.builtin.mail import email_tool
from tools.builtin.mail_settings import SmtpSettings
from tools.builtin.search import AUTHORIZATION, web_search
from tools.builtin.sql import is_sqlite, sql_tool, tables_in
from tools.builtin.web import http_get
from tools.errors import HardToolError, SoftToolError


def office() -> list[BaseTool]:
    """Return the built-in tools that the environment's variables set up.

    `read_file`, `write_file` and `list_files` work in `PLANRAIL_WORKSPACE`, by default `workspace` in the
    working directory. `http_get` reaches public sites and what `PLANRAIL_HTTP_ALLOW` lists. `web_search` is
    there when `PLANRAIL_SEARCH_PROVIDER` or `PLANRAIL_SEARCH_URL` is set, or the package ddgs is installed.
    `query_sql` is there with `PLANRAIL_DATABASE`, and `send_email` with `PLANRAIL_SMTP_HOST`. `render_html`
    knows the templates in `PLANRAIL_PAGE_TEMPLATES`.

    Raises:
        ToolSetupError: A variable's value cannot be used, or what it asks for is not installed.
    """
    return [*_files(), _web(), *_search(), *_database(), _pages(), *_mail()]


def _workspace() -> str:
    return _variable("PLANRAIL_WORKSPACE") or "workspace"


def _files() -> list[BaseTool]:
    return file_tools(_workspace(), encodings=_listed("PLANRAIL_WORKSPACE_ENCODINGS") or ("utf-8",))


def _web() -> BaseTool:
    return http_get(allow=_listed("PLANRAIL_HTTP_ALLOW"), proxy=_variable("PLANRAIL_HTTP_PROXY"))


def _search() -> Iterator[BaseTool]:
    url = _variable("PLANRAIL_SEARCH_URL")
    provider = _variable("PLANRAIL_SEARCH_PROVIDER") or ("searxng" if url else None)
    if provider is None and importlib.util.find_spec("ddgs") is None:
        return
    yield web_search(
        provider or "ddgs",
        url=url,
        key=_variable("PLANRAIL_SEARCH_KEY"),
        key_header=_variable("PLANRAIL_SEARCH_KEY_HEADER") or AUTHORIZATION,
        engines=_variable("PLANRAIL_SEARCH_ENGINES") or "auto",
        region=_variable("PLANRAIL_SEARCH_REGION") or "us-en",
        proxy=_variable("PLANRAIL_HTTP_PROXY"),
    )


def _database() -> Iterator[BaseTool]:
    database = _variable("PLANRAIL_DATABASE")
    if database is not None:
        yield sql_tool(database, about=_variable("PLANRAIL_DATABASE_ABOUT") or _tables(database))


def _tables(database: str) -> str:
    """Return what a database file says of itself; a server is not asked before a plan asks it."""
    if not is_sqlite(database):
        return ""
    try:
        return tables_in(database)
    except (HardToolError, SoftToolError):
        return ""  # the first query says what is wrong


def _pages() -> BaseTool:
    return html_tool(_variable("PLANRAIL_PAGE_TEMPLATES"))


def _mail() -> Iterator[BaseTool]:
    if _variable("PLANRAIL_SMTP_HOST") is not None:
        sent = _variable("PLANRAIL_SENT_MAIL") or "sent-mail.db"
        yield email_tool(SmtpSettings.from_environment(), workspace=_workspace(), sent_mail=sent)


def _variable(name: str) -> str | None:
    return os.environ.get(name, "").strip() or None


def _listed(name: str) -> tuple[str, ...]:
    parts = (part.strip() for part in os.environ.get(name, "").split(","))
    return tuple(part for part in parts if part)
