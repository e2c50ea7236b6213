"""`langgraph dev` in a process group of its own, on a copy of the project."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ("graph", "nodes", "tools", "checkpoints", "langgraph.json", "pyproject.toml", "README.md")
START_SECONDS = 60.0
KEYED = ("OPENAI_", "LANGSMITH_", "LANGCHAIN_", "PLANRAIL_")
QUIET = {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "true"}

TOOLS_FILE = "server_tools.py"
TOOLS = """
import time

from tools import policy
from tools.shop import tools_from_environment


@policy(effect="read")
async def sleepy() -> str:
    '''Block the event loop.'''
    time.sleep(0.01)
    return "slept"


TOOLS = [*tools_from_environment(), sleepy]
"""

# Imported by every Python process that has the copy first on its path: writes down who is called.
WATCH = """
import os, sys

def note(event, args):
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event == "socket.connect" and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    if str(host) not in ("127.0.0.1", "::1", "localhost", "None", ""):
        with open(os.environ["CALLS_OUT"], "a") as calls:
            calls.write(f"{event} {host}\\n")

sys.addaudithook(note)
"""


@dataclass(frozen=True)
class Server:
    """A running server; `folder` is its working directory, a copy of the project."""

    url: str
    folder: Path

    @property
    def log(self) -> str:
        return (self.folder / "server.log").read_text("utf-8", "replace")

    @property
    def calls_out(self) -> str:
        """Hosts beyond this machine that the server asked for, one a line."""
        calls = self.folder / "calls.txt"
        return calls.read_text("utf-8") if calls.exists() else ""


@contextmanager
def running_server(folder: Path) -> Iterator[Server]:
    """Start the server on a copy in `folder`, wait until it answers, and kill its whole group at the end."""
    copy_project(folder)
    port = free_port()
    server = Server(f"http://127.0.0.1:{port}", folder)
    langgraph = str(Path(sys.executable).with_name("langgraph"))
    options = ["--no-browser", "--no-reload", "--n-jobs-per-worker", "8", "--port", str(port)]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [langgraph, "dev", *options],
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until_up(server, process)
        yield server
    finally:
        kill_group(process)


def copy_project(folder: Path) -> None:
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    (folder / "sitecustomize.py").write_text(WATCH, "utf-8")
    (folder / TOOLS_FILE).write_text(TOOLS, "utf-8")


def environment(folder: Path) -> dict[str, str]:
    """This process's environment without any key, with the copy first on the path."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(KEYED)}
    ours = {"PYTHONPATH": str(folder), "CALLS_OUT": str(folder / "calls.txt"), "PLANRAIL_TOOLS": TOOLS_FILE}
    return {**kept, **QUIET, **ours}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_up(server: Server, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise AssertionError(f"the server ended with {process.returncode}:\n{server.log}")
        try:
            with urllib.request.urlopen(f"{server.url}/ok", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"the server did not answer within {START_SECONDS} s:\n{server.log}")


def kill_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)
