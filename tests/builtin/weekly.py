"""A weekly report by the built-in tools alone, in this process or in one that may be killed: `-m` runs it."""

import os
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig

from checkpoints import OpenedStore, open_store
from graph import build_graph
from graph.running import PlanrailGraph
from tools.builtin.html_page import html_tool
from tools.builtin.mail import email_tool
from tools.builtin.mail_log import Sending
from tools.builtin.mail_settings import SmtpSettings
from tools.builtin.sql import sql_tool

CONFIG: RunnableConfig = {"configurable": {"thread_id": "weekly"}}
TEMPLATE = (
    "<h1>{{ week }}</h1><table>{% for row in rows %}"
    "<tr><td>{{ row.region }}</td><td>{{ '{:,.2f}'.format(row.total) }}</td></tr>{% endfor %}</table>"
)
PLAN: dict[str, Any] = {
    "goal": "send the sales of week 9 to wang@example.com",
    "steps": [
        {
            "id": "sales",
            "action": "tool",
            "tool": "query_sql",
            "args": {
                "sql": "SELECT region, sum(amount) AS total FROM sales WHERE week = ? GROUP BY 1 ORDER BY 2",
                "params": [9],
            },
        },
        {
            "id": "page",
            "action": "tool",
            "tool": "render_html",
            "args": {"template": TEMPLATE, "data": {"week": "第9周 <W9>", "rows": "${sales.rows}"}},
        },
        {
            "id": "mail",
            "action": "tool",
            "tool": "send_email",
            "args": {
                "to": "wang@example.com",
                "subject": "第9周销售",
                "text": "最高：${sales.rows[1].region}",
                "html": "${page}",
                "attachments": ["说明.txt"],
            },
        },
    ],
}
PAGE = (
    "<h1>第9周 &lt;W9&gt;</h1><table><tr><td>Nord &amp; Süd</td><td>80.00</td></tr>"
    "<tr><td>华东</td><td>1,200.50</td></tr></table>"
)


def prepare(folder: Path) -> None:
    """Make the sales and the file to attach."""
    (folder / "workspace").mkdir()
    (folder / "workspace" / "说明.txt").write_text("含税", "utf-8")
    with closing(sqlite3.connect(folder / "sales.db")) as base, base:
        base.execute("CREATE TABLE sales (week INTEGER, region TEXT, amount REAL)")
        rows = [(9, "华东", 1000.25), (9, "华东", 200.25), (9, "Nord & Süd", 80), (8, "华东", 5)]
        base.executemany("INSERT INTO sales VALUES (?, ?, ?)", rows)


def weekly_graph(folder: Path, smtp: SmtpSettings, opened: OpenedStore, **settings: Any) -> PlanrailGraph:
    tools = [
        sql_tool(folder / "sales.db"),
        html_tool(),
        email_tool(smtp, workspace=folder / "workspace", sent_mail=folder / "sent.db"),
    ]
    return build_graph(tools=tools, settings=settings, checkpointer=opened.checkpointer, store=opened.store)


def _die_when_the_mail_is_noted() -> None:
    noted = Sending.sent

    def sent(self: Sending, output: Any) -> None:
        noted(self, output)
        os.kill(os.getpid(), signal.SIGKILL)

    Sending.sent = sent  # type: ignore[method-assign]


def main() -> None:
    """Run the plan in a folder, nobody being asked; "noted" as third argument dies with the mail sent."""
    folder, smtp = Path(sys.argv[1]), SmtpSettings.model_validate_json(sys.stdin.read())
    if sys.argv[2:] == ["noted"]:
        _die_when_the_mail_is_noted()
    with open_store(folder / "runs.db") as opened:
        graph = weekly_graph(folder, smtp, opened, approve_at="never")
        graph.invoke({"goal": PLAN["goal"], "plan": PLAN}, CONFIG)


if __name__ == "__main__":
    main()
