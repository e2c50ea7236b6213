"""`planrail answer`: questions that a step's tool asks of its own."""

import json
from typing import Any

import pytest

from tests.cli.support import Prompt, Said, step

TOOLS = '''
from langgraph.types import interrupt

from tools import policy


@policy(effect="read")
def ask_size(what: str) -> dict:
    """Ask for a size, then for a colour."""
    size = interrupt({"question": f"which size of {what}?", "sizes": ["S", "M"]})
    return {"size": size, "colour": interrupt("哪种颜色？")}


@policy(effect="read")
def ask_twice(nothing: str = "") -> str:
    """Ask something that is no JSON."""
    return str(interrupt({1, }))


@policy(effect="read", redact=frozenset({"token"}))
def ask_token(token: str) -> str:
    """Ask with a secret in the question."""
    return str(interrupt({"text": f"is {token} right?"}))


TOOLS = [ask_size, ask_twice, ask_token]
'''
SIZE = step("s1", "ask_size", args={"what": "shirt"})


@pytest.fixture
def asking(prompt: Prompt) -> Prompt:
    (prompt.folder / "mytools.py").write_text(TOOLS, encoding="utf-8")
    return prompt


def question(said: Said) -> Any:
    (pending,) = said.document["pending"]
    return pending["args"].get("question")


def test_a_tools_questions_are_shown_and_answered_one_after_another(asking: Prompt) -> None:
    said = asking.run(SIZE)
    assert said.code == 3
    assert 'question = {"question": "which size of shirt?", "sizes": ["S", "M"]}' in said.out
    (line,) = [line for line in said.out.splitlines() if line.strip().startswith("answer ")]
    words = line.split()[2:-1]
    assert words == ["answer", "r1", "question-s1", "--text"]

    first = asking(*words, "M", "--json")
    assert first.code == 3
    assert question(asking("show", "r1", "--json")) == "哪种颜色？"
    assert question(first) == "哪种颜色？"

    last = asking("answer", "r1", "--value", '{"红": [1, null]}', "--json")
    assert last.code == 0
    assert last.document["steps"][0]["output"] == {"size": "M", "colour": {"红": [1, None]}}


def test_a_question_that_is_no_json_is_told_as_text(asking: Prompt) -> None:
    assert question(asking.run(step("s1", "ask_twice"), more=("--json",))) == "{1}"


def test_a_question_shows_no_secret_argument(asking: Prompt) -> None:
    said = asking.run(step("s1", "ask_token", args={"token": "hunter2-hunter2"}), more=("--json",))
    assert question(said) == {"text": "is [redacted] right?"}
    assert "hunter2" not in said.out + said.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "give the answer once"),
        (["--text", "M", "--value", "1"], "give the answer once"),
        (["--value", "{"], "--value is not JSON"),
        (["s9", "--text", "M"], "no such pending approval: s9"),
    ],
)
def test_what_is_no_answer_leaves_the_question_open(asking: Prompt, words: list[str], told: str) -> None:
    asking.run(SIZE)
    said = asking("answer", "r1", *words)
    assert said.code == 2
    assert told in said.err
    assert question(asking("show", "r1", "--json")) == {
        "question": "which size of shirt?",
        "sizes": ["S", "M"],
    }


def test_other_commands_name_the_one_that_answers(asking: Prompt) -> None:
    asking.run(SIZE)
    assert "waits for another kind of answer: answer" in asking("approve", "r1", "s1").err
    assert "the command is answer" in asking("approve", "r1").err
    assert "waits for another kind" in asking("decide", "r1", "s1", "happened").err


def test_a_process_of_its_own_answers(asking: Prompt) -> None:
    asking.run(SIZE)
    for words in (["--text", "M"], ["--text", "绿"]):
        process = asking.spawn("answer", "r1", "s1", *words, "--json")
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert json.loads(out)["steps"][0]["output"] == {"size": "M", "colour": "绿"}


@pytest.mark.parametrize("nothing", ["null", "false", '""', "0"])
def test_an_empty_answer_is_an_answer(asking: Prompt, nothing: str) -> None:
    asking.run(step("s1", "ask_token", args={"token": "hunter2-hunter2"}))
    said = asking("answer", "r1", "--value", nothing, "--json")
    assert said.code == 0, said.err
    assert said.document["steps"][0]["output"] == str(json.loads(nothing))
