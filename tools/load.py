"""Finding a user's tools from `MODULE[:ATTR]`, `FILE.py[:ATTR]` or `mcp:FILE.json`."""

import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from langchain_core.tools import BaseTool

from graph.plan import PlanrailError
from tools.errors import ToolLoadError
from tools.mcp import mcp_tools
from tools.policy import declared_policy
from tools.registered import RegisteredTool
from tools.registry import ToolRegistry
from tools.scrub import trimmed

_DEFAULT_ATTRIBUTE = "TOOLS"
_MCP = "mcp:"


def load_tools(spec: str) -> ToolRegistry:
    """Return the tools a specification leads to.

    The module is imported; the working directory, or the file's own folder, is searched after everything
    installed, and stays searchable.

    Args:
        spec: `package.module` or `path/to/file.py`, with `:NAME` for one attribute of it. The attribute is
            a registry, a tool, a list of tools, or a function without arguments that returns one of these.
            Without a name it is `TOOLS`, or else every LangChain tool and every function with `@policy`
            in the module. `mcp:FILE.json` are the tools of MCP servers, and may stand beside others, with
            commas between them: `mytools.py,mcp:servers.json`.

    Raises:
        ToolLoadError: One line that says which part of the specification leads nowhere.
    """
    registries = [(part, _registry(_found(part), part)) for part in _parts(spec)]
    merged: dict[str, RegisteredTool] = {}
    for part, registry in registries:
        twice = sorted(merged.keys() & registry.keys())
        if twice:
            raise ToolLoadError(f"{spec!r}: {part!r} has a second tool {twice[0]!r}; rename one")
        merged |= registry
    return registries[0][1] if len(registries) == 1 else ToolRegistry(merged)


def absolute_spec(spec: str) -> str:
    """Return a specification whose files are found from another folder too."""
    return ",".join(map(_absolute, _parts(spec)))


def _parts(spec: str) -> list[str]:
    """Return the specifications in one: several only where one of them is of MCP servers."""
    parts = [part.strip() for part in spec.split(",")]
    return parts if any(part.startswith(_MCP) for part in parts) else [spec]


def _absolute(part: str) -> str:
    if part.startswith(_MCP):
        file = part.removeprefix(_MCP).strip()
        return f"{_MCP}{Path(file).resolve()}" if file else part
    file, colon, attribute = part.rpartition(":")
    if not file.endswith(".py"):
        file, colon, attribute = part, "", ""
    return f"{Path(file).resolve()}{colon}{attribute}" if file.endswith(".py") else part


def _found(part: str) -> object:
    if part.startswith(_MCP):
        name = part.removeprefix(_MCP).strip()
        if not name:
            raise ToolLoadError(f"{part!r} names no file; write mcp:FILE.json")
        return mcp_tools(name)
    source, attribute = _split(part)
    module = _from_file(Path(source)) if source.endswith(".py") else _import(source)
    return _attribute(module, attribute) if attribute else _default(module)


def _split(spec: str) -> tuple[str, str]:
    source, colon, attribute = spec.strip().rpartition(":")
    if not colon or attribute.endswith(".py"):  # no attribute; the colon may be that of a drive
        source, attribute = spec.strip(), ""
    if not source or (colon and not attribute and not source.endswith(".py")):
        raise ToolLoadError(f"{spec!r} names no tools; write MODULE, MODULE:NAME or FILE.py:NAME")
    return source, attribute


