"""Hypothesis strategies for JSON, near-plans and good plans."""

from typing import Any

from hypothesis import strategies as st

from graph.plan import JSON

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES: st.SearchStrategy[JSON] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
WILD = st.recursive(
    SCALARS
    | st.floats()
    | st.text(max_size=10)
    | st.binary(max_size=4)
    | st.sampled_from(["${", "${}", "${s1", "${s1.x}", "${a + b}", "${[1].map(i, i)}", "\ud800", "\x00"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)
_IDS = st.sampled_from(["s1", "s2", "s3", " s1 ", "步骤", 1, "", "params", "a b", None, True])
_FIELD = st.sampled_from(
    [
        "id",
        "title",
        "depends_on",
        "risk",
        "require_approval",
        "on_dependency_failure",
        "optional",
        "timeout",
        "max_attempts",
        "action",
        "tool",
        "args",
        "instruction",
        "output_schema",
        "choices",
        "when",
        "fill",
        "x",
    ]
)
_REFERENCE = st.sampled_from(
    ["${s1}", "a ${s2.x} b", "${steps['步骤'].y}", "${size(s1)}", "$${s1}", "${zz.q}"]
)
NEAR_STEP = st.fixed_dictionaries(
    {"id": _IDS, "action": st.sampled_from(["tool", "llm", "agent", "", None])},
    optional={
        "tool": st.sampled_from(["read", "write", "reed", None]),
        "args": st.dictionaries(st.sampled_from(["q", "key", "z"]), _REFERENCE | VALUES, max_size=3) | WILD,
        "instruction": _REFERENCE | TEXT,
        "depends_on": st.lists(_IDS, max_size=3) | _IDS,
        "risk": st.sampled_from(["low", "high", "LOW", None, 3]),
        "require_approval": st.sampled_from([True, False, "yes", None]),
        "timeout": st.sampled_from([1, 0.5, 0, -1, None, True, "5"]),
    },
)
NEAR_PLAN = st.builds(
    lambda head, steps, extra: {**head, "steps": steps, **extra},
    st.fixed_dictionaries({}, optional={"goal": TEXT | st.none(), "params": WILD, "plan_id": _IDS}),
    st.lists(NEAR_STEP | st.dictionaries(_FIELD, WILD, max_size=5), max_size=5) | WILD,
    st.dictionaries(st.sampled_from(["revision", "author", "foo", "assumptions"]), WILD, max_size=2),
)


@st.composite
def good_plan_data(draw: st.DrawFn) -> dict[str, Any]:
    """Draw plan data that is free of problems: dependencies and references only go back."""
    steps: list[dict[str, Any]] = []
    for index in range(draw(st.integers(1, 8))):
        before = [step["id"] for step in steps]
        steps.append(draw(_good_step(f"s{index}", before)))
    shuffled = draw(st.permutations(steps))
    return {"goal": draw(TEXT), "plan_id": "p", "params": {"k": draw(VALUES)}, "steps": shuffled}


@st.composite
def _good_step(draw: st.DrawFn, step_id: str, before: list[str]) -> dict[str, Any]:
    refers: str | None = draw(st.none() | st.sampled_from(before)) if before else None
    text = f"see ${{{refers}.out}}" if refers else "plain"
    needs: list[str] = draw(st.lists(st.sampled_from(before), unique=True)) if before else []
    literal = VALUES.filter(lambda value: "${" not in repr(value))
    work = st.fixed_dictionaries(
        {"action": st.just("tool"), "tool": st.just("read"), "args": _args(text, literal)}
    ) | st.fixed_dictionaries({"action": st.just("llm"), "instruction": st.just(text)})
    return {"id": step_id, "depends_on": needs, **draw(work), **draw(_CARE), **draw(_rules(refers))}


def _rules(refers: str | None) -> st.SearchStrategy[dict[str, Any]]:
    """Whether the step is taken, what is expected of it, and what it falls back to."""
    asked = f"{refers}.out" if refers else "params.k"
    spare = {"tool": "read", "args": {"q": f"${{{asked}}}", "x": 1}}
    return st.fixed_dictionaries(
        {},
        optional={
            "when": st.sampled_from([f"{asked} == 'plain'", f"${{{asked} != null}}", None]),
            "expect": st.sampled_from(["result != null", f"size(result) > 0 && {asked} == 1", None]),
            "fallback": st.sampled_from([None, "read", spare]) if refers else st.none(),
        },
    )


def _args(text: str, literal: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"q": st.just(text), "x": literal})


_CARE: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "title": TEXT,
        "risk": st.sampled_from(["low", "medium", "high"]),
        "require_approval": st.booleans(),
        "on_dependency_failure": st.sampled_from(["abort", "skip", "degrade"]),
        "timeout": st.sampled_from([1, 2.5]),
        "max_attempts": st.integers(1, 5),
    },
)
