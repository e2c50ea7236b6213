"""Getting a plan out of a model: ask, check, send the problems back, at most so many times."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from graph.plan import Plan, PlanProblem, parse_plan
from nodes.models import Ask, ask
from nodes.prompts import problems_message
from nodes.replies import BadReply, json_object_in, text_of
from nodes.session import RunSession
from tools import CallFailed

Check = Callable[[Plan], Sequence[PlanProblem]]
Read = Callable[[dict[str, Any]], tuple[Plan | None, Sequence[PlanProblem]]]


@dataclass(frozen=True)
class Proposal:
    """What the model proposed: a plan that checks clean, an answer, or why not. Exactly one is set."""

    plan: Plan | None = None
    answer: str | None = None
    cannot: str | None = None


async def propose(
    session: RunSession,
    role: str,
    messages: list[BaseMessage],
    *,
    read: Read,
    check: Check,
) -> Proposal:
    """Ask `role` for a plan; a reply that does not fit goes back at most `plan_repairs` times."""
    settings = session.settings
    model = session.engine.require_model(role)
    how = Ask(model, session.spent_by(role), timeout=settings.llm_timeout, attempts=settings.llm_attempts)
    problem = ""
    for _ in range(settings.plan_repairs + 1):
        reply = await ask(session.engine, how, messages)
        if isinstance(reply, CallFailed):
            return Proposal(cannot=f"the {role} model failed: {reply.code}: {reply.message}")
        try:
            said = json_object_in(text_of(reply))
        except BadReply as bad:
            problem = str(bad)
            messages = [*messages, reply, HumanMessage(f"{problem}. Reply with one JSON object only.")]
            continue
        if isinstance(said.get("answer"), str) and "steps" not in said:
            return Proposal(answer=said["answer"])
        if isinstance(said.get("cannot"), str) and "steps" not in said:
            return Proposal(cannot=said["cannot"])
        plan, problems = read(said)
        problems = [*problems, *(check(plan) if plan is not None and not problems else ())]
        if plan is not None and not problems:
            return Proposal(plan=plan)
        problem = "; ".join(
            f"{p.code}{f' in {p.step_id}' if p.step_id else ''}: {p.message}" for p in problems
        )
        session.emit({"type": "plan_refused", "step": None, "message": problem})
        messages = [*messages, reply, problems_message(problems)]
    return Proposal(cannot=f"the {role} model gave no plan that can run: {problem}")


def read_plan(goal: str, plan_id: str, author: str) -> Read:
    """A reader of a model's object as a first plan of this goal."""

    def read(said: dict[str, Any]) -> tuple[Plan | None, Sequence[PlanProblem]]:
        body = {"goal": goal, **{k: v for k, v in said.items() if k in ("assumptions", "steps", "params")}}
        return parse_plan(body, goal=goal, plan_id=plan_id, author=author)

    return read
