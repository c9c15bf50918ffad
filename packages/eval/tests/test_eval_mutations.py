"""Scripted agents: what each policy does, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcomebox.eval import MutationError, Policy, parse_policy, variants

POLICIES = ["golden", "noop", "drop-last", "double-last", "drop:1", "double:12", "drop:each"]


@pytest.mark.parametrize("text", [*POLICIES, "double:each"])
def test_a_policy_reads_as_it_is_written(text: str) -> None:
    assert str(parse_policy(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", "gold", "drop", "drop:", "drop:0", "drop:-1", "drop:01", "double:last", "drop-each"],
)
def test_what_is_no_policy_is_named(text: str) -> None:
    with pytest.raises(MutationError, match="write one of golden, noop"):
        parse_policy(text)


def names(policy: str, golden: int, mutating: list[int]) -> list[tuple[str, tuple[int, ...]]]:
    """The trajectories of a policy."""
    found = variants(parse_policy(policy), golden, mutating)
    return [(variant.name, variant.calls) for variant in found]


def test_each_policy_makes_its_calls() -> None:
    assert names("golden", 3, []) == [("golden", (0, 1, 2))]
    assert names("noop", 3, [1]) == [("noop", ())]
    assert names("drop:1", 4, [1, 3]) == [("drop:1", (0, 2, 3))]
    assert names("drop-last", 4, [1, 3]) == [("drop:2", (0, 1, 2))]
    assert names("double:2", 4, [1, 3]) == [("double:2", (0, 1, 2, 3, 3))]
    assert names("double-last", 4, [1, 3]) == [("double:2", (0, 1, 2, 3, 3))]
    assert names("drop:each", 3, [0, 2]) == [("drop:1", (1, 2)), ("drop:2", (0, 1))]
    assert names("drop:3", 4, [1, 3]) == []
    assert names("drop-last", 4, []) == []
    assert names("double:each", 4, []) == []


@given(golden=st.integers(0, 12), data=st.data())
def test_a_mutation_differs_from_golden_in_one_mutating_call(
    golden: int, data: st.DataObject
) -> None:
    mutating = sorted(data.draw(st.sets(st.integers(0, golden - 1)))) if golden else []
    kind = data.draw(st.sampled_from(["drop", "double"]))
    found = list(variants(Policy("drop" if kind == "drop" else "double"), golden, mutating))
    assert len(found) == len(mutating)
    for variant, index in zip(found, mutating, strict=True):
        times = [variant.calls.count(number) for number in range(golden)]
        expected = [1] * golden
        expected[index] = 0 if kind == "drop" else 2
        assert times == expected
        assert list(variant.calls[: golden - 1]) == sorted(variant.calls[: golden - 1])
