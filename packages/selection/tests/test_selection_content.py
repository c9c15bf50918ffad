"""Copies of a benchmark's tasks are found by what they say, and never selected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.selection import EmptyPoolError, InputError, Selection, TaskResult, curate
from outcomebox.selection.content import Content, content_of, read_contents
from outcomebox.selection.similar import jaccard, near_copies
from selection_rows import curation, result

unhurried = settings(deadline=None, max_examples=60)
texts = st.lists(st.sampled_from("abcd"), min_size=0, max_size=9).map(" ".join)
states = st.dictionaries(st.sampled_from("xyz"), st.integers(0, 2), max_size=3)
contents = st.builds(content_of, texts, states)
named = st.dictionaries(st.sampled_from([f"t{n}" for n in range(12)]), contents, max_size=12)
shares = st.sampled_from([0.3, 0.5, 0.8, 1.0])


@given(named, named, shares, st.sampled_from([0.0, 0.5, 1.0]))
@unhurried
def test_every_near_copy_is_found(
    tasks: dict[str, Content], others: dict[str, Content], least: float, state: float
) -> None:
    found = {(copy.uid, copy.of) for copy in near_copies(tasks, others, least, state)}
    expected = set()
    for uid, one in tasks.items():
        for name, other in others.items():
            alike = one.shingles and jaccard(one.shingles, other.shingles) >= least
            if one.facts and other.facts:
                alike = alike and jaccard(one.facts, other.facts) >= state
            if uid != name and alike:
                expected.add((uid, name))
    assert found == expected


def test_the_figures_of_a_near_copy_are_those_of_its_sets() -> None:
    one = content_of("please cancel the order for me now", {"orders": [{"id": 1}, {"id": 2}]})
    other = content_of("please cancel the order for me", {"orders": [{"id": 2}, {"id": 3}]})
    assert (len(one.shingles), len(other.shingles)) == (5, 4)
    (copy,) = near_copies({"a": one}, {"b": other}, 0.8, 0.3)
    assert copy.text == 0.8
    assert copy.state == pytest.approx(1 / 3)
    assert near_copies({"a": one}, {"b": other}, 0.81, 0.3) == []
    assert near_copies({"a": one}, {"b": other}, 0.8, 0.34) == []
    assert near_copies({"a": one}, {"b": content_of("please cancel the order for me")}, 0.8, 1.0)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Cancel  my\norder, please!", True),
        ("CANCEL MY ORDER PLEASE", True),
        ("\uff23ancel my order please", True),
        (["cancel my", {"b": "please", "a": "order"}], True),
        ("cancel our order please", False),
    ],
)
def test_what_does_not_matter_is_not_compared(text: Any, same: bool) -> None:
    assert (content_of(text) == content_of("cancel my order, please.")) is same


def test_the_order_of_rows_of_a_state_does_not_count() -> None:
    rows = [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bo"}]
    one, other = (content_of("x", {"users": {"insert": r}}) for r in (rows, rows[::-1]))
    assert one == other
    assert one != content_of("x", {"guests": {"insert": rows}})


def select(results: list[TaskResult], settings_: Any, **more: Any) -> Selection:
    try:
        return curate([r.task for r in results], results, settings_, **more)
    except EmptyPoolError as error:
        return error.selection


populations = st.lists(st.tuples(contents, st.sampled_from([0, 2, 4, 8])), min_size=1, max_size=10)


@given(populations, st.sets(st.integers(0, 9)), st.lists(contents, max_size=3), shares)
@unhurried
def test_no_near_copy_of_an_excluded_task_is_selected(
    tasks: list[tuple[Content, int]], excluded: set[int], more: list[Content], least: float
) -> None:
    known = {f"t{n}": content for n, (content, _) in enumerate(tasks)}
    protected = {f"bench{n}": content for n, content in enumerate(more)} | {"t0": tasks[0][0]}
    uids = {f"t{n}" for n in excluded}
    chosen = select(
        [result(f"t{n}", k, 8) for n, (_, k) in enumerate(tasks)],
        curation(exclude={"uids": sorted(uids), "similarity": least}),
        contents=known,
        protected=protected,
    )
    away = protected | {uid: known[uid] for uid in uids & known.keys()}
    for decision in chosen.kept:
        assert decision.uid not in away
        mine = {decision.uid: known[decision.uid]}
        assert not near_copies(mine, away, least, 0.5)
    for decision in chosen.decisions:
        if decision.reason == "near_copy":
            assert decision.near is not None
            assert decision.near.text >= least
            assert f"{decision.near.text:.2f}" in (decision.detail or "")


@given(populations, shares)
@unhurried
def test_of_near_copies_one_is_left(tasks: list[tuple[Content, int]], least: float) -> None:
    known = {f"t{n}": content for n, (content, _) in enumerate(tasks)}
    results = [result(f"t{n}", k, 8) for n, (_, k) in enumerate(tasks)]
    near = curation(gates={"duplicates": "near"}, exclude={"similarity": least})
    chosen = select(results, near, contents=known)
    left = {d.uid: known[d.uid] for d in chosen.decisions if d.reason != "duplicate"}
    assert near_copies(left, left, least, 0.5) == []
    for decision in chosen.decisions:
        if decision.reason == "duplicate":
            assert decision.near is not None
            assert decision.near.of in left
    backwards = select(results[::-1], near, contents=dict(reversed(known.items())))
    assert backwards.decisions == chosen.decisions


def test_contents_are_read_from_every_form_of_task_file(tmp_path: Path) -> None:
    (tmp_path / "native.yaml").write_text(
        "domain: retail\nfamily: returns\ntasks:\n"
        "  - uid: a\n    query: cancel my order please\n    init: {orders: {insert: [{id: 1}]}}\n"
        "  - uid: empty\n"
    )
    (tmp_path / "hydrated.jsonl").write_text(
        json.dumps({"uid": "b", "query": "cancel my order please", "init": {}}) + "\n"
    )
    (tmp_path / "list.jsonl").write_text(
        json.dumps({"uid": "c", "text": ["cancel my order please"], "state": None}) + "\n"
    )
    found = read_contents([tmp_path])
    assert sorted(found.by_uid) == ["a", "b", "c"]
    assert found.by_uid["b"] == found.by_uid["c"] == content_of("cancel my order please")
    assert found.by_uid["a"].facts
    assert [name for name, _ in found.files] == ["hydrated.jsonl", "list.jsonl", "native.yaml"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", '{"query": "x"}\n', "jsonl:1: uid: is null"),
        ("a.jsonl", "{\n", "jsonl:1: is not JSON"),
        ("a.yaml", "tasks: 3\n", "tasks: is no list of tasks"),
        ("a.jsonl", '{"uid": "a", "query": "x"}\n{"uid": "a", "query": "y"}\n', "stands twice"),
        ("absent.jsonl", None, "cannot be read"),
    ],
)
def test_a_task_file_that_tells_nothing_is_refused(
    tmp_path: Path, name: str, text: str | None, said: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=said):
        read_contents([tmp_path / name])
