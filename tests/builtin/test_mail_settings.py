"""What a mail server's settings may be."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from graph.cli.configuring import OTHER_VARIABLES
from tests.guards.source import ROOT
from tools import ToolSetupError
from tools.builtin.mail import email_tool
from tools.builtin.mail_settings import _VARIABLES, SmtpSettings

USUAL: dict[str, Any] = {"host": "mail.example.com", "sender": "reports@example.com"}
SECRET = "geheim-4711"


def test_the_usual_is_starttls_on_the_submission_port() -> None:
    settings = SmtpSettings(**USUAL)
    assert (settings.security, settings.port, settings.secret) == ("starttls", 587, "")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "127.8.0.1"])
def test_a_server_on_this_machine_may_do_without_encryption(host: str) -> None:
    assert SmtpSettings(**{**USUAL, "host": host, "security": "none"}).security == "none"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"security": "none"}, "server on this machine"),
        ({"security": "none", "host": "10.0.0.1"}, "server on this machine"),
        ({"security": "ssl"}, "starttls"),
        ({"username": "ann"}, "username and password together"),
        ({"password": SECRET}, "username and password together"),
        ({"username": "ann", "password": f"ß{SECRET}"}, "ASCII"),
        ({"sender": "nobody"}, "no mail address"),
        ({"sender": "a@x.com\nBcc: b@x.com"}, "line break"),
        ({"host": "https://mail.example.com"}, "host"),
        ({"port": 0}, "port"),
        ({"password": [SECRET]}, "password"),
    ],
)
def test_settings_that_cannot_work_are_refused_without_telling_secrets(
    change: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValidationError, match=says) as caught:
        SmtpSettings(**{**USUAL, **change})
    assert SECRET not in str(caught.value)


def test_the_password_shows_nowhere() -> None:
    settings = SmtpSettings(**USUAL, username="ann", password=SECRET)
    assert settings.secret == SECRET
    assert SECRET not in f"{settings!r} {settings} {settings.model_dump_json()} {vars(settings)}"


def test_settings_come_from_the_environment() -> None:
    given = {
        "PLANRAIL_SMTP_HOST": "mail.example.com",
        "PLANRAIL_SMTP_PORT": "465",
        "PLANRAIL_SMTP_SECURITY": "implicit",
        "PLANRAIL_SMTP_USERNAME": "ann",
        "PLANRAIL_SMTP_PASSWORD": SECRET,
        "PLANRAIL_SMTP_FROM": "周报 <r@example.com>",
        "PLANRAIL_SMTP_CA_FILE": "",
        "OTHER": "x",
    }
    settings = SmtpSettings.from_environment(given)
    assert (settings.port, settings.security, settings.sender) == (465, "implicit", "周报 <r@example.com>")
    assert (settings.secret, settings.ca_file) == (SECRET, None)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "PLANRAIL_SMTP_HOST: Field required; PLANRAIL_SMTP_FROM: Field required"),
        ({"PLANRAIL_SMTP_HOST": "h", "PLANRAIL_SMTP_FROM": "x"}, "no mail address"),
        ({"PLANRAIL_SMTP_HOST": "h", "PLANRAIL_SMTP_FROM": "a@x.com", "PLANRAIL_SMTP_PORT": "x"}, "_PORT"),
    ],
)
def test_a_wrong_variable_is_named(given: dict[str, str], says: str) -> None:
    with pytest.raises(ToolSetupError, match=says):
        SmtpSettings.from_environment(given)


def test_the_command_line_and_the_page_of_the_tools_know_the_variables() -> None:
    read = {f"PLANRAIL_SMTP_{name}" for name in _VARIABLES}
    page = (ROOT / "docs" / "tools.md").read_text("utf-8")
    assert read <= set(OTHER_VARIABLES)
    assert [name for name in sorted(read) if f"`{name}`" not in page] == []


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_told_at_once(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(ToolSetupError, match="the certificates of"):
        email_tool(SmtpSettings(**USUAL, ca_file=path))


def test_a_book_of_sent_mails_needs_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none" / "sent.db", tmp_path):
        with pytest.raises(ToolSetupError, match="book of sent mails"):
            email_tool(SmtpSettings(**USUAL), sent_mail=path)
