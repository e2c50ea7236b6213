"""Templates from folders of YAML files: a bad one is named, the others work."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]  # the distribution has no types
from pydantic import ValidationError

from graph.plan.json_values import json_fault
from graph.plan.templates.template import Template, TemplateError

SHIPPED = Path(__file__).parent
MAX_BYTES = 200_000
_SUFFIXES = (".yaml", ".yml")
_UNREAD = (ValueError, TypeError, AttributeError, KeyError, OverflowError)
"""What the library lets through of values that are not what their tag says, or too long."""


@dataclass(frozen=True)
class TemplateProblem:
    """A file or folder of templates that cannot be used, and why."""

    path: str
    message: str

    def __str__(self) -> str:
        """Return `path: message` on one line."""
        return f"{self.path}: {self.message}"


@dataclass(frozen=True)
class TemplateLibrary:
    """All templates by name, where each comes from, and what could not be loaded."""

    templates: Mapping[str, Template] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[TemplateProblem, ...] = ()

    def require(self, name: str) -> Template:
        """The template of that name; raises TemplateError."""
        found = self.templates.get(name)
        if found is not None:
            return found
        bad = [each for each in self.problems if Path(each.path).stem == name]
        if bad:
            raise TemplateError(f"template {name!r} cannot be used: {bad[0]}")
        close = get_close_matches(name, self.templates, n=3)
        hint = f"did you mean {', '.join(close)}?" if close else "`planrail templates` lists them"
        raise TemplateError(f"there is no template {name!r}: {hint}")


def load_templates(folders: Sequence[Path | str] = ()) -> TemplateLibrary:
    """The shipped templates and those of some folders; a later folder's take the place of earlier ones."""
    templates: dict[str, Template] = {}
    paths: dict[str, str] = {}
    problems: list[TemplateProblem] = []
    for folder in (SHIPPED, *map(Path, folders)):
        found, bad = _load_folder(folder)
        problems += bad
        templates.update({template.name: template for template in found.values()})
        paths.update({template.name: path for path, template in found.items()})
    return TemplateLibrary(templates, paths, tuple(problems))


def _load_folder(folder: Path) -> tuple[dict[str, Template], list[TemplateProblem]]:
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES)
    except (OSError, ValueError) as error:
        why = f"cannot read this folder of templates: {getattr(error, 'strerror', None) or error}"
        return {}, [TemplateProblem(str(folder), why)]
    found: dict[str, Template] = {}
    problems: list[TemplateProblem] = []
    for path in files:
        try:
            template = _read_file(path)
            twin = next((other for other, each in found.items() if each.name == template.name), None)
            if twin is not None:
                raise TemplateError(f"{twin} is named {template.name!r} too: rename one")
            found[str(path)] = template
        except TemplateError as error:
            problems.append(TemplateProblem(str(path), str(error)))
    return found, problems


def _read_file(path: Path) -> Template:
    try:
        if path.exists() and not path.is_file():
            raise TemplateError("is no file")
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise TemplateError(f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise TemplateError("is not UTF-8 text: save it as UTF-8") from None
    if len(raw) > MAX_BYTES:
        raise TemplateError(f"has more than {MAX_BYTES} bytes: a template is smaller")
    return read_template(text)


@lru_cache(maxsize=256)
def read_template(text: str) -> Template:
    """The template that a YAML text describes; raises TemplateError with the line where there is one."""
    data = _yaml(text)
    if not isinstance(data, dict):
        raise TemplateError("a template is an object with name, params, match and plan")
    fault = json_fault(data)
    if fault is not None:
        raise TemplateError(fault)
    try:
        return Template.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise TemplateError(f"{where}: {first['msg']}" if where else first["msg"]) from None


def _yaml(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_PlainLoader)  # noqa: S506 - a SafeLoader with less in it
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise TemplateError(f"{where}{getattr(error, 'problem', None) or error}") from None
    except RecursionError:
        raise TemplateError("is nested too deeply") from None
    except _UNREAD as error:
        raise TemplateError(f"holds a value that cannot be read: {type(error).__name__}: {error}") from None


class _PlainLoader(yaml.SafeLoader):  # type: ignore[misc]
    """JSON's values in YAML's writing: `no` and `2024-01-01` are texts; no aliases, no key twice."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - the library's own way

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            raise yaml.MarkedYAMLError(problem="aliases are not allowed: write it out", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in seen:
                why = "is there twice" if isinstance(key, str) else "is no text: put it in quotes"
                raise yaml.MarkedYAMLError(problem=f"key {key!r} {why}", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


for _tag, _regex, _first in (
    ("null", r"^(?:~|null|)$", ["~", "n", ""]),
    ("bool", r"^(?:true|false)$", ["t", "f"]),
    ("int", r"^-?(?:0|[1-9][0-9]*)$", list("-0123456789")),
    ("float", r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)(?:[eE][-+]?[0-9]+)?$", list("-0123456789")),
):
    _PlainLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_regex), _first)
