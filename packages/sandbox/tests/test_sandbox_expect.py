"""What can be written in a check, and what the refusals say."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from outcomebox.sandbox.expect import Alternative, Expect, TableEdits, TableExpect
from outcomebox.sandbox.valuespec import (
    CloseMatcher,
    IdMatcher,
    JsonMatcher,
    OneOfMatcher,
    PatternMatcher,
    ValueSpec,
)

VALUE: TypeAdapter[Any] = TypeAdapter(ValueSpec)
EXPECT: TypeAdapter[Expect] = TypeAdapter(Expect)

GOOD: list[Any] = [
    None,
    0,
    -0.5,
    2**53 + 1,
    "",
    "text",
    {"$blob": "00ff"},
    {"$id": "n"},
    {"$any": True},
    {"$not_null": True},
    {"$one_of": [1, None, {"$blob": "00"}, {"$pattern": "a+"}]},
    {"$pattern": "(?i).*carrier.*"},
    {"$close": 41.28, "abs": 0.005},
    {"$close": 2**60, "abs": 0},
    {"$decimal": "-7.50"},
    {"$instant": "2026-03-02T09:00:00Z"},
    {"$json": {"a": [1, True, None]}},
    {"$json": None},
    {"$nfc": "caf\u00e9"},
    {"$rubric": "Is it polite?"},
]

BAD: list[tuple[Any, str]] = [
    (True, "write 1 instead of true"),
    (2**63, "64 bits"),
    (float("nan"), "write null"),
    (float("inf"), "finite"),
    ([1], r"\$one_of"),
    ({"a": 1}, r"\$json"),
    ({}, r"\$json"),
    ({"$id": "a", "$any": True}, "a matcher with one of"),
    ({"$regex": "x"}, r"write \{\$pattern"),
    ({"$nan": True}, "write null"),
    ({"$null": True}, "write null"),
    ({"$what": 1}, r"no matcher \$what.*\$instant"),
    ({"$id": ""}, "at least 1 character"),
    ({"$id": 7}, "valid string"),
    ({"$any": False}, r"write \{\$any: true\}"),
    ({"$not_null": 1}, r"write \{\$not_null: true\}"),
    ({"$one_of": []}, "at least 1 item"),
    ({"$one_of": [{"$id": "n"}]}, "cannot stand inside"),
    ({"$one_of": [{"$rubric": "?"}]}, "cannot stand inside"),
    ({"$one_of": [True]}, "write 1 instead of true"),
    ({"$pattern": "("}, "no regular expression"),
    ({"$close": 1}, "the tolerance has no default"),
    ({"$close": 1, "rel": 0.1}, "rel cannot stand beside it"),
    ({"$close": 1, "abs": -1}, "write 0 or more"),
    ({"$close": "1", "abs": 1}, "write a finite number"),
    ({"$close": 1, "abs": True}, "write a finite number"),
    ({"$decimal": 7.5}, "valid string"),
    ({"$decimal": "7,50"}, "write text such as '7.50'"),
    ({"$instant": "yesterday"}, "write ISO 8601"),
    ({"$instant": "2026-02-30"}, "write ISO 8601"),
    ({"$json": float("nan")}, "no JSON value"),
    ({"$json": {"a": b""}}, "no JSON value"),
    ({"$blob": "0"}, "hexadecimal"),
    ({"$close": float("inf"), "abs": 1}, "write a finite number"),
    ({"$pattern": "a", "flags": "i"}, "flags cannot stand beside it"),
]


@pytest.mark.parametrize("data", GOOD, ids=str)
def test_a_value_survives_reading_and_writing(data: Any) -> None:
    value = VALUE.validate_python(data)
    assert VALUE.dump_python(value, mode="json") == data
    assert VALUE.validate_python(value) == value
    assert VALUE.validate_json(json.dumps(data)) == value


@pytest.mark.parametrize("data", GOOD, ids=str)
def test_the_json_schema_takes_what_is_right(data: Any) -> None:
    jsonschema.validate(data, VALUE.json_schema())


@pytest.mark.parametrize(("data", "says"), BAD, ids=[str(data) for data, _ in BAD])
def test_a_refusal_says_what_to_write(data: Any, says: str) -> None:
    with pytest.raises(ValidationError, match=says) as refused:
        EXPECT.validate_python({"t": {"insert": [{"c": data}]}})
    assert refused.value.error_count() == 1
    assert refused.value.errors()[0]["loc"][:4] == ("t", "insert", 0, "c")


@pytest.mark.parametrize(
    "data", [{"$regex": "x"}, {"$close": 1}, {"$any": False}, {"$one_of": [{"$id": "n"}]}, [1]]
)
def test_the_json_schema_refuses_what_is_wrong(data: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, VALUE.json_schema())


def test_values_have_the_types_that_the_grader_looks_for() -> None:
    row = EXPECT.validate_python(
        {"t": {"insert": [{"a": {"$id": "n"}, "b": {"$blob": "00"}, "c": {"$close": 1, "abs": 2}}]}}
    )["t"].insert[0]
    assert row == {
        "a": IdMatcher(label="n"),
        "b": b"\x00",
        "c": CloseMatcher(target=1, tolerance=2),
    }
    assert VALUE.validate_python({"$one_of": [1, {"$pattern": "a"}]}) == OneOfMatcher(
        options=(1, PatternMatcher(pattern="a"))
    )
    assert VALUE.validate_python({"$json": {"$id": 1}}) == JsonMatcher(value={"$id": 1})


def test_integers_stay_exact() -> None:
    value = VALUE.validate_json(str(2**53 + 1))
    assert value == 2**53 + 1
    assert type(value) is int
    assert type(VALUE.validate_json("1.0")) is float


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({}, "leave the table out"),
        ({"insert": [{}]}, "at least 1 item"),
        ({"update": [{"key": {"id": 1}}]}, "Field required"),
        ({"update": [{"key": {"id": 1}, "set": {}}]}, "at least 1 item"),
        ({"update": [{"key": {"id": {"$id": "n"}}, "set": {"a": 1}}]}, "only a plain value"),
        ({"delete": [{}]}, r"name a deleted row by \{key"),
        ({"delete": [{"key": {"id": 1}, "row": {"id": 1}}]}, r"name a deleted row by \{key"),
        ({"delete": [{"row": {"id": {"$any": True}}}]}, "only a plain value"),
        ({"upsert": []}, "Extra inputs"),
        (
            {"update": [{"key": {"id": 1}, "set": {"a": 1}}, {"key": {"id": 1}, "set": {"b": 1}}]},
            "is named twice",
        ),
        (
            {"update": [{"key": {"id": 1}, "set": {"a": 1}}], "delete": [{"key": {"id": 1}}]},
            "is named twice",
        ),
    ],
)
def test_a_table_says_each_thing_once_and_says_something(data: Any, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        TableExpect.model_validate(data)


def test_edits_of_a_seed_take_plain_values_only() -> None:
    edits = TableEdits.model_validate(
        {
            "insert": [{"id": 1, "raw": {"$blob": "00"}}],
            "update": [{"key": {"id": 2}, "set": {"state": "lost"}}],
            "delete": [{"key": {"id": 3}}],
        }
    )
    assert edits.insert == ({"id": 1, "raw": b"\x00"},)
    assert edits.update[0].set == {"state": "lost"}
    assert edits.delete[0].key == {"id": 3}
    for bad in (
        {"insert": [{"id": {"$id": "n"}}]},
        {"update": [{"key": {"id": 1}, "set": {"a": {"$any": True}}}]},
        {"delete": [{"row": {"id": 1}}]},
        {},
    ):
        with pytest.raises(ValidationError):
            TableEdits.model_validate(bad)


def test_an_alternative_is_complete_in_itself() -> None:
    found = Alternative.model_validate(
        {"name": "on hold", "expect": {"t": {"delete": [{"key": {"id": 1}}]}}}
    )
    assert found.ignore == {}
    with pytest.raises(ValidationError, match="expect"):
        Alternative.model_validate({"name": "on hold"})


def test_what_was_read_cannot_be_changed() -> None:
    table = TableExpect.model_validate({"delete": [{"key": {"id": 1}}]})
    with pytest.raises(ValidationError, match="frozen"):
        table.insert = ()


def test_the_json_schema_of_a_whole_check_describes_the_matchers() -> None:
    schema = EXPECT.json_schema()
    text = json.dumps(schema)
    for mark in ("$id", "$any", "$not_null", "$one_of", "$pattern", "$close", "$decimal",
                 "$instant", "$json", "$nfc", "$rubric", "$blob"):  # fmt: skip
        assert f'"{mark}"' in text
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"t": {"insert": [{"a": {"$id": "n"}, "b": None}]}}, schema)


scalars = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary().map(lambda raw: {"$blob": raw.hex()})
)


@given(st.dictionaries(st.text(min_size=1), scalars, min_size=1))
def test_any_plain_row_survives(row: dict[str, Any]) -> None:
    table = TableExpect.model_validate({"insert": [row]})
    dumped = table.model_dump(mode="json", exclude_defaults=True)
    assert dumped == {"insert": [row]}
    assert TableExpect.model_validate_json(table.model_dump_json()) == table


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["$id", "$any", "$one_of", "$close", "abs", "$json", "$blob", "$x", "x"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@given(anything)
def test_nothing_written_in_a_check_breaks_its_reading(data: Any) -> None:
    try:
        value = VALUE.validate_python(data)
    except ValidationError:
        return  # refused, and with no other exception
    assert VALUE.validate_python(VALUE.dump_python(value, mode="json")) == value
