"""`${VAR}` in the configuration of MCP servers, so that secrets need not stand in files."""

import os
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from tools.errors import ToolLoadError

_REFERENCE = re.compile(r"\$\{([^}]*)\}")
_VARIABLE = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)


def expanded(value: Any, where: str) -> Any:
    """Return the value with the environment's variables put into its texts, at any depth.

    Args:
        value: JSON data. `${VAR}`, `${env:VAR}` and `${VAR:-default}` are read; what is put in is not read
            again, and a bare `$VAR` stays as it is.
        where: What the value is, for the error.

    Raises:
        ToolLoadError: A variable is not set, or the braces hold no name of one.
    """
    if isinstance(value, str):
        return _REFERENCE.sub(partial(_value, where=where), value)
    if isinstance(value, Mapping):
        return {key: expanded(item, where) for key, item in value.items()}
    return [expanded(item, where) for item in value] if isinstance(value, list) else value


def _value(found: re.Match[str], where: str) -> str:
    variable = _VARIABLE.fullmatch(found.group(1))
    if variable is None:
        raise ToolLoadError(f"the {where} has {found.group()}, which names no variable of the environment")
    name, default = variable.groups()
    value = os.environ.get(name) or default
    if value is None:
        raise ToolLoadError(f"the {where} needs the environment variable {name}: set it")
    return value
