"""The sales of a week: queried, summed up, made into a page, and mailed once a person has seen it."""

import email
import email.policy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph.demo.mail_drop import mailbox, mails_in
from graph.demo.recorded import data_in
from graph.demo.sales import LAST_MONDAY, make_sales
from graph.demo.walkthrough import STANDARD, Stage, Variant, Walkthrough
from tools import ToolRegistry

if TYPE_CHECKING:
    from tools.builtin import SmtpSettings

RECIPIENT = "manager@example.com"
SENDER = "销售周报 <reports@example.com>"
ABOUT = (
    "Tables: sales(day, region, product, quantity, amount_cents), a row for each sale; days are YYYY-MM-DD."
)

CANNOT = '{"reply": {"cannot": "nothing else is recorded than what this example needs"}}'


@contextmanager
def _stage(place: Path, _variant: str) -> Iterator[Stage]:
    # What sends and renders takes a while to load, and every command line names the walkthroughs.
    from tools.builtin import email_tool, file_tools, html_tool, sql_tool  # noqa: PLC0415

    folder = place.with_name(f"{place.name}-weekly-report")
    reports, mails = folder / "reports", folder / "mail"
    if place.parent.is_dir():  # without it the store refuses the run
        reports.mkdir(parents=True, exist_ok=True)
        make_sales(folder / "sales.db")
    with _server(mails) as (smtp, server):
        book = folder / "sent-mail.db" if folder.is_dir() else None
        yield Stage(
            tools=ToolRegistry.of(
                sql_tool(folder / "sales.db", about=ABOUT),
                *file_tools(reports),
                html_tool(),
                email_tool(smtp, workspace=reports, sent_mail=book),
            ),
            places=(f"sales: {folder / 'sales.db'}", f"workspace: {reports}", f"mail server: {server}"),
            aftermath=lambda: _left(reports, mails),
        )


@contextmanager
def _server(mails: Path) -> Iterator[tuple["SmtpSettings", str]]:
    """The environment's mail server, else one on this machine; with words on it for people."""
    from tools.builtin import SmtpSettings  # noqa: PLC0415 - see `_stage`

    if os.environ.get("PLANRAIL_SMTP_HOST", "").strip():
        smtp = SmtpSettings.from_environment()
        yield smtp, f"{smtp.host}, which PLANRAIL_SMTP_HOST names: the mail really goes out"
        return
    with mailbox(mails) as port:
        smtp = SmtpSettings(host="127.0.0.1", port=port, security="none", sender=SENDER)
        yield smtp, f"127.0.0.1:{port}, while a command works; what it gets is kept in {mails}"


def _left(reports: Path, mails: Path) -> Iterator[str]:
    """The pages and the mails that are there, those of earlier runs too."""
    yield f"reports so far, in {reports}"
    yield from (f"  {page.name}" for page in sorted(reports.glob("*.html")))
    yield f"mails so far, in {mails}"
    for file in mails_in(mails):
        mail = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
        yield f"  {file.name}  to {mail['To']}: {mail['Subject']}"


def recorded_summary(prompt: str) -> str:
    """What a model wrote about the figures in its prompt."""
    found = {name: rows for name, value in data_in(prompt).items() if (rows := _rows(value))}
    if not all(name in found for name in ("totals", "regions", "products")):
        return CANNOT
    totals, regions, products = found["totals"][0], found["regions"], found["products"]
    words = [f"本周销售额 {totals['total']:,.2f} 元,共 {totals['sales']} 笔{_against(totals['change'])}。"]
    words.append(
        f"{regions[0]['region']}最高,为 {regions[0]['total']:,.2f} 元{_against(regions[0]['change'])}。"
    )
    words.append(f"最畅销的是{products[0]['product']},售出 {products[0]['quantity']} 件。")
    return "".join([*words, *(f"{row['region']}上周没有销售。" for row in regions if row["change"] is None)])


def _rows(value: Any) -> list[dict[str, Any]]:
    return value.get("rows") or [] if isinstance(value, dict) else []


def _against(change: float | None) -> str:
    if change is None:
        return ""
    way = "增长" if change > 0 else "下降"
    return f",与上周相比{way} {abs(change)}%" if change else ",与上周持平"


def _variant(about: str, first_day: date) -> Variant:
    return Variant(about, {"first_day": first_day.isoformat(), "to": RECIPIENT})


WEEKLY_REPORT = Walkthrough(
    name="weekly-report",
    about="the sales of a week: three queries at once, a summary, a page, a mail that you approve",
    template="weekly-report",
    variants={
        STANDARD: _variant("a week with sales in five regions", LAST_MONDAY),
        "no-sales": _variant(
            "nothing was sold: no page, no mail, nobody is asked", LAST_MONDAY + timedelta(7)
        ),
    },
    stage=_stage,
    answer=recorded_summary,
    recorded="the summary (summary)",
)
