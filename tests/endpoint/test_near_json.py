"""JSON as models write it is read when its meaning is certain, else it goes back."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.endpoint.near_json import EndsEarly, NotReadable, read_value
from nodes.replies import BadReply, json_object_in
from tests.support.plans import writing

PLAN = writing(x=None, y=True)
TEXT = json.dumps(PLAN)
DIALECTS = {
    "trailing comma": TEXT.replace('"depends_on": []}', '"depends_on": [],}').replace("}]}", "},]}"),
    "single quotes": repr(PLAN),
    "python constants": TEXT.replace("null", "None").replace("true", "True"),
    "comments": TEXT.replace('"steps":', '/* the "steps" , } */ "steps": // and "these"\n'),
    "byte order mark": "\ufeff" + TEXT,
    "full-width comma": TEXT.replace('", "action"', '"， "action"').replace('"goal":', '"goal"：'),
    "typographic quotes": TEXT.replace('"tool": "web_search"', "“tool”: “web_search”"),
    "encoded twice": json.dumps(TEXT),
    "fenced and encoded twice": f"```json\n{json.dumps(TEXT)}\n```",
    "raw line break": TEXT,
}


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_is_read_as_exactly_what_was_meant(name: str) -> None:
    assert json_object_in(DIALECTS[name]) == PLAN


def test_what_stands_inside_a_text_is_left_alone() -> None:
    content = "一，二：“三” // no comment /* nor this */ None, True,] it's {'a': 1}\n```python\n"
    wrapped = json.dumps({"content": content, "x": 0}, ensure_ascii=False).replace("0}", "None,}")
    assert json_object_in(wrapped) == {"content": content, "x": None}


def test_a_raw_line_break_in_a_text_is_kept() -> None:
    assert json_object_in('{"content": "# T\n```python\nprint(1)\n```\nend"}') == {
        "content": "# T\n```python\nprint(1)\n```\nend"
    }


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        "{'a': 1, 'a': 2}",
        "{'a': (1, 2)}",
        "{'a': 'it's'}",
        "{'a': '\\d'}",
        '{"a": 1,, "b": 2}',
        '{"a" 1}',
        "{“a”: “b “c” d”}",
        '{"a": [,]}',
        '{"a": undefined}',
        "{a: 1}",
        '{"a": 1]}',
        "no object at all",
    ],
)
def test_what_is_not_certain_goes_back(text: str) -> None:
    with pytest.raises(BadReply):
        json_object_in(text)


def test_the_parsers_message_names_the_place() -> None:
    with pytest.raises(BadReply, match="line 1 column 6"):
        json_object_in('{"a" 1}')


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(min_size=1), VALUES, min_size=1, max_size=4)


@given(OBJECTS, st.data())
def test_an_object_that_is_cut_off_is_never_read(value: dict[str, Any], data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value)]))
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    with pytest.raises(BadReply):
        json_object_in(cut)
    with pytest.raises((EndsEarly, NotReadable)):
        read_value(cut)


@given(OBJECTS)
def test_a_python_dict_is_read_as_the_same_object_or_goes_back(value: dict[str, Any]) -> None:
    try:
        assert json_object_in(repr(value)) == value
    except BadReply:
        assert "'" in repr(value)


@given(st.text(alphabet="{}[]\"'“”:,，：/*\\ \nNoneTrue123abc"))
def test_no_text_does_anything_but_give_an_object_or_go_back(text: str) -> None:
    with suppress(BadReply):
        assert isinstance(json_object_in(text), dict)
