"""Which arguments of a tool are filled by the machinery, never by a model or a plan."""

import inspect
from collections.abc import Callable
from typing import Any, get_args, get_origin, get_type_hints

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId
from langchain_core.tools.base import _DirectlyInjectedToolArg, get_all_basemodel_annotations
from pydantic import BaseModel

from tools.policy import IdempotencyKey

_BY_NAME = frozenset({"run_manager", "callbacks"})


def injected_arguments(tool: BaseTool) -> frozenset[str]:
    """Return the names of all arguments that LangChain, LangGraph or planrail fill in."""
    found = _annotations(tool)
    hidden = {name for name, annotation in found.items() if _is_injected(annotation)}
    return frozenset(hidden | (_BY_NAME & found.keys()))


def key_argument(tool: BaseTool) -> str | None:
    """Return the name of the argument marked with `IdempotencyKey`, if there is one."""
    return _marked(tool, IdempotencyKey)


def call_id_argument(tool: BaseTool) -> str | None:
    """Return the name of the argument that wants LangChain's tool call id, if there is one."""
    return _marked(tool, InjectedToolCallId)


def arguments_model(tool: BaseTool) -> type[BaseModel] | None:
    """Return the pydantic model of all the tool's arguments, None when it only has a JSON Schema."""
    model: Any = tool.get_input_schema() if tool.args_schema is None else tool.args_schema
    return model if isinstance(model, type) and issubclass(model, BaseModel) else None


def _marked(tool: BaseTool, marker: type[InjectedToolArg]) -> str | None:
    names = [name for name, annotation in _annotations(tool).items() if _has_marker(annotation, marker)]
    return names[0] if names else None


def _annotations(tool: BaseTool) -> dict[str, Any]:
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    sources = [tool._run, tool._arun] if function is None else [function]  # noqa: SLF001 - the hooks tools override
    found: dict[str, Any] = {}
    for source in sources:
        found.update(_signature(source))
    model = arguments_model(tool)
    if model is not None:
        found.update(get_all_basemodel_annotations(model))
    return found


def _signature(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        hints = get_type_hints(function, include_extras=True)
        names = inspect.signature(function).parameters
    except (NameError, TypeError, ValueError):
        return {}
    return {name: hints.get(name) for name in names}


def _is_injected(annotation: Any) -> bool:
    kinds = [annotation, get_origin(annotation), *get_args(annotation)[:1]]
    direct = any(isinstance(kind, type) and issubclass(kind, _DirectlyInjectedToolArg) for kind in kinds)
    return direct or annotation is RunnableConfig or _has_marker(annotation, InjectedToolArg)


def _has_marker(annotation: Any, marker: type[InjectedToolArg]) -> bool:
    return any(
        isinstance(mark, marker) or (isinstance(mark, type) and issubclass(mark, marker))
        for mark in get_args(annotation)[1:]
    )
