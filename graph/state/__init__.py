"""What a run is made of: its channels, settings, engine, questions, and the document it gives back."""

from graph.state.budgets import Price
from graph.state.channels import (
    OUTPUT_KEYS,
    STATE_FORMAT,
    Decision,
    Dispatch,
    GraphInput,
    GraphOutput,
    GraphState,
    StepTask,
)
from graph.state.config_file import CONFIG_VARIABLE, chosen_config, config_path, using_config
from graph.state.context import RunContext, overrides_of
from graph.state.document import build_document, effects, entries_of
from graph.state.endpoints import EndpointFacts, EndpointMemory
from graph.state.engine import INVOCATION_KEY, Engine, Invocation, NoModelError, model_name
from graph.state.questions import (
    RESPONSE_SCHEMA,
    ApprovalError,
    Kind,
    Request,
    check_edit,
    read_answer,
    read_answers,
)
from graph.state.settings import Settings, SettingsError
from graph.state.shown import hidden_args, shown_plan
from graph.state.templating import (
    TemplateChoice,
    faults_of,
    fitting_templates,
    plan_by_rule,
    plan_of_template,
)

__all__ = [
    "CONFIG_VARIABLE",
    "INVOCATION_KEY",
    "OUTPUT_KEYS",
    "RESPONSE_SCHEMA",
    "STATE_FORMAT",
    "ApprovalError",
    "Decision",
    "Dispatch",
    "EndpointFacts",
    "EndpointMemory",
    "Engine",
    "GraphInput",
    "GraphOutput",
    "GraphState",
    "Invocation",
    "Kind",
    "NoModelError",
    "Price",
    "Request",
    "RunContext",
    "Settings",
    "SettingsError",
    "StepTask",
    "TemplateChoice",
    "build_document",
    "check_edit",
    "chosen_config",
    "config_path",
    "effects",
    "entries_of",
    "faults_of",
    "fitting_templates",
    "hidden_args",
    "model_name",
    "overrides_of",
    "plan_by_rule",
    "plan_of_template",
    "read_answer",
    "read_answers",
    "shown_plan",
    "using_config",
]
