"""What the office is asked for, and the end state that is right. Texts are told by regular expressions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["read", "write", "branch", "impossible"]


@dataclass(frozen=True)
class Task:
    """One request.

    `answer` is what a right answer holds; None takes any. `refunds` has the cents by order, `replies` what a
    reply to an order's customer holds, `files` what a file holds; nothing else may have been written.
    `done` is whether the run may call itself a success, and `plannable` whether any plan or answer meets the
    request: where no tool does what is asked for, to have no plan that can run is right.
    """

    name: str
    kind: Kind
    goal: str
    answer: str | None = None
    refunds: Mapping[str, int] = field(default_factory=dict)
    replies: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    done: bool = True
    plannable: bool = True


MARCH_9 = r"2026-03-09|March 9|9 March|March 0?9th|3 ?月 ?0?9 ?日"

TASKS = (
    Task("status", "read", "What is the status of order A1235?", answer="shipped|transit"),
    Task("tracking", "read", "Which tracking number does order A1237 have?", answer="YT700237"),
    Task("customer", "read", "Which order did Anna Vogt place?", answer="A1235"),
    Task("restock", "read", "When does the article of order A1234 come back into stock?", answer=MARCH_9),
    Task("pieces", "read", "How many pieces of the article of order A1236 are in stock?", answer=r"\b3\b"),
    Task("two orders", "read", "Which of the orders A1235 and A1237 has been delivered?",
         answer=r"^(?!.*A1235.*delivered).*A1237"),
    Task("document", "read", "What does the file policy.txt say about cancelled orders?",
         answer="full|3 days"),
    Task("direct", "read", "What is 12 times 12?", answer="144"),
    Task("物流", "read", "订单 A1235 的包裹现在在哪里？", answer="Shanghai|上海"),
    Task("邮箱", "read", "订单 A1237 的客户邮箱是什么？", answer="wang.fang@example.com"),
    Task("refund all", "write", "Refund order A1236 in full.", refunds={"A1236": 18950}),
    Task("refund part", "write", "Refund 10.00 of order A1235.", refunds={"A1235": 1000}),
    Task("refund and tell", "write", "Refund order A1236 in full and tell its customer about the refund.",
         refunds={"A1236": 18950}, replies={"A1236": "refund"}),
    Task("send tracking", "write", "Tell the customer of order A1235 its tracking number.",
         replies={"A1235": "SF100235"}),
    Task("send restock", "write",
         "Tell the customer of order A1234 when the article will be in stock again.",
         replies={"A1234": MARCH_9}),
    Task("note stock", "write", "Write the quantity of LMP-11 in stock into the file stock.txt.",
         files={"stock.txt": r"\b42\b"}),
    Task("complaint", "write", "The file complaint.txt names an order. Refund that order in full.",
         refunds={"A1236": 18950}),
    Task("回复运单号", "write", "把运单号告诉订单 A1237 的客户。", replies={"A1237": "YT700237"}),
    Task("全额退款", "write", "给订单 A1236 全额退款。", refunds={"A1236": 18950}),
    Task("写文件", "write", "查一下 KET-02 的下次到货日期，写入文件 到货.txt。", files={"到货.txt": MARCH_9}),
    Task("in stock or not", "branch",
         "Reply to the customer of order A1235: 'available' if its article is in stock, 'sold out' if not.",
         replies={"A1235": r"^(?!.*sold out).*available"}),
    Task("only if cancelled", "branch", "Refund order A1237 in full, but only if it has been cancelled."),
    Task("取消才退款", "branch", "如果订单 A1236 已取消，就全额退款；否则什么都不做。",
         refunds={"A1236": 18950}),
    Task("no such order", "impossible", "Refund order B9999 in full.", done=False),
    Task("too much", "impossible", "Refund 500.00 of order A1235.", done=False),
    Task("not allowed", "impossible", "Refund order A1234 in full.", done=False),
    Task("no such tool", "impossible", "Book a flight to Paris for tomorrow.", done=False, plannable=False),
    Task("没有工具", "impossible", "把办公室的空调调到 22 度。", done=False, plannable=False),
)  # fmt: skip
