"""The demo's plan: two reads at once, a judgement, and a reply that a person lets out."""

from graph.plan import Plan, PlanError, parse_plan

ORDER_ID = "A1234"

COMPLAINT = {
    "goal": f"处理用户关于订单 {ORDER_ID} 延迟发货的投诉",
    "steps": [
        {
            "id": "s1",
            "title": "look up the order",
            "action": "tool",
            "tool": "query_order",
            "args": {"order_id": ORDER_ID},
        },
        {
            "id": "s2",
            "title": "look up its shipment",
            "action": "tool",
            "tool": "query_logistics",
            "args": {"order_id": ORDER_ID},
        },
        {
            "id": "s3",
            "title": "judge the delay and write the reply",
            "action": "llm",
            "instruction": (
                "根据订单与物流信息判断延迟原因,若为仓库缺货则给出补偿方案。只写给用户的回复正文。"
            ),
            "depends_on": ["s1", "s2"],
        },
        {
            "id": "s4",
            "title": "send the reply",
            "action": "tool",
            "tool": "send_reply",
            "args": {"order_id": ORDER_ID, "text": "${s3}"},
            "depends_on": ["s3"],
            "risk": "high",
            "require_approval": True,
        },
    ],
}


def complaint_plan() -> Plan:
    """A new plan each time, with an id of its own: a second demo is a second reply."""
    plan, problems = parse_plan(COMPLAINT, author="template:complaint")
    if plan is None:
        raise PlanError(problems)
    return plan
