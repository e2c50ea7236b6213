"""What exceptions mean, on real errors of real libraries."""

import asyncio
import datetime as dt
import email.utils
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema
import openai
import pydantic
import pytest
import requests
from langchain_core.tools import ToolException

from tools import HardToolError, OutcomeUnknown, SoftToolError, ToolPolicy, classify
from tools.classify import describe

READ = ToolPolicy(effect="read")
WRITE = ToolPolicy(effect="write")
IDEMPOTENT = ToolPolicy(effect="write", idempotent=True)


def _httpx_get(url: str) -> None:
    httpx.get(url, timeout=0.2, trust_env=False).raise_for_status()


def _requests_get(url: str) -> None:
    with requests.Session() as session:
        session.trust_env = False
        session.get(url, timeout=0.2).raise_for_status()


def _openai_get(url: str) -> None:
    with openai.OpenAI(base_url=url, api_key="k", timeout=0.2, max_retries=0) as client:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])


def _urllib_get(url: str) -> None:
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=0.2)


CLIENTS = [_httpx_get, _requests_get, _openai_get, _urllib_get]
Client = Callable[[str], None]


def _raised(function: Callable[..., Any], *args: object) -> BaseException:
    try:
        function(*args)
    except Exception as error:  # noqa: BLE001 - whichever it is, it is the one to judge
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        return error
    raise AssertionError("nothing was raised")


def _free_port_url() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422])
@pytest.mark.parametrize("client", CLIENTS)
def test_client_errors_are_hard(server: str, client: Client, status: int) -> None:
    found = classify(_raised(client, f"{server}/status/{status}"), READ)
    assert (found.kind, found.code) == ("hard", f"http_{status}")


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("client", CLIENTS)
def test_statuses_that_pass_are_soft(server: str, client: Client, status: int) -> None:
    found = classify(_raised(client, f"{server}/status/{status}"), READ)
    assert (found.kind, found.code) == ("soft", f"http_{status}")


@pytest.mark.parametrize("path", ["slow", "drop"])
@pytest.mark.parametrize("client", CLIENTS)
def test_slow_and_broken_connections_are_soft_for_reads_and_unknown_for_writes(
    server: str, client: Client, path: str
) -> None:
    error = _raised(client, f"{server}/{path}")
    assert classify(error, READ).kind == "soft"
    assert classify(error, IDEMPOTENT).kind == "soft"
    assert classify(error, WRITE).kind == "unknown"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_refused_connection_is_soft(client: Client) -> None:
    found = classify(_raised(client, _free_port_url()), READ)
    assert (found.kind, found.code) == ("soft", "connection_error")


@pytest.mark.parametrize("client", [_httpx_get, _requests_get])
def test_an_answer_cut_in_the_middle_is_soft(server: str, client: Client) -> None:
    assert classify(_raised(client, f"{server}/cut"), READ).kind == "soft"


@pytest.mark.parametrize("client", [_httpx_get, _requests_get])
@pytest.mark.parametrize("url", ["nonsense", "foo://x"])
def test_a_url_that_can_never_work_is_hard(client: Client, url: str) -> None:
    assert classify(_raised(client, url), READ).kind == "hard"


@pytest.mark.parametrize("client", CLIENTS)
def test_retry_after_in_seconds_is_honoured(server: str, client: Client) -> None:
    assert classify(_raised(client, f"{server}/status/429/after/7"), READ).retry_after == 7.0


@pytest.mark.parametrize("client", CLIENTS)
def test_retry_after_as_a_date_is_honoured(server: str, client: Client) -> None:
    date = email.utils.format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=90), usegmt=True)
    seconds = classify(_raised(client, f"{server}/status/503/after/{quote(date)}"), READ).retry_after
    assert seconds is not None
    assert 80 < seconds < 91


@pytest.mark.parametrize("text", ["soon", "-3", "1e9999", ""])
def test_a_retry_after_that_makes_no_sense_is_ignored(server: str, text: str) -> None:
    assert classify(_raised(_httpx_get, f"{server}/status/429/after/{text}"), READ).retry_after is None


def test_a_rate_limited_write_may_be_made_again(server: str) -> None:
    found = classify(_raised(_httpx_get, f"{server}/status/429/after/2"), WRITE)
    assert (found.kind, found.retry_after) == ("soft", 2.0)