def _import(name: str) -> ModuleType:
    _searchable(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise ToolLoadError(_missing(name)) from error
        raise ToolLoadError(_broken(f"module {name!r}", error)) from error
    except (Exception, SystemExit) as error:
        raise ToolLoadError(_broken(f"module {name!r}", error)) from error


def _missing(name: str) -> str:
    top = name.partition(".")[0]
    owner = sys.modules.get(top)
    if owner is not None and Path(top).is_dir() and "." in name:
        path = f"{name.replace('.', '/')}.py"
        return f"there is no module {name!r}: {top!r} is {owner.__name__} of planrail; name the file, {path}"
    return f"there is no module {name!r} in {Path.cwd()} or among the installed packages"


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ToolLoadError(f"there is no file {path}")
    full = path.resolve()
    _searchable(full.parent)
    name = _module_name(full)
    if name in sys.modules:
        return sys.modules[name]
    made = importlib.util.spec_from_file_location(name, full)
    if made is None or made.loader is None:
        raise ToolLoadError(f"{path} cannot be imported as Python")
    module = importlib.util.module_from_spec(made)
    sys.modules[name] = module  # dataclasses and pydantic look their module up while it is being run
    try:
        made.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ToolLoadError(_broken(str(path), error)) from error
    return module


def _module_name(path: Path) -> str:
    """Return the file's own name, or one of its own where another module already has that name."""
    if path.stem.isidentifier() and _found_at(path.stem) in {None, str(path)}:
        return path.stem
    return f"tools_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"


def _found_at(name: str) -> str | None:
    """Return where Python finds a module of that name; "" for one that is in no file."""
    try:
        found = importlib.util.find_spec(name)
    except ValueError:  # a module such as __main__ that was made without a specification
        return ""
    return None if found is None else found.origin or ""


def _searchable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _broken(what: str, error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"{what} needs {error.name!r}, which is not installed"
    text = " ".join(str(error).split())
    return trimmed(f"{what} cannot be imported: {type(error).__name__}: {text}")


def _attribute(module: ModuleType, name: str) -> object:
    try:
        return getattr(module, name)
    except AttributeError:
        names = [key for key, value in vars(module).items() if not key.startswith("_") and _offers(value)]
        there = ", ".join(names[:10]) or "nothing that could be tools"
        raise ToolLoadError(f"module {module.__name__!r} has no {name!r}; it has: {there}") from None


def _offers(value: object) -> bool:
    return isinstance(value, (BaseTool, ToolRegistry, list, tuple)) or inspect.isfunction(value)


def _default(module: ModuleType) -> object:
    if hasattr(module, _DEFAULT_ATTRIBUTE):
        return getattr(module, _DEFAULT_ATTRIBUTE)
    marked = [
        value
        for value in vars(module).values()
        if isinstance(value, BaseTool) or (inspect.isroutine(value) and declared_policy(value) is not None)
    ]
    unique = list({id(value): value for value in marked}.values())
    if not unique:
        raise ToolLoadError(
            f"module {module.__name__!r} has no {_DEFAULT_ATTRIBUTE}, no LangChain tool and no function with "
            "@policy; name the attribute, as MODULE:NAME"
        )
    return unique


def _registry(found: object, spec: str) -> ToolRegistry:
    if _is_factory(found):
        found = _call(found, spec)
    if isinstance(found, ToolRegistry):
        return found
    items = [found] if isinstance(found, BaseTool) or callable(found) else found
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise ToolLoadError(f"{spec!r} is a {type(found).__name__}; give a list of tools or a function")
    try:
        registry = ToolRegistry.of(*items)
    except PlanrailError as error:
        raise ToolLoadError(f"{spec!r}: {error}") from error
    if not registry:
        raise ToolLoadError(f"{spec!r} is an empty list of tools; put at least one in")
    return registry


def _is_factory(found: object) -> bool:
    return callable(found) and not isinstance(found, BaseTool) and declared_policy(found) is None


def _call(factory: Any, spec: str) -> object:
    try:
        made = factory()
    except (Exception, SystemExit) as error:
        raise ToolLoadError(
            trimmed(f"{spec!r} was called without arguments and failed: {type(error).__name__}: {error}")
        ) from error
    if inspect.iscoroutine(made):
        made.close()
        raise ToolLoadError(f"{spec!r} is async; give a plain function that returns the tools")
    return made
