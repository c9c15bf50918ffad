"""What each matcher accepts; and that no stored value breaks one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from outcomebox.reward import accepts
from outcomebox.reward.matchers import same_json
from outcomebox.sandbox.valuespec import ValueSpec

READ: TypeAdapter[Any] = TypeAdapter(ValueSpec)

ACCEPTED: list[tuple[Any, Any, bool]] = [
    # scalars: storage class and value
    (1, 1, True),
    (1, 1.0, True),
    (0, -0.0, True),
    (2**53 + 1, 2.0**53, False),
    (2**53, 2.0**53, True),
    (1, "1", False),
    ("1", 1, False),
    (None, None, True),
    (None, 0, False),
    (None, "", False),
    (0, None, False),
    ("caf\u00e9", "cafe\u0301", False),
    ("a", "A", False),
    ("pre", "pre\0post", False),
    ({"$blob": "61"}, b"a", True),
    ({"$blob": "61"}, "a", False),
    ("a", b"a", False),
    # as named
    ({"$any": True}, None, True),
    ({"$any": True}, b"", True),
    ({"$not_null": True}, None, False),
    ({"$not_null": True}, 0, True),
    ({"$id": "n"}, 5, True),
    ({"$id": "n"}, None, False),
    ({"$rubric": "?"}, "text", True),
    ({"$rubric": "?"}, None, False),
    ({"$rubric": "?"}, 5, False),
    ({"$one_of": [1, "a", None]}, 1.0, True),
    ({"$one_of": [1, "a", None]}, None, True),
    ({"$one_of": [1, "a"]}, None, False),
    ({"$one_of": [{"$pattern": "b+"}, 1]}, "bbb", True),
    # the whole text; dot matches newline
    ({"$pattern": "0*482"}, "000000482", True),
    ({"$pattern": "0*482"}, "482 ", False),
    ({"$pattern": "0*482"}, "482\n", False),
    ({"$pattern": "0*482"}, 482, False),
    ({"$pattern": "a.b"}, "a\nb", True),
    ({"$pattern": "a|ab"}, "ab", True),
    ({"$pattern": ".*"}, None, False),
    ({"$pattern": ".*"}, b"a", False),
    # numbers within an absolute distance, reckoned in decimal
    ({"$close": 0.3, "abs": 1e-9}, 0.1 + 0.2, True),
    ({"$close": 41.28, "abs": 0.005}, 41.283516, True),
    ({"$close": 41.28, "abs": 0.005}, 41.286, False),
    ({"$close": 1.0, "abs": 0.1}, 1.1, True),
    ({"$close": 1, "abs": 0.1}, 1.1000001, False),
    ({"$close": 0, "abs": 0}, 0.0, True),
    ({"$close": 2**53 + 1, "abs": 0}, 2.0**53, False),
    ({"$close": 0, "abs": 1}, None, False),
    ({"$close": 0, "abs": 1}, "0", False),
    ({"$close": 0, "abs": 1}, float("inf"), False),
    # decimal text
    ({"$decimal": "7.50"}, "7.5", True),
    ({"$decimal": "7.50"}, "+07.500", True),
    ({"$decimal": "7.50"}, "75e-1", True),
    ({"$decimal": "7.50"}, "7.51", False),
    ({"$decimal": "7.50"}, 7.5, False),
    ({"$decimal": "7.50"}, " 7.5", False),
    ({"$decimal": "1000"}, "1_000", False),
    ({"$decimal": "7.50"}, "NaN", False),
    ({"$decimal": "7"}, "\u0667", False),
    ({"$decimal": "0.1"}, "0.1000000000000000055511151231257827", False),
    ({"$decimal": "1"}, "1e999999999999999999999", False),
    # moments
    ({"$instant": "2024-08-02T07:15:00Z"}, "2024-08-02T08:15:00+01:00", True),
    ({"$instant": "2024-08-02T07:15:00Z"}, "2024-08-02 07:15", True),
    ({"$instant": "2024-08-02T07:15:00Z"}, "2024-08-02T07:15:01Z", False),
    ({"$instant": "2024-08-02T07:15:00Z"}, 1722582900, False),
    ({"$instant": "2024-08-02"}, "2024-08-02T00:00:00Z", True),
    ({"$instant": "0001-01-01"}, "0001-01-01T00:00:00+23:59", False),
    # JSON text
    ({"$json": {"b": [1, True], "a": None}}, '{"a": null, "b": [1.0, true]}', True),
    ({"$json": [1, 2]}, "[2, 1]", False),
    ({"$json": True}, "1", False),
    ({"$json": 1}, "true", False),
    ({"$json": {}}, "[]", False),
    ({"$json": {"a": 1}}, '{"a": 1, "b": 2}', False),
    ({"$json": {"a": 2}}, '{"a": 1, "a": 2}', False),
    ({"$json": "x"}, '"x"', True),
    ({"$json": "x"}, "x", False),
    ({"$json": 2**53 + 1}, str(2**53), False),
    ({"$json": 1}, 1, False),
    ({"$json": None}, "null", True),
    ({"$json": None}, None, False),
    ({"$json": None}, "NaN", False),
    ({"$json": []}, "[" * 100_000, False),
    ({"$json": 1}, "9" * 10_000, False),
    # normalized text
    ({"$nfc": "caf\u00e9"}, "cafe\u0301", True),
    ({"$nfc": "cafe\u0301"}, "caf\u00e9", True),
    ({"$nfc": "cafe"}, "caf\u00e9", False),
    ({"$nfc": "\ufb01"}, "fi", False),
    ({"$nfc": "1"}, 1, False),
]


@pytest.mark.parametrize(
    ("spec", "value", "fits"),
    ACCEPTED,
    ids=[f"{spec}-{str(value)[:30]!a}" for spec, value, _ in ACCEPTED],
)
def test_accepts(spec: Any, value: Any, fits: bool) -> None:
    assert accepts(READ.validate_python(spec), value) is fits


stored = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape"))
    | st.from_regex(r"[+-]?[0-9]{0,4}\.?[0-9]{0,4}([eE][+-]?[0-9]{1,6})?", fullmatch=True)
    | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{0,12}([+-][0-9:]{2,5})?", fullmatch=True)
    | st.recursive(st.none() | st.integers() | st.text(max_size=3), st.lists).map(json.dumps)
)
SPECS = [
    READ.validate_python(spec)
    for spec in (
        1,
        None,
        "a",
        {"$any": True},
        {"$not_null": True},
        {"$id": "n"},
        {"$one_of": [1, {"$pattern": "a*"}]},
        {"$pattern": "(a|b)*.?"},
        {"$close": 0.5, "abs": 10},
        {"$decimal": "7.50"},
        {"$instant": "2024-08-02T07:15:00Z"},
        {"$json": [1, {"a": None}]},
        {"$nfc": "caf\u00e9"},
        {"$rubric": "?"},
    )
]


@given(st.sampled_from(SPECS), stored)
def test_no_stored_value_breaks_a_matcher(spec: Any, value: Any) -> None:
    assert accepts(spec, value) in (True, False)


@given(stored)
def test_a_scalar_accepts_itself(value: Any) -> None:
    assert accepts(value, value)


jsons = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, 0.5])
    | st.text("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
    max_leaves=8,
)


@given(jsons, jsons)
def test_json_is_compared_like_its_canonical_text(a: Any, b: Any) -> None:
    def canonical(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ",".join(f"{k!r}:{canonical(value[k])}" for k in sorted(value)) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(canonical, value)) + "]"
        if isinstance(value, bool) or value is None:
            return str(value)
        return repr(float(value)) if isinstance(value, (int, float)) else repr(value)

    assert same_json(a, b) is (canonical(a) == canonical(b))
    assert same_json(a, json.loads(json.dumps(a)))
