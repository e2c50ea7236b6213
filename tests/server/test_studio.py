"""The graph that `langgraph.json` names follows the environment."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.process import ROOT, environment

TELL = "; print(*sorted(g.engine.registry.names()), *sorted(g.engine.models), g.engine.settings.scheduling)"
BY_MODULE = "from graph.studio import graph as g"
BY_FILE = f"import runpy; g = runpy.run_path(r'{ROOT / 'graph' / 'studio.py'}')['graph']"
SHOP = "issue_refund query_logistics query_order query_stock send_reply"


def _python(code: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in environment(folder).items() if not k.startswith("PLANRAIL_")}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**clean, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("spec", [BY_MODULE, BY_FILE])
def test_it_has_the_shop_and_no_model_by_default_and_shows_each_layer(spec: str, tmp_path: Path) -> None:
    assert _python(spec + TELL, tmp_path).stdout.split() == [*SHOP.split(), "layered"]
    assert list(tmp_path.iterdir()) == []


def test_tools_models_and_scheduling_come_from_the_environment(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(
        "from tools import policy\n\n@policy(effect='read')\ndef weather(city: str) -> str:\n    'Tell.'\n"
    )
    done = _python(
        BY_MODULE + TELL,
        tmp_path,
        PLANRAIL_TOOLS=str(own),
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
        PLANRAIL_SCHEDULING="lanes",
    )
    assert done.stdout.split() == ["weather", "default", "lanes"]


def test_tools_that_cannot_be_loaded_are_named(tmp_path: Path) -> None:
    done = _python(BY_MODULE, tmp_path, PLANRAIL_TOOLS="no_such_tools")

    assert done.returncode == 1
    assert "no_such_tools" in done.stderr.splitlines()[-1]
