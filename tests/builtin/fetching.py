"""Fetching from a site on loopback that is allowed."""

from typing import Any

from langchain_core.tools import BaseTool

from tests.builtin.calling import output, refusal
from tests.builtin.site import Site
from tools.builtin import http_get


def allowed(web: Site, **more: Any) -> BaseTool:
    return http_get(allow=[f"{web.host}:{web.port}"], **more)


async def got(web: Site, path: str, **more: Any) -> Any:
    return await output(allowed(web, **more), "http_get", {"url": web.url + path})


async def code(web: Site, path: str, **more: Any) -> str:
    return await refusal(allowed(web, **more), "http_get", {"url": web.url + path})
