"""Tool results as plain JSON data that every store can hold.

What JSON lacks gets a documented form:

==============================  ==========================================================
tuple, deque, other sequences   list
generator, map, filter, zip     list of its items
named tuple, dataclass, attrs   object of its fields
row of a database, namespace    object of its fields
set, frozenset                  sorted list
enum member                     its value
date, time, datetime            ISO 8601 text
timedelta                       seconds
Decimal, UUID, path, fraction   text
IP address or network           text
int beyond 64 bits              its digits as text
bytes                           ``{"$bytes": base64}``
pydantic model                  its own JSON form
message                         its content; text blocks joined to one text
numpy array, pandas frame       list; list of row objects with null for missing values
polars frame, pyarrow table     list of row objects
NUL, half a surrogate pair      U+FFFD, because databases refuse them in text
==============================  ==========================================================

A generator is taken to its end while the tool's time runs. Anything else, NaN and infinities, cycles, and
nesting beyond `MAX_DEPTH` raise `UnsupportedResult`.
"""

import base64
import dataclasses
import datetime as dt
import json
import math
import re
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Set
from decimal import Decimal
from enum import Enum
from pathlib import PurePath

from langchain_core.messages import BaseMessage
from langchain_core.messages.tool import ToolOutputMixin
from pydantic import BaseModel

from graph.plan import JSON, canonical_json
from tools.errors import UnsupportedResult
from tools.plainer import is_missing, plainer

MAX_DEPTH = 64
"""Levels of nesting; also what a plan may nest, so that any result can become an argument."""

_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_STRUCTURED, _WRAPPED = "structured_content", "result"
_REMEDY = "return text, numbers, lists, dicts, a dataclass or a pydantic model"


def to_json(value: object) -> JSON:
    """Return a fresh JSON value that stands for a tool's result.

    Args:
        value: Whatever the tool returned.

    Raises:
        UnsupportedResult: The value, or something in it, has no JSON form; the message names the place.
    """
    try:
        return _convert(value, "result", 0)
    except UnsupportedResult:
        raise
    except Exception as error:
        detail = f"{type(error).__name__} while reading a {type(value).__name__}; {_REMEDY}"
        raise UnsupportedResult(f"the result could not be turned into JSON: {detail}") from error


def _convert(value: object, path: str, depth: int) -> JSON:  # noqa: PLR0911 - one line per type of JSON
    if depth > MAX_DEPTH:
        raise UnsupportedResult(f"the result is cyclic or nested deeper than {MAX_DEPTH} levels; flatten it")
    kind = type(value)
    if kind is str:
        return clean_text(value)  # type: ignore[arg-type]
    if value is None or kind is bool:
        return value  # type: ignore[return-value]
    if kind is int:
        return _integer(value)  # type: ignore[arg-type]
    if kind is float:
        return _float(value, path)  # type: ignore[arg-type]
    if kind is dict:
        return _mapping(value, path, depth)  # type: ignore[arg-type]
    if kind is list or kind is tuple:
        return _items(value, path, depth)  # type: ignore[arg-type]
    return _rich(value, path, depth)


def clean_text(text: str) -> str:
    """Return the text with U+FFFD for each character that databases refuse."""
    return _UNSTORABLE.sub("\ufffd", text)


def _integer(value: int) -> JSON:
    return int(value) if _INT_MIN <= value <= _INT_MAX else str(int(value))


def _float(value: float, path: str) -> JSON:
    if math.isfinite(value):
        return float(value)
    raise UnsupportedResult(f"{path} is {value}, which JSON has no number for; return None or text instead")


