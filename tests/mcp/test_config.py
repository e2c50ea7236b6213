"""The file that lists servers: its forms, its variables, and what is wrong with it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools import ToolLoadError
from tools.mcp.config import ServerConfig, read_servers
from tools.mcp.masking import masked, masked_value, secrets_of
from tools.mcp.variables import expanded

ROOT = Path(__file__).resolve().parents[2]
STARTED = {"command": "serve", "args": ["-v"]}
CALLED = {"url": "https://example.com/mcp"}


def _one(entry: dict[str, Any]) -> ServerConfig:
    (server,) = read_servers({"mcpServers": {"s": entry}})
    return server


@pytest.mark.parametrize(
    "written",
    [
        {"mcpServers": {"s": STARTED}},
        {"servers": {"s": STARTED}, "inputs": []},
        {"s": STARTED},
        {"mcpServers": {"s": {**STARTED, "type": "stdio", "disabled": False, "autoApprove": ["x"]}}},
        {"mcpServers": {"s": STARTED, "off": {"disabled": True, "command": "${NOT_SET}"}}},
    ],
)
def test_the_forms_of_other_clients_are_read(written: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "服务器.json"
    file.write_text("\ufeff" + json.dumps(written), encoding="utf-8")
    for source in (file, str(file), written):
        (server,) = read_servers(source)
        assert (server.name, server.transport, server.command, server.args) == (
            "s",
            "stdio",
            "serve",
            ("-v",),
        )


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        (CALLED, "streamable_http"),
        ({**CALLED, "type": "http"}, "streamable_http"),
        ({**CALLED, "type": "streamable-http"}, "streamable_http"),
        ({**CALLED, "transport": "streamable_http"}, "streamable_http"),
        ({**CALLED, "type": "sse"}, "sse"),
    ],
)
def test_endpoints_are_called_in_the_way_they_name(entry: dict[str, Any], transport: str) -> None:
    assert _one(entry).transport == transport


def test_a_server_starts_in_the_folder_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    inner = {**STARTED, "cwd": "inner"}
    file.write_text(json.dumps({"a": STARTED, "b": inner, "c": CALLED}), encoding="utf-8")
    assert [server.cwd for server in read_servers(file)] == [str(tmp_path), str(tmp_path / "inner"), None]
    assert _one(STARTED).cwd is None


def test_variables_of_the_environment_are_put_in_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "t0k${HOME}")
    server = _one(
        {
            "url": "https://${HOST:-example.com}/mcp",
            "headers": {"Authorization": "Bearer ${TOKEN}", "X-Other": "$TOKEN ${env:TOKEN}"},
        }
    )
    assert server.url == "https://example.com/mcp"
    assert server.headers == {"Authorization": "Bearer t0k${HOME}", "X-Other": "$TOKEN t0k${HOME}"}
    assert expanded({"a": ["${TOKEN}", 1, None]}, "x") == {"a": ["t0k${HOME}", 1, None]}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({}, "needs either a command to start or a url to call"),
        ({**STARTED, **CALLED}, "needs either a command to start or a url to call"),
        ({"command": ""}, "it has no command to start"),
        ({"url": "ftp://example.com"}, "its url must begin with http"),
        ({"url": "example.com"}, "its url must begin with http"),
        ({"url": 7}, "url: Input should be a valid string"),
        ({**STARTED, "type": "pigeon"}, "transport that is not known; use stdio, http or sse"),
        ({**STARTED, "args": "-v"}, "args: Input should be a valid"),
        ({**STARTED, "env": {"A": 1}}, "env.A: Input should be a valid string"),
        ({**STARTED, "env": {"A": "${NOT_SET}"}}, "needs the environment variable NOT_SET: set it"),
        ({**STARTED, "args": ["${input:key}"]}, r"has \$\{input:key\}, which names no variable"),
        (
            {**STARTED, "trust_anotations": False},
            "no field 'trust_anotations'; did you mean 'trust_annotations'",
        ),
        ({**STARTED, "trust_annotations": "no"}, "trust_annotations: Input should be a valid boolean"),
        ({**STARTED, "policies": {"x": 1}}, "policies.x: Input should be a valid dictionary"),
        ({**STARTED, "start_timeout": 0}, "start_timeout: Input should be greater than 0"),
    ],
)
def test_each_fault_of_a_server_is_one_line_with_the_place(entry: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolLoadError, match=words) as caught:
        _one(entry)
    assert "'s'" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no file"),
        ("{", "is not JSON"),
        ("[]", "must be a JSON object"),
        ('{"mcpServers": {"a": 1}}', "must be a JSON object"),
        ("{}", "lists no MCP server"),
        ('{"mcpServers": {"a": {"command": "x", "disabled": true}}}', "lists no MCP server"),
        ('{"mcpServers": {"": {"command": "x"}}}', "an MCP server without a name"),
    ],
)
def test_each_fault_of_a_file_is_one_line_that_names_it(text: str | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(ToolLoadError, match=words) as caught:
        read_servers(file)
    assert "servers.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_fault_shows_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "sesame-open")
    for entry in (
        {"url": "ftp://${TOKEN}@example.com"},
        {"url": "https://x/mcp", "headers": {"Authorization": ["${TOKEN}"]}},
        {"command": "x", "env": {"KEY": {"deep": "${TOKEN}"}}},
        {"command": "x", "args": {"a": "${TOKEN}"}},
    ):
        with pytest.raises(ToolLoadError) as caught:
            _one(entry)
        assert "sesame" not in str(caught.value)
    held = _one({"url": "https://u:${TOKEN}@x/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}})
    assert "sesame" not in repr(held)


def test_what_is_secret_is_told_by_its_name() -> None:
    started = _one(
        {
            "command": "x",
            "args": ["--api-key=first-secret", "--token", "second-secret", "--folder", "/data/files"],
            "env": {
                "GITHUB_TOKEN": "third-secret",
                "FOLDER": "/data/files",
                "AUTHOR": "Li Wei Zhang",
                "PASSWORD": "abc",
            },
        }
    )
    assert set(secrets_of(started)) == {"first-secret", "second-secret", "third-secret"}
    called = _one(
        {
            "url": "https://u:fourth-secret@x/mcp?api_key=fifth-secret&page=long-enough",
            "headers": {"Authorization": "Bearer sixth-secret", "X-Region": "eu-west-1"},
        }
    )
    assert set(secrets_of(called)) == {
        "fourth-secret",
        "fifth-secret",
        "sixth-secret",
        "Bearer sixth-secret",
    }


def test_secrets_are_cut_out_of_text_and_data() -> None:
    secrets = ("sesame-open",)
    assert masked("a sesame-open b", secrets) == "a [redacted] b"
    data = {"sesame-open": ["x sesame-open", 1, None]}
    assert masked_value(data, secrets) == {"[redacted]": ["x [redacted]", 1, None]}  # type: ignore[arg-type]
    assert masked_value("你好", ()) == "你好"


WITHOUT = """
import sys
sys.modules["{missing}"] = None
import tools
from tools.mcp import mcp_tools
try:
    mcp_tools({{"s": {{"command": "x"}}}})
except tools.ToolLoadError as error:
    print(error)
"""


@pytest.mark.parametrize("missing", ["mcp", "langchain_mcp_adapters"])
def test_without_the_extra_all_else_works_and_one_line_names_it(missing: str) -> None:
    program = WITHOUT.format(missing=missing)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "install planrail with its extra mcp" in done.stdout
    assert len(done.stdout.splitlines()) == 1
