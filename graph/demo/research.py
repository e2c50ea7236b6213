"""Research: searches side by side, an agent for each section, and a report of what the pages bear out."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from graph.demo.research_answers import recorded_research
from graph.demo.research_library import SITES, library, on_this_machine
from graph.demo.walkthrough import STANDARD, Stage, Variant, Walkthrough
from tools import ToolRegistry

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

SETTINGS = ("digest_chars=8000",)
"""What the agents read of a page; the report is made of whole pages."""

_SEARCH_VARIABLES = ("PLANRAIL_SEARCH_PROVIDER", "PLANRAIL_SEARCH_URL")


@contextmanager
def _stage(place: Path, _variant: str) -> Iterator[Stage]:
    folder = _folder(place)
    if any(os.environ.get(name, "").strip() for name in _SEARCH_VARIABLES):
        yield _stage_on(folder, _own_web(), "the web, as PLANRAIL_SEARCH_PROVIDER or _URL says")
        return
    log = folder / "requests.log"
    if place.parent.is_dir():  # without it the store refuses the run
        folder.mkdir(exist_ok=True)
    with library(log) as address:
        where = f"sample pages with made-up figures: {address}, on this machine while a command works"
        yield _stage_on(folder, _sample_web(address), where)


def _stage_on(folder: Path, web: "Mapping[str, BaseTool]", where: str) -> Stage:
    from graph.demo.research_tools import research_tools  # noqa: PLC0415
    from tools.builtin import file_tools  # noqa: PLC0415

    get = getattr(web["http_get"], "coroutine", None)
    assert get is not None, "http_get is a tool of a coroutine"
    return Stage(
        tools=ToolRegistry.of(web["web_search"], *research_tools(get), *file_tools(folder)),
        places=(where, f"workspace: {folder}"),
        aftermath=lambda: (f"report in {page}" for page in sorted(folder.rglob("*.md"))),
    )


def _sample_web(address: str) -> "Mapping[str, BaseTool]":
    from tools.builtin import http_get, web_search  # noqa: PLC0415

    page = http_get(allow=(SITES,), proxy=address, resolve=on_this_machine)
    return {"http_get": page, "web_search": web_search("searxng", url=address)}


def _own_web() -> "Mapping[str, BaseTool]":
    from tools.builtin import office  # noqa: PLC0415

    return {tool.name: tool for tool in office()}


def _folder(place: Path) -> Path:
    return place.with_name(f"{place.name}-research")


def _tidy_up(place: Path) -> None:
    """Take away what an earlier run left: its report would seem to be this one's."""
    for old in (_folder(place) / "requests.log", *_folder(place).rglob("*.md")):
        old.unlink(missing_ok=True)


RESEARCH = Walkthrough(
    name="research",
    about="searches side by side, an agent for each section, a report whose sources bear it out",
    template="research",
    variants={STANDARD: Variant("the sample pages are about cargo bikes", settings=SETTINGS, begin=_tidy_up)},
    stage=_stage,
    answer=recorded_research,
    recorded="the outline, the sections and the summary",
)
