"""The weekly report: its figures are the database's, and its mail goes out once, when a person says so."""

import email
import email.policy
import html
import os
import re
import signal
import subprocess
import sys
from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path

import pytest

from graph.demo.mail_drop import mails_in
from graph.demo.sales import LAST_MONDAY, make_sales
from graph.demo.weekly_report import RECIPIENT, SENDER, WEEKLY_REPORT
from graph.plan import to_mermaid
from tests.builtin.postoffice import PASSWORD, USER, post_office
from tests.cli.support import ROOT, Prompt
from tests.support.openai_server import OpenAIServer, text
from tests.walkthroughs.support import WISH, sold

NAME = f"weekly-{LAST_MONDAY}.html"


def _folder(prompt: Prompt) -> Path:
    return prompt.folder / "planrail-weekly-report"


def _page(prompt: Prompt) -> str:
    return (_folder(prompt) / "reports" / NAME).read_text("utf-8")


def _mails(prompt: Prompt) -> list[EmailMessage]:
    found = [path.read_bytes() for path in mails_in(_folder(prompt) / "mail")]
    return [email.message_from_bytes(content, policy=email.policy.default) for content in found]


def _cells(page: str, table: str) -> list[list[str]]:
    (found,) = re.findall(rf'<table id="{table}">(.*?)</table>', page, re.DOTALL)
    rows = re.findall(r"<tr>(.*?)</tr>", found, re.DOTALL)
    return [[html.unescape(cell) for cell in re.findall(r"<td[^>]*>([^<]*)</td>", row)] for row in rows[1:]]


def _money(cents: int) -> str:
    return f"{cents // 100:,}.{cents % 100:02}"


def _change(now: int, before: int) -> str:
    return f"{round(100 * (now - before) / before, 1):+.1f} %" if before else "–"


def test_the_report_is_mailed_once_a_person_has_approved_what_would_be_sent(prompt: Prompt) -> None:
    said = prompt("demo", "weekly-report", "--run-id", "w", "--json")

    assert said.code == 3
    assert "RECORDED" in said.err
    (question,) = said.document["pending"]
    assert (question["step"], question["risk"]) == ("mail", "high")
    assert question["args"]["to"] == RECIPIENT
    assert question["args"]["attachments"] == [NAME]
    assert "本周销售额" in question["args"]["text"]
    assert _mails(prompt) == []

    approved = prompt("approve", "w", "mail", "--by", "ann")

    assert approved.code == 0
    assert f"  to {RECIPIENT}: 销售周报 {LAST_MONDAY}" in approved.out
    (mail,) = _mails(prompt)
    assert (mail["To"], mail["From"], mail["Subject"]) == (RECIPIENT, SENDER, f"销售周报 {LAST_MONDAY}")
    body = mail.get_body(("plain",))
    assert body is not None
    assert body.get_content().split() == question["args"]["text"].split()
    (attached,) = mail.iter_attachments()
    assert (attached.get_filename(), attached.get_content_type()) == (NAME, "text/html")
    assert attached.get_payload(decode=True) == _page(prompt).encode()


def test_each_figure_of_the_page_is_what_the_sales_add_up_to(prompt: Prompt) -> None:
    prompt("demo", "weekly-report")
    database = _folder(prompt) / "sales.db"
    now, before = sold(database, LAST_MONDAY), sold(database, LAST_MONDAY - timedelta(7))
    page = _page(prompt)

    def cents(rows: list[tuple[str, str, int, int]], column: int, name: str | None = None) -> int:
        return sum(row[3] for row in rows if name is None or row[column] == name)

    whole, earlier = cents(now, 0), cents(before, 0)
    assert _cells(page, "totals") == [
        [str(len(now)), _money(whole), _money(earlier), _change(whole, earlier)]
    ]
    regions = {row[0] for row in (*now, *before)}
    assert {tuple(row[:4]) for row in _cells(page, "regions")} == {
        (each, _money(new), _money(old), _change(new, old))
        for each in regions
        for new, old in [(cents(now, 0, each), cents(before, 0, each))]
    }
    products = {row[1] for row in now}
    quantity = {each: sum(row[2] for row in now if row[1] == each) for each in products}
    assert _cells(page, "products") == [
        [each, str(quantity[each]), _money(cents(now, 1, each))]
        for each in sorted(products, key=lambda each: (-quantity[each], each))
    ]
    assert f"本周销售额 {_money(whole)} 元,共 {len(now)} 笔" in page
    assert "西南上周没有销售。" in page
    assert "Nord &amp; Süd" in page
    assert "<Set>" not in page


def test_a_week_without_sales_costs_no_model_call_and_mails_nobody(prompt: Prompt) -> None:
    said = prompt("demo", "weekly-report", "--variant", "no-sales", "--json")

    assert said.code == 0
    document = said.document
    assert document["usage"].get("model_calls", 0) == 0
    assert document["effects"] == []
    statuses = {step["id"]: step["status"] for step in document["steps"]}
    assert [each for each, status in statuses.items() if status == "not_taken"] == [
        "summary",
        "page",
        "file",
        "mail",
    ]
    assert _mails(prompt) == []
    assert list((_folder(prompt) / "reports").iterdir()) == []


def test_a_rejected_mail_is_not_sent(prompt: Prompt) -> None:
    prompt("demo", "weekly-report", "--run-id", "w")
    assert prompt("reject", "w", "mail", "--reason", "the figures are not final").code == 1
    assert _mails(prompt) == []


