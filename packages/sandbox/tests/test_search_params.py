"""Parameters of a search: filters, sorting, groups, fields shown, and what is refused."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.sandbox.search.filters import read_filter
from outcomebox.sandbox.search.index import Collection
from outcomebox.sandbox.search.params import read_search
from outcomebox.sandbox.search.refusal import SearchRefused
from outcomebox.sandbox.search.results import answer
from outcomebox.sandbox.search.schema import read_schema

SCHEMA = read_schema(
    {
        "name": "stock",
        "fields": [
            {"name": "id", "type": "string"},
            {"name": "aisle", "type": "string", "facet": True},
            {"name": "label", "type": "string", "sort": True},
            {"name": "tags", "type": "string[]", "optional": True},
            {"name": "count", "type": "int32", "optional": True},
            {"name": "price", "type": "float", "optional": True},
            {"name": "open", "type": "bool", "optional": True},
            {"name": "place", "type": "geopoint", "optional": True},
            {"name": "vector", "type": "float[]", "num_dim": 3},
        ],
    }
)
ROWS: list[dict[str, Any]] = [
    {"id": "1", "aisle": "A & B (north)", "label": "red paint", "count": 5, "price": 2.5},
    {"id": "2", "aisle": "A & B (north)", "label": "blue paint", "count": 9, "open": True},
    {"id": "3", "aisle": "C", "label": "paint brush", "tags": ["fine hair", "paint"]},
    {"id": "4", "aisle": "C", "label": "green paint paint", "count": 1, "open": False},
    {"id": "5", "aisle": "C", "label": "old paint of no colour at all", "count": -3},
    {"id": "6", "aisle": "C", "label": "paint", "count": 2},
    {"id": "7", "aisle": "D", "label": "nails", "count": 7, "price": 10},
]


@pytest.fixture
def stock() -> Collection:
    made = Collection(SCHEMA)
    for row in ROWS:
        made.put(row, 1)
    return made


def found(stock: Collection, **params: Any) -> dict[str, Any]:
    return answer(stock, read_search({"q": "*", "query_by": "label", **params}, stock.schema))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "1234567"),
        ("aisle:=C", "3456"),
        ("aisle:=`C`", "3456"),
        ("aisle:=A & B (north)", "12"),
        ("aisle:=`A & B (north)` || aisle:=D", "127"),
        ("aisle:=[C, D]", "34567"),
        ("aisle:=[`A & B (north)`,D]", "127"),
        ("aisle:!=C", "127"),
        ("label:paint", "123456"),
        ("label:PAINT red", "1"),
        ("label:=paint", "6"),
        ("tags:=paint", "3"),
        ("tags:hair", "3"),
        ("id:=[2,7]", "27"),
        ("count:>=5", "127"),
        ("count:[1..5]", "146"),
        ("count:=[9, -3, 100]", "25"),
        ("count:!=5", "234567"),
        ("price:<3", "1"),
        ("price:[2.5..9.75]", "1"),
        ("open:true", "2"),
        ("open:=false", "4"),
        ("aisle:=C && count:>0 || id:7", "467"),
        ("aisle:=C && (count:>1 || open:false)", "46"),
        ("(aisle:=D)", "7"),
    ],
)
def test_filters(stock: Collection, text: str, wanted: str) -> None:
    hits = found(stock, filter_by=text)["hits"]
    assert "".join(sorted(hit["document"]["id"] for hit in hits)) == wanted


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("aisle", 400),
        ("aisle:=", 400),
        ("aisle:=C &&", 400),
        ("(aisle:=C", 400),
        ("aisle:=C)", 400),
        ("count:many", 400),
        ("count:[1..many]", 400),
        ("open:perhaps", 400),
        ("label:>3", 400),
        ("place:=1", 400),
        ("colour:=red", 404),
        ("(" * 60 + "aisle:=C" + ")" * 60, 400),
    ],
)
def test_filters_that_cannot_be_read(text: str, status: int) -> None:
    with pytest.raises(SearchRefused) as refused:
        read_filter(text, SCHEMA)
    assert refused.value.status == status


@settings(max_examples=100, deadline=None)
@given(st.text() | st.text("ab:=&|()[]`<>!.,1 ").map(lambda text: f"aisle{text}"))
def test_any_text_is_a_filter_or_refused(text: str) -> None:
    try:
        condition = read_filter(text, SCHEMA)
    except SearchRefused:
        return  # any other exception fails the test
    assert all(condition(row) in {True, False} for row in ROWS)


@settings(max_examples=100, deadline=None)
@given(st.text().filter(lambda text: "`" not in text and text.strip()))
def test_a_value_in_backticks_is_taken_as_it_is(value: str) -> None:
    condition = read_filter(f"label:=`{value}` || count:=5", SCHEMA)
    assert condition({"label": value})
    assert not condition({"label": value + "x"})


def test_groups_show_each_its_best_and_count_documents_and_groups(stock: Collection) -> None:
    result = found(stock, q="paint", group_by="aisle", group_limit=2, per_page=1)
    assert (result["found"], result["found_docs"], result["out_of"]) == (2, 6, 7)
    assert "hits" not in result
    (group,) = result["grouped_hits"]
    assert (group["group_key"], group["found"], len(group["hits"])) == (["C"], 4, 2)
    second = found(stock, q="paint", group_by="aisle", per_page=1, page=2)
    assert [group["group_key"] for group in second["grouped_hits"]] == [["A & B (north)"]]
    scores = [hit["text_match"] for hit in group["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0


def test_sorting(stock: Collection) -> None:
    def order(**params: Any) -> str:
        return "".join(hit["document"]["id"] for hit in found(stock, **params)["hits"])

    assert order(sort_by="count:desc") == "2716453"
    assert order(sort_by="count:asc") == "5461723"
    assert order(sort_by="label:asc") == "2475631"
    assert order(sort_by="price:asc, count:desc")[:2] == "17"
    by_text = order(q="paint", sort_by="_text_match:desc")
    assert order(q="paint") == by_text
    assert order(q="paint", sort_by="_text_match:desc,_vector_distance:asc") == by_text
    assert order(q="paint", per_page=2, page=2) == by_text[2:4]
    assert order(q="paint", offset=1, limit=3) == by_text[1:4]
    assert order(q="paint", sort_by="_text_match:asc")[-1] == by_text[0]


def test_fields_and_highlights_shown(stock: Collection) -> None:
    (hit,) = found(stock, q="old colours", include_fields="id,label", highlight_start_tag="[")[
        "hits"
    ]
    assert hit["document"] == {"id": "5", "label": "old paint of no colour at all"}
    one = {
        "matched_tokens": ["old", "colour"],
        "snippet": "[old</mark> paint of no [colour</mark> at all",
    }
    assert hit["highlights"] == [{"field": "label", **one}]
    assert hit["highlight"] == {"label": one}
    (hit,) = found(stock, q="hairs", query_by="tags,label", exclude_fields="label")["hits"]
    assert "label" not in hit["document"]
    assert hit["highlights"] == [
        {
            "field": "tags",
            "indices": [0],
            "matched_tokens": [["hair"]],
            "snippets": ["fine <mark>hair</mark>"],
        }
    ]
    assert "vector_distance" not in hit


def test_a_long_text_is_shown_in_an_excerpt_and_in_full_on_demand() -> None:
    made = Collection(SCHEMA)
    words = [f"w{n}" for n in range(200)]
    made.put({"aisle": "C", "label": " ".join(words)}, 1)
    asked = {"q": "w100", "highlight_full_fields": "label", "highlight_affix_num_tokens": 3}
    (shown,) = found(made, **asked)["hits"][0]["highlights"]
    assert "<mark>w100</mark>" in shown["snippet"]
    assert len(shown["snippet"].split()) == 7
    assert shown["value"].replace("<mark>", "").replace("</mark>", "").split() == words


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["red", "blue", "x", "y"]), min_size=1, max_size=60),
    st.integers(0, 9),
    st.sampled_from(["red blue", '"red blue"', '"x y red"', "red"]),
)
def test_an_excerpt_is_part_of_the_text_with_whole_marks(
    words: list[str], affix: int, query: str
) -> None:
    made = Collection(SCHEMA)
    made.put({"aisle": "C", "label": " ".join(words)}, 1)
    asked: dict[str, Any] = {"highlight_affix_num_tokens": affix, "snippet_threshold": 5}
    asked |= {"highlight_start_tag": "<", "highlight_end_tag": ">"}
    for hit in found(made, q=query, **asked)["hits"]:
        snippet = hit["highlight"]["label"]["snippet"]
        assert "<" in snippet
        assert re.fullmatch(r"([^<>]*<[^<>]+>)*[^<>]*", snippet)
        assert re.sub("[<>]", "", snippet) in " ".join(words)
        assert len(snippet.split(" ")) == (
            len(words) if len(words) <= 5 else min(len(words), 2 * affix + 1)
        )


@pytest.mark.parametrize(
    ("params", "status", "words"),
    [
        ({"q": None}, 400, "`q` is required"),
        ({"q": "a", "query_by": ""}, 400, "query_by"),
        ({"query_by": "colour"}, 404, "`colour`"),
        ({"query_by": "count"}, 400, "should be a string"),
        ({"q": "a", "query_by": "vector"}, 400, "holds text"),
        ({"query_by_weights": "1,2"}, 400, "weights"),
        ({"query_by_weights": "x"}, 400, "whole number"),
        ({"per_page": "251"}, 400, "250"),
        ({"per_page": "-1"}, 400, "`per_page`"),
        ({"group_by": "count"}, 400, "facet"),
        ({"group_by": "colour"}, 404, "`colour`"),
        ({"group_by": "aisle", "group_limit": 0}, 400, "group_limit"),
        ({"sort_by": "count"}, 400, "malformed"),
        ({"sort_by": "aisle:asc"}, 400, "declared with `sort`"),
        ({"sort_by": "colour:asc"}, 404, "`colour`"),
        ({"sort_by": "_text_match(buckets: 3):desc"}, 400, "Typesense by URL"),
        ({"facet_by": "aisle"}, 400, "`facet_by` is not supported"),
        ({"vector_query": "vector:([1])"}, 400, "`vector_query` is not supported"),
    ],
)
def test_parameters_refused(params: dict[str, Any], status: int, words: str) -> None:
    with pytest.raises(SearchRefused) as refused:
        read_search({"q": "*", "query_by": "label", **params}, SCHEMA)
    assert refused.value.status == status
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("field", "value", "kept"),
    [
        ("label", 7, "7"),
        ("count", "12", 12),
        ("count", 3.0, 3),
        ("count", 2**31, None),
        ("count", "many", None),
        ("count", 1.5, None),
        ("price", "1e3", 1000.0),
        ("price", True, None),
        ("open", "false", False),
        ("open", "no", None),
        ("tags", ["a", 1], ["a", "1"]),
        ("tags", "a", None),
        ("label", ["a"], None),
    ],
)
def test_values_are_turned_into_their_type_or_refused(field: str, value: Any, kept: Any) -> None:
    row = {"aisle": "A", "label": "x", field: value}
    if kept is None:
        with pytest.raises(SearchRefused, match=f"`{field}` must be"):
            SCHEMA.fit(row)
    else:
        assert SCHEMA.fit(row)[field] == kept


def test_a_missing_field_and_an_id_that_is_no_string_are_refused() -> None:
    with pytest.raises(SearchRefused, match="`label` has been declared"):
        SCHEMA.fit({"aisle": "A"})
    for bad in (1, "", None):
        with pytest.raises(SearchRefused, match="`id` field should be a string"):
            Collection(SCHEMA).put({"id": bad, "aisle": "A", "label": "x"}, 1)


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"name": "x"},
        {"name": "", "fields": []},
        {"name": "x", "fields": [{"name": "a"}]},
        {"name": "x", "fields": ["a"]},
        {"name": "x", "fields": [{"name": "a", "type": "text"}]},
        {"name": "x", "fields": [{"name": ".*", "type": "auto"}]},
        {"name": "x", "fields": [{"name": "a", "type": "string"}] * 2},
        {"name": "x", "fields": [{"name": "a", "type": "float[]", "embed": {"from": ["b"]}}]},
        {"name": "x", "fields": [{"name": "a", "type": "float[]", "embed": 1}]},
        {"name": "x", "fields": [{"name": "a", "type": "string"}], "default_sorting_field": "a"},
        {"name": "x", "fields": [{"name": "a", "type": "string"}], "enable_nested_fields": True},
    ],
    ids=json.dumps,
)
def test_schemas_refused(body: object) -> None:
    with pytest.raises(SearchRefused) as refused:
        read_schema(body)
    assert refused.value.status == 400
