"""The model that the environment names, and the tables at the end."""

from collections.abc import Mapping

import pytest
from langchain_core.language_models import BaseChatModel

from graph.models import models_from_environment
from tests.local_model.running import Outcome
from tests.local_model.table import tables

_OUTCOMES = pytest.StashKey[list[Outcome]]()


@pytest.fixture
def models() -> Mapping[str, BaseChatModel]:
    """The models by role; the README of this folder says how to name them."""
    found = models_from_environment()
    if not found:
        pytest.skip("no model: set OPENAI_BASE_URL or OPENAI_API_KEY, and PLANRAIL_MODEL")
    return found


@pytest.fixture
def outcomes(request: pytest.FixtureRequest) -> list[Outcome]:
    """What is reported at the end of the session."""
    return request.config.stash.setdefault(_OUTCOMES, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    found = config.stash.get(_OUTCOMES, None)
    for title, lines in tables(found or []).items():
        terminalreporter.section(title)
        terminalreporter.write_line("\n".join(lines))
