"""What a newcomer types: the defaults, the demo, a goal alone."""

import re
import shlex

from tests.acceptance.command_line import CommandLine, Inline
from tests.acceptance.toolbox import Toolbox
from tests.support.openai_server import SECRET, OpenAIServer, obj
from tests.support.plans import P0


def test_the_commands_work_as_the_help_words_them_with_the_default_database(
    cli: CommandLine, toolbox: Toolbox
) -> None:
    cli.write_plan(P0)

    waiting = cli("run", "--plan", "plan.json", "--tools", toolbox.path.stem, "--run-id", "r1", "--json")
    assert waiting.code == 3, waiting.text
    approved = cli("approve", "r1", "s2")

    assert approved.code == 0, approved.text
    assert len(toolbox.calls("write_file")) == 1
    assert "r1" in cli("runs").out


def test_the_demo_stops_at_its_approval_and_the_printed_command_finishes_it(cli: CommandLine) -> None:
    demo = cli("demo", script=True)

    assert demo.code == 3, demo.text
    assert "recorded" in demo.text.lower(), "with no key it says that the judgement is a recorded answer"
    printed = re.search(r"\bplanrail (approve [^\n`'│]*[^\n`'│ .])", demo.text)
    assert printed is not None, demo.text
    finished = cli(*shlex.split(printed[1]), script=True)

    assert finished.code == 0, finished.text


def test_a_goal_alone_is_planned_by_the_endpoint_that_is_set(inline: Inline, toolbox: Toolbox) -> None:
    with OpenAIServer(obj({"answer": "forty-two"})) as server:
        inline.line.extra.update(server.environment)
        ran = inline(
            "run", "what is six times seven?", "--tools", str(toolbox.path), "--db", "runs.db",
            "--run-id", "r1", "--json",
        )  # fmt: skip

    assert ran.code == 0, ran.text
    assert ran.document["answer"] == "forty-two"
    assert ran.document["steps"] == []
    assert server.requests
    assert SECRET not in ran.text
    for path in inline.line.folder.rglob("runs.db*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()


def test_a_goal_alone_without_an_endpoint_is_refused_with_the_remedy(inline: Inline) -> None:
    told = inline("run", "do something", "--tools", str(inline.line.toolbox.path), "--db", "runs.db")

    told.refused(naming="OPENAI_API_KEY")
