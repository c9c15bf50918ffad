"""When two ends mean the same, where a text landed, and what else a value could be."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.reward.lint_thinkingbox.alike import alike
from outcomebox.reward.lint_thinkingbox.arguments import Place, another, places, put
from outcomebox.reward.lint_thinkingbox.tables import (
    KEY,
    Cell,
    Tables,
    differences,
    landed,
    same,
    tables_of,
)
from outcomebox.sandbox.thinkingbox import GoldenCall

START: Tables = {
    "cases": [{"id": "C-1", "sale": "S-1", "title": "old"}],
    "payments": [],
    "sales": [{"id": "S-1", "stock": 5}, {"id": "S-2", "stock": 7}],
}
GIVEN = frozenset({"S-1", "S-2", "one", "two", 20})


def end(*cases: tuple[str, str, str], paid: str | None = None, note: str = "none") -> Tables:
    """An end with new cases, and perhaps a payment for one."""
    state = copy.deepcopy(START)
    state["cases"] += [{"id": key, "sale": sale, "title": title} for key, sale, title in cases]
    if paid:
        state["payments"].append({"id": "P-1", "case": paid, "amount": 20, "note": note})
    return state


ONE = end(("C-2", "S-1", "one"), ("C-3", "S-2", "two"), paid="C-3", note="for C-3, S-2")


@pytest.mark.parametrize(
    ("other", "answer"),
    [
        (end(("C-2", "S-2", "two"), ("C-3", "S-1", "one"), paid="C-2", note="for C-2, S-2"), True),
        # The payment points to another case now.
        (end(("C-2", "S-2", "two"), ("C-3", "S-1", "one"), paid="C-3", note="for C-3, S-2"), False),
        # So does the text about it.
        (end(("C-2", "S-2", "two"), ("C-3", "S-1", "one"), paid="C-2", note="for C-3, S-2"), False),
        (end(("C-2", "S-1", "two"), ("C-3", "S-2", "one"), paid="C-2", note="for C-2, S-2"), False),
        (end(("C-2", "S-2", "two"), ("C-3", "S-1", "one")), False),
        (end(("C-2", "S-2", "two"), ("C-4", "S-1", "one"), paid="C-2", note="for C-2, S-2"), False),
    ],
)
def test_ids_may_change_places_if_all_that_refers_to_them_does(other: Tables, answer: bool) -> None:
    assert alike(START, ONE, other, known=GIVEN) is answer
    assert alike(START, other, ONE, known=GIVEN) is answer


def test_sums_are_no_ids_though_they_differ_from_row_to_row() -> None:
    one, other = copy.deepcopy(START), copy.deepcopy(START)
    one["sales"][0]["stock"], one["sales"][1]["stock"] = 100, 200
    other["sales"][0]["stock"], other["sales"][1]["stock"] = 200, 100
    assert alike(START, one, other, known=GIVEN) is False


def test_what_an_argument_gave_is_no_generated_id() -> None:
    one = end(("A", "S-1", "x"), ("B", "S-2", "y"))
    other = end(("B", "S-1", "x"), ("A", "S-2", "y"))
    assert alike(START, one, other, known=frozenset()) is True
    assert alike(START, one, other, known={"A"}) is False


def test_a_search_that_is_cut_short_says_so() -> None:
    many = [{"id": f"X-{n}", "mark": n % 2, "twin": f"X-{(n + 1) % 12}"} for n in range(12)]
    start: Tables = {"rows": []}
    other = [{**row, "twin": f"X-{(n + 5) % 12}"} for n, row in enumerate(many)]
    other[0]["twin"] = "X-0"
    assert alike(start, {"rows": many}, {"rows": other}, known=()) in {None, False}


@st.composite
def ends(draw: st.DrawFn) -> tuple[Tables, Tables]:
    """An end with generated ids and references, and the same with others in other rows' places."""
    count = draw(st.integers(1, 5))
    names = [f"N-{n}" for n in range(count)]
    rows = [
        {
            "id": name,
            "kind": draw(st.sampled_from("ab")),
            "next": draw(st.sampled_from(names)),
            "text": f"see {draw(st.sampled_from(names))} there",
        }
        for name in names
    ]
    renamed = dict(zip(names, draw(st.permutations(names)), strict=True))

    def anew(row: dict[str, str]) -> dict[str, str]:
        words = " ".join(renamed.get(word, word) for word in row["text"].split())
        return {
            "id": renamed[row["id"]],
            "kind": row["kind"],
            "next": renamed[row["next"]],
            "text": words,
        }

    others = draw(st.permutations([anew(row) for row in rows]))
    return {"rows": rows}, {"rows": others}


