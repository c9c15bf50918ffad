from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcomebox.sandbox import InputError
from outcomebox.train.errors import BatchUnfilled, TrainError
from outcomebox.train.groups.asked import check_asked, drops_uniform
from outcomebox.train.groups.faults import fault_key, faults_of, keys_of
from outcomebox.train.groups.judging import UNREPORTED, Attempt, Fault, Kind, judge
from outcomebox.train.groups.ledger import Ledger, StepGroups
from train_groups import attempt, group

WORDS = st.text("01E-", min_size=4, max_size=4)


def ledger(places: int = 2, **changes: Any) -> Ledger:
    bounds = {"max_rounds": 4, "max_dropped": 8, "drop_uniform": True, **changes}
    return Ledger(places, **bounds)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("1010", Kind.USEFUL),
        ("0001", Kind.USEFUL),
        ("1111", Kind.ALL_PASS),
        ("0000", Kind.ALL_FAIL),
        ("101E", Kind.SYSTEM_ERROR),
        ("EEEE", Kind.SYSTEM_ERROR),
        ("10-1", Kind.SYSTEM_ERROR),
        ("----", Kind.SYSTEM_ERROR),
    ],
)
def test_a_group_is_judged_by_all_its_attempts(word: str, kind: Kind) -> None:
    assert group(word).kind is kind


def test_an_attempt_that_nobody_reported_is_a_system_error_too() -> None:
    judged = group("1-0E")
    assert [(each.session, each.phase) for each in judged.faults] == [(1, UNREPORTED), (3, "tool")]


def test_a_group_that_verl_calls_failed_is_never_whole() -> None:
    attempts = [attempt(at, at == 0) for at in range(2)]
    judged = judge("g", size=2, attempts=attempts, faults=[], failed=True)
    assert judged.kind is Kind.SYSTEM_ERROR
    assert judged.faults


@pytest.mark.parametrize("sessions", [(0, 0), (0, 2), (-1, 0), (0, 1, 1)])
def test_attempts_that_cannot_be_are_refused(sessions: tuple[int, ...]) -> None:
    with pytest.raises(TrainError, match="not each of 0 to 1 once"):
        judge("g", size=2, attempts=[attempt(s, True) for s in sessions], faults=[], failed=False)


@pytest.mark.parametrize("score", [0.5, -1.0, 2.0, float("nan")])
def test_a_reward_that_is_no_verdict_is_refused(score: float) -> None:
    with pytest.raises(TrainError, match="1 or 0"):
        judge("g", size=1, attempts=[Attempt(0, score)], faults=[], failed=False)


@given(WORDS, st.randoms())
def test_the_order_of_attempts_does_not_matter(word: str, shuffled: random.Random) -> None:
    want = group(word)
    attempts, faults = list(want.attempts), list(want.faults)
    shuffled.shuffle(attempts)
    shuffled.shuffle(faults)
    assert judge("g", size=4, attempts=attempts, faults=faults, failed="E" in word) == want


def test_notes_are_found_by_group_and_attempt() -> None:
    note = {"phase": "open", "kind": "K", "message": "m", "task": "t"}
    notes = {fault_key("a-b", 3): note, fault_key("a-b", 10): note, fault_key("c", 0): note}
    notes[fault_key("a-bc", 1)] = notes[fault_key("cc", 1)] = note
    assert faults_of("a-b", notes) == [
        Fault(3, "open", "K", "m", "t"),
        Fault(10, "open", "K", "m", "t"),
    ]
    assert keys_of(["c"], notes) == ["c_0"]


def test_the_first_groups_fill_the_batch() -> None:
    books = ledger()
    books.see(["a", "b"])
    assert books.settle(group("10", "a"))
    assert not books.full
    assert books.settle(group("01", "b"))
    assert books.refill() == 0
    assert books.full
    closed = books.close()
    assert [each.uid for each in closed.kept] == ["a", "b"]
    assert closed.rounds == 1


@pytest.mark.parametrize("word", ["11", "00", "1E", "--"])
def test_a_group_that_is_of_no_use_is_asked_for_again(word: str) -> None:
    books = ledger()
    books.see(["a", "b"])
    assert not books.settle(group(word, "a"))
    assert books.refill() == 1
    assert books.refill() == 0, "it was asked for already"
    books.see(["a2", "b"])
    for uid in ("a2", "b"):
        books.settle(group("10", uid))
    closed = books.close()
    assert [each.uid for each in closed.kept] == ["a2", "b"]
    assert [each.uid for each in closed.dropped] == ["a"]
    assert closed.rounds == 2


@pytest.mark.parametrize("word", ["11", "00"])
def test_without_filtering_a_uniform_group_is_kept(word: str) -> None:
    books = ledger(1, drop_uniform=False)
    books.see(["a"])
    assert books.settle(group(word, "a"))
    assert books.full


def test_without_filtering_a_broken_group_is_still_run_again() -> None:
    books = ledger(1, drop_uniform=False)
    books.see(["a"])
    assert not books.settle(group("1E", "a"))
    assert books.refill() == 1


def test_rounds_are_counted_for_each_place() -> None:
    books = ledger(2, max_rounds=2)
    books.see(["a", "b"])
    for uid in ("a", "b"):
        books.settle(group("11", uid))
    assert books.refill() == 2
    books.see(["c", "d"])
    books.settle(group("10", "c"))
    books.settle(group("00", "d"))
    with pytest.raises(BatchUnfilled) as stopped:
        books.refill()
    assert stopped.value.counts == {"all_pass": 2, "all_fail": 1}
    message = str(stopped.value)
    assert "kept 1 of 2 groups within refill.max_rounds 2" in message
    assert "select anew" in message


