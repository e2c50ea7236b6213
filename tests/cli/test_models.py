"""Chat models come from the environment, or there are none."""

import pytest
from langchain_openai import ChatOpenAI

from graph.models import DEFAULT_MODEL, models_from_environment


@pytest.mark.parametrize(
    "environ", [{}, {"OPENAI_API_KEY": ""}, {"OPENAI_BASE_URL": "", "PLANRAIL_MODEL": "m"}]
)
def test_without_key_and_endpoint_there_is_no_model(environ: dict[str, str]) -> None:
    assert models_from_environment(environ) == {}


def _names(environ: dict[str, str]) -> dict[str, str]:
    models = models_from_environment(environ)
    assert all(isinstance(model, ChatOpenAI) for model in models.values())
    return {role: model.model_name for role, model in models.items() if isinstance(model, ChatOpenAI)}


def test_a_key_is_enough() -> None:
    assert _names({"OPENAI_API_KEY": "k"}) == {"default": DEFAULT_MODEL}


def test_roles_may_have_models_of_their_own() -> None:
    environ = {"OPENAI_API_KEY": "k", "PLANRAIL_MODEL": "big", "PLANRAIL_VALIDATOR_MODEL": "small"}
    assert _names(environ) == {"default": "big", "validator": "small"}


def test_an_endpoint_without_a_key_gets_a_placeholder() -> None:
    model = models_from_environment({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})["default"]
    assert isinstance(model, ChatOpenAI)
    assert model.openai_api_base == "http://127.0.0.1:9/v1"
    assert "no-key" not in repr(model)
