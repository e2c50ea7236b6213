"""Which tools a request needs: asked by itself when no plan of a model can run, to plan with those alone."""

from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage

from nodes.endpoint.plan_schema import reads_first
from nodes.endpoint.structured import Form, ask_object
from nodes.models import Ask
from nodes.prompts import tool_list
from nodes.replies import fitting
from nodes.session import RunSession
from tools import CallFailed, ToolRegistry

FEWEST = 5
"""With fewer tools there is nothing to narrow down."""

_MAX_TOKENS = 300
"""A sentence and some names: a small model that rambles on is cut off."""

CHOOSER = """Somebody asks for something. Say in one sentence what is asked for and whether one of the tools
below does that. Then name the tools that are needed, none when no tool does what is asked for.

Tools:
"""


@dataclass(frozen=True)
class Needed:
    """The tools that a request needs, none when it cannot be met with any, and why."""

    tools: ToolRegistry
    reason: str


def can_narrow(registry: ToolRegistry) -> bool:
    """Whether there are so many tools that a model may have taken the wrong ones."""
    return len(registry) >= FEWEST


async def needed_tools(
    session: RunSession, how: Ask, request: str, registry: ToolRegistry
) -> Needed | CallFailed:
    """Ask which of the tools a request needs.

    The reason comes first: a small model that names tools by one sentence of its own names better ones
    than with a whole plan in mind.
    """
    messages = [SystemMessage(CHOOSER + tool_list(registry)), HumanMessage(request)]
    schema = _choice(registry)

    def read(answer: dict[str, Any]) -> Needed:
        chosen = dict.fromkeys(fitting(answer, schema)["tools"])
        return Needed(ToolRegistry({name: registry[name] for name in chosen}), answer["reason"])

    how = replace(how, max_tokens=_MAX_TOKENS, on_redo=lambda _why: None)  # what goes back here is no plan
    return await ask_object(session, how, messages, Form.of(schema, "tools"), read=read, redos=0)


def _choice(registry: ToolRegistry) -> dict[str, Any]:
    names = [tool.name for tool in reads_first(registry)]
    return {
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "tools": {"type": "array", "items": {"type": "string", "enum": names}, "maxItems": len(names)},
        },
        "required": ["reason", "tools"],
        "additionalProperties": False,
    }
