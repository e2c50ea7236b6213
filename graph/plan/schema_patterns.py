"""The keywords of JSON Schema that search with patterns, searched within a time: jsonschema has none."""

import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, cast

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from graph.plan.patterns import SECONDS, PatternError, is_found

_UNTIL: ContextVar[float | None] = ContextVar("planrail_schema_until", default=None)
"""When the judging of the value at hand has to be done, by `time.monotonic`."""


@lru_cache
def in_time(kind: type[Validator]) -> type[Validator]:
    """The dialect, in which a value does not fit when its patterns take too long over it, all together."""
    plain = kind.VALIDATORS["additionalProperties"]

    def others(validator: Any, part: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        patterns = schema.get("patternProperties", {})
        if isinstance(value, dict):
            value = {key: each for key, each in value.items() if not any(_occurs(p, key) for p in patterns)}
        yield from plain(validator, part, value, _without_patterns(schema))

    keywords = {"pattern": _pattern, "patternProperties": _properties, "additionalProperties": others}
    timed: Any = extend(kind, keywords)  # type: ignore[no-untyped-call]
    untimed = timed.iter_errors

    def iter_errors(self: Any, value: Any, *more: Any) -> Iterator[ValidationError]:
        if _UNTIL.get() is not None:
            return cast("Iterator[ValidationError]", untimed(self, value, *more))
        token = _UNTIL.set(time.monotonic() + SECONDS)
        try:
            return iter(list(untimed(self, value, *more)))
        except PatternError as error:
            # It is not told where it is raised: under `not` that would let the value pass.
            return iter([ValidationError(str(error))])
        finally:
            _UNTIL.reset(token)

    timed.iter_errors = iter_errors
    return cast("type[Validator]", timed)


def _occurs(pattern: str, text: str) -> bool:
    return is_found(pattern, text, until=_UNTIL.get())


def _pattern(_: Any, pattern: Any, value: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not _occurs(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _properties(validator: Any, parts: Any, value: Any, _: Any) -> Iterator[ValidationError]:
    for pattern, part in parts.items() if isinstance(value, dict) else ():
        for name in value:
            if _occurs(pattern, name):
                yield from validator.descend(value[name], part, path=name, schema_path=pattern)


def _without_patterns(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in schema.items() if key != "patternProperties"}
