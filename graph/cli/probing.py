"""`planrail models`: asks each endpoint, with a few tiny calls, what it supports."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import typer
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk

from graph.cli import options
from graph.cli.errors import ExitCode, ModelMissing
from graph.cli.inputs import NO_MODEL_REMEDY
from graph.cli.terminal import short, table, visible, write_json, write_lines
from graph.models import ModelAddress, addresses, chat_model
from tools.scrub import REDACTED, scrubbed

models_app = typer.Typer(help="Look at the models of the roles.", rich_markup_mode=None, no_args_is_help=True)

SHAPE = {
    "type": "object",
    "properties": {"word": {"type": "string", "enum": ["ok"]}},
    "required": ["word"],
    "additionalProperties": False,
}
ASKED = "Reply with the word ok and nothing else."
ASKED_JSON = 'Reply with this JSON object and nothing else: {"word": "ok"}'
ASKED_SHAPE = "Say ok."
MAX_MESSAGE = 200

Support = Literal["yes", "no", "ignored"]


@dataclass(frozen=True)
class Probe:
    """What one call showed: supported, refused, or taken and not heeded; `detail` says more."""

    name: str
    support: Support
    detail: str = ""
    seconds: float = 0.0


@models_app.command(short_help="Ask each configured endpoint what it supports.")
def check(
    *,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="For each call.")
    ] = 60.0,
    as_json: options.AsJson = False,
) -> int:
    """Ask each configured endpoint what it supports; five tiny calls for each model."""
    found = addresses()
    if not found:
        raise ModelMissing(f"no model is configured: {NO_MODEL_REMEDY}")
    results = asyncio.run(_probe_all(_by_address(found), timeout))
    if as_json:
        write_json({"models": [_document(*each) for each in results]})
    else:
        write_lines(line for each in results for line in _lines(*each))
    answered = all(probes[0].support == "yes" for _, _, probes in results)
    return ExitCode.SUCCEEDED if answered else ExitCode.FAILED


Found = tuple[ModelAddress, list[str], list[Probe]]


def _by_address(found: dict[str, ModelAddress]) -> list[tuple[ModelAddress, list[str]]]:
    """Each address once, with the roles that use it."""
    roles: dict[ModelAddress, list[str]] = {}
    for role, address in found.items():
        roles.setdefault(address, []).append(role)
    return list(roles.items())


async def _probe_all(given: Sequence[tuple[ModelAddress, list[str]]], timeout: float) -> list[Found]:
    return [(address, roles, await probe(address, timeout)) for address, roles in given]


async def probe(address: ModelAddress, timeout: float) -> list[Probe]:
    """The probes of one model, the plain call first; without an answer to that no other is made."""
    model = chat_model(address)
    calls: list[tuple[str, Callable[[BaseChatModel], Awaitable[tuple[Support, str]]]]] = [
        ("answers", _plain),
        ("json_schema", _json_schema),
        ("function_calling", _function_calling),
        ("json_mode", _json_mode),
        ("streaming", _streaming),
    ]
    probes: list[Probe] = []
    for name, call in calls:
        probes.append(await _timed(name, call(model), timeout, address))
        if probes[0].support != "yes":
            break
    return probes


async def _timed(
    name: str, call: Awaitable[tuple[Support, str]], timeout: float, address: ModelAddress
) -> Probe:
    begun = time.monotonic()
    try:
        support, detail = await asyncio.wait_for(call, timeout)
    except TimeoutError:
        support, detail = "no", f"no answer within {timeout:g} s"
    except Exception as error:  # noqa: BLE001 - whatever a client library raises is what is asked about
        support, detail = "no", f"{type(error).__name__}: {error}"
    secret = address.api_key.get_secret_value()
    safe = scrubbed(detail.replace(secret, REDACTED), {}, frozenset())
    return Probe(name, support, short(safe, MAX_MESSAGE), round(time.monotonic() - begun, 2))


async def _plain(model: BaseChatModel) -> tuple[Support, str]:
    reply = await model.ainvoke(ASKED)
    return "yes", "usage is told" if _usage(reply) else "usage is not told: it will be estimated"


async def _json_schema(model: BaseChatModel) -> tuple[Support, str]:
    shape = {"name": "answer", "schema": SHAPE, "strict": True}
    bound = model.bind(response_format={"type": "json_schema", "json_schema": shape})
    return _judged(str((await bound.ainvoke(ASKED_SHAPE)).text), whole=True)


async def _json_mode(model: BaseChatModel) -> tuple[Support, str]:
    bound = model.bind(response_format={"type": "json_object"})
    return _judged(str((await bound.ainvoke(ASKED_JSON)).text), whole=False)


async def _function_calling(model: BaseChatModel) -> tuple[Support, str]:
    function = {"name": "answer", "description": "Give the answer.", "parameters": SHAPE}
    choice = {"type": "function", "function": {"name": "answer"}}
    bound = model.bind(tools=[{"type": "function", "function": function}], tool_choice=choice)
    reply = await bound.ainvoke(ASKED_SHAPE)
    calls = reply.tool_calls if isinstance(reply, AIMessage) else []
    if not calls:
        return "ignored", f"it did not call the function, it said {str(reply.text)[:60]!r}"
    return _judged(json.dumps(calls[0]["args"]), whole=True)


async def _streaming(model: BaseChatModel) -> tuple[Support, str]:
    pieces, usage = 0, False
    async for chunk in model.astream(ASKED, stream_usage=True):
        pieces += bool(chunk.text)
        usage = usage or _usage(chunk)
    told = "usage is told" if usage else "usage is not told"
    return ("yes", f"{pieces} pieces, {told}") if pieces else ("no", "the stream held no text")


def _usage(reply: Any) -> bool:
    told = reply.usage_metadata if isinstance(reply, AIMessage | AIMessageChunk) else None
    return bool(told and told.get("input_tokens"))


def _judged(text: str, *, whole: bool) -> tuple[Support, str]:
    """Whether the text is a JSON object, and with `whole` the very one that the schema allows."""
    try:
        value = json.loads(text)
    except ValueError:
        return "ignored", f"the answer is no JSON: {text[:60]!r}"
    fits = value == {"word": "ok"} if whole else isinstance(value, dict)
    return ("yes", "") if fits else ("ignored", f"the answer does not fit: {text[:60]!r}")


def _document(address: ModelAddress, roles: list[str], probes: list[Probe]) -> dict[str, Any]:
    where = {"roles": roles, "model": address.model, "base_url": address.shown_url}
    return {**where, "probes": [asdict(each) for each in probes]}


def _lines(address: ModelAddress, roles: list[str], probes: list[Probe]) -> list[str]:
    cells = [[each.name, each.support, f"{each.seconds:.2f} s", each.detail] for each in probes]
    heading = f"{address.model} at {address.shown_url}  ({', '.join(roles)})"
    return [visible(heading), *table((), cells, "  "), ""]
