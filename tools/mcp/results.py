"""What an MCP server answered, as a tool's result or as its failure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.tools import ToolException
from pydantic import BaseModel, ConfigDict

from graph.plan import JSON

WRAPPED = "result"
"""Under this name servers hand out structured results that are no objects."""


class McpToolError(ToolException):
    """The server says that its tool failed; how far the tool had come it does not say."""


class Answer(BaseModel):
    """A server's answer to a call, of which nothing is taken for granted: what it reports has happened."""

    model_config = ConfigDict(extra="ignore")

    content: Any = None
    structuredContent: Any = None  # noqa: N815 - the protocol's name
    isError: Any = False  # noqa: N815


def result_of(answer: Answer, *, unwrap: bool, json_text: bool) -> JSON:
    """Return the result of a call.

    Structured content as it is; else text, several pieces joined by line breaks; else a list of blocks,
    `{"type": "text" | "image" | "audio" | "file", ...}`, with `base64` or `url`, and `mime_type`; None for
    an answer without content.

    Args:
        answer: What the server sent.
        unwrap: Whether structured content is an object only for the protocol's sake.
        json_text: Whether text that is a JSON object or list is read as such.

    Raises:
        McpToolError: The server says that the call failed.
    """
    listed = answer.content if isinstance(answer.content, list) else []
    blocks = [_block(each) for each in listed if isinstance(each, Mapping)]
    if answer.isError:
        raise McpToolError(_words(blocks) or "the tool reported an error and said nothing")
    structured: JSON = answer.structuredContent
    if structured is not None:
        whole = not (unwrap and isinstance(structured, dict) and set(structured) == {WRAPPED})
        return structured if whole else structured[WRAPPED]  # type: ignore[index,call-overload]
    if not blocks:
        return None
    if any(block.get("type") != "text" for block in blocks):
        return [*blocks]
    text = _words(blocks)
    return _read(text) if json_text else text


def is_wrapped(schema: Mapping[str, Any] | None) -> bool:
    """Tell whether a tool's output schema is that of one value in an object of the protocol's."""
    properties = (schema or {}).get("properties")
    return isinstance(properties, Mapping) and set(properties) == {WRAPPED}


def unwrapped(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of the value inside a wrapped one."""
    inner = schema["properties"][WRAPPED]
    kept = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    return {**kept, **inner} if isinstance(inner, Mapping) else {}


def _words(blocks: Sequence[Mapping[str, JSON]]) -> str:
    return "\n".join(str(block["text"]) for block in blocks if "text" in block)


def _block(content: Mapping[str, Any]) -> dict[str, JSON]:
    match content:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "image" | "audio" as kind, "data": str(data)}:
            return _known({"type": str(kind), "base64": data, "mime_type": content.get("mimeType")})
        case {"type": "resource_link", "uri": str(uri)}:
            return _known({"type": "file", "url": uri, "mime_type": content.get("mimeType")})
        case {"type": "resource", "resource": {"text": str(text)}}:
            return {"type": "text", "text": text}
        case {"type": "resource", "resource": {"blob": str(blob)} as resource}:
            mime_type = resource.get("mimeType")
            kind = "image" if str(mime_type).startswith("image/") else "file"
            return _known({"type": kind, "base64": blob, "mime_type": mime_type})
    return dict(content)


def _known(block: dict[str, JSON]) -> dict[str, JSON]:
    return {name: value for name, value in block.items() if value is not None}


def _read(text: str) -> JSON:
    try:
        found: JSON = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, (dict, list)) else text


def _refuse(constant: str) -> JSON:
    raise ValueError(f"{constant} is not JSON")
