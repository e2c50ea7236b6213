"""What `--help` says."""

import pytest

from tests.cli.support import Prompt


@pytest.mark.parametrize("words", [(), ("template",), ("models",)])
def test_a_list_of_commands_tells_of_each_in_a_sentence_that_is_not_cut(
    prompt: Prompt, words: tuple[str, ...]
) -> None:
    _, listed = prompt(*words, "--help").out.split("Commands:\n")
    told = [line for line in listed.split("\n\n")[0].splitlines() if line.strip()]
    assert [line for line in told if line.endswith("...")] == []
    assert told[-1].endswith(".")


def test_a_name_that_may_be_left_out_is_in_one_pair_of_brackets(prompt: Prompt) -> None:
    assert "planrail demo [OPTIONS] [NAME]\n" in prompt("demo", "--help").out
