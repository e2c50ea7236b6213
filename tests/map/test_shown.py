"""A plan as people see it hides secret arguments wherever in a step they stand."""

from graph.state import hidden_args, shown_plan
from tools import ToolRegistry, policy


@policy(effect="write", redact=["password"])
def log_in(user: str, password: str) -> str:
    """Log in."""
    return f"{user} with {len(password)} letters"


@policy(effect="read")
def look(user: str) -> str:
    """Look a user up."""
    return user


REGISTRY = ToolRegistry.of(log_in, look)


def test_secrets_of_a_maps_items_and_of_calls_beside_a_step_are_hidden() -> None:
    secret = {"tool": "log_in", "args": {"user": "ada", "password": "geheim"}}
    plan = {
        "steps": [
            {
                "id": "a",
                "action": "map",
                "over": [{"password": "geheim"}],
                "step": {"action": "tool", **secret},
            },
            {"id": "b", "action": "tool", "tool": "look", "args": {"user": "ada"}, "fallback": secret},
            {"id": "c", "action": "llm", "instruction": "x", "compensate": secret},
            {"id": "d", "action": "map", "over": [1], "step": {"action": "llm", "fallback": secret}},
        ]
    }
    shown = shown_plan(plan, hidden_args(plan, REGISTRY))
    assert "geheim" not in str(shown)
    assert "geheim" in str(plan)
    assert shown["steps"][1]["args"] == {"user": "ada"}
    assert [step["id"] for step in shown["steps"]] == ["a", "b", "c", "d"]
