"""Every limit and choice of a run in one model: from arguments, from `PLANRAIL_*`, from a file."""

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings import SettingsError as PydanticSettingsError

from graph.plan import PlanLimits, PlanrailError
from graph.state.budgets import BudgetSettings
from graph.state.config_file import CONFIG_FILE, ConfigFault, ConfigSource

DEFAULT_TEMPLATES = "planrail_templates"
"""A folder beside what one works on; it need not be there."""


class SettingsError(PlanrailError):
    """A setting does not exist or its value does not fit; the message names it and the remedy."""

    code: ClassVar[str] = "bad_setting"


class Settings(BudgetSettings):
    """Limits and choices of a run. Times are seconds, sizes bytes.

    Source, strongest first: arguments (`--set KEY=VALUE`), then `PLANRAIL_<KEY>` of the environment, then
    the file `planrail.toml`, or that of `--config` or `PLANRAIL_CONFIG`.
    """

    model_config = SettingsConfigDict(env_prefix="PLANRAIL_", frozen=True, extra="ignore")

    approve_at: Literal["never", "low", "medium", "high"] = Field(
        "high", description="Effective risk from which a step waits for a person; never asks nobody."
    )
    scheduling: Literal["lanes", "layered"] = Field(
        "lanes", description="lanes walk on as inputs exist; layered runs one superstep per layer."
    )
    max_concurrency: int = Field(8, ge=1, le=1000, description="Steps running at once, over all lanes.")
    cache_scope: str = Field(
        "",
        description="Whose kept results a run shares, of tools with cache_scope=shared: give each user or "
        "tenant a name of their own.",
    )
    max_steps: int = Field(200, ge=1, description="Steps a plan may have.")
    max_map_items: int = Field(100_000, ge=1, description="Items that a map step may go over.")
    compensate: bool = Field(
        False, description="Undo completed steps that say how, last first, when the run is given up."
    )
    max_plan_depth: int = Field(
        2, ge=1, le=5, description="How deep plan steps may be inside each other's plans."
    )
    max_expression_chars: int = Field(500, ge=1, description="Length of one ${...} expression.")
    max_goal_chars: int = Field(100_000, ge=1, description="Length of a goal.")
    plan_repairs: int = Field(2, ge=0, description="Times a faulty plan goes back to the model.")
    max_replans: int = Field(2, ge=0, description="Revisions the replanner may make in one run.")
    validation: Literal["auto", "every", "key", "off"] = Field(
        "auto",
        description="When a model checks whether the plan still holds: every step, key steps (before writes, "
        "after what is marked verify or moves money), or off; auto is key once a validator model is given.",
    )
    word_answers: bool = Field(
        True,
        description="Have the reporter's model put into words what a model's plan looked up; its results are "
        "the answer otherwise.",
    )
    redo_attempts: int = Field(2, ge=0, description="Times llm output goes back with the reason.")
    structured_method: Literal["auto", "json_schema", "function_calling", "json_mode", "prompt"] = Field(
        "auto", description="How models are asked for JSON; auto finds out once what an endpoint takes."
    )
    agent_method: Literal["auto", "tools", "structured"] = Field(
        "auto",
        description="How agents choose their next call: by tool calling, or as one JSON object for endpoints "
        "without it; auto finds out once.",
    )
    max_agent_iterations: int = Field(8, ge=1, le=50, description="Tool calls of an agent step at most.")
    heal_references: bool = Field(
        True, description="Ask the executor model, once, what a reference means that a result lacks."
    )
    llm_attempts: int = Field(3, ge=1, description="Tries of one model call over soft failures.")
    llm_timeout: float = Field(120.0, gt=0, description="Seconds one model call may take.")
    backoff_base: float = Field(1.0, ge=0, description="First wait after a soft failure of a model call.")
    backoff_cap: float = Field(20.0, ge=0, description="Longest wait between two tries of a model call.")
    retry_after_limit: float = Field(60.0, ge=0, description="Longest Retry-After that is waited for.")
    inline_bytes: int = Field(32_768, ge=256, description="Results above this are stored by reference.")
    templates: str = Field(
        DEFAULT_TEMPLATES,
        description="Folders with templates of your own, with the system's path separator between them.",
    )
    template_match: Literal["off", "rule", "model"] = Field(
        "rule",
        description="How goals find templates: by rule, which asks no model, then by the validator's model.",
    )
    digest_chars: int = Field(2_000, ge=100, description="Characters of one result that enter a prompt.")

    @classmethod
    def of(cls, given: "Settings | Mapping[str, Any] | None") -> "Settings":
        """Settings from what a caller hands in; raises SettingsError naming the key."""
        if isinstance(given, Settings):
            return given
        values = dict(given or {})
        for key in values:
            _require_known(key)
        return cls._made(values)

    @classmethod
    def _made(cls, values: Mapping[str, Any]) -> Self:
        try:
            return cls(**values)
        except ValidationError as error:
            raise SettingsError(_explain(error)) from None
        except ConfigFault as error:
            raise SettingsError(str(error)) from None
        except (PydanticSettingsError, RecursionError) as error:
            raise SettingsError(f"a setting of the environment is no JSON: {error}") from None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments before the environment before the file."""
        return init_settings, env_settings, ConfigSource(settings_cls)

    def with_overrides(self, pairs: Iterable[str]) -> Self:
        """These settings with `KEY=VALUE` texts laid over them; raises SettingsError."""
        values = self.model_dump()
        for pair in pairs:
            key, equals, text = pair.partition("=")
            if not equals:
                raise SettingsError(f"setting {pair!r} has no value: write --set KEY=VALUE")
            _require_known(key.strip())
            values[key.strip()] = text.strip()
        return self._made(values)

    def overlaid(self, values: Mapping[str, Any]) -> "Settings":
        """These settings with others laid over them; raises SettingsError."""
        return Settings.of({**self.model_dump(), **values}) if values else self

    @property
    def template_folders(self) -> list[Path]:
        """The folders of `templates`, last one strongest."""
        folders = [Path(each) for each in self.templates.split(os.pathsep) if each.strip()]
        return [each for each in folders if str(each) != DEFAULT_TEMPLATES or each.is_dir()]

    @property
    def plan_limits(self) -> PlanLimits:
        return PlanLimits(
            max_steps=self.max_steps,
            max_expression_chars=self.max_expression_chars,
            max_plan_depth=self.max_plan_depth,
            max_map_items=self.max_map_items,
        )


def _require_known(key: str) -> None:
    names = list(Settings.model_fields)
    if key not in names:
        close = get_close_matches(key, names, n=3)
        hint = f"did you mean {', '.join(close)}?" if close else f"settings are: {', '.join(names)}"
        raise SettingsError(f"unknown setting {key!r}: {hint}")


def _explain(error: ValidationError) -> str:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"]) or "settings"
    source = f"or PLANRAIL_{name.upper()} of the environment, or of {CONFIG_FILE}"
    return f"setting {name!r} ({source}) does not accept {first.get('input')!r}: {first['msg']}"
