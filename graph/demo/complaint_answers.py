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
_WHICH_ORDER = "没有找到这个订单。请核对并确认您的订单号(一个字母加数字,例如 A1234)。"
_NO_ORDER = "用户确认的订单号也找不到:请查明订单号后再重新处理投诉"

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
    """Another plan where there is one: ask for the number of an unknown order, explain a cancelled one."""
    results = data_in(prompt)
    if "order_not_found" in prompt:
        return {"cannot": _NO_ORDER} if '"tool": "ask_user"' in prompt else _plan(_ask_and_begin_again(), [])
    if not _is_cancelled(results.values()):
        return {"cannot": "没有其他办法处理这个投诉"}
    known = {name: found for name, found in results.items() if isinstance(found, dict)}
    order_id = next(found["order_id"] for found in known.values())
    instruction = "订单已被系统取消:向用户道歉并说明取消原因,不提供延迟补偿。只写给用户的回复正文。"
    return _plan(_write_and_send(5, instruction, [*known], order_id), ["订单已被系统取消,不会发货"])


def _plan(steps: list[JSON], assumptions: list[JSON]) -> dict[str, JSON]:
    return {"plan": {"steps": steps, "assumptions": assumptions}}


def _ask_and_begin_again() -> list[JSON]:
    """The whole plan once more, for the order that the user names."""
    lookups = [
        _step(6, {"tool": "query_order", "args": {"order_id": "${s5}"}}, ["s5"]),
        _step(7, {"tool": "query_logistics", "args": {"order_id": "${s5}"}}, ["s5"]),
    ]
    instruction = "根据订单与物流信息判断延迟原因,若为仓库缺货则给出补偿方案。只写给用户的回复正文。"
    return [
        _step(5, {"tool": "ask_user", "args": {"question": _WHICH_ORDER}}, []),
        *lookups,
        *_write_and_send(8, instruction, ["s6", "s7"], "${s6.order_id}"),
    ]


def _write_and_send(number: int, instruction: str, facts: list[str], order_id: JSON) -> list[JSON]:
    """A reply out of these facts, which a person approves."""
    written = f"s{number}"
    args: dict[str, JSON] = {"order_id": order_id, "text": f"${{{written}}}"}
    sent = _step(number + 1, {"tool": "send_reply", "args": args}, [written])
    return [
        _step(number, {"instruction": instruction}, facts),
        {**sent, "options": {"require_approval": True}},
    ]


def _step(number: int, work: dict[str, JSON], after: list[str]) -> dict[str, JSON]:
    action = "tool" if "tool" in work else "llm"
    return {
        "id": f"s{number}",
        "action": action,
        **work,
        "depends_on": [*after],
        "when": None,
        "options": None,
    }
