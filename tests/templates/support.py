"""Tools and template files of the tests."""

from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]  # the distribution has no types

from tools import policy

GREETING: dict[str, Any] = {
    "name": "greeting",
    "version": 2,
    "description": "greet somebody some times",
    "params": {
        "who": {"type": "str", "description": "whom to greet"},
        "times": {"type": "int", "default": 1},
        "tone": {"type": "enum", "choices": ["warm", "cool"], "default": "warm"},
    },
    "match": [
        {"keywords": [["greet", "welcome"]], "regex": r"greet (?P<who>[A-Z][a-z]+)( (?P<times>\d+) times)?"}
    ],
    "plan": {
        "goal": "greet ${params.who}",
        "steps": [
            {
                "id": "s1",
                "title": "a hello for ${params.who}",
                "action": "tool",
                "tool": "hello",
                "args": {"name": "${params.who}", "times": "${params.times}"},
            }
        ],
    },
}


@policy(effect="read")
def hello(name: str, times: int = 1) -> str:
    """Say hello."""
    return " ".join([f"hello {name}"] * times)


def write(folder: Path, name: str, content: object) -> Path:
    """A template file; anything but text is written as YAML."""
    folder.mkdir(exist_ok=True)
    text = content if isinstance(content, str) else yaml.safe_dump(content, allow_unicode=True)
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path
