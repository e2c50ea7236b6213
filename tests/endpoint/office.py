"""Tools of a small office that remember their calls."""

from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel

from graph.build import build_graph
from graph.running import PlanrailGraph
from tests.support.openai_server import OpenAIServer
from tools import ToolRegistry, policy

Json = dict[str, Any]


class Slot(BaseModel):
    """When, and for whom."""

    start: str
    names: list[str] = []


@dataclass
class Office:
    """`made` are the calls so far, as (tool, arguments)."""

    made: list[tuple[str, Json]] = field(default_factory=list)

    def tools(self) -> ToolRegistry:
        @policy(effect="write", grounded=frozenset())
        async def write_file(path: str, content: Any) -> str:
            """Write a file."""
            self.made.append(("write_file", {"path": path, "content": content}))
            return path

        @policy(effect="read")
        async def web_search(query: str) -> str:
            """Search the web."""
            self.made.append(("web_search", {"query": query}))
            return f"found {query}"

        @policy(effect="read")
        async def book(slot: Slot, count: int, tags: list[str], note: str | None = None) -> int:
            """Look a slot up."""
            args = {"slot": slot.model_dump(), "count": count, "tags": tags, "note": note}
            self.made.append(("book", args))
            return count

        return ToolRegistry.of(write_file, web_search, book)

    def graph(self, server: OpenAIServer, **settings: Any) -> PlanrailGraph:
        return self.graph_of(server.model(), **settings)

    def graph_of(self, model: BaseChatModel, **settings: Any) -> PlanrailGraph:
        return build_graph(tools=self.tools(), models=model, settings={"backoff_base": 0, **settings})

    async def run(self, server: OpenAIServer, goal: str = "g", **settings: Any) -> Json:
        """What a run of this goal gives back."""
        result: Json = await self.graph(server, **settings).ainvoke({"goal": goal})
        return result


def steps_of(result: Json) -> list[str]:
    return [f"{step['id']}:{step['status']}" for step in result["steps"]]
