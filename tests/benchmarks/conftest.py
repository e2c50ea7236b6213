"""The table of figures, printed once at the end of a run."""

from collections.abc import Callable

import pytest

Row = tuple[str, str, str]
Figures = Callable[[str, str, str], None]

_ROWS = pytest.StashKey[list[Row]]()
_HEADER: Row = ("what", "measured", "limit")


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    """Adds a row to the table: what, the figure, its limit."""
    rows = request.config.stash.setdefault(_ROWS, [])
    return lambda what, measured, limit: rows.append((what, measured, limit))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    rows = config.stash.get(_ROWS, [])
    if not rows:
        return
    widths = [max(len(row[column]) for row in (_HEADER, *rows)) for column in range(3)]
    terminalreporter.section("figures")
    for row in (_HEADER, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        terminalreporter.write_line("  ".join(cells).rstrip())
