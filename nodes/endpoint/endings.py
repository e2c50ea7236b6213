"""How a reply ended: whole, cut off at the token limit, broken off, or refused."""

from langchain_core.messages import AIMessage


def refusal_of(reply: AIMessage) -> str | None:
    """Why the model, or a filter before or behind it, gives no answer."""
    told = reply.additional_kwargs.get("refusal") or _refusal_block(reply)
    if told:
        return f"the model refused: {str(told)[:300]}"
    if "content_filter" in (reply.response_metadata.get("finish_reason"), _incomplete(reply)):
        return "blocked by the endpoint's content filter"
    return None


def was_cut(reply: AIMessage) -> bool:
    """Whether the token limit ended the reply."""
    return (
        reply.response_metadata.get("finish_reason") == "length" or _incomplete(reply) == "max_output_tokens"
    )


def broke_off(reply: AIMessage) -> bool:
    """Whether the reply is what arrived of a stream before the connection ended.

    OpenAI's client puts the usage, told or not, on whole replies, and the status on those of its other API.
    """
    told = reply.response_metadata
    whole = told.get("finish_reason") is not None or "token_usage" in told or "status" in told
    return told.get("model_provider") == "openai" and not whole


def _refusal_block(reply: AIMessage) -> object:
    blocks = reply.content if isinstance(reply.content, list) else []
    return next(
        (b.get("refusal") for b in blocks if isinstance(b, dict) and b.get("type") == "refusal"), None
    )


def _incomplete(reply: AIMessage) -> object:
    details = reply.response_metadata.get("incomplete_details")
    return details.get("reason") if isinstance(details, dict) else None
