"""Reads and judges what a command is given, before a database is opened or a tool is called."""

import getpass
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from graph.cli.errors import ModelMissing, UsageProblem
from graph.plan import Plan, PlanError, PlanProblem, check_plan, parse_plan_text
from graph.state import Settings, using_config
from tools import ToolRegistry

_READ_LIMIT = 8_000_000
"""Bytes read of a plan file: beyond what a plan may have, so that an endless one is refused too."""

NO_MODEL_REMEDY = (
    "set OPENAI_API_KEY, or OPENAI_BASE_URL for a compatible endpoint (PLANRAIL_MODEL names the model)"
)


def read_settings(pairs: Iterable[str], config: str | None = None) -> Settings:
    """Settings of the environment and of a file with `KEY=VALUE` texts laid over them.

    Args:
        pairs: Texts as `--set` gives them.
        config: The file, when it is not the one in effect.

    Raises:
        SettingsError: A setting does not exist or fit, or the file cannot be read.
    """
    with using_config(config):
        return Settings.of(None).with_overrides(pairs)


def checked_goal(goal: str, settings: Settings) -> str:
    """The goal, if anybody could work on it; raises UsageProblem."""
    if not goal.strip():
        raise UsageProblem("the goal is empty: say in words what is to be done")
    if "\x00" in goal:
        raise UsageProblem("the goal holds a NUL character: remove it")
    if len(goal) > settings.max_goal_chars:
        raise UsageProblem(
            f"the goal has {len(goal)} characters and may have {settings.max_goal_chars}: shorten it, "
            "or raise --set max_goal_chars"
        )
    if any("\ud800" <= char <= "\udfff" for char in goal):
        raise UsageProblem("the goal is not valid UTF-8 text: check the terminal's or the file's encoding")
    return goal


def read_plan(source: str, goal: str | None, settings: Settings) -> Plan:
    """The plan in a file, or on stdin for `-`; a goal given beside it takes the place of its own.

    Raises:
        UsageProblem: The file cannot be read, or the goal is none.
        PlanError: Its content is no plan.
    """
    plan, problems = read_plan_or_problems(source, goal)
    if plan is None:
        raise PlanError(problems)
    kept = plan if goal is None else plan.model_copy(update={"goal": goal})
    checked_goal(kept.goal, settings)
    return kept


def read_plan_or_problems(
    source: str, goal: str | None = None
) -> tuple[Plan | None, tuple[PlanProblem, ...]]:
    """The plan in a file or on stdin, or why it is none; raises UsageProblem when it cannot be read."""
    return parse_plan_text(_read_bytes(source), goal=goal)


def require_runnable(
    plan: Plan, registry: ToolRegistry, settings: Settings, models: Mapping[str, Any]
) -> None:
    """Raise PlanError or ModelMissing for a plan that cannot run with these tools and models."""
    problems = check_plan(plan, registry, settings.plan_limits)
    if problems:
        raise PlanError(tuple(problems))
    asking = [step.id for step in plan.steps if step.asks_model]
    if asking and not models:
        raise ModelMissing(f"step {asking[0]} asks a model, and none is configured: {NO_MODEL_REMEDY}")


def read_json_object(text: str, option: str) -> dict[str, Any]:
    """The JSON object of a command line option; raises UsageProblem."""
    value = read_json(text, option)
    if not isinstance(value, dict):
        raise UsageProblem(f'{option} must be a JSON object, like {{"name": "value"}}')
    return value


def read_json(text: str, option: str) -> Any:
    """The JSON value of a command line option; raises UsageProblem."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise UsageProblem(
            f"{option} is not JSON ({error}): quote it for the shell, like '{{\"n\": 1}}'"
        ) from None


def decider(name: str | None) -> str | None:
    """Who decides: the name given, else the one logged in, else nobody known."""
    if name is not None:
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _read_bytes(source: str) -> bytes:
    if not source:
        raise UsageProblem("--plan is empty: give the path of a JSON file, or - for stdin")
    try:
        if source == "-":
            return _read_up_to_limit(sys.stdin.buffer)
        with Path(source).open("rb") as file:
            return _read_up_to_limit(file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageProblem(
            f"cannot read the plan file {source}: {reason}; give a readable JSON file"
        ) from None


def _read_up_to_limit(file: BinaryIO) -> bytes:
    return file.read(_READ_LIMIT)