def _die(prompt: Prompt, when: str, *words: str) -> None:
    command = [sys.executable, "-m", "tests.walkthroughs.dying", when, *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=prompt.folder, env=environment, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 on this system")


@pytest.mark.crash
@needs_kill
def test_killed_after_the_mail_and_before_the_journal_it_is_known_to_be_sent(prompt: Prompt) -> None:
    prompt("demo", "weekly-report", "--run-id", "w")
    _die(prompt, "noted", "approve", "w", "mail")
    (sent,) = _mails(prompt)
    assert prompt("show", "w", "--json").document["status"] != "succeeded"

    resumed = prompt("resume", "w", "--json")

    assert resumed.code == 0, resumed.err
    assert [mail["Message-ID"] for mail in _mails(prompt)] == [sent["Message-ID"]]
    (step,) = [step for step in resumed.document["steps"] if step["id"] == "mail"]
    assert (step["status"], step["output"]["message_id"]) == ("succeeded", sent["Message-ID"])


@pytest.mark.crash
@needs_kill
def test_killed_before_the_servers_answer_a_person_decides_and_it_is_not_sent_again(prompt: Prompt) -> None:
    prompt("demo", "weekly-report", "--run-id", "w")
    _die(prompt, "kept", "approve", "w", "mail")

    resumed = prompt("resume", "w", "--json")

    assert resumed.code == 3
    assert [(each["step"], each["kind"]) for each in resumed.document["pending"]] == [("mail", "outcome")]
    result = f'{{"message_id": "{_mails(prompt)[0]["Message-ID"]}"}}'
    assert prompt("decide", "w", "mail", "happened", "--result", result).code == 0
    assert len(_mails(prompt)) == 1


def test_any_endpoint_may_write_the_summary_from_the_figures_it_is_shown(prompt: Prompt) -> None:
    with OpenAIServer([text("华东 <最高>。")]) as server:
        for name, value in server.environment.items():
            prompt.patch.setenv(name, value)
        said = prompt("demo", "weekly-report", "--run-id", "w")

    assert said.code == 3
    assert "RECORDED" not in said.out
    (asked,) = server.prompts()
    assert "用中文写三到五句话" in asked
    figures = _cells(_page(prompt), "totals")[0]
    assert figures[1].replace(",", "").rstrip("0").rstrip(".") in asked
    assert "<p>华东 &lt;最高&gt;。</p>" in _page(prompt)


def test_with_a_mail_server_of_ones_own_the_mail_goes_there_to_whom_one_says(
    prompt: Prompt, tmp_path: Path
) -> None:
    with post_office(tmp_path) as office:
        for name, value in {
            "HOST": "127.0.0.1",
            "PORT": str(office.port),
            "USERNAME": USER,
            "PASSWORD": PASSWORD,
            "FROM": "reports@example.org",
            "CA_FILE": str(office.ca_file),
        }.items():
            prompt.patch.setenv(f"PLANRAIL_SMTP_{name}", value)
        said = prompt("demo", "weekly-report", "--run-id", "w", "-p", "to=me@example.org")
        assert "which PLANRAIL_SMTP_HOST names: the mail really goes out" in said.out
        assert prompt("approve", "w", "mail").code == 0

    (mail,) = office.mails
    assert mail["To"] == "me@example.org"
    assert [part.get_filename() for part in mail.iter_attachments()] == [NAME]
    assert _mails(prompt) == []
    assert not [path for path in prompt.folder.rglob("*") if path.is_file() and _holds_password(path)]


def _holds_password(path: Path) -> bool:
    return PASSWORD.encode() in path.read_bytes()


def test_a_missing_folder_is_refused_before_anything_is_made(prompt: Prompt) -> None:
    assert prompt("demo", "weekly-report", "--db", "nowhere/runs.db").code == 4
    assert not _folder(prompt).exists()


def test_a_goal_in_words_is_recognised_and_runs_on_ones_own_tools_and_sales(prompt: Prompt) -> None:
    make_sales(prompt.folder / "mine.db")
    prompt.patch.setenv("PLANRAIL_DATABASE", "mine.db")
    prompt.patch.setenv("PLANRAIL_SMTP_HOST", "localhost")
    prompt.patch.setenv("PLANRAIL_SMTP_FROM", "reports@example.com")
    with OpenAIServer([text("一切正常。")]) as server:
        for name, value in server.environment.items():
            prompt.patch.setenv(name, value)
        said = prompt("run", WISH, "--tools", "tools.builtin:office", "--json")

    assert said.code == 3, said.err
    assert len(server.requests) == 1
    assert said.document["plan"]["author"] == "template:weekly-report"
    assert said.document["pending"][0]["args"]["to"] == "wang@example.com"
    assert "一切正常。" in (prompt.folder / "workspace" / NAME).read_text("utf-8")


def test_its_picture_shows_the_queries_side_by_side_and_the_condition() -> None:
    drawn = to_mermaid(WEEKLY_REPORT.plan("standard"))
    arrows = {line.strip() for line in drawn.splitlines()}
    assert "compare the regions with the week before" in drawn
    assert re.search(r'n0 -\. "totals\.rows.*sales.*" \.-> n3', drawn)
    assert not {"n0 --> n1", "n1 --> n2", "n0 --> n2"} & arrows
