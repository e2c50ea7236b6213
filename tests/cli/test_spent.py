"""What a run has spent, in a line."""

from typing import Any

import pytest

from graph.cli.render import spent_text

MODEL = {"model_calls": 2, "tool_calls": 0, "input_tokens": 1_200, "output_tokens": 34, "cost": 0.01234567}


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        ({}, ""),
        ({"model_calls": 0, "tool_calls": 3, "cost": 0.0}, "3 tool calls"),
        (MODEL, "2 model calls, 1,234 tokens, cost 0.01235"),
        ({**MODEL, "estimated": True}, "2 model calls, 1,234 tokens (some estimated), cost 0.01235"),
        ({**MODEL, "cost": None}, "2 model calls, 1,234 tokens, cost unknown"),
        (
            {"model_calls": 1, "tool_calls": 1, "input_tokens": None},
            "1 model call, 1 tool call, 0 tokens, cost unknown",
        ),
    ],
)
def test_it_names_calls_tokens_and_cost(usage: dict[str, Any], said: str) -> None:
    assert spent_text(usage) == said
