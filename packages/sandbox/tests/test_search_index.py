"""The embedded index: ranking, any text as a query, limits on memory."""

from __future__ import annotations

import math
import sqlite3
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.sandbox import InputError
from outcomebox.sandbox.search import index as index_module
from outcomebox.sandbox.search.index import Collection, Store
from outcomebox.sandbox.search.params import read_search
from outcomebox.sandbox.search.query import MAX_TERMS, matches_all, read_query
from outcomebox.sandbox.search.refusal import SearchRefused
from outcomebox.sandbox.search.results import answer
from outcomebox.sandbox.search.schema import read_schema

FIELDS: list[dict[str, Any]] = [
    {"name": "shelf", "type": "string", "facet": True},
    {"name": "body", "type": "string"},
    {"name": "tags", "type": "string[]", "optional": True},
    {"name": "pages", "type": "int32", "optional": True},
    {"name": "meaning", "type": "float[]", "embed": {"from": ["body"], "model_config": {}}},
]
NOTES = {
    "post": "Parcels leave the depot at noon. A parcel that is lost is paid for after ten days.",
    "tea": "Green tea is brewed at eighty degrees. Black tea needs boiling water.",
    "bikes": "Bicycles are parked behind the depot. Chains are oiled in spring.",
    "keys": "Who loses a key tells the porter. A new key costs nine crowns.",
    "rooms": "Rooms are booked a day ahead. The large room has a projector and eighty chairs.",
}
# Letters and digits of scripts that SQLite's tables and Python's agree on.
WORDS = st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0x24F, categories=("Lu", "Ll", "Nd"))
    | st.sampled_from("αβγδωЖдяшאבג가나다漢字仮名かなकखग"),
    min_size=1,
    max_size=12,
)
TEXTS = st.lists(
    st.one_of(WORDS, st.sampled_from(["-", "OR", "NEAR(", '"', "*", "'", ";", "\x00", "—", "né"])),
    max_size=20,
).map(" ".join)


def collection(*bodies: str, **more: str) -> Collection:
    made = Collection(read_schema({"name": "notes", "fields": FIELDS}))
    for number, body in enumerate(bodies):
        made.put({"id": f"n{number}", "shelf": "s", "body": body}, len(body))
    for key, body in more.items():
        made.put({"id": key, "shelf": key[0], "body": body}, len(body))
    return made


def ids(of: Collection, q: str, **params: Any) -> list[str]:
    asked = {"q": q, "query_by": "body", "per_page": 250, **params}
    return [hit["document"]["id"] for hit in answer(of, read_search(asked, of.schema))["hits"]]


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("When will I get my money back for a parcel that never came?", "post"),
        ("how hot should the water be for black tea", "tea"),
        ("I want to oil my bicycle chain", "bikes"),
        ("What does it cost when I lose my keys?", "keys"),
        ("is there a projector somewhere", "rooms"),
        ("proj", "rooms"),
        ('"large room"', "rooms"),
        ("ROOM's PROJECTOR!", "rooms"),
    ],
)
def test_a_question_finds_the_document_that_answers_it(question: str, best: str) -> None:
    assert ids(collection(**NOTES), question)[0] == best


def test_quoted_words_must_stand_side_by_side_and_only_an_unquoted_end_is_a_beginning() -> None:
    notes = collection("red green blue", "blue red", "reddish")
    assert ids(notes, '"red green"') == ["n0"]
    assert ids(notes, '"green red"') == []
    assert set(ids(notes, "red")) == {"n0", "n1", "n2"}
    assert set(ids(notes, '"red"')) == {"n0", "n1"}
    assert set(ids(notes, "red", prefix="false")) == {"n0", "n1"}
    assert set(ids(notes, "red green")) == {"n0", "n1"}


def test_a_match_of_the_whole_last_word_goes_before_one_of_its_beginning() -> None:
    assert ids(collection("card", "cardboard", "x"), "card")[0] == "n0"


def test_the_subject_outweighs_the_words_of_the_question() -> None:
    notes = collection(
        "Refunds are paid in ten days. A refund needs a receipt; refunds go to the card.",
        "How do I reach you? How you like, and I mean it. A refund is not the matter here.",
        "What we do: shoes, hats. No refund of hats.",
        "Opening hours.",
    )
    assert ids(notes, "How do I get a refund?")[0] == "n0"
    assert ids(notes, "how")[0] == "n1"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from("pqrs"), max_size=6).map(" ".join), min_size=1))
def test_scores_are_bm25(bodies: list[str]) -> None:
    """Against the formula itself, k1 = 1.2 and b = 0.75."""
    notes = collection(*bodies)
    lengths = [len(body.split()) for body in bodies]
    average = sum(lengths) / len(bodies)
    wanted = {}
    for number, body in enumerate(bodies):
        score = 0.0
        for word in ("p", "q"):
            having = sum(word in other.split() for other in bodies)
            idf = math.log(1 + (len(bodies) - having + 0.5) / (having + 0.5))
            often = body.split().count(word)
            if often:
                length = 1 - 0.75 + 0.75 * lengths[number] / average
                score += idf * often * 2.2 / (often + 1.2 * length)
        if score:
            wanted[number] = score
    found = dict(notes.ranking(["body"], [1.0], read_query("p q", prefix=False)))
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize("query", ["*", "", "  ", "?!", '""', "—"])
def test_without_a_word_every_document_is_found_youngest_first(query: str) -> None:
    assert matches_all(query)
    assert ids(collection("a", "b", "c"), query) == ["n2", "n1", "n0"]


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_a_document_is_found_by_each_of_its_own_words(bodies: list[str]) -> None:
    notes = collection(*bodies)
    for number, body in enumerate(bodies):
        for word in body.split():
            if any(char.isalnum() for char in word):
                assert f"n{number}" in ids(notes, word)
                assert f"n{number}" in ids(notes, f'"{word}"')
                assert f"n{number}" in ids(notes, f"{word} zzyzx", highlight_full_fields="body")


