"""Which arguments of a write must not be made up, told from their names and schemas."""

import re
from collections.abc import Mapping
from typing import Any

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\x00-\x7f]+")
_IDS = "ids?|uuid|guid|iban|bic|sku|isbn|ssn|number|no|account"
_ADDRESSES = (
    "e?mails?|address(?:es)?|recipients?|receiver|to|cc|bcc|phone|telephone|tel|mobile|fax|url|uri"
    "|payee|beneficiary"
)
_AMOUNTS = re.compile("amounts?|price|total|sum|fee|cost|payment|salary|refund")
_LAST_WORD = re.compile(f"{_IDS}|{_ADDRESSES}|{_AMOUNTS.pattern}")
_FOREIGN = re.compile("编号|单号|账号|卡号|金额|价格|地址|邮箱|邮件|电话|手机|收件人|收款人")
_FORMATS = frozenset({"email", "idn-email", "uri", "url", "uuid"})
_TYPES = frozenset({"string", "number", "integer"})
_MAX_DEPTH = 8


def grounded_by_default(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the arguments that look like an id, an address or an amount.

    Args:
        schema: JSON Schema of the arguments. An argument that may only take listed values, or no text and
            no number, is none of them.
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    return frozenset(name for name, part in properties.items() if _looks_given(name, part, schema))


def _looks_given(name: str, part: Any, root: Mapping[str, Any]) -> bool:
    leaves = list(_leaves(part, root, 0))
    if not any(_is_open(leaf) for leaf in leaves):
        return False
    return _is_named_so(name) or any(leaf.get("format") in _FORMATS for leaf in leaves)


def _is_named_so(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    plain = _LAST_WORD.fullmatch(words[-1]) or _AMOUNTS.fullmatch(words[0])
    return bool(plain or _FOREIGN.search(name))


def _is_open(leaf: Mapping[str, Any]) -> bool:
    if "enum" in leaf or "const" in leaf:
        return False
    stated = leaf.get("type")
    kinds = {stated} if isinstance(stated, str) else set(stated or _TYPES)
    return bool(kinds & _TYPES)


def _leaves(part: Any, root: Mapping[str, Any], depth: int) -> list[Mapping[str, Any]]:
    """Return the schemas of the plain values that an argument, or a list of it, may hold."""
    if not isinstance(part, Mapping) or depth > _MAX_DEPTH:
        return []
    reference = part.get("$ref")
    if isinstance(reference, str):
        target: Any = root
        for key in reference.removeprefix("#/").split("/"):
            target = target.get(key) if isinstance(target, Mapping) else None
        return _leaves(target, root, depth + 1)
    inner = [branch for key in ("anyOf", "oneOf", "allOf") for branch in part.get(key, ())]
    inner += [part["items"]] if "items" in part else []
    if inner:
        return [leaf for branch in inner for leaf in _leaves(branch, root, depth + 1)]
    return [part]
