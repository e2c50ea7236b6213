"""Renders one page: run as a process of its own, which may be ended when a template never ends.

Reads one JSON object from standard input and writes one to standard output; imports nothing of the project,
so that it starts quickly and holds none of its secrets.
"""

import json
import sys
import traceback
from collections.abc import Mapping
from typing import Any

_SHOWN_NAMES = 12
_STRING = "<template>"
"""What Jinja calls the file of a template that is in none."""


def main() -> None:
    """Answer the request on standard input: `{"page": text}`, or `{"code": word, "message": text}`."""
    request = json.loads(sys.stdin.buffer.read())
    sys.path.extend(request["search"])
    import jinja2.sandbox  # noqa: F401, PLC0415 - loaded before memory is bounded, from where the caller has it

    _bound(request["seconds"], request["bytes"])
    sys.stdout.write(json.dumps(answer(request)))


def _bound(seconds: int, memory: int) -> None:
    """Have the operating system end this process when it takes more, where it can (not on Windows)."""
    try:
        import resource  # noqa: PLC0415 - there is none on Windows
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":  # elsewhere address space counts what is only reserved
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def answer(request: Mapping[str, Any]) -> dict[str, str]:
    """Render the template of a request within its limits.

    Args:
        request: `template` (the text) or `name` (of a file in `folder`), `data`, and `chars`, the most
            characters of a page.

    Returns:
        The page, or why there is none; never raises for what is wrong with the template.
    """
    folder, text = request["folder"], request["template"]
    try:
        environment = _environment(folder)
        template = (
            environment.get_template(request["name"]) if text is None else environment.from_string(text)
        )
        return _page(template, request["data"], request["chars"])
    except Exception as error:  # noqa: BLE001 - a template is a program, and may raise anything
        code, message = _fault(error, request["data"])
        where = _where(error, folder)
        return {"code": code, "message": f"{where}: {message}" if where else message}


def _fault(error: Exception, data: Mapping[str, Any]) -> tuple[str, str]:
    from jinja2 import exceptions  # noqa: PLC0415 - `main` says where it is

    match error:
        case exceptions.TemplateNotFound():
            fault = "template_not_found", f"there is no template {error.name!r}"
        case exceptions.TemplateSyntaxError():
            fault = "template_syntax", str(error.message)
        case exceptions.UndefinedError():
            names = ", ".join(sorted(map(str, data))[:_SHOWN_NAMES]) or "nothing"
            fault = "template_undefined", f"{error.message}; data has {names}"
        case exceptions.SecurityError():
            fault = "template_forbidden", str(error)
        case MemoryError():
            fault = "template_too_large", "the page takes too much memory"
        case RecursionError():
            fault = "template_failed", "the template includes or calls itself without end"
        case _:
            fault = "template_failed", f"{type(error).__name__}: {error}"
    return fault


def _environment(folder: str | None) -> Any:
    from jinja2 import DictLoader, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - see `answer`
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415

    loader = DictLoader({}) if folder is None else FileSystemLoader(folder, encoding="utf-8")
    environment = ImmutableSandboxedEnvironment(autoescape=True, undefined=StrictUndefined, loader=loader)
    # The same template and data make the same page, however often the step is run.
    del environment.globals["lipsum"], environment.filters["random"]
    return environment


def _page(template: Any, data: Mapping[str, Any], most: int) -> dict[str, str]:
    parts: list[str] = []
    length = 0
    for part in template.generate(data):
        length += len(part)
        if length > most:
            message = f"the page has more than {most} characters; put less into it"
            return {"code": "template_too_large", "message": message}
        parts.append(str(part))
    return {"page": "".join(parts)}


def _where(error: BaseException, folder: str | None) -> str:
    """Return the innermost place in a template that an error came through; "" when it was in none."""
    from jinja2 import TemplateSyntaxError  # noqa: PLC0415 - `main` says where it is

    if isinstance(error, TemplateSyntaxError):
        return _place(error.name, error.lineno)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == _STRING:
            return _place(None, frame.lineno)
        if folder is not None and frame.filename.startswith(folder):
            return _place(frame.filename[len(folder) :].strip("/\\"), frame.lineno)
    return ""


def _place(name: str | None, line: int | None) -> str:
    return f"template {name}, line {line}" if name else f"template, line {line}"


if __name__ == "__main__":
    main()
