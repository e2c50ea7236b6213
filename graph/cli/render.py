"""Text views of runs and plans: pure functions from data to lines."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.text import Text

from checkpoints import RunEntry
from graph.cli.documents import STATE_COLUMNS, RunView, state_rows
from graph.cli.invocation import command_line
from graph.cli.terminal import short, table, visible
from graph.plan import Plan, ToolStep

Line = Text | str

_SHOWN_CALLS = 10
"""Calls of a map that are shown one by one; `--json` has all."""

_CALL_CELLS = 500

_ARGUMENT_CELLS = 4000

_SHOWN_EFFECTS = 20
"""Effects of one step that are shown one by one; `--json` has all."""

_STYLES = {
    "succeeded": "green",
    "failed": "red",
    "partial": "yellow",
    "rejected": "red",
    "stopped": "yellow",
    "waiting": "magenta",
    "unknown": "magenta",
    "running": "cyan",
    "interrupted": "yellow",
}


def run_lines(view: RunView, database: str) -> Iterator[Line]:
    """All that a person wants to know of a run: state, steps, effects, and what it waits for."""
    document = view.document
    yield _headline(view)
    yield f"goal    {short(view.entry.goal, 200)}"
    if view.entry.reason:
        yield f"reason  {visible(view.entry.reason)}"
    if spent := spent_text(document["usage"]):
        yield f"spent   {spent}"
    if view.plan is not None:
        yield ""
        yield from _step_lines(view.plan, document["steps"])
    yield from _effect_lines(document["effects"])
    if view.entry.answer:
        yield from ("", "answer", *_indented(view.entry.answer))
    yield from pending_lines(view.entry.run_id, document["pending"], database)
    if view.interrupted:
        yield ""
        yield "its process ended before the run did; go on with"
        yield f"  {command_line('resume', view.entry.run_id, database=database)}"


def spent_text(usage: Mapping[str, Any]) -> str:
    """What a run has spent, in words; empty when it called nothing."""
    counts = {"model call": usage.get("model_calls"), "tool call": usage.get("tool_calls")}
    parts = [f"{n:,} {what}{'s' if n > 1 else ''}" for what, n in counts.items() if n]
    if usage.get("model_calls"):
        tokens = (usage.get("input_tokens") or 0) + (usage.get("output_tokens") or 0)
        parts.append(f"{tokens:,} tokens{' (some estimated)' if usage.get('estimated') else ''}")
        cost = usage.get("cost")
        parts.append("cost unknown" if cost is None else f"cost {cost:.4g}")
    return ", ".join(parts)


def pending_lines(run_id: str, pending: Sequence[Mapping[str, Any]], database: str) -> Iterator[Line]:
    """What waits for a person, exactly as it would run, and the commands that answer."""
    see_all = command_line("show", run_id, "--json", database=database)
    for question in pending:
        yield ""
        yield Text.assemble(("waiting ", "bold magenta"), *_question_title(question))
        if _is_of_a_map(question):
            yield from _call_lines(question["args"], see_all)
        else:
            yield from _arguments_lines(question["args"], see_all)
        for label, words in _answers(question["kind"], run_id, str(question["id"])):
            yield f"  {label:14}{command_line(*words, database=database)}"


def _question_title(question: Mapping[str, Any]) -> list[str]:
    of_map = _is_of_a_map(question) or "item" in question["args"]
    does = question["tool"] or ("map" if of_map else "llm")
    what = f"{question['step']}  {does}  risk {question['risk']}"
    return [visible(f"{what}  ({question['reason']})")]


def _answers(kind: str, run_id: str, approval: str) -> list[tuple[str, list[str]]]:
    """Commands that name the approval, not the step: pasted later, they approve nothing that has changed."""
    if kind == "question":
        return [("answer", ["answer", run_id, approval, "--text", "TEXT"])]
    if kind == "outcome":
        return [
            ("it happened", ["decide", run_id, approval, "happened"]),
            ("it did not", ["decide", run_id, approval, "not-happened"]),
            ("give up", ["decide", run_id, approval, "stop"]),
        ]
    return [
        ("approve", ["approve", run_id, approval]),
        ("reject", ["reject", run_id, approval, "--reason", "WHY"]),
    ]


def _is_of_a_map(question: Mapping[str, Any]) -> bool:
    """Whether the question is about all calls of a map."""
    return question["tool"] is None and "calls" in question["args"]


def _call_lines(args: Mapping[str, Any], see_all: str) -> Iterator[str]:
    """The first calls of a map, and the command that shows all of them whole."""
    calls = args["first"] if "first" in args else args["all"]
    lines = [short(call, _CALL_CELLS) for call in calls[:_SHOWN_CALLS]]
    yield f"    calls = {args['calls']}"
    yield from (f"      {line}" for line in lines)
    left = args["calls"] - len(lines)
    if left or any(line.endswith("…") for line in lines):
        yield f"    {f'and {left} more; all' if left else 'whole'} calls:  {see_all}"


def _arguments_lines(args: Mapping[str, Any], see_all: str) -> Iterator[str]:
    """The arguments, and where one is cut, the command that shows it whole."""
    lines = [line for name, value in args.items() for line in _argument_lines(str(name), value)]
    yield from lines
    if any(line.endswith("…") for line in lines):
        yield f"    whole arguments:  {see_all}"


def _argument_lines(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, str) and "\n" in value:
        yield f"    {visible(name)} ="
        yield from _indented(value, "      | ")
    else:
        yield f"    {visible(name)} = {short(value, _ARGUMENT_CELLS)}"


def _indented(text: str, indent: str = "  ") -> Iterator[str]:
    return (f"{indent}{line}" for line in visible(text).splitlines())


def _headline(view: RunView) -> Text:
    status = "interrupted" if view.interrupted else view.entry.status.value
    parts: list[str | tuple[str, str]] = [
        ("run ", "bold"),
        view.entry.run_id,
        "  ",
        (status, _STYLES[status]),
    ]
    if view.plan is not None:
        parts.append(f"  plan revision {view.plan.revision}")
    if view.entry.replans:
        parts.append(f"  {view.entry.replans} replanned")
    return Text.assemble(*parts)


def _step_lines(plan: Plan, steps: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    rows = [_step_cells(plan, step) for step in steps]
    for row, line in zip(rows, table((), [cells for cells, _note in rows], "  "), strict=True):
        status = row[0][0]
        text = Text(line)
        text.stylize(_STYLES.get(status.strip(), ""), 2, 2 + len(status))
        yield text
        if row[1]:
            yield f"      {row[1]}"


def _step_cells(plan: Plan, step: Mapping[str, Any]) -> tuple[list[str], str]:
    planned = plan.step(str(step["id"]))
    does = planned.tool if isinstance(planned, ToolStep) else planned.action + _progress(step)
    cells = [str(step["status"]), short(step["id"], 40), short(does, 40), _duration(step), _source(step)]
    if step["error"]:
        return cells, short(f"{step['error']['code']}: {step['error']['message']}", 300)
    if step["status"] == "not_taken":
        return cells, short(step.get("note", ""), 300)
    return cells, "" if step["output"] is None else short(step["output"], 100)


def _progress(step: Mapping[str, Any]) -> str:
    """How far a map has come."""
    items = step.get("items")
    if not items or items["total"] is None:
        return ""
    ended = items["succeeded"] + items["failed"] + items["not_taken"]
    return f" {ended}/{items['total']}" + (f", {items['failed']} failed" if items["failed"] else "")


def _source(step: Mapping[str, Any]) -> str:
    """How a step came to its result, where that was not one call of its own tool."""
    parts = [f"{step['attempts']} attempts" if step["attempts"] > 1 else ""]
    parts.append(f"by {short(step['fallback_tool'], 40)}" if "fallback_tool" in step else "")
    if "age_seconds" in step:
        parts.append(f"{'stale' if step['stale'] else 'kept'}, {step['age_seconds']:.0f} s old")
    return ", ".join(filter(None, parts))


def _duration(step: Mapping[str, Any]) -> str:
    if not step["started_at"] or not step["ended_at"]:
        return ""
    spent = datetime.fromisoformat(step["ended_at"]) - datetime.fromisoformat(step["started_at"])
    return f"{spent.total_seconds():.2f} s"


def _effect_lines(effects: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    if not effects:
        return
    yield ""
    yield "effects"
    seen: Counter[str] = Counter()
    for effect in effects:
        seen[effect["step"]] += 1
        doubt = "  (may have happened)" if effect["status"] == "unknown" else ""
        words = (short(effect["step"], 40), short(effect["tool"], 40), short(effect["args"], 120))
        if doubt or seen[effect["step"]] <= _SHOWN_EFFECTS:
            yield f"  {'  '.join(words)}{doubt}"
    for step_id, times in seen.items():
        if times > _SHOWN_EFFECTS:
            yield f"  {short(step_id, 40)}  {times} in all; --json shows each"


def runs_lines(runs: Sequence[RunEntry], width: int | None = None) -> list[str]:
    """One line for each run; more where its goal is too long for a terminal of that width."""
    if not runs:
        return ["no runs yet"]
    rows = [
        [short(run.run_id, 40), run.status.value, _minute(run.created_at), short(run.goal, 60)]
        for run in runs
    ]
    return table(["RUN", "STATUS", "STARTED", "GOAL"], rows, width=width)


def state_lines(view: RunView) -> list[str]:
    """The state table of a run, cut to what fits a line; `--json` has the whole values."""
    cells = [[_cell(row[name]) for name in STATE_COLUMNS] for row in state_rows(view)]
    return table(STATE_COLUMNS, cells)


def _cell(value: Any) -> str:
    return "" if value is None else short(value, 40)


def _minute(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")
