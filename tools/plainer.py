"""Objects of libraries and of the standard library as plainer Python; none of the libraries is imported."""

import datetime as dt
import fractions
import inspect
import ipaddress
import sqlite3
import types
from collections import UserString
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tools.drained import MAX_ITEMS, Endless
from tools.errors import UnsupportedResult

_TEXTS = (
    fractions.Fraction,
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    ipaddress.IPv4Network,
    ipaddress.IPv6Network,
    UserString,
)
_REMEDY = "return text, numbers, lists, dicts, a dataclass or a pydantic model"


def plainer(value: object, path: str) -> object:
    """Return what a value holds, in types nearer to JSON's.

    Args:
        value: Neither JSON's own nor of a type that every result may hold.
        path: Where in the result it is, for the message.

    Raises:
        UnsupportedResult: It has no JSON form; the message says what to do instead.
    """
    if isinstance(value, Endless):
        raise UnsupportedResult(f"{path} is a generator of more than {MAX_ITEMS} items; return fewer")
    if inspect.iscoroutine(value):
        value.close()
        raise UnsupportedResult(f"{path} is a coroutine that nobody awaited; declare the tool with async def")
    for plain in (_of_standard_library, _of_records, _of_libraries):
        found = plain(value, path)
        if found is not _NOTHING and type(found) is not type(value):
            return found
    if isinstance(value, Sequence):
        return list(value)
    remedy = "raise it, and the step fails" if isinstance(value, BaseException) else _REMEDY
    raise UnsupportedResult(f"{path} is a {type(value).__qualname__}, which has no JSON form; {remedy}")


_NOTHING = object()


def _of_standard_library(value: object, _path: str) -> object:
    if isinstance(value, _TEXTS):
        return str(value)
    if isinstance(value, types.SimpleNamespace):
        return vars(value)
    return {key: value[key] for key in value.keys()} if isinstance(value, sqlite3.Row) else _NOTHING  # noqa: SIM118


def _of_records(value: object, _path: str) -> object:
    """Objects of fields: those of attrs, models of pydantic's first version, rows of databases."""
    kind = type(value)
    if hasattr(kind, "__attrs_attrs__"):
        return {field.name: getattr(value, field.name) for field in kind.__attrs_attrs__}
    if any(base.__module__.startswith("pydantic.v1") for base in kind.__mro__) and hasattr(value, "dict"):
        return value.dict()
    return value._asdict() if isinstance(value, Sequence) and hasattr(value, "_asdict") else _NOTHING


def _of_libraries(value: object, path: str) -> object:
    read = _LIBRARIES.get(type(value).__module__.partition(".")[0])
    return _NOTHING if read is None else read(value, path)


def _of_pandas(value: Any, path: str) -> object:
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        names = list(value.columns)
        if len({str(name) for name in names}) != len(names):
            raise UnsupportedResult(f"{path} is a table with two columns of one name; rename one")
        return _nulled(value.to_dict(orient="records"))
    if type(value).__name__ == "NAType":
        return None
    return _nulled(value.tolist()) if hasattr(value, "tolist") else _NOTHING


def _of_numpy(value: Any, _path: str) -> object:
    if not hasattr(value, "tolist"):
        return _NOTHING
    if getattr(getattr(value, "dtype", None), "kind", "") == "M" and hasattr(value, "astype"):
        return _dated(value.astype(str).tolist())  # its own list of nanoseconds would be bare numbers
    return value.tolist()


def _dated(value: object) -> object:
    if isinstance(value, list):
        return [_dated(item) for item in value]
    return None if value == "NaT" else value


def _of_polars(value: Any, _path: str) -> object:
    rows = getattr(value, "to_dicts", None) or getattr(value, "to_list", None)
    return rows() if rows is not None else _NOTHING


def _of_pyarrow(value: Any, _path: str) -> object:
    rows = getattr(value, "to_pylist", None) or getattr(value, "as_py", None)
    return rows() if rows is not None else _NOTHING


_LIBRARIES: Mapping[str, Callable[[Any, str], object]] = {
    "pandas": _of_pandas,
    "numpy": _of_numpy,
    "polars": _of_polars,
    "pyarrow": _of_pyarrow,
}


def _nulled(value: object) -> object:
    """Return pandas' missing values, which are NaN or NaT in a column, as None."""
    if isinstance(value, list):
        return [_nulled(item) for item in value]
    if isinstance(value, dict):
        return {key: _nulled(item) for key, item in value.items()}
    return None if isinstance(value, (float, dt.datetime)) and is_missing(value) else value


def is_missing(value: object) -> bool:
    """Tell NaN and pandas' NaT, which alone differ from themselves."""
    return value != value  # noqa: PLR0124
