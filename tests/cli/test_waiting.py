"""What waits for a person, as lines."""

import pytest

from graph.cli.render import pending_lines

SEE_ALL = "show r1 --json"


def _lines(value: object) -> list[str]:
    question = {
        "kind": "approval", "id": "ap-1", "step": "s", "tool": "send", "risk": "high", "reason": "it is",
        "args": {"value": value},
    }  # fmt: skip
    return [str(line) for line in pending_lines("r1", [question], "planrail.db")]


@pytest.mark.parametrize("value", ["x" * 5000, "世界" * 2000, "harmless" + " " * 5000 + "not", ["x"] * 2000])
def test_of_an_argument_that_is_cut_the_whole_is_offered(value: object) -> None:
    assert [line for line in _lines(value) if SEE_ALL in line and "whole arguments" in line]


@pytest.mark.parametrize("value", ["short", "x" * 3000, "世" * 2000, "line\n" * 3000, {"a": 1}])
def test_an_argument_that_is_not_cut_stands_there_whole(value: object) -> None:
    lines = _lines(value)
    assert not [line for line in lines if SEE_ALL in line]
    if isinstance(value, str):
        assert "\n".join(lines).count(value[0]) >= value.count(value[0])
