"""The keywords of JSON Schema that search with patterns, searched within a time: jsonschema has none."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias, cast

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from graph.plan.patterns import PatternError, is_found

Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Iterator[ValidationError]]


@lru_cache
def in_time(kind: type[Validator]) -> type[Validator]:
    """The dialect, in which a value over which a pattern takes too long does not fit."""
    plain = kind.VALIDATORS["additionalProperties"]

    def others(validator: Any, part: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        patterns = schema.get("patternProperties", {})
        if isinstance(value, dict):
            value = {key: each for key, each in value.items() if not any(is_found(p, key) for p in patterns)}
        yield from plain(validator, part, value, _without_patterns(schema))

    keywords = {"pattern": _pattern, "patternProperties": _properties, "additionalProperties": others}
    timed = {name: _told(keyword) for name, keyword in keywords.items()}
    return cast("type[Validator]", extend(kind, timed))  # type: ignore[no-untyped-call]


def _pattern(_: Any, pattern: Any, value: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not is_found(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _properties(validator: Any, parts: Any, value: Any, _: Any) -> Iterator[ValidationError]:
    for pattern, part in parts.items() if isinstance(value, dict) else ():
        for name in value:
            if is_found(pattern, name):
                yield from validator.descend(value[name], part, path=name, schema_path=pattern)


def _without_patterns(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in schema.items() if key != "patternProperties"}


def _told(keyword: Keyword) -> Keyword:
    def told(validator: Any, part: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        try:
            yield from keyword(validator, part, value, schema)
        except PatternError as error:
            yield ValidationError(str(error))

    return told