@settings(max_examples=100, deadline=None)
@given(st.text() | TEXTS, st.text())
def test_no_text_is_a_syntax_error(query: str, body: str) -> None:
    notes = collection(body, "plain words")
    asked = {"q": query, "query_by": "meaning,body", "highlight_full_fields": "body"}
    found = answer(notes, read_search(asked, notes.schema))
    assert 0 <= found["found"] <= 2
    assert found["outcomebox"] == {"ranking": "text ranking, no embeddings"}


def test_a_query_of_very_many_words_is_cut_not_refused() -> None:
    words = " ".join(f"w{n}" for n in range(5000))
    assert len(read_query(words)) == MAX_TERMS + 1  # the last one as a beginning, too
    assert ids(collection("w1", "nothing"), words) == ["n0"]


def test_ranking_does_not_depend_on_what_other_collections_hold() -> None:
    store = Store()
    scores = []
    for name, noise in (("one", 0), ("two", 50)):
        for number in range(noise):
            other = store.create(read_schema({"name": f"x{number}", "fields": FIELDS}))
            other.put({"shelf": "s", "body": "tea tea tea"}, 1)
        made = store.create(read_schema({"name": name, "fields": FIELDS}))
        for key, body in NOTES.items():
            made.put({"id": key, "shelf": "s", "body": body}, 1)
        query = read_search({"q": "black tea", "query_by": "body"}, made.schema)
        scores.append([hit["text_match"] for hit in answer(made, query)["hits"]])
    assert scores[0] == scores[1] != []


def test_what_is_put_replaced_and_removed_after_a_search_is_searched() -> None:
    notes = collection(**NOTES)
    assert ids(notes, "umbrella") == []
    notes.put({"id": "rain", "shelf": "r", "body": "Umbrellas stand by the door."}, 30)
    assert ids(notes, "umbrella") == ["rain"]
    notes.put({"id": "rain", "shelf": "r", "body": "Coats hang there."}, 20, "upsert")
    assert ids(notes, "umbrella") == []
    assert ids(notes, "coat") == ["rain"]
    notes.put({"id": "rain", "tags": ["hat stand", "boots"]}, 10, "update")
    assert ids(notes, "boot", query_by="tags,body") == ["rain"]
    assert notes.get("rain")["body"] == "Coats hang there."
    notes.remove("rain")
    assert ids(notes, "coat") == []
    assert notes.size == sum(len(body) for body in NOTES.values())


def test_each_combination_of_fields_is_searched_by_itself() -> None:
    notes = collection()
    notes.put({"id": "a", "shelf": "tea", "body": "water"}, 1)
    notes.put({"id": "b", "shelf": "water", "body": "tea", "tags": ["tea"]}, 1)
    for _ in range(2):  # more combinations than are kept, then again
        assert ids(notes, "tea", query_by="body") == ["b"]
        assert ids(notes, "tea", query_by="shelf") == ["a"]
        assert ids(notes, "tea", query_by="tags") == ["b"]
        assert set(ids(notes, "tea", query_by="shelf,body")) == {"a", "b"}
        assert set(ids(notes, "tea", query_by="body,shelf")) == {"a", "b"}
        assert ids(notes, "tea", query_by="shelf,body", query_by_weights="9,1")[0] == "a"
        assert ids(notes, "tea", query_by="shelf,body", query_by_weights="1,9")[0] == "b"


def test_the_longest_unused_collection_goes_when_there_are_too_many() -> None:
    store = Store(max_collections=3)
    for name in "abc":
        store.create(read_schema({"name": name, "fields": FIELDS}))
    store.get("a")
    store.create(read_schema({"name": "d", "fields": FIELDS}))
    assert sorted(made.schema.name for made in store) == ["a", "c", "d"]
    with pytest.raises(SearchRefused) as refused:
        store.get("b")
    assert refused.value.status == 404


def test_memory_is_bounded_over_all_collections_and_in_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(index_module, "MAX_COLLECTION_BYTES", 100)
    store = Store(max_bytes=250)
    for name in "abc":
        store.create(read_schema({"name": name, "fields": FIELDS}))
        store.put(name, {"id": "x", "shelf": "s", "body": "b"}, 90)
    assert [made.schema.name for made in store] == ["b", "c"]
    with pytest.raises(SearchRefused) as refused:
        store.put("c", {"id": "y", "shelf": "s", "body": "b"}, 20)
    assert refused.value.status == 422
    store.put("c", {"id": "x", "shelf": "s", "body": "b"}, 100, "upsert")
    store.remove("c", "x")
    store.delete("b")
    assert [made.size for made in store] == [0]


def test_a_python_without_fts5_is_said_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lacking:
        def execute(self, _: str) -> None:
            raise sqlite3.OperationalError("no such module: fts5")

        def close(self) -> None:
            pass

    monkeypatch.setattr(sqlite3, "connect", lambda *_, **__: Lacking())
    with pytest.raises(InputError, match=r"needs SQLite's FTS5.*Typesense by URL"):
        Store()
