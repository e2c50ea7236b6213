"""Settings of one run: LangGraph's context, which Studio shows as a form."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, create_model

from graph.state.settings import Settings, SettingsError

OF_THE_GRAPH = frozenset({"templates"})
"""What is read when a graph is built, and so cannot differ from run to run."""


def _context_model() -> type[BaseModel]:
    fields: dict[str, Any] = {
        name: (cast("Any", field.annotation) | None, Field(None, description=field.description))
        for name, field in Settings.model_fields.items()
        if name not in OF_THE_GRAPH
    }
    return create_model("RunContext", __config__=ConfigDict(extra="forbid"), **fields)


RunContext = _context_model()
"""Every setting, each optional; what is left out stays as the graph was built."""


def overrides_of(context: Any) -> dict[str, Any]:
    """The settings that a run's context gives; raises SettingsError when it is no such context."""
    if context is None:
        return {}
    if isinstance(context, BaseModel):
        context = context.model_dump(exclude_unset=True)
    if not isinstance(context, Mapping):
        raise SettingsError(f"the context is a {type(context).__name__}: give settings by name, or none")
    given = {str(name): value for name, value in context.items() if value is not None}
    fixed = sorted(OF_THE_GRAPH & set(given))
    if fixed:
        raise SettingsError(f"setting {fixed[0]!r} is of the graph, not of a run: give it to build_graph")
    return given
