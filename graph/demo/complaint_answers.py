"""What a model once said to the prompts of the complaint, worked out from the facts that they show."""

import json
from collections.abc import Iterable, Mapping

from graph.demo.recorded import ages_in, data_in
from graph.plan import JSON

STILL_VALID = "订单仍然有效,只是发货延迟"
"""What the template assumes of every order."""

_WAREHOUSES = {"Wuhan": "武汉", "Hamburg": "汉堡"}
_WAITING = (
    "您好,非常抱歉让您久等。订单 {order_id} 延迟发货是因为{warehouse}仓缺货,"
    "包裹还没有交给承运商,补货后会立即为您发出。"
    "为表歉意,我们将为您补偿一张 20 元优惠券;如果您不想继续等待,也可以随时申请全额退款。"
)
_CANCELLED = (
    "您好,非常抱歉给您带来不便。您的订单 {order_id} 没有发货,并不是因为延迟,而是已被系统自动取消({note})。"
    "如果您已经付款,请把付款凭证发给我们,我们会尽快核实;如果仍然需要这件商品,请重新下单。"
)
_REFUNDED = (
    "您好,非常抱歉。您的订单 {order_id} 没有送达({note})。"
    "我们已为您全额退款 {amount:.2f} 元,款项会按原支付方式退回。"
)
_OTHER = "您好,您的订单 {order_id} 目前的物流状态是 {status}({note})。如有疑问,请随时联系我们。"
_STALE = "以上物流信息是 {age} 秒前查到的:物流服务目前无法访问,恢复后我们会再次确认。"
_NO_ORDER = "没有找到这个订单:请用户核对并确认订单号(一个字母加数字,例如 A1234),再重新处理投诉"

RECORDED_JUDGEMENT = _WAITING.format(order_id="A1234", warehouse="武汉")


def recorded_answer(prompt: str) -> str:
    """The answer to any prompt of the complaint: a verdict, another plan, or the reply to the customer."""
    if '"broken_assumption"' in prompt:
        return json.dumps(_verdict(prompt), ensure_ascii=False)
    if "The plan below could not be finished" in prompt:
        return json.dumps({"reply": _other_way(prompt)}, ensure_ascii=False)
    return _reply(prompt)


def _reply(prompt: str) -> str:
    """The text for the customer; it owns up to old facts."""
    facts: dict[str, JSON] = {}
    for found in data_in(prompt).values():
        if isinstance(found, dict):
            facts |= found
    facts["warehouse"] = _WAREHOUSES.get(str(facts.get("location")), facts.get("location"))
    text = _kind(facts).format_map(facts)
    ages = ages_in(prompt)
    return text + _STALE.format(age=max(ages.values())) if ages else text


def _kind(facts: Mapping[str, JSON]) -> str:
    if "refund_id" in facts:
        return _REFUNDED
    return {"waiting_for_stock": _WAITING, "cancelled": _CANCELLED}.get(str(facts.get("status")), _OTHER)


def _verdict(prompt: str) -> dict[str, JSON]:
    """Whether the plan still holds: it does not, once an order turns out cancelled that was thought valid."""
    cancelled = _is_cancelled(data_in(prompt).values())
    broken = cancelled and STILL_VALID in prompt
    reason = "订单的状态是 cancelled:它已被系统取消" if broken else "结果与计划的前提没有矛盾"
    return {"reason": reason, "valid": not broken, "broken_assumption": STILL_VALID if broken else None}


def _is_cancelled(results: Iterable[JSON]) -> bool:
    return any(isinstance(found, dict) and found.get("status") == "cancelled" for found in results)


def _other_way(prompt: str) -> dict[str, JSON]:
    """Another plan where there is one: a cancelled order is explained; an unknown one cannot be."""
    results = data_in(prompt)
    if "order_not_found" in prompt:
        return {"cannot": _NO_ORDER}
    if not _is_cancelled(results.values()):
        return {"cannot": "没有其他办法处理这个投诉"}
    orders = [found["order_id"] for found in results.values() if isinstance(found, dict)]
    known = [name for name, found in results.items() if isinstance(found, dict)]
    explain: dict[str, JSON] = {
        "id": "s5",
        "action": "llm",
        "instruction": "订单已被系统取消:向用户道歉并说明取消原因,不提供延迟补偿。只写给用户的回复正文。",
        "depends_on": [*known],
        "when": None,
        "options": None,
    }
    send: dict[str, JSON] = {
        "id": "s6",
        "action": "tool",
        "tool": "send_reply",
        "args": {"order_id": orders[0], "text": "${s5}"},
        "depends_on": ["s5"],
        "when": None,
        "options": {"require_approval": True},
    }
    return {"plan": {"steps": [explain, send], "assumptions": ["订单已被系统取消,不会发货"]}}
