"""A model's key is cut out of what its endpoint says."""

from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from nodes.endpoint.keys import without_keys

KEY = "correct horse battery staple"


def _model() -> ChatOpenAI:
    return ChatOpenAI(model="m", api_key=SecretStr(KEY), base_url="http://127.0.0.1:9/v1")


def test_a_repeated_key_is_replaced() -> None:
    assert without_keys(f"bad key {KEY}, twice {KEY}", _model()) == "bad key [redacted], twice [redacted]"


def test_a_key_that_the_end_cuts_off_is_replaced_too() -> None:
    assert without_keys("bad key correct horse bat…", _model()) == "bad key [redacted]…"
    assert without_keys("that is not correct…", _model()) == "that is not correct…"


def test_other_words_stay() -> None:
    assert without_keys("the horse is correct", _model()) == "the horse is correct"
