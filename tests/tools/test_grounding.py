"""Which arguments of a write must have a source."""

from typing import Literal

import pytest

from tools import ToolPolicy, ToolRegistry, ToolSetupError, policy


def send(  # noqa: PLR0917
    to: str,
    orderId: str,  # noqa: N803 - as some tools spell it
    amount_eur: float,
    text: str,
    paid: bool,
    account: Literal["a", "b"],
    recipients: list[str],
    cc: str | None = None,
    subject: str = "",
    收件人邮箱: str = "",  # noqa: N803, PLC2401
) -> str:
    """Send something."""
    return to


def test_a_write_grounds_what_looks_like_an_id_an_address_or_an_amount() -> None:
    grounded = ToolRegistry.of(policy(effect="write")(send))["send"].grounded

    assert grounded == {"to", "orderId", "amount_eur", "recipients", "cc", "收件人邮箱"}


def test_a_read_grounds_nothing_by_itself() -> None:
    registry = ToolRegistry.of(send, policies={"send": ToolPolicy(effect="read")})

    assert registry["send"].grounded == set()


def test_a_policy_that_names_arguments_has_the_last_word() -> None:
    tool = ToolRegistry.of(policy(effect="write", grounded={"subject"})(send))["send"]
    open_tool = ToolRegistry.of(policy(effect="write", grounded=set())(send))["send"]

    assert tool.grounded == {"subject"}
    assert open_tool.grounded == set()


def test_a_policy_that_grounds_what_is_no_argument_is_refused() -> None:
    with pytest.raises(ToolSetupError, match="grounds 'adress', which is no argument"):
        ToolRegistry.of(policy(effect="write", grounded={"adress"})(send))