@given(ends())
@settings(max_examples=150, deadline=None)
def test_renaming_ids_and_moving_rows_changes_no_meaning(pair: tuple[Tables, Tables]) -> None:
    one, other = pair
    assert alike({"rows": []}, one, other, known=()) is True


@given(ends(), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_another_kind_in_one_row_does(pair: tuple[Tables, Tables], chance: random.Random) -> None:
    one, other = pair
    chance.choice(other["rows"])["kind"] = "c"
    assert alike({"rows": []}, one, other, known=()) is False


def test_effects_are_read_as_tables_whatever_their_form() -> None:
    told = {"shop": {"result_db_state": {"orders": {"O-1": {"state": "paid"}}, "log": ["x", "y"]}}}
    tables = tables_of({**told})
    assert tables == {
        "orders": [{KEY: "O-1", "state": "paid"}],
        "log": [{"(value)": "x"}, {"(value)": "y"}],
    }
    two = tables_of({**told, "mail": {"sent": [{"to": "a"}], "golden_sent": [], "diff": []}})
    assert set(two) == {"shop.orders", "shop.log", "mail.sent"}
    assert tables_of({"shop": {"count": 3}}) == {"count": [{"(value)": 3}]}


def test_differences_name_table_column_and_row() -> None:
    other = copy.deepcopy(START)
    other["sales"][1]["stock"] = 6
    other["cases"].append({"id": "C-2", "sale": "S-1", "title": "new"})
    assert differences(START, other) == [
        Cell("cases", None, {"id": "C-2"}),
        Cell("sales", "stock", {"id": "S-2"}),
    ]
    other["sales"].reverse()
    assert not same(START, other)
    assert same(START, {**START, "sales": START["sales"][::-1]})


def test_a_text_is_found_where_it_landed_also_within_more() -> None:
    tables: Tables = {"cases": [{"id": 1, "log": [{"by": "x", "said": "then zq1 came"}]}]}
    assert landed(tables, "zq1") == [Cell("cases", "log", {"id": 1})]
    assert landed(tables, "zq2") == []


CALL = GoldenCall(
    server="till",
    tool="open",
    arguments={
        "sale": "S-1",
        "item": {"title": "it broke", "tags": ["a b"], "none": None, "empty": " "},
        "amount": 3,
        "price": "400.00",
        "share": 0.5,
        "urgent": True,
        "on": "2030-02-28T10:00:00Z",
        "until": "9999-12-31",
    },
)


def test_values_in_arguments_are_told_apart() -> None:
    found = {place.name: place.kind for place in places(0, CALL)}
    assert found == {
        "sale": "word",
        "item.title": "text",
        "item.tags": "text",
        "amount": "number",
        "price": "number",
        "share": "number",
        "urgent": "flag",
        "on": "moment",
        "until": "word",  # there is no day after it
    }


def test_another_value_is_of_the_same_kind() -> None:
    made = {place.name: another(place, START) for place in places(0, CALL)}
    assert made["sale"] == "S-2"  # what else stands in a column that holds it
    assert (made["amount"], made["price"], made["share"]) == (4, "401.00", 1.5)
    assert (made["urgent"], made["on"]) == (False, "2030-03-01T10:00:00Z")
    texts = [made["item.title"], made["item.tags"]]
    assert len({*texts}) == 2  # each can be told by its own word


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4), st.data())
@settings(max_examples=150, deadline=None)
def test_a_value_is_put_in_its_place_and_nowhere_else(
    arguments: dict[str, Any], data: st.DataObject
) -> None:
    call = GoldenCall(server="s", tool="t", arguments=arguments)
    found: list[Place] = [*places(0, call)]
    if not found:
        return
    before = copy.deepcopy(arguments)
    chosen = data.draw(st.sampled_from(found))
    changed = put(call, chosen.path, "another value")
    assert call.arguments == before
    after = {place.path: place.value for place in places(0, changed)}
    expected = {place.path: place.value for place in found}
    assert after == {**expected, chosen.path: "another value"}
