"""The built-in tools as the environment sets them up: `--tools tools.builtin:office`."""

import importlib.util
import os
from collections.abc import Iterator

from langchain_core.tools import BaseTool

from tools.builtin.files import file_tools
from tools.builtin.search import AUTHORIZATION, web_search
from tools.builtin.web import http_get


def office() -> list[BaseTool]:
    """Return the built-in tools that the environment's variables set up.

    `read_file`, `write_file` and `list_files` work in `PLANRAIL_WORKSPACE`, by default `workspace` in the
    working directory. `http_get` reaches public sites and what `PLANRAIL_HTTP_ALLOW` lists. `web_search` is
    there when `PLANRAIL_SEARCH_PROVIDER` or `PLANRAIL_SEARCH_URL` is set, or the package ddgs is installed.

    Raises:
        ToolSetupError: A variable's value cannot be used, or what it asks for is not installed.
    """
    return [*_files(), _web(), *_search()]


def _files() -> list[BaseTool]:
    folder = _variable("PLANRAIL_WORKSPACE") or "workspace"
    return file_tools(folder, encodings=_listed("PLANRAIL_WORKSPACE_ENCODINGS") or ("utf-8",))


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


def _variable(name: str) -> str | None:
    return os.environ.get(name, "").strip() or None


def _listed(name: str) -> tuple[str, ...]:
    parts = (part.strip() for part in os.environ.get(name, "").split(","))
    return tuple(part for part in parts if part)