def test_what_may_be_thrown_away_is_bounded() -> None:
    books = ledger(3, max_dropped=1, max_rounds=9)
    books.see(["a", "b", "c"])
    books.settle(group("11", "a"))
    assert books.refill() == 1
    books.settle(group("00", "b"))
    with pytest.raises(BatchUnfilled, match=r"all_fail 1, all_pass 1.*max_wasted_groups 1"):
        books.refill()


def test_a_batch_that_infrastructure_keeps_short_says_what_failed() -> None:
    books = ledger(1, max_dropped=0)
    books.see(["a"])
    books.settle(group("1E0E", "a", phase="open"))
    with pytest.raises(BatchUnfilled) as stopped:
        books.refill()
    assert stopped.value.counts == {"system_error in open": 1}
    assert "mend what failed (ToolServerDied: it died)" in str(stopped.value)


def test_a_batch_whose_attempts_vanish_says_where_to_look() -> None:
    books = ledger(1, max_dropped=0)
    books.see(["a"])
    books.settle(group("1-", "a"))
    with pytest.raises(BatchUnfilled, match=r"unreported 1.*the log of the agent loop"):
        books.refill()


def test_a_group_that_was_not_asked_for_is_refused() -> None:
    books = ledger(1)
    with pytest.raises(TrainError, match="was not asked for"):
        books.see(["a", "b"])
    with pytest.raises(TrainError, match="was not under way"):
        books.settle(group("10", "z"))


def test_a_batch_that_is_not_full_is_not_given_out() -> None:
    books = ledger(2)
    books.see(["a", "b"])
    books.settle(group("10", "a"))
    with pytest.raises(TrainError, match="1 of 2"):
        books.close()


@given(
    st.integers(1, 5),
    st.lists(WORDS, max_size=40),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_whatever_comes_a_batch_is_whole_or_the_step_stops(
    places: int, words: list[str], filtering: bool, chance: random.Random
) -> None:
    """Groups end in any order; groups kept and groups under way fill the batch at each moment."""
    books = ledger(places, max_rounds=6, max_dropped=10, drop_uniform=filtering)
    coming = iter([*words, *(["1010"] * 60)])
    under_way = {f"g{number}": next(coming) for number in range(places)}
    asked, kept, dropped = places, Counter[Kind](), Counter[Kind]()
    stopped: BatchUnfilled | None = None
    while not books.full and stopped is None:
        books.see(under_way)
        uid = chance.choice(sorted(under_way))
        ended = group(under_way.pop(uid), uid)
        (kept if books.settle(ended) else dropped)[ended.kind] += 1
        try:
            more = books.refill()
        except BatchUnfilled as reason:
            stopped = reason
        else:
            under_way |= {f"g{asked + number}": next(coming) for number in range(more)}
            asked += more
            assert kept.total() + len(under_way) == places
    if stopped is not None:
        # Eleven groups thrown away, or six in one place.
        assert dropped.total() >= 6
        for kind in (Kind.ALL_PASS, Kind.ALL_FAIL):
            assert stopped.counts.get(kind, 0) == dropped[kind]
        return
    closed: StepGroups = books.close()
    assert len(closed.kept) == places
    assert all(len(each.attempts) == 4 and not each.faults for each in closed.kept)
    assert Counter(each.kind for each in closed.kept) == kept
    assert Counter(each.kind for each in closed.dropped) == dropped
    assert asked == places + dropped.total() == len(closed.tried)
    if filtering:
        assert set(kept) <= {Kind.USEFUL}
        assert dropped.keys() >= {each.kind for each in closed.dropped}


def config(**changes: Any) -> Any:
    values = {
        "train_batch_size": 2,
        "n": 4,
        "sync_refill_failed_groups": True,
        "path": None,
        "enable": True,
        **changes,
    }
    sampler = {
        "sync_refill_failed_groups": values["sync_refill_failed_groups"],
        "custom_sampler": {"path": values["path"]},
    }
    return SimpleNamespace(
        data=SimpleNamespace(train_batch_size=values["train_batch_size"]),
        actor_rollout_ref=SimpleNamespace(rollout=SimpleNamespace(n=values["n"])),
        trainer=SimpleNamespace(v1=SimpleNamespace(sampler=sampler)),
        algorithm={"filter_groups": {"enable": values["enable"]}},
    )


SETTINGS: Any = SimpleNamespace(groups_per_step=2, group_size=4)


def test_a_configuration_that_agrees_is_taken() -> None:
    check_asked(config(), SETTINGS)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"train_batch_size": 3}, "data.train_batch_size"),
        ({"n": 8}, "actor_rollout_ref.rollout.n"),
        ({"sync_refill_failed_groups": False}, "trainer.v1.sampler.sync_refill_failed_groups"),
        ({"path": "mine.py"}, "trainer.v1.sampler.custom_sampler.path"),
    ],
)
def test_one_that_does_not_is_refused_by_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError, match=f"^{field}: must be .*found"):
        check_asked(config(**changes), SETTINGS)


def test_filtering_is_verls_own_switch() -> None:
    assert drops_uniform(config())
    assert not drops_uniform(config(enable=False))
    assert not drops_uniform(SimpleNamespace(algorithm={}))
