"""The classes of two values that are not the same."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.interpret.replay.jsonvalues import read_arguments, same, written
from outcomebox.interpret.replay.values import argument_findings, value_cause

PAIRS = [
    # left, right, cause, whose doing
    ('"if x:"', '"  if x:\\n"', "white_space_stripped", "left"),
    ('" a"', '"a"', "white_space_stripped", "right"),
    ("null", '"null"', "null_for_string", "left"),
    ('"NULL"', "null", "null_for_string", "right"),
    ("null", '"text"', "null_or_value", "left"),
    ("7", "null", "null_or_value", "right"),
    ("true", "false", "boolean_flipped", "left"),
    ("false", "true", "boolean_flipped", "right"),
    ('"yes"', "false", "boolean_or_other", "right"),
    ("1", "true", "boolean_or_other", "right"),
    ("501", '"00501"', "number_or_text", "left"),
    ('"7"', "7", "number_or_text", "right"),
    ("9223372036854775807", "9223372036854775808", "number_rounded", "right"),
    ("9223372036854775807", "9.223372036854776e+18", "number_rounded", "right"),
    ("7.0", "7", "number_form", "left"),
    ("7", "8", "value_differs", None),
    ("Infinity", '"1e999"', "not_finite_number", "left"),
    ('"[1, 2]"', "[1, 2]", "structure_as_text", "left"),
    ('{"a": 1}', "\"{'a': 1}\"", "structure_as_text", "right"),
    ('"a "', '"a </parameter> b"', "value_cut", "left"),
    ('"a"', '"b"', "value_differs", None),
    ("[1, 2]", "[1]", "value_differs", None),
    # Inside lists and objects of one shape, the first values that differ decide.
    ('{"a": [true, " x"]}', '{"a": [true, "x"]}', "white_space_stripped", "right"),
    ('[1, {"b": null}]', '[1, {"b": "null"}]', "null_for_string", "left"),
]


def value(text: str) -> Any:
    found = read_arguments(f'{{"v": {text}}}')
    assert found is not None
    return found["v"]


@pytest.mark.parametrize(("left", "right", "cause", "by"), PAIRS)
def test_two_values_have_the_class_of_their_difference(
    left: str, right: str, cause: str, by: str | None
) -> None:
    assert value_cause(value(left), value(right)) == (cause, by)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.sampled_from(["null", " x", "x", "7", "true"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=6,
)


@given(JSON, JSON)
@settings(max_examples=200, deadline=None)
def test_the_classes_do_not_depend_on_who_stands_left(one: Any, other: Any) -> None:
    left, right = (value(json.dumps(each)) for each in (one, other))
    findings = list(argument_findings({"v": left}, {"v": right}, "calls[0]"))
    if same(left, right):
        assert findings == []
        return
    turned = {"left": "right", "right": "left", None: None}
    (finding,) = findings
    (mirrored,) = argument_findings({"v": right}, {"v": left}, "calls[0]")
    assert mirrored.cause == finding.cause
    assert mirrored.by == turned[finding.by]
    assert (mirrored.left, mirrored.right) == (finding.right, finding.left)
    assert finding.changes_call


def test_an_argument_that_one_leaves_out_is_told_with_its_value() -> None:
    (finding,) = argument_findings({"a": 1, "b": " x"}, {"a": 1}, "calls[2]")
    assert (finding.cause, finding.by) == ("argument_lost", "right")
    assert finding.where == "calls[2].arguments.b"
    assert (finding.left, finding.right) == ('" x"', None)


@pytest.mark.parametrize("wire", ["", "[1]", "{", '{"a": 1,}', "[" * 100_000, '"{}"'])
def test_what_is_no_json_object_has_no_arguments(wire: str) -> None:
    assert read_arguments(wire) is None


def test_numbers_keep_their_digits() -> None:
    digits = "1" * 5000
    found = read_arguments(f'{{"a": 0.1000, "b": {digits}, "c": 1e400, "d": [1.50, true]}}')
    assert found is not None
    assert found["a"] == Decimal("0.1000")
    assert written(found["a"]) == "0.1000"
    assert written(found["c"]) == "1E+400"
    assert len(str(found["b"])) >= 5000
    assert written(found["d"]) == "[1.50, true]"
    assert not same(1, True)
    assert not same(7, Decimal("7.0"))
    assert same(float("nan"), float("nan"))
