"""The tool `render_html`: a page from a Jinja template and data, in a process that cannot do harm."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from graph.plan import JSON
from tools.builtin.shapes import TEXT
from tools.errors import HardToolError, SoftToolError, ToolSetupError
from tools.policy import policy

_WORKER = Path(__file__).with_name("html_worker.py")
_KEPT_VARIABLES = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What Python needs to start; nothing else of the environment reaches a template's process."""

_RULES = (
    "The template is Jinja: {{ name }}, {% for row in rows %}, {% if %}. Values are escaped for HTML; a name "
    "that data does not have is an error, which tells the line."
)


@dataclass(frozen=True, slots=True)
class PageLimits:
    """What one page may take.

    Attributes:
        chars: Characters of the page.
        template_chars: Characters of a template given as text.
        seconds: Processor time, in whole seconds.
        wall_seconds: Time in all, for busy machines.
        memory_bytes: Memory of the rendering process, where the operating system can bound it.
    """

    chars: int = 5_000_000
    template_chars: int = 500_000
    seconds: int = 5
    wall_seconds: float = 30.0
    memory_bytes: int = 512_000_000


def html_tool(templates: str | Path | None = None, *, limits: PageLimits | None = None) -> BaseTool:
    """Return a tool that renders a page and returns it as text.

    Args:
        templates: A folder of templates, which a plan may then name; they may include each other.
        limits: What one page may take.

    Raises:
        ToolSetupError: There is no such folder.
    """
    bounds = limits or PageLimits()
    folder = None if templates is None else _folder(templates)
    attached = policy(effect="read", timeout=bounds.wall_seconds + 10, output_schema=TEXT)

    def render_html(template: str, data: dict[str, Any] | None = None) -> str:
        return render(_request(template, None, data, folder, bounds), bounds)

    def render_html_by_name(
        data: dict[str, Any] | None = None, template: str | None = None, template_name: str | None = None
    ) -> str:
        return render(_request(template, template_name, data, folder, bounds), bounds)

    which = "" if folder is None else " Give the template's text, or the template_name of a file. "
    description = f"Make an HTML page from a template and data.{which} {_RULES}"
    function = render_html if folder is None else render_html_by_name
    return StructuredTool.from_function(attached(function), name="render_html", description=description)


def render(request: dict[str, JSON], limits: PageLimits) -> str:
    """Render a page in a process of its own.

    Args:
        request: As the worker's `answer` takes it.
        limits: What it may take.

    Raises:
        HardToolError: The template is wrong, or takes too much; the message names the line.
        SoftToolError: The machine was too busy.
    """
    command = [sys.executable, "-I", "-X", "utf8", str(_WORKER)]
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    sent = json.dumps({**request, **_bounds(limits)}).encode("ascii")
    try:
        done = subprocess.run(  # noqa: S603 - this project's own worker
            command,
            input=sent,
            capture_output=True,
            env=environment,
            timeout=limits.wall_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SoftToolError(f"the page was not ready within {limits.wall_seconds:g} s") from None
    if done.returncode:
        raise _ended(done.returncode, done.stderr, limits)
    found = json.loads(done.stdout)
    if "page" not in found:
        raise HardToolError(found["code"], found["message"])
    return str(found["page"])


def _request(
    template: str | None,
    name: str | None,
    data: dict[str, Any] | None,
    folder: Path | None,
    limits: PageLimits,
) -> dict[str, JSON]:
    if (template is None) == (name is None):
        raise HardToolError("bad_args", "give either template, the text, or template_name, a file's name")
    if template is not None and len(template) > limits.template_chars:
        message = f"the template has {len(template)} characters; at most {limits.template_chars} are read"
        raise HardToolError("template_too_large", message)
    shown = None if folder is None else str(folder)
    return {"template": template, "name": name, "data": data or {}, "folder": shown, "chars": limits.chars}


def _bounds(limits: PageLimits) -> dict[str, JSON]:
    found = [find_spec(name) for name in ("jinja2", "markupsafe")]
    places = {str(Path(spec.origin).parent.parent) for spec in found if spec and spec.origin}
    return {"seconds": limits.seconds, "bytes": limits.memory_bytes, "search": [*sorted(places)]}


def _ended(code: int, stderr: bytes, limits: PageLimits) -> HardToolError:
    if -code in {getattr(signal, "SIGXCPU", None), getattr(signal, "SIGKILL", None)}:
        slow = f"the template took more than {limits.seconds} s or too much memory; let it do less"
        return HardToolError("template_too_slow", slow)
    last = stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit code {code}"]
    return HardToolError("template_failed", f"the page could not be made: {last[0]}")


def _folder(templates: str | Path) -> Path:
    folder = Path(templates).expanduser().absolute()
    if not str(templates).strip() or not folder.is_dir():
        raise ToolSetupError(f"there is no folder of templates {str(templates)!r}; create it or name another")
    return folder
