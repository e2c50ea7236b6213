"""How a reply ended: whole, cut off at the token limit, broken off, or refused."""

from langchain_core.messages import AIMessage

_TOLD_AS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""Where LangChain's chat models of OpenAI and Gemini, Anthropic, Bedrock and Ollama tell the ending."""

_CUT = frozenset({"length", "model_length", "max_tokens", "model_context_window_exceeded"})
_BLOCKED = frozenset({"content_filter", "sensitive", "safety", "refusal", "guardrail_intervened"})
_BROKEN = frozenset({"error", "network_error", "insufficient_system_resource", "abort"})


def refusal_of(reply: AIMessage) -> str | None:
    """Why the model, or a filter before or behind it, gives no answer."""
    told = reply.additional_kwargs.get("refusal") or _refusal_block(reply)
    if told:
        return f"the model refused: {str(told)[:300]}"
    if _ending(reply) in _BLOCKED or _incomplete(reply) == "content_filter":
        return "blocked by the endpoint's content filter"
    return None


def was_cut(reply: AIMessage) -> bool:
    """Whether the token limit ended the reply."""
    return _ending(reply) in _CUT or _incomplete(reply) == "max_output_tokens"


def broke_off(reply: AIMessage) -> bool:
    """Whether the reply is what there was of it when the connection ended, or the endpoint failed.

    OpenAI's client puts the usage, told or not, on whole replies, and the status on those of its other API.
    """
    if _ending(reply) in _BROKEN:
        return True
    told = reply.response_metadata
    whole = told.get("finish_reason") is not None or "token_usage" in told or "status" in told
    return told.get("model_provider") == "openai" and not whole


def _ending(reply: AIMessage) -> str:
    told = (reply.response_metadata.get(name) for name in _TOLD_AS)
    return next((word.casefold() for word in told if isinstance(word, str)), "")


def _refusal_block(reply: AIMessage) -> object:
    blocks = reply.content if isinstance(reply.content, list) else []
    return next(
        (b.get("refusal") for b in blocks if isinstance(b, dict) and b.get("type") == "refusal"), None
    )


def _incomplete(reply: AIMessage) -> object:
    details = reply.response_metadata.get("incomplete_details")
    return details.get("reason") if isinstance(details, dict) else None
