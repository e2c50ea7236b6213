"""Research: searches side by side, an agent for each section, and a report of what the pages bear out."""

import os
from collections.abc import Iterator
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
_KEPT_SECONDS = 3600.0


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


def _stage_on(folder: Path, web: "list[BaseTool]", where: str) -> Stage:
    from graph.demo.research_tools import research_tools  # noqa: PLC0415
    from tools.builtin import file_tools  # noqa: PLC0415
    from tools.policy import declared_policy  # noqa: PLC0415

    # What an agent has read is not fetched again to be held against what it says.
    kept = {
        tool.name: declared.model_copy(update={"cache_ttl": _KEPT_SECONDS})
        for tool in web
        if (declared := declared_policy(tool)) is not None
    }
    return Stage(
        tools=ToolRegistry.of(*web, *research_tools(), *file_tools(folder), policies=kept),
        places=(where, f"workspace: {folder}"),
        aftermath=lambda: (f"report in {page}" for page in sorted(folder.rglob("*.md"))),
    )


def _sample_web(address: str) -> "list[BaseTool]":
    from tools.builtin import http_get, web_search  # noqa: PLC0415

    page = http_get(allow=(SITES,), proxy=address, resolve=on_this_machine, grounded=True)
    return [page, web_search("searxng", url=address)]


def _own_web() -> "list[BaseTool]":
    from tools.builtin import office  # noqa: PLC0415

    return [tool for tool in office() if tool.name in ("http_get", "web_search")]


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
