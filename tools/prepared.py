"""LangChain tools in the one form in which planned calls are made: by named arguments, with an answer."""

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, Tool, create_schema_from_function
from pydantic import BaseModel, ConfigDict

from tools.drained import drained_async
from tools.errors import ToolSetupError

SINGLE_INPUT = "__arg1"
"""What LangChain calls the argument of a tool that has one and no name for it."""

_SINGLE_SCHEMA = {
    "type": "object",
    "properties": {SINGLE_INPUT: {"type": "string", "title": "Input"}},
    "required": [SINGLE_INPUT],
}
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def prepared(tool: BaseTool) -> BaseTool:
    """Return the tool, or a copy that can be called where the tool could not.

    A `Tool` of one unnamed input gets a name for it, a function's `**kwargs` take any further arguments, a
    class with async code alone gets its arguments from there, and an async generator becomes a coroutine.

    Raises:
        ToolSetupError: An argument can only be given by position.
    """
    if isinstance(tool, Tool):
        return tool if tool.args_schema is not None else _changed(tool, args_schema=dict(_SINGLE_SCHEMA))
    if isinstance(tool, StructuredTool):
        return _with_coroutine(_with_open_schema(tool))
    if tool.args_schema is None and _is_variadic(tool._run) and type(tool)._arun is not BaseTool._arun:  # noqa: SLF001
        return _changed(tool, args_schema=create_schema_from_function(tool.name, tool._arun))  # noqa: SLF001
    return tool


def _changed(tool: BaseTool, **fields: Any) -> BaseTool:
    return tool.model_copy(update=fields)


def _with_coroutine(tool: BaseTool) -> BaseTool:
    function = getattr(tool, "func", None)
    if function is None or not inspect.isasyncgenfunction(function) or getattr(tool, "coroutine", None):
        return tool
    return _changed(tool, func=None, coroutine=_collecting(function))


def _collecting(function: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, object]]:
    @functools.wraps(function)
    async def collect(*args: Any, **kwargs: Any) -> object:
        return await drained_async(function(*args, **kwargs))

    return collect


def _with_open_schema(tool: StructuredTool) -> BaseTool:
    function = tool.func or tool.coroutine
    parameters = _parameters(function) if function is not None else []
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise ToolSetupError(
                f"the argument {parameter.name!r} of {tool.name!r} can only be given by position, and plans "
                "name arguments: take the / out of its signature"
            )
    variadic = [parameter for parameter in parameters if parameter.kind in _VARIADIC]
    schema = tool.args_schema
    if function is None or not _was_inferred(schema, variadic):
        return tool
    takes_more = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in variadic)
    named = [parameter for parameter in parameters if parameter.kind not in _VARIADIC]
    closed: Any = create_schema_from_function(tool.name, _stand_in(function, named))
    return _changed(tool, args_schema=_opened(closed) if takes_more else closed)


def _was_inferred(schema: Any, variadic: list[inspect.Parameter]) -> bool:
    """Tell whether LangChain took `*args` or `**kwargs` for arguments of that name."""
    if not isinstance(schema, type) or not issubclass(schema, BaseModel):
        return False
    return any(parameter.name in schema.model_fields for parameter in variadic)


def _stand_in(function: Callable[..., Any], named: list[inspect.Parameter]) -> Callable[..., Any]:
    """A function of the same description that takes the named arguments alone."""

    @functools.wraps(function)
    def described() -> None: ...

    del described.__wrapped__
    described.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    return described


def _opened(schema: type[BaseModel]) -> type[BaseModel]:
    make: Callable[..., type[BaseModel]] = type(schema)
    members = {"model_config": ConfigDict(extra="allow"), "__module__": __name__}
    return make(schema.__name__, (schema,), members)


def _is_variadic(function: Callable[..., Any]) -> bool:
    return all(parameter.kind in _VARIADIC for parameter in _parameters(function))


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