@pytest.mark.parametrize("status", [408, 500, 503])
def test_a_server_error_of_a_write_that_is_not_idempotent_leaves_it_in_doubt(
    server: str, status: int
) -> None:
    assert classify(_raised(_requests_get, f"{server}/status/{status}"), WRITE).kind == "unknown"


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError(),
        ConnectionResetError("reset"),
        BrokenPipeError(),
        socket.gaierror(-3, "try again"),
        OSError(101, "Network is unreachable"),
        OSError(113, "No route to host"),
        asyncio.IncompleteReadError(b"x", 10),
        ssl.SSLEOFError("eof"),
    ],
)
def test_network_errors_of_the_standard_library_are_soft_and_unknown_for_writes(error: BaseException) -> None:
    assert classify(error, READ).kind == "soft"
    assert classify(error, WRITE).kind == "unknown"


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        ValueError("bad"),
        FileNotFoundError(2, "no such file"),
        PermissionError(13, "denied"),
        OSError(28, "No space left on device"),
        ToolException("mcp said no"),
        NotImplementedError(),
        MemoryError(),
        RecursionError("deep"),
        SystemExit(1),
        KeyboardInterrupt(),
        asyncio.CancelledError(),
        ssl.SSLCertVerificationError("CERTIFICATE_VERIFY_FAILED"),
        urllib.error.URLError(ssl.SSLCertVerificationError("expired")),
        jsonschema.ValidationError("no"),
    ],
)
@pytest.mark.parametrize("policy", [READ, WRITE, IDEMPOTENT])
def test_everything_else_is_hard_and_names_its_type(error: BaseException, policy: ToolPolicy) -> None:
    found = classify(error, policy)
    assert found.kind == "hard"
    assert found.message.startswith(type(error).__name__)


def test_a_model_of_the_tools_own_that_does_not_validate_is_hard() -> None:
    error = _raised(pydantic.TypeAdapter(int).validate_python, "x")
    assert classify(error, READ).code == "validation_error"


def test_a_refused_certificate_behind_a_library_is_hard() -> None:
    error = httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
    assert classify(error, READ).code == "bad_certificate"


def test_what_a_tool_says_itself_stands() -> None:
    assert classify(HardToolError("order_not_found", "no A1"), WRITE).code == "order_not_found"
    soft = classify(SoftToolError("busy", retry_after=3.0), WRITE)
    assert (soft.kind, soft.retry_after, soft.message) == ("soft", 3.0, "busy")
    assert classify(OutcomeUnknown("sent, no answer"), WRITE).kind == "unknown"
    assert classify(OutcomeUnknown("sent, no answer"), IDEMPOTENT).kind == "unknown"
    assert classify(OutcomeUnknown("no answer"), READ).kind == "soft"


class _Quota(Exception):  # noqa: N818
    pass


def test_a_policy_may_call_its_own_errors_hard_or_soft() -> None:
    assert classify(_Quota("x"), ToolPolicy(soft_errors=(_Quota,))).kind == "soft"
    assert classify(TimeoutError(), ToolPolicy(effect="read", hard_errors=(TimeoutError,))).kind == "hard"


def test_no_policy_makes_a_lost_write_repeatable() -> None:
    assert classify(TimeoutError(), ToolPolicy(soft_errors=(TimeoutError,))).kind == "unknown"


def test_a_group_is_judged_by_its_worst_member() -> None:
    assert classify(ExceptionGroup("g", [TimeoutError(), ConnectionError()]), READ).kind == "soft"
    assert classify(ExceptionGroup("g", [SoftToolError("later"), KeyError("x")]), READ).kind == "hard"
    assert classify(ExceptionGroup("g", [KeyError("x"), TimeoutError()]), WRITE).kind == "unknown"


def test_a_group_is_described_by_what_is_in_it() -> None:
    group = ExceptionGroup("unhandled errors", [ExceptionGroup("inner", [KeyError("x")])])
    assert describe(group) == "ExceptionGroup: ExceptionGroup: KeyError: 'x'"


class _Touchy(Exception):  # noqa: N818
    @property
    def response(self) -> object:
        raise RuntimeError("not now")

    @property
    def status_code(self) -> int:
        raise RuntimeError("not now")


def test_an_exception_whose_properties_raise_is_judged_all_the_same() -> None:
    assert classify(_Touchy("x"), READ).code == "unexpected_error"


class _Hostile(Exception):  # noqa: N818
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


@pytest.mark.parametrize("error", [ValueError(), ValueError("x" * 2_000_000), ValueError("  "), _Hostile()])
def test_messages_are_never_empty_and_never_long(error: BaseException) -> None:
    message = describe(error)
    assert type(error).__name__ in message
    assert len(message) <= 500


@pytest.mark.parametrize(("name", "kind"), [("APIConnectionError", "soft"), ("APITimeoutError", "soft")])
def test_an_error_derived_from_a_librarys_own_is_known_as_it(name: str, kind: str) -> None:
    parent: type[openai.APIConnectionError] = getattr(openai, name)
    derived = type("Wrapped", (parent,), {"__module__": "langchain_openai.chat_models.base"})
    error = derived(request=httpx.Request("POST", "http://127.0.0.1/"))

    assert classify(error, ToolPolicy(effect="read")).kind == kind
