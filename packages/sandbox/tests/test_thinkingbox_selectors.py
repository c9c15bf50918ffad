"""Which tasks selectors name: order, repetition, folders, lists, and what ``skip`` does."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.sandbox import InputError
from outcomebox.sandbox.thinkingbox import dump_jsonl, load_thinkingbox

SMALL = Path(__file__).parent / "thinkingbox_small"
BASIC = "loans_basic.py"
# In the order of a sorted walk; closed_day and on_hold are tagged to be skipped.
ALL = [
    "desk.py:greet",
    "fees.yaml:pay",
    "fees.yaml:waive",
    f"{BASIC}:lend_one",
    f"{BASIC}:lend_politely",
    f"{BASIC}:renew",
]
SELECTORS = [
    "desk.py:greet",
    "desk.py",
    "loans",
    "loans/late",
    "loans/late/fees.yaml",
    "loans/late/fees.yaml:pay",
    f"{BASIC}:lend_one",
    f"{BASIC}:on_hold",
    f"{BASIC}:closed_day",
    f"loans/{BASIC}",
    BASIC,
    str(SMALL / "short_list.yaml"),
    str(SMALL / "test_case"),
]


def uids(selectors: Sequence[str] | None, list_file: Path | None = None) -> list[str]:
    return [task.uid for task in load_thinkingbox(SMALL, selectors, list_file=list_file)]


def test_everything_is_loaded_in_sorted_order() -> None:
    assert uids(None) == uids([str(SMALL / "test_case")]) == ALL


def test_meta_files_and_conftests_are_no_test_files() -> None:
    assert uids(["loans/late"]) == ["fees.yaml:pay", "fees.yaml:waive"]


def test_a_file_gives_its_tests_in_its_order_without_the_skipped() -> None:
    assert uids([BASIC]) == [f"{BASIC}:{name}" for name in ("lend_one", "lend_politely", "renew")]


@pytest.mark.parametrize("name", ["on_hold", "closed_day"])
def test_a_skipped_task_is_there_where_it_is_asked_for_by_name(name: str) -> None:
    (task,) = load_thinkingbox(SMALL, [f"{BASIC}:{name}"])
    assert task.tags.skip
    assert task.uid in uids([BASIC, f"{BASIC}:{name}"])
    assert task.uid in uids([f"{BASIC}:{name}", BASIC])


def test_a_list_file_keeps_its_order() -> None:
    wanted = [f"{BASIC}:lend_politely", "desk.py:greet", f"{BASIC}:lend_one"]
    assert uids(None, SMALL / "short_list.yaml") == wanted
    assert uids([str(SMALL / "short_list.yaml")]) == wanted
    assert uids([f"{BASIC}:lend_one"], SMALL / "short_list.yaml") == [wanted[2], *wanted[:2]]


def test_selecting_nothing_gives_nothing() -> None:
    assert load_thinkingbox(SMALL, []) == ()


def test_a_path_may_be_relative_to_where_we_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SMALL / "test_case/loans")
    assert uids(["late/fees.yaml"]) == ["fees.yaml:pay", "fees.yaml:waive"]
    assert uids(["late/fees.yaml:pay"]) == ["fees.yaml:pay"]


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    for folder in ("agent", "scenario"):
        (tmp_path / folder).symlink_to(SMALL / folder)
    (tmp_path / "test_case").mkdir()
    (tmp_path / "test_case/desk.py").write_bytes((SMALL / "test_case/desk.py").read_bytes())
    (tmp_path / "test_case/loans").symlink_to(SMALL / "test_case/loans")
    assert [task.uid for task in load_thinkingbox(tmp_path)] == ["desk.py:greet"]


def test_hydrated_rows_are_selected_like_a_file(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(dump_jsonl(load_thinkingbox(SMALL, [f"{BASIC}:on_hold", "desk.py:greet"])))
    # They were chosen before: what is tagged to be skipped stays.
    assert uids([str(rows)]) == [f"{BASIC}:on_hold", "desk.py:greet"]
    assert uids([f"{BASIC}:renew", str(rows)])[0] == f"{BASIC}:renew"
    with pytest.raises(InputError, match=r"rows\.jsonl too; select one of the two"):
        uids([str(rows), "desk.py"])


picked = st.lists(st.sampled_from(SELECTORS), min_size=1, max_size=5)


def expected(selectors: Sequence[str]) -> list[str]:
    """The uids of each selector alone, in order, each once."""
    return list(dict.fromkeys(uid for selector in selectors for uid in alone(selector)))


@cache
def alone(selector: str) -> list[str]:
    return uids([selector])


@settings(max_examples=40, deadline=None)
@given(picked)
def test_selectors_together_give_what_each_gives_alone(selectors: list[str]) -> None:
    found = uids(selectors)
    assert set(found) == set(expected(selectors))
    assert len(found) == len(set(found))
    by_name = [uid for uid in found if uid.endswith(("on_hold", "closed_day"))]
    # A skipped task keeps its place in a file that is named before it; all others keep theirs.
    assert [uid for uid in found if uid not in by_name] == [
        uid for uid in expected(selectors) if uid not in by_name
    ]


@settings(max_examples=40, deadline=None)
@given(picked, st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_matters(selectors: list[str], chance: random.Random) -> None:
    again = [*selectors, *selectors]
    chance.shuffle(again)
    first = {task.uid: task for task in load_thinkingbox(SMALL, selectors)}
    assert {task.uid: task for task in load_thinkingbox(SMALL, again)} == first


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(ALL[:1] + ALL[3:] + [f"{BASIC}:on_hold"]), max_size=6))
def test_a_list_can_be_split_and_written_to_a_file(names: list[str]) -> None:
    file = SMALL / "short_list.yaml"
    wanted = list(dict.fromkeys(names))
    assert uids(names) == wanted
    listed = uids([str(file)])
    assert uids([*names, str(file)]) == list(dict.fromkeys([*wanted, *listed]))
    assert uids(names, file) == uids([*names, str(file)])
