"""Keeping a model's key out of what its endpoint says: some repeat it in their errors."""

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from tools.scrub import REDACTED

MIN_CHARS = 8
"""Of the beginning of a key at the end of a message that was cut there."""


def without_keys(text: str, model: BaseChatModel) -> str:
    """The text without the secrets that the model was made with, also one that the text's end cuts off."""
    secrets = [each.get_secret_value() for each in vars(model).values() if isinstance(each, SecretStr)]
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = _without(text.replace(secret, REDACTED), secret)
    return text


def _without(text: str, secret: str) -> str:
    told = text.removesuffix("…")
    for length in range(len(secret) - 1, MIN_CHARS - 1, -1):
        if told.endswith(secret[:length]):
            return f"{told[:-length]}{REDACTED}{text[len(told) :]}"
    return text