def _items(values: Iterable[object], path: str, depth: int) -> JSON:
    return [_convert(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(values)]


def _mapping(values: Mapping[object, object], path: str, depth: int) -> JSON:
    result: dict[str, JSON] = {}
    for key, item in values.items():
        name = _key(key, path)
        if name in result:
            raise UnsupportedResult(f"{path} has two keys that both read {name!r} as text; rename one")
        result[name] = _convert(item, f"{path}.{name}", depth + 1)
    return result


def _key(key: object, path: str) -> str:
    plain = key.value if isinstance(key, Enum) else key
    if isinstance(plain, str):
        return clean_text(plain)
    if isinstance(plain, bool) or plain is None:
        return {True: "true", False: "false", None: "null"}[plain]
    if isinstance(plain, (int, float, Decimal, dt.date, uuid.UUID)):
        return str(_convert(plain, path, 0))
    raise UnsupportedResult(f"{path} has a {type(plain).__name__} as a key; use text keys")


def _rich(value: object, path: str, depth: int) -> JSON:
    """Convert what is not one of JSON's own types."""
    if isinstance(value, Enum):
        return _convert(value.value, path, depth + 1)
    for kinds, convert in _SCALARS:
        if isinstance(value, kinds):
            return convert(value, path)
    if isinstance(value, BaseMessage):
        return _convert(content_value(value.content), path, depth + 1)
    if isinstance(value, ToolOutputMixin):
        kind = type(value).__name__
        raise UnsupportedResult(
            f"{path} is a {kind} for an agent, which a plan does not carry out; {_REMEDY}"
        )
    if isinstance(value, BaseModel):
        return _convert(_dump(value), path, depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _mapping(fields, path, depth)  # type: ignore[arg-type]
    return _container(value, path, depth)


def _container(value: object, path: str, depth: int) -> JSON:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _mapping(value._asdict(), path, depth)
    if isinstance(value, (list, tuple, deque)):
        return _items(value, path, depth)
    if isinstance(value, Mapping):
        return _mapping(value, path, depth)
    if isinstance(value, Set):
        members = [_convert(item, f"{path}{{}}", depth + 1) for item in value]
        return sorted(members, key=canonical_json)
    return _convert(plainer(value, path), path, depth + 1)


def _dump(model: BaseModel) -> object:
    try:
        return model.model_dump(mode="json", warnings=False)
    except ValueError:
        return model.model_dump(
            warnings=False
        )  # bytes that are not text, for one, have no form of pydantic's


def content_value(content: object) -> object:
    """Return a message's content, with a list of only text blocks as the one text they make up."""
    if not isinstance(content, (list, tuple)) or not content:
        return content
    texts = [_block_text(block) for block in content]
    return content if None in texts else "\n".join(text for text in texts if text is not None)


def paired_value(content: object, artifact: object) -> object:
    """Return the result of a tool that gives content for models and an artifact for programs.

    It is the content, but for what LangChain's adapters make of MCP tools: their artifact holds the result as
    data, in an object of its own where the protocol wanted one.
    """
    text = content_value(content)
    structured = artifact.get(_STRUCTURED) if isinstance(artifact, Mapping) and len(artifact) == 1 else None
    if not isinstance(structured, Mapping):
        return text
    wrapped = set(structured) == {_WRAPPED} and _parsed(text) != structured
    return structured[_WRAPPED] if wrapped else structured


def _parsed(text: object) -> object:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _block_text(block: object) -> str | None:
    if isinstance(block, str):
        return block
    if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
        return str(block["text"])
    return None


def _decimal(value: Decimal, path: str) -> JSON:
    return str(value) if value.is_finite() else _float(float(value), path)


_Converter = Callable[..., JSON]
_SCALARS: tuple[tuple[type | tuple[type, ...], _Converter], ...] = (
    (str, lambda value, _: clean_text(str(value))),
    (int, lambda value, _: _integer(value)),
    (float, _float),
    ((dt.date, dt.time), lambda value, _: None if is_missing(value) else value.isoformat()),
    (dt.timedelta, lambda value, _: value.total_seconds()),
    (Decimal, _decimal),
    ((uuid.UUID, PurePath), lambda value, _: clean_text(str(value))),
    (
        (bytes, bytearray, memoryview),
        lambda value, _: {"$bytes": base64.b64encode(bytes(value)).decode("ascii")},
    ),
)
