"""`planrail settings`: every setting with its value, where that comes from, and what it means."""

import os
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from graph.cli import options
from graph.cli.errors import ExitCode
from graph.cli.inputs import read_settings
from graph.cli.terminal import short, table, terminal_width, visible, write_json, write_lines
from graph.models import ROLES, ModelAddress, addresses
from graph.state import CONFIG_VARIABLE, Settings, config_path
from graph.state.config_file import read_config

PREFIX = "PLANRAIL_"
BUILTIN_TOOLS = (
    "WORKSPACE",
    "WORKSPACE_ENCODINGS",
    "HTTP_ALLOW",
    "HTTP_PROXY",
    "SEARCH_PROVIDER",
    "SEARCH_URL",
    "SEARCH_KEY",
    "SEARCH_KEY_HEADER",
    "SEARCH_ENGINES",
    "SEARCH_REGION",
    "DATABASE",
    "DATABASE_ABOUT",
    "PAGE_TEMPLATES",
    "SENT_MAIL",
    *(f"SMTP_{what}" for what in ("HOST", "PORT", "SECURITY", "USERNAME", "PASSWORD", "FROM", "CA_FILE")),
)
"""What sets up `tools.builtin:office`."""
OTHER_VARIABLES = (
    CONFIG_VARIABLE,
    *(PREFIX + name for name in BUILTIN_TOOLS),
    *(PREFIX + name for name in ("DB", "TOOLS", "DEBUG", "MODEL", "SHOP_DB", "SHOP_IDEMPOTENT")),
    *(f"{PREFIX}{role.upper()}_{what}" for role in ROLES for what in ("MODEL", "BASE_URL", "API_KEY")),
)
"""Variables of the environment that are read and are no settings of a run."""


def settings(
    *,
    settings: options.SetOption = None,
    as_json: options.AsJson = False,
) -> int:
    """List every setting: its value, where the value comes from, and what it means; and the models."""
    pairs = settings or []
    rows = list(setting_rows(read_settings(pairs), pairs))
    models = [_model_row(role, address) for role, address in addresses().items()]
    strange = unknown_variables()
    if as_json:
        write_json({"settings": rows, "models": models, "unknown": strange})
    else:
        write_lines(_lines(rows, models))
    write_lines([f"warning: {_unknown_line(name)}" for name in strange], stderr=True)
    return ExitCode.SUCCEEDED


def setting_rows(chosen: Settings, pairs: list[str]) -> Iterator[dict[str, Any]]:
    """One row for each setting, in the model's order."""
    given = {pair.partition("=")[0].strip() for pair in pairs}
    in_file = read_config(list(Settings.model_fields))
    environment = {name.upper() for name in os.environ}
    values = chosen.model_dump(mode="json")
    for name, field in Settings.model_fields.items():
        if name in given:
            source = "argument"
        elif f"{PREFIX}{name.upper()}" in environment:
            source = "environment"
        else:
            source = "file" if name in in_file else "default"
        yield {"name": name, "value": values[name], "source": source, "description": field.description or ""}


def unknown_variables() -> list[str]:
    """Variables that look as if they were meant for planrail, and are not read."""
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields} | set(OTHER_VARIABLES)
    return sorted(
        name for name in os.environ if name.upper().startswith(PREFIX) and name.upper() not in known
    )


def _unknown_line(name: str) -> str:
    known = [f"{PREFIX}{each.upper()}" for each in Settings.model_fields] + list(OTHER_VARIABLES)
    close = get_close_matches(name.upper(), known, n=1)
    return f"{visible(name)} is not read{f': did you mean {close[0]}?' if close else ''}"


def _model_row(role: str, address: ModelAddress) -> dict[str, Any]:
    return {"role": role, "model": address.model, "base_url": address.shown_url}


def _lines(rows: list[dict[str, Any]], models: list[dict[str, Any]]) -> list[str]:
    cells = [
        [row["name"], short(row["value"], 24), row["source"], short(row["description"], 200)] for row in rows
    ]
    roles = [[row["role"], visible(row["model"]), visible(row["base_url"])] for row in models]
    told = table(["ROLE", "MODEL", "ENDPOINT"], roles) if roles else ["no model: set OPENAI_API_KEY"]
    path = config_path()
    return [
        *table(["SETTING", "VALUE", "FROM", "MEANING"], cells, width=terminal_width()),
        "",
        f"settings file: {path if path is not None else 'none'}",
        "",
        *told,
    ]
