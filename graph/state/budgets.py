"""What may be spent: the settings that bound a run and each of its steps, and the price table."""

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_settings import BaseSettings

ANY_MODEL = "*"


class Price(BaseModel):
    """What a model costs for a million tokens, in any currency, the same for all models."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)


class BudgetSettings(BaseSettings):
    """Budgets; None is no limit. What a run has spent before a resume counts on."""

    max_model_calls: int | None = Field(None, ge=0, description="Model calls of a run, failed ones too.")
    max_tokens: int | None = Field(None, ge=0, description="Tokens of a run, prompts and answers together.")
    max_cost: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="Cost of a run's model calls; needs prices."
    )
    max_tool_calls: int | None = Field(None, ge=0, description="Tool calls of a run, repeated ones too.")
    max_wall_seconds: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="Seconds a run may work; waiting for a person is free."
    )
    step_max_model_calls: int | None = Field(None, ge=0, description="Model calls of one step.")
    step_max_tokens: int | None = Field(None, ge=0, description="Tokens of one step.")
    step_max_cost: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="Cost of one step's model calls; needs prices."
    )
    step_max_tool_calls: int | None = Field(None, ge=0, description="Tool calls of one step.")
    step_max_wall_seconds: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="Seconds one step may work, its waits included."
    )
    max_output_tokens: int = Field(
        4_096, ge=16, description="Most tokens of one answer while tokens or cost are limited."
    )
    prices: dict[str, Price] = Field(
        default_factory=dict,
        description='Prices of a million tokens by model name, "*" for all others: '
        '{"NAME": {"input": 0.4, "output": 1.6}}.',
    )

    @field_validator("prices", mode="before")
    @classmethod
    def _read_text(cls, given: Any) -> Any:
        """A price table given as text (`--set prices=...`) is JSON."""
        if not isinstance(given, str):
            return given
        try:
            return json.loads(given)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not JSON: {error}") from None

    @property
    def limits_cost(self) -> bool:
        return self.max_cost is not None or self.step_max_cost is not None

    def price_of(self, model: str) -> Price | None:
        """The price of a model by its name, or the one for all others, or None."""
        return self.prices.get(model) or self.prices.get(ANY_MODEL)
