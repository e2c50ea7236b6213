"""The graph's channels: plain data of a closed set of types, so that every saver stores them alike.

Results are not here: they live once in the journal, and a checkpoint stays small however long the
plan is. `STATE_FORMAT` is persisted with each run; a change of these shapes raises it.
"""

from typing import Annotated, Any

from langgraph.channels import UntrackedValue
from typing_extensions import TypedDict  # typing's own gives servers no schema before Python 3.12

from graph.plan import Plan

STATE_FORMAT = 1

JsonDict = dict[str, Any]


def merge(current: JsonDict | None, update: JsonDict | None) -> JsonDict:
    """Reducer: lay `update` over `current`; None empties the channel (a new run on the thread)."""
    return {} if update is None else {**(current or {}), **update}


class Decision(TypedDict):
    """A person's answer to one approval, bound to what was shown."""

    approval_id: str
    step: str
    kind: str
    decision: str
    args: JsonDict | None
    digest: str
    revision: int
    then: str | None
    result: Any
    by: str | None
    reason: str | None
    at: str


class Dispatch(TypedDict):
    """What happens next, ids only: Send arguments are stored with the checkpoint.

    `alone` are the steps whose tool asks a person by itself; they get a graph task of their own.
    """

    move: str
    steps: list[str]
    alone: list[str]


class StepTask(TypedDict, total=False):
    """What a Send carries to an executor or an approval: one step, by id."""

    step: str
    alone: bool


class GraphInput(TypedDict, total=False):
    """What a caller gives: a goal in words, a finished plan (object or JSON), or both.

    In the place of a plan a template's name may stand, with its parameters.
    """

    goal: str
    plan: Plan | JsonDict | None
    template: str | None
    params: JsonDict | None


class GraphOutput(TypedDict, total=False):
    """What a run gives back; the same document as `planrail show RUN --json`."""

    status: str
    success: bool | None
    answer: str | None
    reason: str | None
    plan: JsonDict | None
    steps: Annotated[list[JsonDict], UntrackedValue]
    effects: list[JsonDict]
    replans: int
    usage: JsonDict
    pending: list[JsonDict]


class GraphState(GraphOutput, total=False):
    """All channels. `records` maps step id to `{status, revision, attempts}`."""

    format: int
    run_id: str
    goal: str
    records: Annotated[dict[str, JsonDict], merge]
    decisions: Annotated[dict[str, Decision], merge]
    dispatch: Dispatch
    no_replan: str | None
    stopped_by: str | None
    failed_calls: list[str]


OUTPUT_KEYS = tuple(GraphOutput.__annotations__)
