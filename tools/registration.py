"""Preparing tools and functions for planned calls, and refusing what could not work."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from jsonschema.protocols import Validator
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel

from graph.plan import read_expression
from graph.plan.cel import syntax_fault
from graph.plan.json_schema import schema_fault, validator_of
from tools.errors import ToolSetupError
from tools.guard import guarded
from tools.hints import hinted_policy
from tools.injected import arguments_model, call_id_argument, injected_arguments, key_argument
from tools.json_schema import with_properties
from tools.policy import UNKNOWN_TOOL_POLICY, ToolPolicy, declared_policy
from tools.prepared import prepared
from tools.rate import load_windows
from tools.registered import ALL_ARGS, RegisteredTool

AnyTool: TypeAlias = BaseTool | Callable[..., Any]


def register(item: AnyTool, policies: Mapping[str, ToolPolicy]) -> RegisteredTool:
    """Prepare one tool.

    Args:
        item: A LangChain tool or a function.
        policies: Policies by tool name that take precedence over a declared one.

    Raises:
        ToolSetupError: The tool cannot be used; the message says why.
    """
    given = item if isinstance(item, BaseTool) else _from_function(item)
    tool = prepared(given)
    declared = policies.get(tool.name) or declared_policy(item) or declared_policy(given)
    policy = declared or hinted_policy(tool.metadata) or UNKNOWN_TOOL_POLICY
    injected = injected_arguments(tool)
    schema = _args_schema(tool, injected)
    known = frozenset(schema.get("properties", {})) | (_field_names(tool) - injected)
    _check_policy(tool.name, policy, known, bool(schema.get("additionalProperties")))
    _check_output(tool.name, policy)
    _check_cache(tool.name, policy, injected)
    if policy.rate is not None:
        load_windows()
    return RegisteredTool(
        name=tool.name,
        description=tool.description,
        policy=policy,
        args_schema=schema,
        injected=injected,
        key_argument=key_argument(tool),
        call_id_argument=call_id_argument(tool),
        tool=guarded(tool),
        _validator=_validator(tool, schema),
        _known=known,
    )


def _from_function(function: Callable[..., Any]) -> BaseTool:
    if not callable(function):
        raise ToolSetupError(f"a {type(function).__name__} is no tool; give LangChain tools or functions")
    name = str(getattr(function, "__name__", type(function).__name__))
    is_async = inspect.iscoroutinefunction(function)
    build = functools.partial(
        StructuredTool.from_function, name=name, description=inspect.getdoc(function) or name
    )
    try:
        return build(coroutine=function) if is_async else build(function)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ToolSetupError(
            f"no tool can be made of {name!r}; wrap it in an annotated function ({reason})"
        ) from error


def _args_schema(tool: BaseTool, injected: frozenset[str]) -> dict[str, Any]:
    try:
        # LangChain's schema without the injected arguments also lacks aliases and "extra" of the model.
        shown = tool.tool_call_schema if injected else arguments_model(tool) or tool.tool_call_schema
        schema = _own_schema(shown) if isinstance(shown, dict) else _model_schema(shown)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ToolSetupError(f"the arguments of {tool.name!r} have no JSON Schema ({reason})") from error
    properties = {name: part for name, part in schema.get("properties", {}).items() if name not in injected}
    required = [name for name in schema.get("required", []) if name not in injected]
    model = arguments_model(tool)
    takes_more = model is not None and model.model_config.get("extra") == "allow"
    further = {"additionalProperties": True} if takes_more else {}
    return schema | further | {"properties": properties, "required": required}


def _own_schema(schema: dict[str, Any]) -> dict[str, Any]:
    fault = schema_fault(schema)
    if fault is not None:
        raise ValueError(fault)
    return with_properties(dict(schema))


def _model_schema(model: Any) -> dict[str, Any]:
    if not issubclass(model, BaseModel):
        raise TypeError("its args_schema is a pydantic v1 model; use a pydantic v2 model")
    return dict(model.model_json_schema())


def _field_names(tool: BaseTool) -> frozenset[str]:
    model = arguments_model(tool)
    return frozenset() if model is None else frozenset(model.model_fields)


def _validator(tool: BaseTool, schema: dict[str, Any]) -> type[BaseModel] | Validator:
    model = arguments_model(tool)
    return validator_of(schema) if model is None else model


def _check_policy(name: str, policy: ToolPolicy, known: frozenset[str], open_ended: bool) -> None:
    """Refuse a policy that speaks of arguments the tool does not have: a misspelt rule guards nothing."""
    for rule in (*policy.approve_when, *policy.deny_when):
        fault = read_expression(rule).fault or syntax_fault(rule)
        if fault is not None:
            raise ToolSetupError(f"the policy of {name!r} has a rule that cannot be read: {rule}: {fault}")
        strangers = sorted(read_expression(rule).roots - known - {ALL_ARGS})
        if strangers and not open_ended:
            raise ToolSetupError(
                f"the policy of {name!r} has a rule over {strangers[0]!r}, which is no argument: {rule}"
            )
    made_up = sorted((policy.grounded or frozenset()) - known)
    if made_up and not open_ended:
        raise ToolSetupError(f"the policy of {name!r} grounds {made_up[0]!r}, which is no argument")
    for field in ("session_arg", "service_arg"):
        argument = getattr(policy, field)
        if argument is not None and argument not in known and not open_ended:
            raise ToolSetupError(f"the policy of {name!r} names a {field} {argument!r} it does not have")


def _check_output(name: str, policy: ToolPolicy) -> None:
    fault = None if policy.output_schema is None else schema_fault(policy.output_schema)
    if fault is not None:
        raise ToolSetupError(f"the policy of {name!r} has an output_schema that cannot be used: {fault}")


def _check_cache(name: str, policy: ToolPolicy, injected: frozenset[str]) -> None:
    """Refuse to keep results that depend on more than the arguments that make two calls equal."""
    keeps = policy.cache_ttl is not None or policy.falls_back_to_stale
    if keeps and injected:
        raise ToolSetupError(
            f"the results of {name!r} cannot be kept: they may depend on the injected {min(injected)!r}; "
            "drop cache_ttl and the fallback stale_cache, or that argument"
        )
