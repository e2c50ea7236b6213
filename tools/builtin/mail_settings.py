"""Where mails are handed over, and as whom."""

import ipaddress
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

from tools.builtin.mail_addresses import read_address
from tools.errors import HardToolError, ToolSetupError

_PREFIX = "PLANRAIL_SMTP_"
_VARIABLES = {
    "HOST": "host",
    "PORT": "port",
    "SECURITY": "security",
    "USERNAME": "username",
    "PASSWORD": "password",
    "FROM": "sender",
    "CA_FILE": "ca_file",
}


class SmtpSettings(BaseModel):
    """The mail server and the sender.

    Attributes:
        host: The server's name, which its certificate must bear.
        port: 587 is usual with `starttls`, 465 with `implicit`.
        security: How the connection is encrypted; `none` only to a server on this machine.
        username: Who logs in; None for a server that asks nobody.
        password: Their password.
        sender: The address that mails come from, with or without a name.
        ca_file: Certificates (PEM) to trust instead of the system's.
        timeout_seconds: How long each word of the server may take.
        answer_seconds: How long its last word may take, by which it accepts a mail.
        max_bytes: Size of a whole mail with its attachments, as it is sent.
        max_recipients: How many people one mail may go to.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    host: str = Field(min_length=1, pattern=r"^[^\s/]+$")
    port: int = Field(default=587, ge=1, le=65_535)
    security: Literal["starttls", "implicit", "none"] = "starttls"
    username: str | None = Field(default=None, min_length=1)
    password: SecretStr | None = None
    sender: str
    ca_file: Path | None = None
    timeout_seconds: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    answer_seconds: float = Field(default=120.0, gt=0, allow_inf_nan=False)
    max_bytes: int = Field(default=20_000_000, ge=1_000)
    max_recipients: int = Field(default=50, ge=1)

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.security == "none" and not _on_this_machine(self.host):
            raise ValueError("security none is for a server on this machine; use starttls or implicit")
        if (self.username is None) != (self.password is None):
            raise ValueError("give username and password together, or neither")
        if not f"{self.username or ''}{self.secret}".isascii():
            raise ValueError("username and password must be ASCII: the login knows no other characters")
        try:
            read_address(self.sender)
        except HardToolError as error:
            raise ValueError(f"sender: {error}") from None
        return self

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Read `PLANRAIL_SMTP_HOST`, `_PORT`, `_SECURITY`, `_USERNAME`, `_PASSWORD`, `_FROM` and `_CA_FILE`.

        Raises:
            ToolSetupError: A variable is missing or wrong; its value is not told.
        """
        given = {
            field: environment[f"{_PREFIX}{name}"]
            for name, field in _VARIABLES.items()
            if environment.get(f"{_PREFIX}{name}")
        }
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            faults = "; ".join(_fault(each["loc"], each["msg"]) for each in error.errors(include_input=False))
            raise ToolSetupError(f"send_email cannot be set up: {faults}") from None

    @property
    def secret(self) -> str:
        """The password itself; "" when there is none."""
        return self.password.get_secret_value() if self.password else ""

    def tls(self) -> ssl.SSLContext:
        """Return what checks the server's certificate.

        Raises:
            ToolSetupError: `ca_file` is missing or holds no certificates.
        """
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ToolSetupError(f"the certificates of {self.ca_file} cannot be read: {reason}") from error


def _on_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _fault(place: tuple[int | str, ...], message: str) -> str:
    fields = {field: f"{_PREFIX}{name}" for name, field in _VARIABLES.items()}
    name = fields.get(str(place[0])) if place else None
    return f"{name}: {message}" if name else message.removeprefix("Value error, ")
