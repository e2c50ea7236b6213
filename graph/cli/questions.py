"""Which open question of a run an answer means."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from graph.cli.errors import NoSuchQuestion

Kind = Literal["approval", "outcome", "question"]
Question = Mapping[str, Any]

_ANSWERED_BY: Mapping[str, str] = {
    "approval": "approve or reject",
    "outcome": "decide",
    "question": "answer",
}


def choose_question(pending: Sequence[Question], kind: Kind, named: str | None, run_id: str) -> Question:
    """The one open question of that kind, by step id or approval id, or without a name if there is but one.

    Raises:
        NoSuchQuestion: None fits, or several do; the message lists what is open.
    """
    fitting = [each for each in pending if each["kind"] == kind]
    if named is not None:
        chosen = [each for each in fitting if named in (each["step"], each["id"])]
        if not chosen:
            raise NoSuchQuestion(_nothing_named(pending, named, run_id))
        return chosen[0]
    if not fitting:
        raise NoSuchQuestion(f"no such pending approval: run {run_id} has {_listing(pending)}{_how(pending)}")
    if len(fitting) > 1:
        raise NoSuchQuestion(f"run {run_id} has {_listing(fitting)}: name the step that you answer")
    return fitting[0]


def _nothing_named(pending: Sequence[Question], named: str, run_id: str) -> str:
    other = [each for each in pending if named in (each["step"], each["id"])]
    if other:
        return (
            f"{named} of run {run_id} waits for another kind of answer: {_ANSWERED_BY[str(other[0]['kind'])]}"
        )
    return f"no such pending approval: {named}; run {run_id} has {_listing(pending)}"


def _how(pending: Sequence[Question]) -> str:
    kinds = dict.fromkeys(str(each["kind"]) for each in pending)
    return f"; the command is {' or '.join(_ANSWERED_BY[kind] for kind in kinds)}" if kinds else ""


def _listing(pending: Sequence[Question]) -> str:
    if not pending:
        return "no open question"
    noun = "1 open question" if len(pending) == 1 else f"{len(pending)} open questions"
    return f"{noun}: " + ", ".join(f"{each['step']} ({each['id']})" for each in pending)
