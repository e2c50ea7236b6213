"""Messages without secrets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.plan import JSON
from tools.scrub import REDACTED, redacted, scrubbed, trimmed


@given(secret=st.text(min_size=4, max_size=30), before=st.text(max_size=20), after=st.text(max_size=20))
def test_the_value_of_a_redacted_argument_never_shows(secret: str, before: str, after: str) -> None:
    args = {"login": {"password": secret}}
    shown = scrubbed(f"{before}{secret}{after}", args, frozenset({"password"}))
    assert secret not in shown.replace(REDACTED, "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GET https://api.x.org/v1?key=abc&q=1 failed", "GET https://api.x.org/v1?[redacted] failed"),
        ("postgres://me:pw@db/x is down", "postgres://db/x is down"),
        ("sent Authorization: Bearer abc.def-123", "sent Authorization: [redacted]"),
        ("wrong key sk-proj-abcdefgh12345", "wrong key [redacted]"),
        ("what? no secret here: a?b", "what? no secret here: a?b"),
    ],
)
def test_credentials_in_urls_and_tokens_never_show(text: str, expected: str) -> None:
    assert scrubbed(text, {}, frozenset()) == expected


@given(text=st.text())
def test_trimmed_text_is_storable_and_at_most_500_characters(text: str) -> None:
    shown = trimmed(text * 50)
    assert len(shown) <= 500
    shown.encode("utf-8")
    assert "\x00" not in shown


def test_redacting_leaves_the_original_alone() -> None:
    args: dict[str, JSON] = {"a": [{"pin": 1}]}
    assert redacted(args, frozenset({"pin"})) == {"a": [{"pin": REDACTED}]}
    assert args == {"a": [{"pin": 1}]}
