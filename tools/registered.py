"""One tool with its policy, as the plan check, the planner and the executor see it."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from jsonschema.protocols import Validator
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from graph.plan import JSON, ReferenceFailure, Risk, evaluate_condition
from tools.arguments import argument_problems
from tools.decode import decode_arguments, defaults
from tools.grounding import grounded_by_default
from tools.policy import Effect, ToolPolicy
from tools.scrub import redacted

ALL_ARGS = "args"
"""The name under which a policy's rule sees all arguments at once."""


@dataclasses.dataclass(frozen=True, slots=True)
class RegisteredTool:
    """One tool with its policy and what is known of its arguments.

    Attributes:
        name: The name that plans use.
        description: What it does, for models and people.
        policy: What code decides about it.
        args_schema: JSON Schema of the arguments a plan may give; injected ones are not in it.
        injected: Arguments that a plan may never give.
        key_argument: The injected argument that receives the idempotency key, if the tool asks for it.
        call_id_argument: The injected argument that receives LangChain's tool call id, if any.
        tool: The LangChain tool, prepared for `call_tool`.
    """

    name: str
    description: str
    policy: ToolPolicy
    args_schema: dict[str, Any]
    injected: frozenset[str]
    key_argument: str | None
    call_id_argument: str | None
    tool: BaseTool
    _validator: type[BaseModel] | Validator
    _known: frozenset[str]

    @property
    def effect(self) -> Effect:
        """Whether a call changes anything outside."""
        return self.policy.effect

    @property
    def risk(self) -> Risk:
        """The lowest risk a call can have."""
        return self.policy.risk_floor

    @property
    def grounded(self) -> frozenset[str]:
        """Arguments whose value must occur in the goal, the params or a result, never be made up."""
        if self.policy.grounded is not None:
            return self.policy.grounded
        return grounded_by_default(self.args_schema) if self.effect == "write" else frozenset()

    def decode_args(self, args: Mapping[str, Any]) -> dict[str, JSON]:
        """Return a deep copy with JSON text decoded where the tool wants a structure and no text.

        Do this before references are resolved: text put into JSON text could change its structure.
        """
        return decode_arguments(args, self.args_schema)

    def args_problems(self, args: Mapping[str, JSON]) -> list[tuple[str, str]]:
        """Return (argument, message) for each fault, "" for the call as a whole.

        A value that is one whole reference is not judged; text with a reference in it is text.
        """
        decoded = self.decode_args(args)
        open_ended = bool(self.args_schema.get("additionalProperties"))
        return argument_problems(decoded, self._validator, self._known, self.injected, open_ended)

    def denied(self, args: Mapping[str, JSON]) -> str | None:
        """Return the reason when a deny rule forbids the call, else None.

        The arguments are resolved: text that looks like a reference is what the tool would be given. A
        rule that cannot be evaluated forbids the call.
        """
        return self._first_hit(self.policy.deny_when, args, "forbidden by the tool's policy")

    def needs_approval(self, args: Mapping[str, JSON]) -> str | None:
        """Return the reason when a rule makes a person approve the call, else None.

        Judged like `denied`.
        """
        return self._first_hit(self.policy.approve_when, args, "approval required by the tool's policy")

    def redacted(self, args: Mapping[str, JSON]) -> dict[str, JSON]:
        """Return a copy of the arguments that may be shown: secret values are replaced."""
        shown = redacted(dict(args), self.policy.redact)
        return shown if isinstance(shown, dict) else {}

    def _first_hit(self, rules: tuple[str, ...], args: Mapping[str, JSON], verdict: str) -> str | None:
        if not rules:
            return None
        values = defaults(self.args_schema) | self.decode_args(args)
        scope: dict[str, JSON] = {**values, ALL_ARGS: dict(values)}
        for rule in rules:
            try:
                if evaluate_condition(rule, scope):
                    return f"{verdict}: {rule}"
            except ReferenceFailure as failure:
                return f"{verdict}: {rule} (the rule cannot be evaluated on these arguments: {failure})"
        return None
