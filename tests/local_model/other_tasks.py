"""A second list of what the office is asked for, on which no prompt was tuned."""

import re

from tests.local_model.office import DOCUMENTS
from tests.local_model.tasks import Task


def _day(name: str, month: int, day: int) -> str:
    """A day of 2026 in figures, in English or in Chinese."""
    named = rf"{name[:3]}(?:{name[3:]})?\.?"
    numbered = rf"(?<!\d)0?{day}(?:st|nd|rd|th)?(?!\d)"
    figures = rf"2026[-/.]0?{month}[-/.]0?{day}(?!\d)"
    chinese = rf"(?<!\d)0?{month} ?月 ?0?{day}(?!\d)"
    return rf"(?:{figures}|{named} (?:the )?{numbered}|{numbered} (?:of )?{named}|{chinese})"


LOST = r"(?:\blost\b|\bloss\b|\bmissing\b|verlor|verlust|verschollen|verschwunden|abhanden|丢|遗失)"
SORRY = "(?:sorry|apolog|歉|对不起)"
LATE = r"^(?!.*(?:not|n't)(?: been)? delayed).*(?:delay|\blate\b|later than|behind schedule|延|推迟|迟|晚)"
DELIVERED = "(?:entregad[oa]|entregó|delivered|签收|送达|送到)"
UNCONFIRMED = (
    "(?:unconfirmed|unverified|(?:not|n't|never|without|lack|fail|missing|未|没|无法).*(?:confirm|verif|确认)"
    r"|confirmation (?:\w+ ){0,2}(?:not|never|missing|failed))"
)
TWO = r"(?<![\d.-])2(?![\d-]|\.\d| ?月)|两|\btwo\b"
NONE_AND_THREE = (
    r"^(?!.*KET-02\D{0,80}[1-9]\d{0,2}(?!\d))"
    r"(?=.*(?<![\d-])0(?!\d|\.\d)).*(?<![\d-])3(?!\d|\.\d| ?月)"
)
"""The KET-02 and CHR-07 there are; a date, or the digits of an article's name, are no such numbers."""

OTHER_TASKS = (
    Task("leap year", "read", "How many days does a leap year have?", answer=r"(?<!\d)366(?!\d)"),
    Task("carrier", "read", "I need to know which carrier took the parcel of A1237.",
         answer="YTO|圆通"),
    Task("why cancelled", "read", "Omar Said asks why his A1236 was cancelled. What was the reason?",
         answer=rf"^(?=.*(?:pay|paid|付款|支付)).*{UNCONFIRMED}"),
    Task("promised", "read", "By what day were Anna Vogt's lamps promised?", answer=_day("March", 3, 5)),
    Task("total", "read", "What do A1235 and A1237 cost together?",
         answer=r"(?<![\d.,])117(?!\d)(?![.,]\d?[1-9])"),
    Task("Paket", "read", "Wo ist das Paket der Bestellung A1238, und was ist damit passiert?",
         answer=rf"^(?!.*(?:not|n't|nicht)(?: been)? {LOST})(?=.*{LOST}).*(?:Zhengzhou|郑州)"),
    Task("哪个订单", "read", "陈静下的是哪个订单？", answer="^(?!.*A123[4-7]).*A1238"),
    Task("几件", "read", "A1235 这个订单一共买了几件？", answer=TWO),
    Task("下单日", "read", "王芳是哪一天下单的？", answer=_day("February", 2, 10)),
    Task("chair money", "write", "Please give Omar Said all his money back for the chair he ordered.",
         refunds={"A1236": 18950}),
    Task("one lamp", "write",
         "Anna Vogt is sending one of her two lamps back. Refund half of what A1235 cost.",
         refunds={"A1235": 3900}),
    Task("lost parcel", "write",
         "Apologise to the customer of A1238 for the lost parcel, and pay the order back in full.",
         refunds={"A1238": 3900}, replies={"A1238": rf"^(?=.*{SORRY}).*{LOST}"}),
    Task("copy", "write", "Copy complaint.txt to archive.txt.",
         files={"archive.txt": rf"^\s*{re.escape(DOCUMENTS['complaint.txt'])}\s*$"}),
    Task("both late", "write", "Let the customers of A1234 and A1238 know that their orders are delayed.",
         replies={"A1234": LATE, "A1238": LATE}),
    Task("entregado", "write", "Avísale al cliente del pedido A1237 que su paquete ya fue entregado.",
         replies={"A1237": rf"^(?!.*(?:will be|será|no ha sido|not been) {DELIVERED}).*{DELIVERED}"}),
    Task("答询问", "write", "询问.txt 里有客户的提问，查清楚以后直接回复那位客户。",
         replies={"A1235": "Shanghai|上海"}),
    Task("退一部分", "write", "从订单 A1237 里退 12.5 元给客户。", refunds={"A1237": 1250}),
    Task("盘点", "write", "把 KET-02 和 CHR-07 的库存数量写进 盘点.txt。",
         files={"盘点.txt": NONE_AND_THREE}),
    Task("reorder", "branch",
         "Fewer than 5 of CHR-07 left? Then write 'reorder' into chairs.txt, otherwise write 'enough'.",
         files={"chairs.txt": "^(?!.*enough).*reorder"}),
    Task("not lost", "branch",
         "Should the parcel of A1235 have got lost, pay the order back in full. If it hasn't, do nothing."),
    Task("没货", "branch",
         "如果 KET-02 还有货，就回复订单 A1234 的客户“今天发货”；没货的话，告诉客户下次到货的日期。",
         replies={"A1234": rf"^(?!.*今天发货).*{_day('March', 3, 9)}"}),
    Task("new address", "impossible",
         "Change the delivery address of order A1234 to Lange Reihe 5, Hamburg.",
         done=False, plannable=False),
    Task("no such file", "impossible", "What does prices.txt say a desk lamp costs?", done=False),
    Task("查无此人", "impossible", "把客户张三的订单全额退款。", done=False),
)  # fmt: skip
