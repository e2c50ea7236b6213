"""What a recorded answer may go by: what stands in the prompt, as a model would read it."""

import json
import re

from graph.plan import JSON

_BLOCK = re.compile(r'<data from="([^"]+)">(.*?)</data>', re.DOTALL)
_STALE = re.compile(r"^What (\S+) gave is (\d+) s old", re.MULTILINE)


def data_in(prompt: str) -> dict[str, JSON]:
    """The results that a prompt shows, by the step that gave them; one that is no JSON is its text."""
    return {name: _value(text) for name, text in _BLOCK.findall(prompt)}


def ages_in(prompt: str) -> dict[str, int]:
    """How old those results are, in seconds, that the prompt calls old, by the step that gave them."""
    return {name: int(age) for name, age in _STALE.findall(prompt)}


def _value(text: str) -> JSON:
    try:
        found: JSON = json.loads(text)
    except ValueError:
        return text
    return found
