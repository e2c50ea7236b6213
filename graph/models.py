"""Chat models from the environment: any OpenAI-compatible endpoint, one for all roles or one for each."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from graph.state import SettingsError
from tools.scrub import scrubbed

ROLES = ("planner", "executor", "validator", "replanner", "reporter")
DEFAULT = "default"
DEFAULT_MODEL = "gpt-4.1-mini"
OPENAI_URL = "https://api.openai.com/v1"
_NO_KEY = "no-key"


@dataclass(frozen=True)
class ModelAddress:
    """Where a role's model is: its name, its endpoint (None is OpenAI's own) and the key for it."""

    model: str
    base_url: str | None
    api_key: SecretStr

    @property
    def shown_url(self) -> str:
        """The endpoint's address without a login or a query, which may be secret."""
        return scrubbed(self.base_url or OPENAI_URL, {}, frozenset())


def models_from_environment(environ: Mapping[str, str] | None = None) -> dict[str, BaseChatModel]:
    """The models that the environment names, by role, with one for all other roles under `default`.

    Args:
        environ: Read instead of this process's environment; `addresses` tells what is read.

    Returns:
        Nothing when no key and no endpoint is set.
    """
    return {role: chat_model(address) for role, address in addresses(environ).items()}


def addresses(environ: Mapping[str, str] | None = None) -> dict[str, ModelAddress]:
    """Where the environment says that the models are, by role.

    `OPENAI_API_KEY` or `OPENAI_BASE_URL` turns on one model for all roles, by the name `PLANRAIL_MODEL`. A
    role has one of its own by any of `PLANRAIL_<ROLE>_MODEL`, `_BASE_URL` and `_API_KEY`; what it leaves
    out is that of all roles. A key never goes to an endpoint that it was not given for: a role at another
    endpoint needs a key of its own, or gets a placeholder.

    Raises:
        SettingsError: An address is none, or a key holds what no request can carry.
    """
    env = _read(os.environ if environ is None else environ)
    key, url = env.get("OPENAI_API_KEY"), env.get("OPENAI_BASE_URL")
    name = env.get("PLANRAIL_MODEL", DEFAULT_MODEL)
    shared = ModelAddress(name, url, SecretStr(key or _NO_KEY)) if key or url else None
    found = {} if shared is None else {DEFAULT: shared}
    own = {role: _own(role, env, name, shared) for role in ROLES}
    return found | {role: address for role, address in own.items() if address is not None}


def _read(environ: Mapping[str, str]) -> dict[str, str]:
    """What is set, without the space around it: keys are often read from files, with the line's end."""
    env = {name: value.strip() for name, value in environ.items() if value.strip()}
    for prefix in ("OPENAI_", *(f"PLANRAIL_{role.upper()}_" for role in ROLES)):
        if not _is_address(env.get(f"{prefix}BASE_URL", OPENAI_URL)):
            raise SettingsError(f"{prefix}BASE_URL is no address of an endpoint: write http://HOST:PORT/v1")
        key = env.get(f"{prefix}API_KEY", "")
        if not (key.isascii() and key.isprintable()):
            raise SettingsError(f"{prefix}API_KEY holds characters that no key has: copy it anew")
    return env


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    sound = parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0
    return sound and not any(char.isspace() for char in text)


def _own(role: str, env: Mapping[str, str], name: str, shared: ModelAddress | None) -> ModelAddress | None:
    prefix = f"PLANRAIL_{role.upper()}_"
    model, url, key = (env.get(prefix + each) for each in ("MODEL", "BASE_URL", "API_KEY"))
    if url is None and key is None and (model is None or shared is None):
        return None
    if shared is None or (url is not None and url.rstrip("/") != (shared.base_url or "").rstrip("/")):
        return ModelAddress(model or name, url, SecretStr(key or _NO_KEY))
    return ModelAddress(model or name, shared.base_url, SecretStr(key) if key else shared.api_key)


def chat_model(address: ModelAddress) -> BaseChatModel:
    """A LangChain chat model for that address."""
    from langchain_openai import ChatOpenAI  # noqa: PLC0415 - a second of import for who has no endpoint

    # Retries are the executor's to count and to space out.
    return ChatOpenAI(model=address.model, api_key=address.api_key, base_url=address.base_url, max_retries=0)
