"""Chat models come from the environment, or there are none."""

import pytest
from langchain_openai import ChatOpenAI

from graph.models import DEFAULT_MODEL, addresses, models_from_environment
from graph.state import SettingsError


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


ALL = {"OPENAI_API_KEY": "key-of-all", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}


def _address(role: str, **environ: str) -> tuple[str, str | None, str]:
    found = addresses({**ALL, **environ})[role]
    return found.model, found.base_url, found.api_key.get_secret_value()


def test_a_role_may_have_an_endpoint_and_a_key_of_its_own() -> None:
    small = {
        "PLANRAIL_VALIDATOR_MODEL": "small",
        "PLANRAIL_VALIDATOR_BASE_URL": "http://127.0.0.1:8/v1",
        "PLANRAIL_VALIDATOR_API_KEY": "own",
    }

    assert _address("validator", **small) == ("small", "http://127.0.0.1:8/v1", "own")
    assert _address("default", **small) == (DEFAULT_MODEL, "http://127.0.0.1:9/v1", "key-of-all")


def test_a_key_is_never_sent_to_an_endpoint_that_it_was_not_given_for() -> None:
    elsewhere = {"PLANRAIL_PLANNER_BASE_URL": "http://127.0.0.1:8/v1"}
    same = {"PLANRAIL_PLANNER_BASE_URL": "http://127.0.0.1:9/v1/"}

    assert _address("planner", **elsewhere)[2] == "no-key"
    assert _address("planner", **same)[2] == "key-of-all"
    only_key = addresses({"OPENAI_API_KEY": "key-of-all", **elsewhere})
    assert only_key["planner"].api_key.get_secret_value() == "no-key"


def test_a_role_at_the_shared_endpoint_may_have_another_key() -> None:
    assert _address("executor", PLANRAIL_EXECUTOR_API_KEY="own", PLANRAIL_MODEL="big") == (
        "big",
        "http://127.0.0.1:9/v1",
        "own",
    )


def test_one_role_alone_can_be_configured() -> None:
    found = addresses({"PLANRAIL_EXECUTOR_BASE_URL": "http://127.0.0.1:8/v1", "PLANRAIL_MODEL": "m"})

    assert list(found) == ["executor"]
    assert addresses({"PLANRAIL_EXECUTOR_MODEL": "m"}) == {}


def test_keys_show_nowhere() -> None:
    found = addresses(ALL)
    shown = f"{found!r} {found['default']} {models_from_environment(ALL)!r}"

    assert "key-of-all" not in shown


@pytest.mark.parametrize(
    "url",
    ["not a url", "127.0.0.1:1/v1", "ftp://host/v1", "http://", "http://[::1", "http://host:99999/v1"],
)
def test_an_address_that_is_none_is_named(url: str) -> None:
    with pytest.raises(SettingsError, match="PLANRAIL_PLANNER_BASE_URL is no address"):
        addresses({**ALL, "PLANRAIL_PLANNER_BASE_URL": url})


def test_a_key_is_read_without_the_end_of_its_line() -> None:
    assert _address("default", OPENAI_API_KEY="key-of-all\r\n", OPENAI_BASE_URL=" http://h/v1\n") == (
        DEFAULT_MODEL,
        "http://h/v1",
        "key-of-all",
    )


@pytest.mark.parametrize("key", ["kéy-of-all", "key\nof-all"])
def test_a_key_that_no_request_can_carry_is_named_and_not_shown(key: str) -> None:
    with pytest.raises(SettingsError, match="OPENAI_API_KEY holds characters") as raised:
        addresses({"OPENAI_API_KEY": key})
    assert "of-all" not in str(raised.value)


@pytest.mark.parametrize("url", ["http://ann:secret@host/v1", "http://host/v1?key=secret"])
def test_an_address_is_shown_without_the_secrets_in_it(url: str) -> None:
    shown = addresses({"OPENAI_BASE_URL": url})["default"].shown_url
    assert shown.startswith("http://host/v1")
    assert "secret" not in shown
