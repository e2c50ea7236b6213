"""Text on terminals: whatever tools say, it is shown and steers nothing."""

import io
import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from graph.cli.terminal import short, table, visible, write_json


@given(st.text())
def test_visible_text_has_no_character_that_steers_a_terminal(text: str) -> None:
    shown = visible(text)
    assert {c for c in shown if unicodedata.category(c).startswith("C")} <= {"\n", "\t"}


@given(st.text(alphabet=st.characters(exclude_categories=["C"])))
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_escape_sequences_and_direction_marks_are_spelt_out() -> None:
    assert visible("\x1b[2Jgone\u202e") == "\\u001b[2Jgone\\u202e"


@given(st.text(), st.integers(min_value=2, max_value=50))
def test_a_short_form_is_one_line_within_its_limit(text: str, limit: int) -> None:
    assert len(short(text, limit)) <= limit
    assert len(short(text, limit).splitlines()) <= 1


@given(st.text("a 世界é̀", max_size=60), st.integers(min_value=2, max_value=50))
def test_a_short_form_fills_no_more_cells_than_its_limit(text: str, limit: int) -> None:
    cut = short(text, limit)
    assert max(len(cut), cell_len(cut)) <= limit
    whole = " ".join(text.splitlines()).strip()
    assert cut == whole or (cut.endswith("…") and whole.startswith(cut[:-1]))


@given(st.lists(st.tuples(st.text("ab 世界", max_size=8), st.text("ab 世界", max_size=8)), min_size=1))
def test_columns_start_where_they_start_in_every_row(rows: list[tuple[str, str]]) -> None:
    width = max(cell_len(row[0]) for row in rows)
    for row, line in zip(rows, table((), rows), strict=True):
        assert line == f"{row[0]}{' ' * (width - cell_len(row[0]))}  {row[1]}".rstrip()


@given(st.text("ab 世界", max_size=90), st.integers(min_value=30, max_value=60))
def test_a_last_column_too_long_for_a_terminal_goes_on_below_itself(text: str, width: int) -> None:
    lines = table(["名", "WHAT"], [["ab", text], ["cd", "next"]], " ", width=width)
    assert max(map(cell_len, lines)) <= width
    assert all(line.startswith("     ") for line in lines[2:-1])
    assert "".join(line[5:] for line in lines[1:-1]).replace(" ", "") == text.replace(" ", "")
    assert lines[-1] == " cd  next"


def test_words_of_a_folded_column_stay_whole() -> None:
    lines = table((), [["a", "several words in a row"]], width=23)
    assert lines == ["a  several words in a", "   row"]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252", "latin-1"])
def test_json_is_json_in_any_encoding(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    document = {"text": "世界 é 😀 \ud800"}
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace"))
    write_json(document)
    assert json.loads(raw.getvalue().decode(encoding)) == document
