"""Where in a LangGraph store a run's entries are, and which run ids there may be."""

import unicodedata

from checkpoints.errors import RunIdError

MAX_RUN_ID_CHARS = 200

RUNS = ("planrail", "runs")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


def check_run_id(run_id: str) -> str:
    """Return the run id if it can name a run.

    Args:
        run_id: 1 to 200 characters, no control characters.

    Raises:
        RunIdError: When it is anything else, with the rule.
    """
    problem = _run_id_problem(run_id)
    if problem is not None:
        raise RunIdError(f"the run id {problem}; use 1 to {MAX_RUN_ID_CHARS} printable characters")
    return run_id


def _run_id_problem(run_id: object) -> str | None:
    if not isinstance(run_id, str):
        return f"is a {type(run_id).__name__}, not text"
    if not run_id.strip():
        return "is empty"
    if len(run_id) > MAX_RUN_ID_CHARS:
        return f"has {len(run_id)} characters"
    if any(unicodedata.category(char) in {"Cc", "Cs"} for char in run_id):
        return "holds control characters"
    return None


def label(text: str) -> str:
    """Return text as a namespace label: never empty, no period, and no two texts share one.

    Other characters than ASCII letters, digits and `-` become `=` and their UTF-8 bytes in hex, so that no
    store's pattern matching can mistake one label for another.
    """
    return "".join(char if char in _PLAIN else _escaped(char) for char in text) or "="


def _escaped(char: str) -> str:
    return "".join(f"={byte:02X}" for byte in char.encode())


def steps_of(run_id: str) -> tuple[str, ...]:
    """Return the namespace of a run's step entries."""
    return ("planrail", "steps", label(run_id))


def plans_of(run_id: str) -> tuple[str, ...]:
    """Return the namespace of a run's plan revisions."""
    return ("planrail", "plans", label(run_id))


def values_of(run_id: str) -> tuple[str, ...]:
    """Return the namespace of a run's large inputs and outputs."""
    return ("planrail", "values", label(run_id))


def step_key(step_id: str, item: int | None) -> str:
    """Return the key of a step's entry, or of one item of a map step."""
    return step_id if item is None else f"{step_id}#{item}"


def step_of(step_id: str) -> str:
    """Return the id of the plan's step that `ID` or `ID#ITEM` stands for; no plan has an id of that form."""
    before, mark, number = step_id.rpartition("#")
    return before if mark and number.isdigit() else step_id
