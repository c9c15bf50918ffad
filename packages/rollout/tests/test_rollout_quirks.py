"""Calls that the simulated policy writes in ways that parsers disagree about, when asked to."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.rollout import make_policy
from outcomebox.rollout.policies.quirks import quirk
from outcomebox.rollout.policies.slips import Step
from outcomebox.sandbox import InputError

SCHEMA: dict[str, Any] = {
    "properties": {
        "id": {"type": "string"},
        "body": {"type": "string"},
        "capture": {"type": "boolean"},
        "count": {"type": "integer"},
    }
}


@given(st.integers(0, 10_000))
@settings(max_examples=100, deadline=None)
def test_a_quirk_changes_one_value_as_its_name_says(seed: int) -> None:
    step = Step("f", {"id": "A-1", "body": "one\ntwo", "count": 3})
    kind, odd = quirk(step, SCHEMA, random.Random(seed))
    changed = {name for name in step.arguments if odd.arguments[name] != step.arguments[name]}
    assert (odd.tool, odd.kind) == ("f", "call")
    if kind == "draft":
        assert odd == step
        return
    (name,) = changed
    assert name in {"id", "body"}
    value = odd.arguments[name]
    if kind == "null":
        assert value == "null"
    else:
        assert kind == "indent"
        lines = step.arguments[name].split("\n")
        assert value.split("\n") == [f"  {line}" for line in lines]


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_a_true_flag_is_written_as_a_one(seed: int) -> None:
    step = Step("f", {"id": "A-1", "capture": True})
    kind, odd = quirk(step, SCHEMA, random.Random(seed))
    assert kind == "one"
    assert odd.arguments == {"id": "A-1", "capture": "1"}
    # False as 0 is read alike by all; so only a true flag has the quirk.
    assert quirk(Step("f", {"capture": False}), SCHEMA, random.Random(seed))[0] == "draft"


def test_the_option_is_a_chance_and_is_recorded_only_where_it_is_used() -> None:
    assert "quirks" not in make_policy("simulated").describe()
    assert make_policy("simulated", {"quirks": "0.25"}).describe()["quirks"] == 0.25
    for text in ("-0.1", "1.5", "nan", "some"):
        with pytest.raises(InputError, match="at most 1"):
            make_policy("simulated", {"quirks": text})
