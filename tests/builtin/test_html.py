"""`render_html`, in the process of its own that it really uses."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.plan import Risk
from tests.builtin.calling import failure, output
from tools import ToolRegistry, ToolSetupError
from tools.builtin.html_page import PageLimits, html_tool
from tools.builtin.html_worker import answer

QUICK = PageLimits(chars=10_000, template_chars=1_000, seconds=1)
SCRIPTS = st.text(alphabet=st.sampled_from("<>&\"'`={}%# 中文\u2028a"), max_size=30)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "模板 <1>"
    place.mkdir()
    (tmp_path / "secret.html").write_text("secret", "utf-8")
    for name, text in {
        "base.html": "<h1>{% block title %}{% endblock %}</h1>",
        "week.html": "{% extends 'base.html' %}\n{% block title %}\n{{ title }}\n{{ total }}{% endblock %}",
        "周报.html": "周报：{{ title }}",
        "broken.html": "fine\n{% if %}",
        "endless.html": "{% include 'endless.html' %}",
        "out.html": "{% include '../secret.html' %}",
    }.items():
        (place / name).write_text(text, "utf-8")
    return place


async def _page(args: dict[str, Any], folder: Path | None = None) -> str:
    page = await output(html_tool(folder, limits=QUICK), "render_html", args)
    assert isinstance(page, str)
    return page


async def _fault(args: dict[str, Any], folder: Path | None = None) -> tuple[str, str]:
    found = await failure(html_tool(folder, limits=QUICK), "render_html", args)
    assert found.kind == "hard", found
    return found.code, found.message


async def test_a_page_is_the_template_with_the_data_escaped() -> None:
    template = (
        "<ul>{% for row in rows %}<li>{{ row.name }}: {{ '{:,.2f}'.format(row.sum) }}</li>{% endfor %}</ul>"
    )
    rows = [{"name": "华东 & <b>", "sum": 1234.5}, {"name": "北方", "sum": 0}]
    page = await _page({"template": template, "data": {"rows": rows}})
    assert page == "<ul><li>华东 &amp; &lt;b&gt;: 1,234.50</li><li>北方: 0.00</li></ul>"


async def test_templates_of_a_folder_are_named_and_build_on_each_other(folder: Path) -> None:
    args = {"template_name": "week.html", "data": {"title": "W9", "total": 5}}
    assert (await _page(args, folder)).split() == ["<h1>", "W9", "5</h1>"]
    assert await _page({"template_name": "周报.html", "data": {"title": "W9"}}, folder) == "周报：W9"


@pytest.mark.parametrize(
    ("template", "code", "says"),
    [
        ("a\nb {{ total }}", "template_undefined", "line 2: 'total' is undefined; data has rows"),
        ("\n\n{{ rows[0].x.y }}", "template_undefined", "line 3: 'dict object' has no attribute 'x'"),
        ("a\n{% for %}", "template_syntax", "line 2: "),
        ("{{ x|nofilter }}", "template_syntax", "line 1: No filter named 'nofilter'"),
        ("{% include 'x.html' %}", "template_not_found", "'x.html'"),
        ("\n{{ 1 / 0 }}", "template_failed", "line 2: ZeroDivisionError"),
        ("{{ ''.__class__.__mro__ }}", "template_forbidden", "__class__"),
        ("{{ '{0.__class__}'.format(1) }}", "template_forbidden", "__class__"),
        ("{{ rows.append(1) }}", "template_forbidden", "append"),
        ("{{ cycler.__init__.__globals__ }}", "template_forbidden", "__init__"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "template_failed", "without end"),
        ("{% for i in range(10 ** 9) %}x{% endfor %}", "template_failed", "Range too big"),
        ("{% for i in range(9999) %}more{% endfor %}", "template_too_large", "more than 10000 characters"),
        ("{{ 'x' * 10 ** 10 }}", "template_too_large", "memory"),
        ("x" * 1_001, "template_too_large", "at most 1000 are read"),
        ("{{ lipsum() }}", "template_undefined", "'lipsum' is undefined"),
    ],
)
async def test_a_template_that_is_wrong_is_a_hard_failure_that_tells_the_line(
    template: str, code: str, says: str
) -> None:
    found, message = await _fault({"template": template, "data": {"rows": [{}]}})
    assert found == code
    assert says in message


@pytest.mark.parametrize(
    "loop",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 9 ** (9 ** 9) }}",
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="only the time of day bounds a process there")
async def test_a_template_that_works_for_ever_is_ended(loop: str) -> None:
    code, message = await _fault({"template": loop})
    assert code == "template_too_slow"
    assert "let it do less" in message


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("none.html", "template_not_found", "'none.html'"),
        ("../secret.html", "template_not_found", "'../secret.html'"),
        ("out.html", "template_not_found", "template out.html, line 1"),
        ("broken.html", "template_syntax", "template broken.html, line 2"),
        ("week.html", "template_undefined", "template week.html, line 3: 'title' is undefined"),
        ("endless.html", "template_failed", "without end"),
    ],
)
async def test_a_template_of_a_folder_that_is_wrong_is_named(
    folder: Path, name: str, code: str, says: str
) -> None:
    found, message = await _fault({"template_name": name}, folder)
    assert found == code
    assert says in message
    assert str(folder) not in message


async def test_text_and_name_exclude_each_other(folder: Path) -> None:
    assert (await _fault({"template": "x", "template_name": "week.html"}, folder))[0] == "bad_args"
    assert (await _fault({}, folder))[0] == "bad_args"


async def test_the_process_has_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, str]] = []
    run: Any = subprocess.run

    def watched(*args: Any, **options: Any) -> Any:
        seen.append(options["env"])
        return run(*args, **options)

    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setattr("tools.builtin.html_page.subprocess.run", watched)
    assert await _page({"template": "ok"}) == "ok"
    assert set(seen[0]) <= {"SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"}


@given(value=SCRIPTS, attribute=SCRIPTS)
def test_no_value_becomes_markup(value: str, attribute: str) -> None:
    template = '<p title="{{ attribute }}">{{ value }}</p>'
    request = {"template": template, "name": None, "folder": None, "chars": 10_000}
    page = answer({**request, "data": {"value": value, "attribute": attribute}})["page"]
    inner = page.removeprefix('<p title="').removesuffix("</p>").replace('">', "", 1)
    assert not set("<>\"'") & set(inner)


def test_a_folder_that_is_not_there_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ToolSetupError, match="there is no folder of templates"):
        html_tool(tmp_path / "none")


def test_rendering_is_a_read() -> None:
    found = ToolRegistry.of(html_tool())["render_html"]
    assert (found.effect, found.risk) == ("read", Risk.LOW)
    assert set(found.args_schema["properties"]) == {"template", "data"}
