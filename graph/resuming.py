"""Going on with a run: which run a thread holds, and whose question an answer answers."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from langgraph.store.base import BaseStore
from langgraph.types import Command, Interrupt, StateSnapshot

from checkpoints import Journal, RunEntry, find_run
from graph.plan import Plan, RunStatus
from graph.state import (
    ApprovalError,
    Engine,
    Request,
    build_document,
    check_edit,
    entries_of,
    read_answers,
)

ENDED = frozenset(set(RunStatus) - {RunStatus.RUNNING, RunStatus.WAITING})


async def current_run(store: BaseStore, thread_id: str) -> tuple[str, RunEntry | None]:
    """The id and entry of the run a thread is at; a thread holds one run after another.

    The first run is named as the thread, later ones `THREAD~2`, `THREAD~3`. When all have ended, the
    id is the next free one and the entry None.
    """
    number, run_id = 1, thread_id
    while True:
        run = await find_run(store, run_id)
        if run is None or run.status not in ENDED:
            return run_id, run
        number += 1
        run_id = f"{thread_id}~{number}"


async def stored_document(store: BaseStore, run_id: str) -> dict[str, Any] | None:
    """The output document of a run as journaled, with every result loaded; None when there is none."""
    journal = Journal(store, run_id)
    log = await journal.load()
    if log.run is None:
        return None
    latest = log.plans.get(log.run.revision) if log.run.revision is not None else None
    plan = Plan.from_json(latest) if latest is not None else None
    entries = entries_of(log.steps, plan) if plan else {}
    own = {key: entry for key, entry in entries.items() if entry.item is None and entry.status.ok}
    outputs = {key: await journal.output(entry) for key, entry in own.items()}
    return build_document(log.run, plan, entries, outputs)


@dataclass(frozen=True)
class Answered:
    """A resume command in LangGraph's form, and the steps whose questions it answers."""

    command: Command[Any]
    steps: frozenset[str]


def read_resume(command: Command[Any], snapshot: StateSnapshot, engine: Engine) -> Answered:
    """Judge a resume command before anything runs.

    Keys may be step ids, approval ids or LangGraph's interrupt ids; a bare answer needs no key when
    one question is open.

    Raises:
        ApprovalError: It answers no open question, or not in a known form; everything stays open.
    """
    open_questions = {_id_of(i): i for i in snapshot.interrupts}
    requests = [r for i in snapshot.interrupts if (r := _request(i))]
    own = {i.value["step"]: i for i in snapshot.interrupts if _is_question(i)}
    answer = _by_question(command.resume, open_questions, own)
    replies: dict[str, Any] = {own[step].id: answer.pop(step) for step in list(own) if _has(answer, step)}
    steps = {step for step, i in own.items() if i.id in replies}
    if not replies or answer:
        if own and not requests:
            raise ApprovalError(f"no such pending question; open are: {', '.join(own)}")
        for approval_id, reply in read_answers(answer, requests).items():
            request = next(r for r in requests if r.id == approval_id)
            check_edit(request, reply, engine.registry)
            replies[open_questions[approval_id].id] = reply
            steps.add(request.step)
    return Answered(Command(resume=replies, update=command.update, goto=command.goto), frozenset(steps))


def _by_question(resume: Any, open_questions: Mapping[str, Interrupt], own: Mapping[str, Interrupt]) -> Any:
    """The answer with LangGraph's interrupt ids turned into approval ids and question steps."""
    if (
        len(own) == 1
        and len(open_questions) == 1
        and not (isinstance(resume, Mapping) and set(resume) <= _keys(own))
    ):
        return {next(iter(own)): resume}
    if not isinstance(resume, Mapping):
        return resume
    names = {i.id: key for key, i in open_questions.items()}
    names |= {f"question-{step}": step for step in own}
    return {names.get(str(key), str(key)): value for key, value in resume.items()}


def _keys(own: Mapping[str, Interrupt]) -> set[str]:
    return {name for step, i in own.items() for name in (step, f"question-{step}", i.id)}


def _has(answer: Any, step: str) -> bool:
    return isinstance(answer, dict) and step in answer


def _id_of(interrupt: Interrupt) -> str:
    value = interrupt.value if isinstance(interrupt.value, Mapping) else {}
    return str(value["step"]) if value.get("kind") == "question" else str(value.get("id", interrupt.id))


def _is_question(interrupt: Interrupt) -> bool:
    return isinstance(interrupt.value, Mapping) and interrupt.value.get("kind") == "question"


def _request(interrupt: Interrupt) -> Request | None:
    value = interrupt.value
    if not isinstance(value, Mapping) or value.get("kind") not in ("approval", "outcome"):
        return None
    return Request(**{field.name: value[field.name] for field in fields(Request)})
