"""The documents inside what `astream` yields, in each of the shapes that LangGraph gives its chunks."""

from typing import Any

from graph.state import hidden_args, shown_plan
from tools import ToolRegistry

DOCUMENT = {"status", "plan", "usage"}


def document_in(chunk: Any) -> dict[str, Any] | None:
    """The run's document in a chunk of mode `values`, or None in any other chunk."""
    if isinstance(chunk, tuple) and chunk:
        *before, payload = chunk
        return document_in(payload) if all(part in ("values", ()) for part in before) else None
    if not isinstance(chunk, dict):
        return None
    if chunk.get("type") == "values":
        return None if chunk.get("ns") else document_in(chunk["data"])
    return chunk if chunk.keys() >= DOCUMENT else None


def with_document(chunk: Any, document: dict[str, Any]) -> Any:
    """The same chunk around another document."""
    if isinstance(chunk, tuple):
        return (*chunk[:-1], with_document(chunk[-1], document))
    return {**chunk, "data": document} if chunk.get("type") == "values" else document


def shown_chunk(chunk: Any, registry: ToolRegistry) -> Any:
    """The same chunk with secret arguments hidden in the plan of its document."""
    document = document_in(chunk)
    if document is None or document["plan"] is None:
        return chunk
    hidden = hidden_args(document["plan"], registry)
    if not hidden:
        return chunk
    return with_document(chunk, {**document, "plan": shown_plan(document["plan"], hidden)})


def lacks_steps(chunk: Any) -> bool:
    """Whether the document is of a plan whose steps are not in it: checkpoints do not hold them."""
    document = document_in(chunk)
    return document is not None and document["plan"] is not None and "steps" not in document
