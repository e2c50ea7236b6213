"""Settings from a TOML file: `planrail.toml` where one works, or the file that somebody names."""

import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource

CONFIG_FILE = "planrail.toml"
CONFIG_VARIABLE = "PLANRAIL_CONFIG"
MAX_BYTES = 1_000_000

_chosen: ContextVar[str | None] = ContextVar("planrail_config", default=None)


class ConfigFault(ValueError):  # noqa: N818 - turned into a SettingsError by its only caller
    """The file cannot be read, or holds what is no setting; the message names it."""


@contextmanager
def using_config(path: str | None) -> Iterator[None]:
    """Read settings from this file while the block lasts; None changes nothing."""
    if path is None:
        yield
        return
    token = _chosen.set(path)
    try:
        yield
    finally:
        _chosen.reset(token)


def chosen_config() -> str | None:
    """The file that `using_config` names at the moment."""
    return _chosen.get()


def config_path() -> Path | None:
    """The file in effect: the one chosen, that of `PLANRAIL_CONFIG`, or `planrail.toml` if it is there."""
    named = chosen_config() or os.environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named)
    usual = Path(CONFIG_FILE)
    return usual if usual.is_file() else None


def read_config(known: list[str]) -> dict[str, Any]:
    """The values of the file in effect, none without a file.

    Raises:
        ConfigFault: It cannot be read, or names something that is not in `known`.
    """
    path = config_path()
    if path is None:
        return {}
    try:
        with path.open("rb") as file:
            values = tomllib.loads(file.read(MAX_BYTES).decode("utf-8-sig"))
    except OSError as error:
        why = error.strerror or error
        raise ConfigFault(
            f"cannot read the settings file {path}: {why}; name another with --config"
        ) from None
    except (ValueError, RecursionError) as error:  # a number may be too long as well
        raise ConfigFault(f"the settings file {path} is no TOML: {error}") from None
    for key in values:
        if key not in known:
            close = get_close_matches(key, known, n=3)
            hint = f"did you mean {', '.join(close)}?" if close else "`planrail settings` lists them"
            raise ConfigFault(f"unknown setting {key!r} in {path}: {hint}")
    return values


class ConfigSource(PydanticBaseSettingsSource):
    """The file in effect, as a source of settings."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Unused: the file is read as a whole."""
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """All values of the file."""
        return read_config(list(self.settings_cls.model_fields))
