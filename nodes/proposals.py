"""Getting a plan out of a model: ask, check, send the problems back, at most so many times."""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage

from graph.plan import Plan, PlanProblem, Sources, json_fault, parse_plan
from nodes.decide.answering import with_answer
from nodes.decide.needless import forgotten_write, needless_lookups, said_unneeded, without_steps
from nodes.endpoint.mending import mended
from nodes.endpoint.plan_reading import meaning_of
from nodes.endpoint.plan_schema import plan_form, room_for_steps
from nodes.endpoint.structured import OUTPUT_REJECTED, afresh, ask_object
from nodes.models import Ask
from nodes.narrowing import Needed, can_narrow, needed_tools
from nodes.prompts import lookups_only, problems_message, told
from nodes.replies import BadReply
from nodes.session import RunSession
from tools import CallFailed, ToolRegistry

TAKEN = ("assumptions", "steps", "params", "repairs")
"""What is taken over from a model's plan; the rest is the program's to say."""

Check = Callable[[Plan], Sequence[PlanProblem]]
Read = Callable[[dict[str, Any]], tuple[Plan | None, Sequence[PlanProblem]]]


@dataclass(frozen=True)
class Proposal:
    """What the model proposed: a plan that checks clean, an answer, or why not. Exactly one is set.

    Beside why not, `failed` is there when the question itself came to nothing.
    """

    plan: Plan | None = None
    answer: str | None = None
    cannot: str | None = None
    failed: CallFailed | None = None


@dataclass(frozen=True)
class Request:
    """What a model is to plan: in its own words, and as the messages that say so for some of the tools."""

    words: str
    messages: Callable[[ToolRegistry], list[BaseMessage]]


async def propose(
    session: RunSession,
    role: str,
    request: Request,
    *,
    read: Read,
    check: Check,
    completed: AbstractSet[str] = frozenset(),
    registry: ToolRegistry | None = None,
    how: Ask | None = None,
) -> Proposal:
    """Ask `role` for a plan; a reply that does not fit goes back at most `plan_repairs` times.

    The last time, where there are many tools, it is asked afresh with those only that it says are needed.

    Args:
        session: The run's session.
        role: Whose model is asked.
        request: What it is told.
        read: Makes a plan of the model's object, its harmless slips mended.
        check: The rules that a plan must keep.
        completed: Ids of steps that are done, which a plan need not list.
        registry: The tools that the plan may use; all when absent.
        how: How the question is put and charged; as the role's own when absent.
    """
    settings, tools = session.settings, registry or session.engine.registry

    def refused(why: str) -> None:
        session.emit({"type": "plan_refused", "step": None, "message": why})

    asking = _Asking(
        session,
        how
        or Ask(
            session.engine.require_model(role),
            session.spent_by(role),
            timeout=settings.llm_timeout,
            attempts=settings.llm_attempts,
            on_redo=refused,
        ),
        request,
        _Judging(lambda plan: mended(plan, tools, completed), read, check, tools),
        answers=role == "planner",
    )
    narrows = settings.plan_repairs > 0 and can_narrow(tools)
    found = await asking.with_tools(tools, redos=settings.plan_repairs - narrows)
    if narrows and isinstance(found, CallFailed) and found.code == OUTPUT_REJECTED:
        found = asking.judging.spare or await asking.with_needed(tools)
    if isinstance(found, CallFailed):
        return asking.judging.spare or Proposal(cannot=_why_none(role, found), failed=found)
    return found


@dataclass
class _Asking:
    """One request put to a model: with all tools first, then with those that it needs."""

    session: RunSession
    how: Ask
    request: Request
    judging: "_Judging"
    answers: bool

    async def with_tools(
        self, tools: ToolRegistry, *, redos: int, words: str = ""
    ) -> "Proposal | CallFailed":
        """A proposal with some of the tools; `words` say what was wrong with those before."""
        form = plan_form(tools, room_for_steps(self.session.settings), answers=self.answers)
        messages = self.request.messages(tools)
        asked = afresh(messages, words) if words else messages
        return await ask_object(self.session, self.how, asked, form, read=self.judging, redos=redos)

    async def with_needed(self, tools: ToolRegistry) -> "Proposal | CallFailed":
        """A proposal with the tools that the model says are needed; with all again when it cannot say."""
        needed = await needed_tools(self.session, self.how, self.request.words, tools)
        if isinstance(needed, CallFailed) and needed.code != OUTPUT_REJECTED:
            return needed
        if isinstance(needed, Needed) and not needed.tools:
            return Proposal(cannot=f"no tool does what is asked for: {needed.reason}")
        some = needed.tools if isinstance(needed, Needed) else tools
        return await self.with_tools(some, redos=0, words=self.judging.words)


