"""Rules: which goals they fit, what they find in them, and when they keep still."""

import pytest

from graph.plan.templates import Rule, Template, load_templates, made_up, match_rules, tool_faults
from tests.templates.support import GREETING
from tools import ToolRegistry, fingerprints, policy
from tools.shop import shop_tools

TEMPLATE = Template.model_validate(GREETING)
COMPLAINT = load_templates().require("complaint")


def _params(template: Template, goal: str) -> dict[str, object] | None:
    found = match_rules([template], goal)
    return dict(found[0].params) if found else None


@pytest.mark.parametrize(
    "goal",
    [
        "处理用户关于订单 A1234 延迟发货的投诉",
        "客户投诉订单A1234还没发货",
        "Handle the complaint about the late order A1234",
        "customer complains: order a1234 is DELAYED. Order A1234!".replace("a1234", "A1234"),
        "投诉:A1234延迟",
    ],
)
def test_a_complaint_about_a_late_order_is_recognised_in_both_languages(goal: str) -> None:
    assert _params(COMPLAINT, goal) == {"order_id": "A1234"}


@pytest.mark.parametrize(
    "goal",
    [
        "where is order A1234?",
        "complaint about order A1234, which arrived broken",
        "complaints about the late orders A1234 and A1235",
        "a complaint about a late order",
        "complaint about a late order BA1234",
        "translate the complaint of order A1234",
        "x" * 3000 + "complaint: order A1234 is late",
    ],
)
def test_other_goals_are_left_alone(goal: str) -> None:
    assert _params(COMPLAINT, goal) is None


def test_groups_that_do_not_take_part_leave_the_default() -> None:
    assert _params(TEMPLATE, "please greet Ada") == {"who": "Ada", "times": 1, "tone": "warm"}
    assert _params(TEMPLATE, "please greet Ada 3 times") == {"who": "Ada", "times": 3, "tone": "warm"}


def test_a_value_that_does_not_fit_its_parameter_is_no_match() -> None:
    strict = Template.model_validate(
        {**GREETING, "params": {**GREETING["params"], "who": {"pattern": "Bob"}}}
    )

    assert _params(strict, "greet Ada") is None
    assert _params(strict, "greet Bob") is not None


def test_keywords_stand_alone_where_words_have_spaces() -> None:
    rule = Rule(keywords=(("order",),))

    assert rule.captures("an Order, please") == {}
    assert rule.captures("the border") is None
    assert Rule(keywords=(("订单",),)).captures("我的订单在哪") == {}


def _registry() -> ToolRegistry:
    return ToolRegistry.of(*shop_tools("unused.db"))


@pytest.mark.parametrize("name", ["complaint", "complaint-refund", "shipment"])
def test_a_shipped_template_of_the_shop_goes_with_its_tools(name: str) -> None:
    template = load_templates().require(name)
    assert tool_faults(template, fingerprints(_registry())) == ()
    assert set(template.tools) == template.used_tools


def test_no_words_of_a_goal_alone_have_money_paid_back() -> None:
    goals = ("退款:投诉订单 A1234 延迟", "refund the late order A1234", "shipment of A1234")
    ours = [load_templates().require(name) for name in ("complaint-refund", "shipment")]
    assert [match_rules(ours, goal) for goal in goals] == [()] * 3


def test_a_missing_and_a_changed_tool_are_named() -> None:
    known = fingerprints(_registry())
    del known["query_logistics"]
    known["send_reply"] = "other"

    missing, changed = tool_faults(COMPLAINT, known)

    assert "no tool 'query_logistics'" in missing
    assert "'send_reply' has changed" in changed
    assert "other" in changed


def _print_of(effect: str, words: str, *, more: bool = False) -> str:
    def plain(text: str) -> str:
        return text

    def longer(text: str, size: int) -> str:
        return text * size

    chosen = longer if more else plain
    chosen.__name__, chosen.__doc__ = "echo", words
    return fingerprints(ToolRegistry.of(policy(effect=effect)(chosen)))["echo"]


def test_a_fingerprint_tells_arguments_and_effect_and_not_words() -> None:
    first = _print_of("read", "Echo.")

    assert _print_of("read", "Say it again.") == first
    assert _print_of("write", "Echo.") != first
    assert _print_of("read", "Echo.", more=True) != first


def test_values_that_the_goal_does_not_say_are_made_up() -> None:
    params = TEMPLATE.bind({"who": "Ada", "times": 3})

    assert made_up(TEMPLATE, params, "greet Ada 3 times") == ()
    assert made_up(TEMPLATE, params, "greet Ada") == ("times",)
    assert made_up(TEMPLATE, params, "greet somebody 3 times") == ("who",)


def test_the_tools_of_agents_belong_to_a_template_too() -> None:
    agent = {"id": "a", "action": "agent", "instruction": "look into ${params.who}", "tools": ["look"]}
    steps = Template.model_validate({**GREETING, "match": [], "plan": {"goal": "g", "steps": [agent]}})

    assert tool_faults(steps, {}) == ("there is no tool 'look'",)
    assert steps.asks_model
