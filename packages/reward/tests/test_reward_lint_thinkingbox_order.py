"""Which calls need which answers, which may change places, and whose ids they are given then."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.reward.lint_thinkingbox.moments import other_moment
from outcomebox.reward.lint_thinkingbox.order import Told
from outcomebox.reward.thinkingbox.replaying import Answer
from outcomebox.sandbox.thinkingbox import ThinkingBoxTask


def told(calls: Sequence[tuple[dict[str, Any], Any]], query: str = "Please.") -> Told:
    """Golden calls with these arguments and answers."""
    golden = [{"tool": f"t{n}", "parameters": given} for n, (given, _) in enumerate(calls)]
    task = ThinkingBoxTask.model_validate(
        {
            "uid": "x.py:x",
            "agent": {"system_instructions": "", "builtin_tools": []},
            "scenario": {"world_state": {"s": {}}, "tools": []},
            "query": query,
            "test_code": "__tb_test_fn = None",
            "init": {"s": {"golden_test_case": {"tool_interactions": golden}}},
        }
    )
    return Told(task, [Answer(json.dumps(answer), is_error=False) for _, answer in calls])


def test_a_value_is_news_in_the_answer_in_which_it_first_appears() -> None:
    found = told(
        [
            ({"who": "ann"}, {"id": "A-1", "who": "ann", "size": 3, "ok": True, "none": None}),
            ({"of": "A-1"}, {"id": "A-1", "more": ["B-2", ""]}),
            ({}, {"id": "Q-7", "text": "about B-2"}),
        ],
        query="I am the one of Q-7.",
    )
    assert [set(each) for each in found.news] == [{"A-1", 3}, {"B-2"}, {"about B-2"}]
    assert found.needs(1, 0)
    assert not found.needs(2, 0)
    assert found.from_answers == {"A-1", 3, "B-2", "about B-2"}


def test_an_id_within_a_text_is_needed_too() -> None:
    found = told([({}, {"id": "A-1"}), ({"note": "this is about A-1, as said"}, {})])
    assert found.needs(1, 0)


def orders(found: Told, mutating: Sequence[int]) -> list[tuple[int, ...] | None]:
    """The orders of the pairs, None for those that need each other."""
    pairs = found.reorderings(mutating)
    return [None if made is None else made.order for _, _, made in pairs]


def test_two_calls_change_places_as_far_as_answers_allow() -> None:
    free: list[tuple[dict[str, Any], Any]] = [({}, {"id": f"N-{n}"}) for n in range(4)]
    assert orders(told(free), [0, 1, 3]) == [(1, 0, 2, 3), (0, 2, 3, 1)]
    # The call between needs the first one's answer: the second goes before it then.
    between = [*free[:2], ({"of": "N-1"}, {}), free[3]]
    assert orders(told(between), [1, 3]) == [(0, 3, 1, 2)]
    # Nothing can move: the second needs what is between, which needs the first.
    chain = [*free[:2], ({"of": "N-1"}, {"got": "M-1"}), ({"of": "M-1"}, {})]
    assert orders(told(chain), [1, 3]) == [None]
    assert orders(told([free[0], ({"of": "N-0"}, {})]), [0, 1]) == [None]
    assert orders(told(free), [2]) == []


def test_later_calls_are_given_the_ids_that_they_get_now() -> None:
    found = told(
        [
            ({"for": "one"}, {"made": {"id": "N-1"}, "left": 9}),
            ({"for": "two"}, {"made": {"id": "N-2"}, "left": 8}),
            ({"of": ["N-2"], "note": "see N-2 and N-1", "left": 9, "yes": True}, {}),
        ]
    )
    order = (1, 0, 2)
    adapt = found.adapted(order)
    first = Answer(json.dumps({"made": {"id": "N-1"}, "left": 9}), is_error=False)
    second = Answer(json.dumps({"made": {"id": "N-2"}, "left": 8}), is_error=False)
    assert adapt(0, []) == found.task.golden[1]
    assert adapt(1, [first]) == found.task.golden[0]
    call = adapt(2, [first, second])
    assert call.arguments == {"of": ["N-1"], "note": "see N-1 and N-2", "left": 8, "yes": True}
    assert found.task.golden[2].arguments["of"] == ["N-2"]  # the task is as it was


def test_the_other_moment_is_where_the_data_stand() -> None:
    dated: list[tuple[dict[str, Any], Any]] = [
        ({"on": f"2025-0{month}-10", "note": "since 1999-01-01"}, {}) for month in (3, 4, 9)
    ]
    task = told(dated).task
    assert other_moment([task], "2030-01-01T00:00:00+00:00") == "2025-04-10T00:00:00+00:00"
    # Too near to tell another story.
    assert other_moment([task], "2025-04-01T00:00:00Z") == "2026-05-06T05:07:11+00:00"
    bare = told([({"on": "2025-13-41"}, {})]).task
    assert other_moment([bare], "2025-04-01T00:00:00Z") == "2026-05-06T05:07:11+00:00"


def test_in_the_golden_order_nothing_is_changed() -> None:
    found = told([({}, {"id": "N-1"}), ({"of": "N-1"}, "done with N-1")])
    adapt = found.adapted((0, 1))
    assert [adapt(n, found.answers[:n]) for n in range(2)] == [*found.task.golden]


@given(st.integers(0, 7), st.data())
@settings(max_examples=100, deadline=None)
def test_a_reordering_makes_every_call_once_and_none_before_its_need(
    count: int, data: st.DataObject
) -> None:
    calls: list[tuple[dict[str, Any], Any]] = []
    needs: list[set[int]] = []
    for number in range(count):
        wanted = data.draw(st.sets(st.integers(0, number - 1), max_size=2)) if number else set()
        calls.append(({"of": [f"N-{n}" for n in sorted(wanted)]}, {"id": f"N-{number}"}))
        needs.append(wanted)
    found = told(calls)
    mutating = sorted(data.draw(st.sets(st.integers(0, count - 1)))) if count else []
    pairs = [*found.reorderings(mutating)]
    assert [(first, second) for first, second, _ in pairs] == [*pairwise(mutating)]
    for first, second, made in pairs:
        if made is None:
            continue
        place = {index: at for at, index in enumerate(made.order)}
        assert sorted(made.order) == [*range(count)]
        assert place[second] < place[first]
        for index, wanted in enumerate(needs):
            assert all(place[earlier] < place[index] for earlier in wanted)
