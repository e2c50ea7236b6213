"""The file that lists MCP servers: how each is reached, and what is known of its tools."""

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tools.errors import ToolLoadError
from tools.mcp.variables import expanded
from tools.scrub import trimmed

Transport = Literal["stdio", "streamable_http", "sse"]

_LISTS = ("mcpServers", "servers")
_TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "http": "streamable_http",
    "streamable_http": "streamable_http",
    "streamable-http": "streamable_http",
    "streamableHttp": "streamable_http",
    "sse": "sse",
}
_LIKENESS = 0.8


class ServerConfig(BaseModel):
    """One MCP server, with variables put in.

    Attributes:
        name: What the file calls it.
        transport: How it is reached.
        command: The program to start, for `stdio`.
        args: Its arguments.
        env: Its environment, over a small one of harmless variables such as PATH; nothing else is inherited.
        cwd: The folder it starts in.
        url: The endpoint, for the others.
        headers: HTTP headers of every request.
        trust_annotations: Whether what the server says of its tools becomes their policy.
        policies: Fields of `ToolPolicy` by tool name, laid over that; `*` is for all tools.
        prefix: Put before the names of its tools; true means the server's own name and `_`.
        include_tools: The only tools to offer; None means all.
        exclude_tools: Tools not to offer.
        json_text: Whether text that is a JSON object or list is read as such.
        start_timeout: Seconds until the server must have listed its tools.
        call_timeout: Seconds one call may take; None means the policy's own.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    name: str
    transport: Transport
    command: str = ""
    args: tuple[str, ...] = Field(default=(), repr=False)
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str = Field(default="", repr=False)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    trust_annotations: bool = Field(default=True, strict=True)
    policies: dict[str, dict[str, Any]] = Field(default_factory=dict)
    prefix: str | bool = ""
    include_tools: tuple[str, ...] | None = None
    exclude_tools: tuple[str, ...] = ()
    json_text: bool = False
    start_timeout: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    call_timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.transport == "stdio" and not self.command.strip():
            raise ValueError("it has no command to start")
        if self.transport != "stdio" and not self.url.startswith(("http://", "https://")):
            raise ValueError("its url must begin with http:// or https://")
        return self

    @property
    def tool_prefix(self) -> str:
        """What stands before the names of its tools."""
        return (f"{self.name}_" if self.prefix else "") if isinstance(self.prefix, bool) else self.prefix


def read_servers(source: str | Path | Mapping[str, Any]) -> list[ServerConfig]:
    """Return the servers of a file, or of the same as data, that are not disabled.

    Args:
        source: Path of a JSON file, or its content: an object `{"mcpServers": {NAME: {...}}}`, as MCP clients
            have it, or only the inner one. `${VAR}` and `${VAR:-default}` in commands, arguments, urls, env
            and headers stand for variables of the environment.

    Raises:
        ToolLoadError: One line that names the file, the server and the remedy; it holds no secret.
    """
    if isinstance(source, Mapping):
        return _servers(source, "the MCP servers", None)
    path = Path(source)
    return _servers(_read(path), str(path), path.resolve().parent)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ToolLoadError(f"there is no file {path}") from None
    except OSError as error:
        raise ToolLoadError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ToolLoadError(trimmed(f"{path} is not JSON: {error}")) from None


def _servers(found: Any, where: str, folder: Path | None) -> list[ServerConfig]:
    form = f'{where} must be a JSON object, like {{"mcpServers": {{"NAME": {{"command": "..."}}}}}}'
    if not isinstance(found, Mapping):
        raise ToolLoadError(form)
    listed = next((found[name] for name in _LISTS if isinstance(found.get(name), Mapping)), found)
    if not all(isinstance(entry, Mapping) for entry in listed.values()):
        raise ToolLoadError(form)
    servers = [
        _server(str(name), entry, where, folder)
        for name, entry in listed.items()
        if entry.get("disabled") is not True
    ]
    if not servers:
        raise ToolLoadError(f"{where} lists no MCP server that is not disabled; put at least one in")
    return servers


def _server(name: str, entry: Mapping[str, Any], where: str, folder: Path | None) -> ServerConfig:
    what = f"MCP server {name!r} in {where}"
    if not name.strip():
        raise ToolLoadError(f"{where} has an MCP server without a name")
    _refuse_misspelt(entry, what)
    fields = {**entry, "name": name, "transport": _transport(entry, what)}
    for field in ("command", "args", "env", "cwd", "url", "headers"):
        if field in fields:
            fields[field] = expanded(fields[field], f"{field} of {what}")
    fields = {field: value for field, value in fields.items() if value is not None}
    try:
        server = ServerConfig.model_validate(fields)
    except ValidationError as error:
        raise ToolLoadError(trimmed(f"{what} cannot be used: {_faults(error)}")) from None
    return server.model_copy(update={"cwd": _folder(server, folder)})


def _transport(entry: Mapping[str, Any], what: str) -> Transport:
    stated = entry.get("transport") or entry.get("type")
    if stated is None:
        if ("command" in entry) == ("url" in entry):
            raise ToolLoadError(f"{what} needs either a command to start or a url to call")
        return "stdio" if "command" in entry else "streamable_http"
    known = _TRANSPORTS.get(stated) if isinstance(stated, str) else None
    if known is None:
        raise ToolLoadError(f"{what} has a transport that is not known; use stdio, http or sse")
    return known


def _refuse_misspelt(entry: Mapping[str, Any], what: str) -> None:
    """Fields of other MCP clients are passed over, but not a slip in one of ours: it may guard something."""
    ours = set(ServerConfig.model_fields) - {"name"}
    for key in sorted(set(entry) - ours, key=str):
        close = difflib.get_close_matches(str(key), sorted(ours), n=1, cutoff=_LIKENESS)
        if close:
            raise ToolLoadError(f"{what} has no field {key!r}; did you mean {close[0]!r}?")


def _faults(error: ValidationError) -> str:
    """Tell what is wrong and where, never which value: it may be a secret."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(
        ": ".join(filter(None, (".".join(map(str, each["loc"])), each["msg"]))) for each in found
    )


def _folder(server: ServerConfig, folder: Path | None) -> str | None:
    if folder is None or server.transport != "stdio":
        return server.cwd
    return str(folder / server.cwd) if server.cwd else str(folder)
