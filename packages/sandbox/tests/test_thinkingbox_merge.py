"""Merging a task's init into its scenario's world state: facts that hold for all values."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.sandbox.thinkingbox import merge
from outcomebox.sandbox.thinkingbox.merge import merge_servers

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2)
KEYS = st.sampled_from("xyz")
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
MAPPINGS = st.dictionaries(KEYS, VALUES, max_size=3)


def _object(x: Any, y: Any) -> Any:
    return st.fixed_dictionaries({}, optional={"x": x, "y": y})


# Three values of one shape: where they meet they are alike, or all are scalars.
SHAPED: st.SearchStrategy[Any] = st.recursive(
    st.just(SCALARS) | st.just(st.lists(SCALARS, max_size=2)),
    lambda inner: st.builds(_object, inner, inner),
    max_leaves=4,
).flatmap(lambda shape: st.tuples(shape, shape, shape))

quick = settings(max_examples=100, deadline=None)


def containers(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value, *(inner for item in value.values() for inner in containers(item))]
    if isinstance(value, list):
        return [value, *(inner for item in value for inner in containers(item))]
    return []


@pytest.mark.parametrize(
    ("a", "b", "merged"),
    [
        (
            {"desk": {"open": True}, "owner": "Kim"},
            {"desk": {"floor": 4}, "limit": None},
            {"desk": {"open": True, "floor": 4}, "owner": "Kim", "limit": None},
        ),
        ({"x": [1]}, {"x": [2, 1]}, {"x": [1, 2, 1]}),
        ({"x": {"a": 1}}, {"x": 5}, {"x": 5}),
        ({"x": [1]}, {"x": {"a": 1}}, {"x": {"a": 1}}),
        ({"x": {"a": 1}}, {"x": None}, {"x": None}),
        ({"x": None}, {"x": {"a": 1}}, {"x": {"a": 1}}),
        ([1], [2], [1, 2]),
        ([1], "b", "b"),
    ],
)
def test_the_rule(a: Any, b: Any, merged: Any) -> None:
    assert merge(a, b) == merged


@quick
@given(VALUES, VALUES)
def test_neither_side_is_changed(a: Any, b: Any) -> None:
    before = copy.deepcopy((a, b))
    merge(a, b)
    assert (a, b) == before


@quick
@given(MAPPINGS, MAPPINGS)
def test_what_was_merged_is_a_new_container(a: dict[str, Any], b: dict[str, Any]) -> None:
    merged = merge(a, b)
    assert merged is not a
    assert merged is not b
    for key in a.keys() & b.keys():
        if isinstance(a[key], dict) and isinstance(b[key], dict):
            assert merged[key] is not a[key]
            assert merged[key] is not b[key]
        if isinstance(a[key], list) and isinstance(b[key], list):
            merged[key].append("new")
            assert "new" not in a[key] + b[key]


@quick
@given(MAPPINGS, MAPPINGS)
def test_keys_of_both_in_order_and_the_second_wins(a: dict[str, Any], b: dict[str, Any]) -> None:
    merged = merge(a, b)
    assert list(merged) == [*a, *(key for key in b if key not in a)]
    for key, value in merged.items():
        if key not in b:
            assert value == a[key]
        elif key not in a or type(a[key]) is not type(b[key]) or not containers(b[key]):
            assert value == b[key]
        else:
            assert value == merge(a[key], b[key])


@quick
@given(MAPPINGS)
def test_nothing_is_neutral(a: dict[str, Any]) -> None:
    assert merge(a, {}) == a
    assert merge({}, a) == a


@quick
@given(SHAPED)
def test_associative_where_the_shapes_agree(values: tuple[Any, Any, Any]) -> None:
    a, b, c = values
    assert merge(merge(a, b), c) == merge(a, merge(b, c))


def test_not_associative_where_a_scalar_comes_between() -> None:
    # Said here because someone will want to merge init blocks before they meet the scenario.
    a, b, c = {"x": {"k": 1}}, {"x": 0}, {"x": {"l": 2}}
    assert merge(merge(a, b), c) == {"x": {"l": 2}}
    assert merge(a, merge(b, c)) == {"x": {"k": 1, "l": 2}}


@quick
@given(MAPPINGS, MAPPINGS)
def test_merging_twice_changes_only_lists(a: dict[str, Any], b: dict[str, Any]) -> None:
    once = merge(a, b)
    twice = merge(once, b)
    if any(isinstance(inner, list) for inner in containers(b)):
        assert list(twice) == list(once)
    else:
        assert twice == once


@quick
@given(MAPPINGS, st.dictionaries(KEYS, MAPPINGS, max_size=3))
def test_servers_keep_the_scenarios_order(
    world_state: dict[str, Any], init: dict[str, dict[str, Any]]
) -> None:
    bad = [k for k in init if world_state.get(k) and not isinstance(world_state[k], dict)]
    if bad:
        with pytest.raises(ValueError, match=rf"init\.({'|'.join(bad)}): .* make it a mapping"):
            merge_servers(world_state, init)
        return
    servers = merge_servers(world_state, init)
    assert list(servers) == [*world_state, *(key for key in init if key not in world_state)]
    for key, own in init.items():
        given_one = world_state.get(key)
        assert servers[key] == (merge(given_one, own) if given_one else own)


@pytest.mark.parametrize("empty", [None, {}, [], "", 0, False])
def test_an_empty_value_of_the_scenario_is_replaced(empty: Any) -> None:
    assert merge_servers({"mail": empty}, {"mail": {"a": 1}}) == {"mail": {"a": 1}}
