"""The report: for each list of tasks that ran, a line for each task and the rates over all."""

from collections.abc import Sequence

from tests.local_model.other_tasks import OTHER_TASKS
from tests.local_model.running import Outcome
from tests.local_model.tasks import TASKS

HEADS = (
    "task", "kind", "right", "plan", "sent back", "mended", "replans", "wrong", "repeated",
    "calls", "tokens", "s",
)  # fmt: skip


def tables(outcomes: Sequence[Outcome]) -> dict[str, list[str]]:
    """The table of each list of tasks of which some ran, by its title."""
    lists = {"office tasks": TASKS, "other office tasks": OTHER_TASKS}
    found = {title: table([o for o in outcomes if o.task in tasks]) for title, tasks in lists.items()}
    return {title: lines for title, lines in found.items() if lines}


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """Lines of text; none without outcomes."""
    if not outcomes:
        return []
    rows = [HEADS, *map(_cells, outcomes)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return [*lines, "", *_sums(outcomes)]


def _cells(outcome: Outcome) -> tuple[str, ...]:
    usage = outcome.document["usage"]
    counts = (
        outcome.refused,
        outcome.mended,
        outcome.document["replans"],
        outcome.wrong,
        outcome.repeated,
        usage["model_calls"],
        usage["input_tokens"] + usage["output_tokens"],
        round(outcome.seconds),
    )
    told = "right" if outcome.right else ", ".join(outcome.faults)
    return (outcome.task.name, outcome.task.kind, told, outcome.validity, *map(str, counts))


def _sums(outcomes: Sequence[Outcome]) -> list[str]:
    usages = [outcome.document["usage"] for outcome in outcomes]
    kinds = {
        outcome.task.kind: [o for o in outcomes if o.task.kind == outcome.task.kind] for outcome in outcomes
    }
    usable = _share([o.validity != "none" for o in outcomes])
    of_plannable = _share([o.validity != "none" for o in outcomes if o.task.plannable])
    by_kind = ", ".join(f"{kind} {_share([o.right for o in each])}" for kind, each in kinds.items())
    return [
        f"a usable plan, answer or refusal at once: {_share([o.validity == 'at once' for o in outcomes])}",
        f"after repair: {usable}; where the request can be planned: {of_plannable}",
        f"finished right: {_share([o.right for o in outcomes])} ({by_kind})",
        f"plans sent back {sum(o.refused for o in outcomes)}, slips mended {sum(o.mended for o in outcomes)}",
        f"wrong writes {sum(o.wrong for o in outcomes)}, repeated writes {sum(o.repeated for o in outcomes)}",
        f"model calls {sum(u['model_calls'] for u in usages)}, prompt tokens "
        f"{sum(u['input_tokens'] for u in usages)}, answer tokens {sum(u['output_tokens'] for u in usages)}, "
        f"seconds {sum(o.seconds for o in outcomes):.0f}",
    ]


def _share(found: Sequence[bool]) -> str:
    return f"{sum(found)} of {len(found)} ({100 * sum(found) / max(len(found), 1):.0f} %)"
