"""Which parts of results a lost reference may have meant."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.plan import JSON, Scope, ToolStep, read_expression, resolve
from nodes.decide.candidates import (
    ANY,
    MOST_PARTS,
    Want,
    as_texts,
    candidates,
    certain,
    known_values,
    parts_of,
    wants,
)
from nodes.decide.healing import failing, healed_by, healed_values, healing_of, healing_schema
from tools import RegisteredTool, ToolRegistry, policy

SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5)
NAMES = st.text(max_size=5) | st.sampled_from(["id", "order_id", "amount"])
RESULTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(NAMES, inner, max_size=5),
)
IDS = st.sampled_from(["s1", "look it up", "步骤"])
LOST = "s1.no.such.path"
ORDER: dict[str, Any] = {
    "order_id": "A1",
    "customer": {"name": "Ann", "email": "ann@x.com"},
    "amount": 40,
    "sku": "K-1",
}
ORDER_ID = Want("order_id", frozenset({"string"}))


@policy(effect="write")
def pay(order_id: str, amount: float, note: str = "", parts: list[str] | None = None) -> str:
    """Pay."""
    return note


PAY: RegisteredTool = ToolRegistry.of(pay)["pay"]


def path_of(text: str, result: Any, want: Want = ANY) -> str | None:
    return certain(read_expression(text), want, parts_of({"s1": result}))


def choices(text: str, result: Any, want: Want = ANY) -> list[str]:
    return healing_of([text], [], {text: want}, {"s1": result}).choices.get(text, [])


@given(st.dictionaries(IDS, RESULTS, max_size=3))
def test_every_part_is_where_its_path_leads(results: dict[str, Any]) -> None:
    parts = parts_of(results)

    assert len(parts) <= MOST_PARTS
    for part in parts:
        assert resolve(f"${{{part.path}}}", Scope(results)) == part.value


@given(st.dictionaries(st.just("s1"), RESULTS, min_size=1), st.data())
def test_a_healed_reference_is_a_part_of_the_results(results: dict[str, Any], data: st.DataObject) -> None:
    lost, misfit = failing((read_expression(LOST),), {}, Scope(results))
    assert (list(lost), misfit) == ([LOST], [])
    healing = healing_of(lost, misfit, {}, results)
    answer = {}
    if healing.choices and not healing.by_value:
        schema = healing_schema(healing)
        answer = {"r1": data.draw(st.sampled_from(schema["properties"]["r1"]["enum"]))}
    elif healing.by_value:
        answer = dict.fromkeys(healing.keys.values())

    healed, fault = healed_by(answer, healing, results)

    assert fault is None
    values = healed_values(healed, Scope(results))
    if values:
        path = {**healing.certain, LOST: answer.get("r1") or healing.certain.get(LOST)}[LOST]
        assert resolve(f"${{{LOST}}}", Scope(results, healed=values)) == resolve(
            f"${{{path}}}", Scope(results)
        )


def test_a_missing_dependency_stays_null_and_is_not_healed() -> None:
    expression = read_expression("s1.x")

    assert failing((expression,), {}, Scope({}, absent=frozenset({"s1"}))) == ({}, [])
    assert list(failing((expression,), {}, Scope({"s1": {}}))[0]) == ["s1.x"]


@pytest.mark.parametrize(
    "text", ["s1.total / 2.0", "s1.stock > 0 ? 'yes' : 'no'", "size(s1.parts)", "s1.x + s1.y"]
)
def test_what_is_computed_stands_for_no_part_of_a_result(text: str) -> None:
    assert failing((read_expression(text),), {}, Scope({"s1": ORDER})) == ({}, [])


@pytest.mark.parametrize(
    ("text", "result", "want", "path"),
    [
        ("s1.order_id", [ORDER], ORDER_ID, "s1[0].order_id"),  # a list where one thing was expected
        ("s1[0].id", [ORDER], ORDER_ID, "s1[0].order_id"),  # another name for the argument's own
        ("s1.article", ORDER, Want("sku", frozenset({"string"}), identifies=True), "s1.sku"),
        ("s1.mail", [{"mail": "a@x.com"}], ANY, "s1[0].mail"),
        ("s1.orders.order_id", {"orders": [[ORDER]]}, ORDER_ID, "s1.orders[0][0].order_id"),
        ("s1.x.order", {"x": {"orderId": "A1"}, "y": {"orderId": "B2"}}, ORDER_ID, "s1.x.orderId"),
        ("s1", ORDER, ORDER_ID, "s1.order_id"),
        ("s1.order_id", [ORDER, {**ORDER, "order_id": "B2"}], ORDER_ID, None),  # two of them
        ("s1.order_id", [{"order_id": {"no": 1}}], ORDER_ID, None),  # no text
        ("s1.name", ORDER, Want("name", frozenset({"string"})), None),  # a name is no id: a model is asked
        ("s1.id + 'x'", ORDER, ORDER_ID, None),
        ("params.order_id", ORDER, ORDER_ID, None),
        ("s1.order_id", {f"k{n}": n for n in range(MOST_PARTS)} | ORDER, ORDER_ID, None),  # not all seen
    ],
)
def test_what_can_have_meant_one_thing_only_needs_no_model(
    text: str, result: Any, want: Want, path: str | None
) -> None:
    assert path_of(text, result, want) == path


def test_choices_are_of_the_arguments_type() -> None:
    number = Want("amount", frozenset({"number"}))
    assert choices("s1.total", ORDER, number) == ["s1.amount"]
    assert choices("s1.total", {"a": {}, "b": "x", "c": "40.5", "d": True}, number) == ["s1.c"]
    assert "s1" not in choices("s1.article", ORDER, Want("text", frozenset({"string"})))
    assert "s1" in choices("s1.article", ORDER)


def test_an_id_is_not_taken_for_another_things() -> None:
    found = [{"order_id": "A1", "status": "sent"}, {"order_id": "B2", "status": "sent"}]
    assert choices("s1.article", found, Want("sku", frozenset({"string"}), identifies=True)) == []
    assert choices("s1.article", found, Want("label", frozenset({"string"}))) != []
    stock = {"sku": "K-1", "warehouse": "North", "quantity": 3}
    assert choices("s1.order", stock, ORDER_ID) == []
    two = [{"order_id": "A1", "status": "sent"}, {"order_id": "B2", "status": "sent"}]
    assert choices("s1.x", two, ORDER_ID) == ["s1[0].order_id", "s1[1].order_id"]
    assert choices("s1.mail", ORDER, Want("to", frozenset({"string"}), identifies=True)) == [
        "s1.customer.email"
    ]


def test_names_that_share_a_word_go_before_all_others_and_are_all_for_what_is_written() -> None:
    stock: dict[str, JSON] = {"sku": "K-1", "product": "kettle", "quantity": 0, "restock_date": "2026-03-09"}
    parts, text = parts_of({"s1": stock}), Want("text", frozenset({"string"}))
    every = [f"s1.{name}" for name in stock]
    for lost, careful, offered in [
        ("s1.next_delivery_date", False, ["s1.restock_date"]),
        ("s1.nextDeliveryDate", True, ["s1.restock_date"]),
        ("s1.arrival", False, every),
        ("s1.arrival", True, []),
    ]:
        assert candidates(read_expression(lost), text, parts, careful=careful) == offered


def test_nothing_is_asked_where_nothing_fits() -> None:
    healing = healing_of(["s1.x"], [], {"s1.x": Want("n", frozenset({"integer"}))}, {"s1": {"a": "b"}})
    assert (healing.choices, healing.known) == ({}, {})


def test_a_list_or_object_where_neither_is_taken_is_a_misfit() -> None:
    step = ToolStep(id="p", tool="pay", args={"order_id": "${s1}", "amount": "${s1.amount}", "note": "${s2}"})
    wanted, scope = wants(step, PAY), Scope({"s1": ORDER, "s2": "text"})
    lost, misfit = failing([read_expression(text) for text in ("s1", "s1.amount", "s2")], wanted, scope)
    assert (lost, misfit) == ({}, ["s1"])
    healed = healing_of(lost, misfit, wanted, dict(scope.steps)).known
    assert healed == {"s1": {"path": "s1.order_id"}}
    assert resolve("${s1}", Scope(scope.steps, healed=healed_values(healed, scope))) == "A1"


def test_the_whole_of_a_text_is_no_part_of_it() -> None:
    mail = "From: Omar Said. My order A1236 was cancelled, and I want my money back, please."
    healing = healing_of(["s1.customer"], [], {}, {"s1": mail})
    assert healing.by_value
    assert "a part of the text" in (healed_by({"customer": f" {mail}"}, healing, {"s1": mail})[1] or "")
    assert healed_by({"customer": "Omar Said"}, healing, {"s1": mail}) == (
        {"s1.customer": {"value": "Omar Said"}},
        None,
    )
    short = healing_of(["s1.customer"], [], {}, {"s1": "Omar Said"})
    assert healed_by({"customer": "Omar Said"}, short, {"s1": "Omar Said"})[1] is None


def test_the_values_asked_for_are_of_the_arguments_type() -> None:
    wanted = {"s1.n": Want("amount", frozenset({"number"}))}
    healing = healing_of(["s1.n"], [], wanted, {"s1": "40 EUR"})
    assert healing_schema(healing)["properties"]["amount"]["type"] == ["number", "null"]


def test_a_value_is_asked_for_by_its_name_and_a_path_by_a_number() -> None:
    lost = ["s1.order", "s1.total", "s1[0].total", "s1.r2", "s1"]
    wanted = {"s1.order": Want("order_id", frozenset({"string"}))}
    healing = healing_of(lost, [], wanted, {"s1": "Order A1, 40 EUR"})
    keys = {"s1.order": "order_id", "s1.total": "total", "s1[0].total": "r3", "s1.r2": "r4", "s1": "r5"}
    assert healing.keys == keys
    assert list(healing_schema(healing)["properties"]) == list(keys.values())
    answer = {"order_id": "A1", "total": 40, "r3": None, "r4": None, "r5": None}
    assert healed_by(answer, healing, {"s1": "Order A1, 40 EUR"}) == (
        {"s1.order": {"value": "A1"}, "s1.total": {"value": 40}},
        None,
    )
    assert list(healing_of(["s1.name"], [], {}, {"s1": ORDER}).keys.values()) == ["r1"]


def test_numbers_become_text_where_only_text_is_taken() -> None:
    step = ToolStep(
        id="p", tool="pay", args={"order_id": "${s1.n}", "amount": "${s1.n}", "note": "n ${s1.n}"}
    )
    given: dict[str, Any] = {"order_id": 42, "amount": 42, "note": "n 42"}
    assert as_texts(PAY, step, given) == {**given, "order_id": "42"}
    written = ToolStep(id="p", tool="pay", args={"order_id": 42})
    assert as_texts(PAY, written, {"order_id": 42}) == {"order_id": 42}


@pytest.mark.parametrize(
    ("results", "known"),
    [
        ({"s1": ORDER}, {"order_id": "A1", "amount": 40}),
        ({"s1": ORDER, "s2": [{"orderId": "A1"}]}, {"order_id": "A1", "amount": 40}),
        ({"s1": ORDER, "s2": {"order_id": "B2"}}, {"amount": 40}),
        ({"s1": {"order_id": None, "note": "x", "amount": "much"}}, {}),
        ({"s1": "order A1"}, {}),
    ],
)
def test_ids_and_amounts_that_the_results_have_once_are_known(
    results: dict[str, Any], known: dict[str, Any]
) -> None:
    assert known_values(PAY, ["order_id", "amount", "note"], results) == known
