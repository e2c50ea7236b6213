"""A user's own tools: a module in a folder, and the calls it has noted."""

import importlib.util
import json
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

TOOLBOX = '''
"""A user's own tools; every call is a line of calls.jsonl beside this file."""
import json
import time
from pathlib import Path
from typing import Annotated, Any

from langchain_core.tools import tool
from tools import HardToolError, IdempotencyKey, OutcomeUnknown, SoftToolError, policy

LOG = Path(__file__).with_name("calls.jsonl")


def note(name, event="call", **args):
    with LOG.open("a", encoding="utf-8") as log:
        log.write(json.dumps({"tool": name, "event": event, "at": time.time(), "args": args}) + "\\n")


@policy(effect="read")
@tool
def web_search(query: str) -> dict[str, Any]:
    """Search the web."""
    note("web_search", query=query)
    return {"items": [{"name": "x"}, {"name": "y"}], "count": 3, "query": query}


@tool
@policy(effect="write", idempotent=True)
def write_file(path: str, content: Any, key: Annotated[str, IdempotencyKey]) -> str:
    """Write a file."""
    note("write_file", path=path, content=content, key=key)
    return path


@policy(effect="read")
@tool
def pause(seconds: float, label: str) -> str:
    """Take some time."""
    note("pause", "begin", label=label)
    time.sleep(seconds)
    note("pause", "end", label=label)
    return label


@policy(effect="read")
@tool
def missing(what: str) -> str:
    """Look for what is not there."""
    note("missing", what=what)
    raise HardToolError("not_found", f"there is no {what}")


@policy(effect="read")
@tool
def flaky(times: int, label: str) -> int:
    """Fail some times, then answer."""
    note("flaky", label=label)
    made = sum(json.loads(line)["args"] == {"label": label} for line in LOG.read_text("utf-8").splitlines())
    if made <= times:
        raise SoftToolError("busy, come back later", retry_after=0.01)
    return made


@policy(effect="write", idempotent=False)
@tool
def transfer(to: str) -> str:
    """Send something away and lose the line."""
    note("transfer", to=to)
    raise OutcomeUnknown("the line went dead")


@policy(effect="read")
def plain(text: str) -> str:
    """Say it again; a plain function."""
    note("plain", text=text)
    return text


@tool
def bare(text: str) -> str:
    """Do something nobody has declared a policy for."""
    note("bare", text=text)
    return text


TOOLS = [web_search, write_file, pause, missing, flaky, transfer, plain, bare]
'''


@dataclass(frozen=True)
class Toolbox:
    """A tool module in a folder of its own, and the calls it has noted."""

    path: Path

    @classmethod
    def written(cls, folder: Path, source: str = TOOLBOX) -> "Toolbox":
        path = folder / f"mytools_{re.sub(r'[^0-9A-Za-z]', '_', folder.name)}.py"
        path.write_text(source, encoding="utf-8")
        return cls(path)

    def calls(self, tool: str | None = None, event: str = "call") -> list[dict[str, Any]]:
        """The arguments of the calls made so far, in order."""
        log = self.path.with_name("calls.jsonl")
        lines = log.read_text("utf-8").splitlines() if log.exists() else []
        entries = [json.loads(line) for line in lines]
        if tool is None:
            return [entry["args"] for entry in entries]
        return [entry["args"] for entry in entries if entry["tool"] == tool and entry["event"] == event]

    def moments(self, tool: str, event: str = "call") -> dict[str, float]:
        """When each labelled call was noted."""
        log = self.path.with_name("calls.jsonl")
        entries = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        return {
            str(entry["args"].get("label", entry["args"].get("query"))): float(entry["at"])
            for entry in entries
            if entry["tool"] == tool and entry["event"] == event
        }

    def load(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location(self.path.stem, self.path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def tools(self) -> list[Any]:
        listed: list[Any] = self.load().TOOLS
        return listed
