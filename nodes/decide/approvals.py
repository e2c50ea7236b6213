"""Which steps wait for a person, what they are shown, and what their answer does."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from checkpoints import StepEntry
from graph.plan import AgentStep, Plan, PlanStep, Risk, Step, StepStatus, ToolStep, canonical_json, max_risk
from graph.state import Decision, Kind, Request, Settings
from tools import RegisteredTool


def effective_risk(step: Step, *tools: RegisteredTool | None) -> Risk:
    """The plan's risk, raised to the floors of its tools; a plan never lowers it."""
    return max_risk(step.risk, *(tool.risk for tool in tools if tool))


def agent_reason(step: Step, tools: Sequence[RegisteredTool], settings: Settings) -> str | None:
    """Why an agent must be approved as a whole before it begins, or None: it could write unseen else."""
    if not isinstance(step, AgentStep) or settings.approve_at == "never":
        return None
    writing = [tool.name for tool in tools if tool.effect == "write"]
    if writing:
        return f"it may use tools that write: {', '.join(writing)}"
    floor = max_risk(Risk.LOW, *(tool.policy.risk for tool in tools if tool.policy.risk))
    return f"its tools' risk is {floor.value}" if floor.rank >= Risk(settings.approve_at).rank else None


def standing_reason(step: Step, tool: RegisteredTool | None, settings: Settings) -> str | None:
    """Why this step needs approval whatever its arguments turn out to be, or None."""
    if settings.approve_at == "never" or (isinstance(step, PlanStep) and step.sub_steps):
        return None  # a part was approved, if at all, before it was planned
    if step.require_approval:
        return "the plan requires approval"
    risk = _risk_that_counts(step, tool)
    if risk is None or risk.rank < Risk(settings.approve_at).rank:
        return None
    return f"its risk is {risk.value}"


def _risk_that_counts(step: Step, tool: RegisteredTool | None) -> Risk | None:
    """A write's effective risk; for what changes nothing only a floor that its tool's author declared."""
    if tool is None:
        return None
    return effective_risk(step, tool) if tool.effect == "write" else tool.policy.risk


def why_approval(
    step: Step, tool: RegisteredTool | None, args: Mapping[str, Any], settings: Settings
) -> str | None:
    """Why this step must be approved with these arguments, or None."""
    if settings.approve_at == "never":
        return None
    return standing_reason(step, tool, settings) or (tool.needs_approval(args) if tool else None)


def digest_of(step: Step, args: Mapping[str, Any]) -> str:
    """What an approval is bound to: the action and its resolved arguments."""
    action = step.tool if isinstance(step, ToolStep) else step.action
    return sha256(canonical_json([action, dict(args)]).encode()).hexdigest()


def make_request(
    plan: Plan,
    step: Step,
    *,
    kind: Kind,
    run_id: str,
    risk: Risk,
    args: Mapping[str, Any],
    shown: Mapping[str, Any],
    reason: str,
) -> Request:
    """The question about one step; `shown` is `args` with redacted values hidden."""
    digest = digest_of(step, args)
    bound = canonical_json([plan.plan_id, plan.revision, step.id, digest, kind])
    return Request(
        id=f"ap-{sha256(bound.encode()).hexdigest()[:12]}",
        kind=kind,
        run_id=run_id,
        step=step.id,
        tool=step.tool if isinstance(step, ToolStep) else None,
        args=dict(shown),
        risk=risk.value,
        reason=reason,
        revision=plan.revision,
        digest=digest,
    )


def is_approved(step: Step, plan: Plan, args: Mapping[str, Any], decision: Decision | None) -> bool:
    """Whether `decision` allows exactly this call in exactly this revision."""
    return decision is not None and allows(decision, plan) and decision["digest"] == digest_of(step, args)


def allows(decision: Decision, plan: Plan) -> bool:
    """Whether a person let the step run in this revision, with the arguments that were shown."""
    return decision["decision"] in ("approve", "edit") and decision["revision"] == plan.revision


def decision_from(
    answer: Mapping[str, Any], request: Request, step: Step, *, edited: Mapping[str, Any] | None, at: str
) -> Decision:
    """The durable form of an answer. `edited` are the whole arguments after an edit, else None."""
    return Decision(
        approval_id=request.id,
        step=request.step,
        kind=request.kind,
        decision=answer["decision"],
        args=answer["args"],
        digest=digest_of(step, edited) if edited is not None else request.digest,
        revision=request.revision,
        then=answer["then"],
        result=answer["result"],
        by=answer["by"],
        reason=answer["reason"],
        at=at,
    )


def rejected_for_replan(decisions: Mapping[str, Decision], revision: int) -> frozenset[str]:
    return frozenset(
        step for step, d in decisions.items() if d["then"] == "replan" and d["revision"] == revision
    )


def decided_call(entries: Iterable[StepEntry], step_id: str, decision: Decision) -> list[StepEntry]:
    """What changes within a step whose call was in doubt, now that a person has decided it.

    That is the call of an agent, or the first item of a map in doubt, with the agent's call when the item is
    one. Nothing when the doubt was the step's own.
    """
    if decision["decision"] not in ("happened", "not_happened"):
        return []
    doubtful = [e for e in entries if e.item is not None and e.status is StepStatus.UNKNOWN]
    own = sorted((e for e in doubtful if e.step_id == step_id), key=lambda e: e.item or 0)
    if not own:
        return []
    inner = next((e for e in doubtful if e.step_id == own[0].key), None)
    if inner is None:
        return [_decided(own[0], decision)]
    goes_on = own[0].model_copy(update={"status": StepStatus.PENDING, "error": None})
    return [_decided(inner, decision), goes_on]


def _decided(entry: StepEntry, decision: Decision) -> StepEntry:
    happened = decision["decision"] == "happened"
    return entry.model_copy(
        update={
            "status": StepStatus.SUCCEEDED if happened else StepStatus.PENDING,
            "output": decision["result"] if happened else None,
            "error": None,
            "approval": dict(decision),
        }
    )


def standing_after(decision: Decision, before: Decision | None) -> Decision:
    """What stands from now on: a doubt decided either way leaves an approval, or an edit, as it was.

    A write that did not happen is made as approved; an agent whose write did happen goes on as approved.
    """
    allowed = before is not None and before["decision"] in ("approve", "edit")
    if decision["decision"] in ("happened", "not_happened") and before is not None and allowed:
        return before
    return decision


def status_after(decision: Decision) -> StepStatus:
    """The step's status once the answer is in."""
    match decision["decision"]:
        case "reject":
            return StepStatus.REJECTED
        case "happened":
            return StepStatus.SUCCEEDED
        case "stop":
            return StepStatus.UNKNOWN
        case _:
            return StepStatus.PENDING