def told_in_words(session: RunSession, plan: Plan) -> Plan:
    """A model's plan that ends with an answer in words, where the setting and the models allow it."""
    settings, engine = session.settings, session.engine
    if not settings.word_answers or engine.model("reporter") is None:
        return plan
    return with_answer(plan, engine.tools_of, settings.max_steps)


@dataclass
class _Judging:
    """Judges the replies to one question, one after another.

    A model that says the same plan again copies itself: it is asked once more without its own words, and
    never a third time. `words` are those that tell of the last faulty plan where that is not seen. `spare` is
    what can be taken when no better reply comes: a plan without needless lookups that a made-up value alone
    keeps from running, or one that was questioned and could run.
    """

    mend: Callable[[dict[str, Any]], dict[str, Any]]
    read: Read
    check: Check
    tools: ToolRegistry
    last: Any = None
    repeats: int = 0
    spare: Proposal | None = None
    words: str = ""

    def __call__(self, said: dict[str, Any]) -> Proposal:
        """What the model's object proposes; raises BadReply with all that is wrong with it."""
        self.repeats += said == self.last
        self.last = said
        fault = json_fault(said)
        if fault is not None:
            raise BadReply(fault)
        meaning = meaning_of(said)
        if meaning.plan is None:
            return Proposal(answer=meaning.answer, cannot=meaning.cannot)
        given = {key: value for key, value in meaning.plan.items() if key != "repairs"}
        return self._plan(self.mend(given), meaning.needs)

    def _plan(self, given: dict[str, Any], needs: frozenset[str]) -> Proposal:
        plan, problems = self._checked(given)
        again = self.repeats > 0
        if plan is not None and problems:
            needless = needless_lookups(plan, problems, self.tools)
            rest = self._without(given, needless)
            if rest is not None and said_unneeded(plan, needless, needs, self.tools):
                plan, problems = rest, []
            elif rest is not None and forgotten_write(rest, rest.goal, self.tools) is None:
                self.spare = Proposal(plan=rest)
        if again and self.spare is not None:
            return self.spare
        if plan is None or problems:
            self.words = problems_message(problems, afresh=True)
            words = self.words if again else problems_message(problems)
            why = "; ".join(map(told, problems))
            raise BadReply(why, words=words, afresh=again, final=self.repeats > 1)
        self._question(plan)
        return Proposal(plan=plan)

    def _without(self, given: dict[str, Any], needless: frozenset[str]) -> Plan | None:
        """The plan without those steps; None where that is none that can run."""
        if not needless or not _is_list_of_objects(given.get("steps")):
            return None
        rest, problems = self._checked(self.mend(without_steps(given, needless)))
        return None if problems else rest

    def _checked(self, given: dict[str, Any]) -> tuple[Plan | None, list[PlanProblem]]:
        plan, problems = self.read(given)
        return plan, [*problems, *(self.check(plan) if plan is not None and not problems else ())]

    def _question(self, plan: Plan) -> None:
        """Ask once whether a first plan is to look things up only, when the goal names what a tool does.

        A model that sees such a plan of its own adds to it what else there is.
        """
        first = plan.author == "planner" and self.spare is None
        tool = forgotten_write(plan, plan.goal, self.tools) if first else None
        if tool is not None:
            self.spare = Proposal(plan=plan)
            lookups = [name for step in plan.steps for name in step.tool_names]
            words = lookups_only(dict.fromkeys(lookups), tool.name)
            raise BadReply(f"the plan only looks things up, without {tool.name}", words=words, afresh=True)


def _is_list_of_objects(steps: Any) -> bool:
    return isinstance(steps, list) and all(isinstance(step, dict) for step in steps)


def _why_none(role: str, failed: CallFailed) -> str:
    if failed.code == OUTPUT_REJECTED:
        return f"the {role} model gave no plan that can run: {failed.message}"
    return f"the {role} model failed: {failed.code}: {failed.message}"


def read_plan(goal: str, plan_id: str, author: str) -> Read:
    """A reader of a model's object as a first plan of this goal.

    Of the params that the model gives, those are kept that the goal names: later revisions trust params.
    """
    sources = Sources(goal)

    def read(said: dict[str, Any]) -> tuple[Plan | None, Sequence[PlanProblem]]:
        body = {"goal": goal, **{k: v for k, v in said.items() if k in TAKEN}}
        if isinstance(body.get("params"), dict) and json_fault(body["params"]) is None:
            body["params"] = {k: v for k, v in body["params"].items() if not sources.lacks(v)}
        return parse_plan(body, goal=goal, plan_id=plan_id, author=author)

    return read
