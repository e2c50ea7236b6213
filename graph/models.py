"""Chat models from the environment: any OpenAI-compatible endpoint."""

import os
from collections.abc import Mapping

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

ROLES = ("planner", "executor", "validator", "reporter")
DEFAULT_MODEL = "gpt-4.1-mini"
_NO_KEY = "no-key"


def models_from_environment(environ: Mapping[str, str] | None = None) -> dict[str, BaseChatModel]:
    """The models that the environment names, by role, with one for all other roles under `default`.

    `OPENAI_API_KEY` or `OPENAI_BASE_URL` turns them on; an endpoint without a key gets a placeholder.
    `PLANRAIL_MODEL` names the model, `PLANRAIL_<ROLE>_MODEL` one of a role's own.

    Args:
        environ: Read instead of this process's environment.

    Returns:
        Nothing when neither variable is set.
    """
    env = os.environ if environ is None else environ
    key, url = env.get("OPENAI_API_KEY") or None, env.get("OPENAI_BASE_URL") or None
    if key is None and url is None:
        return {}
    names = {role: env.get(f"PLANRAIL_{role.upper()}_MODEL") for role in ROLES}
    named = {"default": env.get("PLANRAIL_MODEL") or DEFAULT_MODEL} | {k: v for k, v in names.items() if v}
    return {role: _chat_model(name, key or _NO_KEY, url) for role, name in named.items()}


def _chat_model(name: str, key: str, url: str | None) -> BaseChatModel:
    from langchain_openai import ChatOpenAI  # noqa: PLC0415 - a second of import for who has no endpoint

    # Retries are the executor's to count and to space out.
    return ChatOpenAI(model=name, api_key=SecretStr(key), base_url=url, max_retries=0)
