"""Questions to a person: what is asked, and what counts as an answer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from graph.plan import PlanrailError, json_fault, whole_reference
from tools import ToolRegistry

Kind = Literal["approval", "outcome"]

CHOICES: Mapping[Kind, tuple[str, ...]] = {
    "approval": ("approve", "edit", "reject"),
    "outcome": ("happened", "not_happened", "stop"),
}
CLIP_CHARS = 80
ANSWER_KEYS = frozenset(
    {"decision", "approved", "args", "then", "result", "reason", "by", "id", "digest", "revision"}
)
THEN = ("skip", "replan", "stop")

RESPONSE_SCHEMA = {
    "type": "object",
    "properties": {
        "decision": {"enum": [*CHOICES["approval"], *CHOICES["outcome"]]},
        "args": {"type": ["object", "null"], "description": "New arguments, with edit."},
        "then": {"enum": [*THEN, None], "description": "What follows a reject; skip by default."},
        "result": {"description": "The step's result, with happened."},
        "reason": {"type": ["string", "null"]},
        "by": {"type": ["string", "null"], "description": "Who decided."},
    },
    "required": ["decision"],
}


class ApprovalError(PlanrailError):
    """An answer fits no open question; nothing was run and every question stays open."""

    code: ClassVar[str] = "bad_approval"


@dataclass(frozen=True)
class Request:
    """One open question. `digest` is of exactly the arguments (or instruction) that would run."""

    id: str
    kind: Kind
    run_id: str
    step: str
    tool: str | None
    args: dict[str, Any]
    risk: str
    reason: str
    revision: int
    digest: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def read_answers(raw: Any, pending: Sequence[Request]) -> dict[str, dict[str, Any]]:
    """Answers by approval id from whatever a caller resumed with; raises ApprovalError.

    Accepts a bare word or one answer object when exactly one question is open, else a mapping of
    step id or approval id to an answer (a word, `{"decision": ...}` or `{"approved": bool}`).
    """
    if not pending:
        raise ApprovalError("no approval is pending in this run: nothing was changed")
    if isinstance(raw, str):
        raw = _from_text(raw)
    if _is_single(raw):
        if len(pending) > 1:
            raise ApprovalError(
                f"{len(pending)} questions are open, name the one you answer: {_listing(pending)}"
            )
        return {pending[0].id: read_answer(raw, pending[0])}
    if not isinstance(raw, Mapping) or not raw:
        raise ApprovalError(f"not an answer: {_clip(raw)}; answer one of: {_listing(pending)}")
    answers: dict[str, dict[str, Any]] = {}
    for key, answer in raw.items():
        approval_id, read = _one_answer(str(key), answer, pending)
        if approval_id in answers:
            raise ApprovalError(f"{_clip(key)} answers a question that was answered already: answer it once")
        answers[approval_id] = read
    return answers


def _one_answer(key: str, answer: Any, pending: Sequence[Request]) -> tuple[str, dict[str, Any]]:
    for request in pending:
        if key in (request.id, request.step):
            return request.id, read_answer(answer, request)
    raise ApprovalError(f"no such pending approval: {_clip(key)}; open are: {_listing(pending)}")


def read_answer(raw: Any, request: Request) -> dict[str, Any]:
    """One answer in its full form; raises ApprovalError."""
    answer = {"decision": raw} if isinstance(raw, str) else raw
    if isinstance(answer, Mapping) and isinstance(answer.get("approved"), bool):
        answer = {**answer, "decision": "approve" if answer["approved"] else "reject"}
    if not isinstance(answer, Mapping):
        raise ApprovalError(f"not an answer for {request.step}: {_clip(raw)}; {_allowed(request)}")
    _check_bound(answer, request)
    decision = str(answer.get("decision")).strip().lower().replace("-", "_")
    if decision not in CHOICES[request.kind]:
        raise ApprovalError(
            f"{_clip(answer.get('decision'))} is no answer for {request.step}; {_allowed(request)}"
        )
    args, then = answer.get("args"), answer.get("then")
    if decision == "approve" and args is not None:
        decision = "edit"
    if decision == "edit" and not isinstance(args, Mapping):
        raise ApprovalError(f"edit of {request.step} needs args: an object with the new arguments")
    if then is not None and then not in THEN:
        raise ApprovalError(
            f"then={_clip(then)} of {request.step} is unknown: write one of {', '.join(THEN)}"
        )
    return {
        "decision": decision,
        "args": dict(args) if isinstance(args, Mapping) else None,
        "then": (then or "skip") if decision == "reject" else None,
        "result": answer.get("result"),
        "by": _text(answer.get("by")),
        "reason": _text(answer.get("reason")),
    }


def _check_bound(answer: Mapping[str, Any], request: Request) -> None:
    """Refuse what an answer does not have, and one that was given to a question as it was before."""
    unknown = sorted(set(map(str, answer)) - ANSWER_KEYS)
    if unknown:
        allowed = ", ".join(sorted(ANSWER_KEYS))
        raise ApprovalError(f"an answer for {request.step} has no {', '.join(unknown)}: it takes {allowed}")
    for name in ("id", "digest", "revision"):
        if name in answer and answer[name] != getattr(request, name):
            raise ApprovalError(
                f"the {name} of this answer is not that of the open question about {request.step}: "
                "look at what waits now, then answer"
            )


def check_edit(request: Request, answer: Mapping[str, Any], registry: ToolRegistry) -> None:
    """Hold a person's new arguments to the tool's schema, as a plan's; raises ApprovalError."""
    edited = answer["args"]
    if edited is None:
        return
    fault = json_fault(edited)
    if fault is not None:
        raise ApprovalError(f"the new arguments of {request.step} are not JSON: {fault}")
    tool = registry.get(request.tool) if request.tool else None
    if tool is None:
        raise ApprovalError(
            f"{request.step} is no tool call, it has no arguments to edit: approve or reject it"
        )
    problems = [p for p in tool.args_problems({**request.args, **edited}) if p[0] in edited]
    problems += [
        (k, "give the value itself, not a reference") for k, v in edited.items() if whole_reference(v)
    ]
    if problems:
        text = "; ".join(f"{name}: {why}" for name, why in problems)
        raise ApprovalError(f"the new arguments of {request.step} do not fit {request.tool}: {text}")


def _from_text(text: str) -> Any:
    """Studio's resume box sends text; a JSON object in it is meant as one."""
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _is_single(raw: Any) -> bool:
    return isinstance(raw, str) or (isinstance(raw, Mapping) and bool({"decision", "approved"} & set(raw)))


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _clip(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= CLIP_CHARS else f"{text[:CLIP_CHARS]}..."


def _listing(pending: Sequence[Request]) -> str:
    return ", ".join(f"{request.step} ({request.id})" for request in pending)


def _allowed(request: Request) -> str:
    return f"answer {', '.join(CHOICES[request.kind][:-1])} or {CHOICES[request.kind][-1]}"
