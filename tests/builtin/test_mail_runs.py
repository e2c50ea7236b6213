"""The weekly report: query, page and mail in a compiled graph, from the command line, and after a kill."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from checkpoints import open_store
from tests.builtin.postoffice import PASSWORD, USER, PostOffice, post_office
from tests.builtin.weekly import CONFIG, PAGE, PLAN, prepare, weekly_graph
from tests.guards.source import ROOT


@pytest.fixture
def office(tmp_path: Path) -> Iterator[PostOffice]:
    prepare(tmp_path)
    with post_office(tmp_path) as running:
        yield running


def _check_the_mail(office: PostOffice) -> None:
    (mail,) = office.mails
    text, page = mail.get_body(("plain",)), mail.get_body(("html",))
    assert text is not None
    assert page is not None
    assert (mail["Subject"], text.get_content().strip()) == ("第9周销售", "最高：华东")
    assert page.get_content().strip() == PAGE
    assert [part.get_filename() for part in mail.iter_attachments()] == ["说明.txt"]


def test_the_report_is_sent_when_a_person_approves_what_would_be_sent(
    office: PostOffice, tmp_path: Path
) -> None:
    with open_store(tmp_path / "runs.db") as opened:
        graph = weekly_graph(tmp_path, office.settings(), opened)
        waiting = graph.invoke({"goal": PLAN["goal"], "plan": PLAN}, CONFIG)
        assert waiting["status"] == "waiting"
        (question,) = waiting["pending"]
        assert (question["step"], question["args"]["html"]) == ("mail", PAGE)
        assert office.received == []
        done = graph.invoke(Command(resume={"mail": "approve"}), CONFIG)
    assert done["status"] == "succeeded", done["reason"]
    _check_the_mail(office)
    keys = {step["id"]: step["idempotency_key"] for step in done["steps"]}
    assert office.mails[0]["Message-ID"] == f"<{keys['mail']}@example.com>"


def test_a_server_that_is_busy_is_asked_again(office: PostOffice, tmp_path: Path) -> None:
    replies = iter(["451 greylisted", "250 OK", "250 OK"])
    office.answers["RCPT"] = lambda: next(replies)
    with open_store(tmp_path / "runs.db") as opened:
        graph = weekly_graph(tmp_path, office.settings(), opened, approve_at="never", backoff_base=0)
        done = graph.invoke({"goal": PLAN["goal"], "plan": PLAN}, CONFIG)
    assert done["status"] == "succeeded", done["reason"]
    assert next(step["attempts"] for step in done["steps"] if step["id"] == "mail") == 2
    _check_the_mail(office)


def test_a_mail_in_doubt_is_left_to_a_person(office: PostOffice, tmp_path: Path) -> None:
    office.answers["DATA"] = "cut"
    with open_store(tmp_path / "runs.db") as opened:
        graph = weekly_graph(tmp_path, office.settings(), opened, approve_at="never")
        waiting = graph.invoke({"goal": PLAN["goal"], "plan": PLAN}, CONFIG)
        assert [(each["step"], each["kind"]) for each in waiting["pending"]] == [("mail", "outcome")]
        del office.answers["DATA"]
        done = graph.invoke(Command(resume={"mail": "not_happened"}), CONFIG)
    assert done["status"] == "succeeded", done["reason"]
    _check_the_mail(office)


class _Killer:
    """Runs the report in a process of its own, to be killed while the server hears a word of it."""

    def __init__(self, office: PostOffice, folder: Path) -> None:
        self._office, self._folder = office, folder
        self._pid: int | None = None

    def kill(self) -> str:
        if self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)
        return "250 OK"

    def run(self, *more: str) -> None:
        command = [sys.executable, "-m", "tests.builtin.weekly", str(self._folder), *more]
        given = {**self._office.settings().model_dump(mode="json"), "password": PASSWORD}
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE) as process:
            self._pid = process.pid
            process.communicate(json.dumps(given).encode(), timeout=90)
        self._pid = None
        assert process.returncode == -signal.SIGKILL

    def resumed(self, *answers: Any) -> dict[str, Any]:
        with open_store(self._folder / "runs.db") as opened:
            graph = weekly_graph(self._folder, self._office.settings(), opened, approve_at="never")
            document: dict[str, Any] = graph.invoke(None, CONFIG)
            for answer in answers:
                assert document["status"] == "waiting", document
                document = graph.invoke(Command(resume={"mail": answer}), CONFIG)
        return document


@pytest.fixture
def killer(office: PostOffice, tmp_path: Path) -> _Killer:
    return _Killer(office, tmp_path)


def _happened(office: PostOffice) -> dict[str, Any]:
    result = {"message_id": str(office.mails[0]["Message-ID"])}
    return {"decision": "happened", "result": result}


@pytest.mark.crash
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 on this system")
@pytest.mark.parametrize(
    ("word", "answers"),
    [
        pytest.param("RCPT", [], id="before the mail: it is known not to be sent, and is sent"),
        pytest.param("DATA", [_happened], id="before the answer: a person decides"),
        pytest.param(None, [], id="after the answer: it is known to be sent"),
    ],
)
def test_a_run_killed_while_it_sends_sends_one_mail(
    office: PostOffice,
    killer: _Killer,
    word: str | None,
    answers: list[Callable[[PostOffice], dict[str, Any]]],
) -> None:
    if word is not None:
        office.answers[word] = killer.kill
    killer.run(*([] if word else ["noted"]))
    assert len(office.received) == (word != "RCPT")
    done = killer.resumed(*[answer(office) for answer in answers])
    assert done["status"] == "succeeded", done["reason"]
    _check_the_mail(office)
    output = next(step["output"] for step in done["steps"] if step["id"] == "mail")
    assert output["message_id"] == office.mails[0]["Message-ID"]


def test_the_command_line_sends_the_report_as_the_environment_says(
    office: PostOffice, tmp_path: Path
) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(PLAN), "utf-8")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PLANRAIL_")},
        "PYTHONPATH": str(ROOT),
        "PLANRAIL_DATABASE": "sales.db",
        "PLANRAIL_SMTP_HOST": "127.0.0.1",
        "PLANRAIL_SMTP_PORT": str(office.port),
        "PLANRAIL_SMTP_USERNAME": USER,
        "PLANRAIL_SMTP_PASSWORD": PASSWORD,
        "PLANRAIL_SMTP_FROM": "周报 <reports@example.com>",
        "PLANRAIL_SMTP_CA_FILE": str(office.ca_file),
    }

    def planrail(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "graph.cli", *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    run = planrail("run", "--plan", "plan.json", "--tools", "tools.builtin:office", "--run-id", "w9")
    assert run.returncode == 3, run.stdout + run.stderr
    assert office.received == []
    approved = planrail("approve", "w9", "mail", "--by", "ann")
    assert approved.returncode == 0, approved.stdout + approved.stderr
    _check_the_mail(office)
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not [content for content in written if PASSWORD.encode() in content]
    assert PASSWORD not in run.stdout + run.stderr + approved.stdout + approved.stderr
