"""Derived `expect` blocks: what they say, what they leave to a person, and how strict they are."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import anyio
import pytest

from outcomebox.reward import Check, grade
from outcomebox.reward.derive.checking import golden_verdict
from outcomebox.reward.derive.deriving import Derived, derive_tasks
from outcomebox.reward.derive.known import Known
from outcomebox.reward.derive.present import merge
from outcomebox.reward.derive.rows import draft_expect, expect_of, plain_block
from outcomebox.reward.derive.varying import common_shape
from outcomebox.reward.derive.words import skeleton
from outcomebox.reward.golden import GoldenRun
from outcomebox.sandbox import Change, Task, TerminalState, Value, terminal_state
from reward_goldens import bundled, lending


@cache
def derived() -> dict[str, Derived]:
    """What is derived for each task of the lending library."""
    tasks, _ = lending()
    done = anyio.run(lambda: derive_tasks(tasks, in_process=True))
    return {each.uid.removeprefix("lending/"): each for each in done.tasks}


def block(name: str) -> dict[str, Any]:
    """The block of one task."""
    return plain_block(derived()[name].rows)


def test_ids_are_labelled_in_keys_references_and_wherever_their_text_stands() -> None:
    assert derived()["loans/two"].status == "new"
    said = block("loans/two")
    assert list(said) == ["loan_lines", "loans", "loan_notes"]
    lent = {"member_id": "M-1", "lent_at": "2026-03-02T09:00:00Z", "due_on": "2026-03-16"}
    assert said["loans"] == {
        "insert": [{"loan_id": {"$id": "loan"}, **lent}, {"loan_id": {"$id": "loan2"}, **lent}],
        # No foreign key says what ended_by is; status is open by default and ended now.
        "update": [
            {"key": {"loan_id": "LN-7"}, "set": {"status": "ended", "ended_by": {"$id": "loan2"}}}
        ],
    }
    (note,) = said["loan_notes"]["insert"]
    assert (note["id"], note["loan_id"]) == ({"$id": "loan_note"}, {"$id": "loan"})
    assert "mood" not in note  # the declared default


def test_parts_of_a_composite_key_are_labelled_only_where_rows_share_the_rest() -> None:
    lines = block("loans/two")["loan_lines"]
    assert lines["insert"] == [
        {"loan_id": {"$id": "loan"}, "line": {"$id": "line"}, "title": "Tides"},
        {"loan_id": {"$id": "loan"}, "line": {"$id": "line2"}, "title": "Maps"},
        {"loan_id": {"$id": "loan2"}, "line": 1, "title": "Foxes"},
    ]
    assert lines["delete"] == [
        {"key": {"loan_id": "LN-7", "line": 1}},
        {"key": {"loan_id": "LN-7", "line": 2}},
    ]


def test_a_key_that_the_agent_chose_is_no_generated_id() -> None:
    (row,) = block("quirks/voucher")["vouchers"]["insert"]
    assert (row["code"], row["member_id"]) == ("SPRING-1", "M-2")
    assert block("quirks/voucher")["members"]["update"] == [
        {"key": {"member_id": "M-2"}, "set": {"balance": 2.5}}
    ]


@pytest.mark.parametrize(
    ("task", "column", "spec", "note"),
    [
        (
            "quirks/card",
            "card",
            {"$pattern": "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"},
            "differs with the seed",
        ),
        ("quirks/voucher", "luck", {"$not_null": True}, "differs with the seed"),
        ("quirks/voucher", "age_days", 60, "depends on the clock: 61 a day later"),
        ("quirks/visit", "seen_at", {"$not_null": True}, "the machine's own time"),
    ],
)
def test_what_differs_between_runs_is_a_matcher_and_says_why(
    task: str, column: str, spec: Any, note: str
) -> None:
    ((row, found),) = [each for each in derived()[task].reviews if each[1] == column]
    cell = row.cells[found]
    assert cell.spec == spec
    assert cell.advice is not None
    assert note in cell.advice.note


def test_the_clock_and_what_is_reckoned_from_it_stay_as_they_are() -> None:
    columns = {column for _, column in derived()["loans/two"].reviews}
    assert columns == {"body"}


def test_words_of_the_agent_are_for_a_person_and_those_of_the_user_are_not() -> None:
    reviews = derived()["quirks/words"].reviews
    ((row, column),) = reviews  # not the choice `very cross`, not what the user said
    assert column == "body"
    advice = row.cells[column].advice
    assert advice is not None
    assert "call 0, note" in advice.note
    pattern, rubric = advice.choices
    assert pattern == {"$pattern": r"(?i)(?=.*\bmember\b)(?=.*\brather\b)(?=.*\bunhappy\b).*"}
    assert "The member was rather unhappy today" in rubric["$rubric"]


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("Refunds RFD-8503 and 12.50 made", r"(?=.*\bRFD-8503\b)(?=.*\b12\.50\b).*"),
        ("WINDOW: too late", r".*\bWINDOW\b.*"),
        ("!", ".*"),
        ("see a@b.example, 3x", r"(?=.*\b3x\b).*".replace("(?=", "").replace(r"\b).*", r"\b.*")),
    ],
)
def test_a_skeleton_keeps_facts(text: str, pattern: str) -> None:
    assert skeleton(text) == pattern


@pytest.mark.parametrize(
    ("left", "right", "shape"),
    [
        ("T-0012", "T-0345", r"T-\d{4}"),
        ("T-9", "T-12", r"T-\d+"),
        ("ref ab1 open", "ref cd2 open", r"ref \w{2}\d{1} open"),
        ("a b", "a", None),
        ("a-b", "a b", None),
    ],
)
def test_a_shape_is_what_two_texts_have_in_common(left: str, right: str, shape: str | None) -> None:
    assert common_shape(left, right) == shape


@pytest.mark.parametrize(
    ("task", "problem"),
    [
        ("refused", "golden call 0 was refused: find_member(email='cy@example.com')"),
        ("schema", "archive was created"),
        ("idle", "the golden calls change nothing"),
        ("tagged", "no-change is set, but the golden calls change something"),
        ("nothing", "golden: is missing"),
    ],
)
def test_what_cannot_be_derived_is_named(task: str, problem: str) -> None:
    found = derived()[f"broken/{task}"]
    assert (found.status, found.block) == ("refused", ())
    assert problem in found.problems[0]


def test_no_change_is_derived_where_it_is_meant() -> None:
    found = derived()["loans/none"]
    assert (found.status, found.block) == ("new", ("    expect: {}",))


def test_unwritable_values_pass_loosely_and_say_so() -> None:
    task, run = lending()[1]["quirks/voucher"]
    (change, *rest) = run.state.changes
    row = {**(change.new or {}), change.columns[0] if change.columns else "luck": float("inf")}
    state = dataclasses.replace(run.state, changes=(dataclasses.replace(change, new=row), *rest))
    rows = draft_expect(task, dataclasses.replace(run, state=state)).rows
    advised = [cell for each in rows for cell in each.cells.values() if cell.advice]
    assert [cell.spec for cell in advised] == [{"$not_null": True}]


def test_what_a_person_wrote_in_a_bundled_task_is_kept_and_nothing_else_differs() -> None:
    _, runs = bundled()
    kept = 0
    for task, run in runs:
        merged = merge(task, run.state, draft_expect(task, run))
        assert merged.same or not task.expect, task.uid
        kept += merged.kept
    assert kept == 62


def test_a_changed_golden_keeps_matchers_and_labels_of_rows_that_are_still_there() -> None:
    task, run = lending()[1]["loans/two"]
    pattern = {"$pattern": ".*LN-8.*"}
    present = plain_block(draft_expect(task, run).rows)
    present["loan_notes"]["insert"][0] |= {"id": {"$id": "said"}, "body": pattern}
    present["loans"]["insert"][0]["due_on"] = "2026-03-17"  # no longer so
    del present["loan_lines"]["delete"]
    old = task.model_copy(update={"expect": expect_of(present), "tags": ()})
    merged = merge(old, run.state, draft_expect(old, run))
    said = plain_block(merged.rows)
    assert said["loan_notes"]["insert"] == [
        {"id": {"$id": "said"}, "loan_id": {"$id": "loan"}, "body": pattern}
    ]
    assert said["loans"]["insert"][0]["due_on"] == "2026-03-16"
    assert len(said["loan_lines"]["delete"]) == 2
    assert (merged.kept, merged.same) == (1, False)
    assert ("loan_notes", "insert", 0) in merged.places.values()
    fresh = plain_block(merge(old, run.state, draft_expect(old, run), matchers=False).rows)
    assert fresh["loan_notes"]["insert"][0]["body"].startswith("Lent 2 books")
    assert fresh["loan_notes"]["insert"][0]["id"] == {"$id": "said"}


def test_generated_is_what_an_answer_has_before_any_argument() -> None:
    task, run = lending()[1]["loans/two"]
    known = Known(task, run)
    assert known.generated("loan_id", "LN-8")
    assert known.generated("loan_id", "LN-9")  # named by a later call, after its answer
    assert not known.generated("loan_id", "LN-7")  # the seed has it
    assert not known.generated("title", "Foxes")
    assert known.generated("id", 1)


def mutants(run: GoldenRun) -> Iterator[tuple[Change, str, TerminalState]]:
    """Golden's end with one changed cell made another, for every changed cell of every row."""
    for change in run.state.changes:
        if change.new is None or change.key is None:
            continue
        info = run.state.tables[change.table]
        for column in change.columns or info.columns:
            if column in info.key:
                continue
            other = _other(change.new[column])
            old = other if change.old is None else change.old[column]
            for value in dict.fromkeys((other, old)):
                yield change, column, _with_cell(run, change, column, value)


def _other(value: Value) -> Value:
    if isinstance(value, str):
        return value + "x"
    return "x" if value is None or isinstance(value, bytes) else value + 1


def _with_cell(run: GoldenRun, change: Change, column: str, value: Value) -> TerminalState:
    end = run.state.terminal
    info = run.state.tables[change.table]
    key = tuple((change.key or {}).values())
    rows = dict(end.keyed[change.table])
    cells = list(rows[key])
    cells[info.columns.index(column)] = value
    rows[key] = tuple(cells)
    keyed = {**{name: end.keyed[name] for name in end.tables}, change.table: rows}
    mutated = dataclasses.replace(run.state.initial, keyed=keyed, bags=end.bags)
    return terminal_state(run.state.initial, mutated)


def test_derived_blocks_are_as_strict_as_the_hand_written_ones_and_stricter_about_words() -> None:
    _, runs = bundled()
    tried = 0
    by_hand: Counter[str] = Counter()
    for task, run in runs:
        draft = draft_expect(task, run)
        strict = Check(draft.expect(), read_only=task.read_only)
        alike = merge(task, run.state, draft, matchers=False).same
        assert grade(strict, run.state).outcome == "passed"
        for change, column, state in mutants(run):
            tried += 1
            assert grade(strict, state).outcome == "failed", (task.uid, change, column)
            if not alike and grade(Check.from_task(task), state).outcome != "failed":
                by_hand[f"{change.table}.{column}"] += 1
    assert tried > 1200
    # Patterns ask for the facts in a text, so another letter at its end is accepted.
    assert set(by_hand) == {"approvals.reason", "ticket_notes.body", "tickets.subject"}


def test_a_derived_block_accepts_golden_and_refuses_doing_nothing() -> None:
    for name in ("loans/two", "quirks/card", "quirks/visit", "quirks/voucher", "quirks/words"):
        task: Task
        task, run = lending()[1][name]
        whole = task.model_copy(update={"expect": expect_of(block(name)), "tags": ()})
        assert golden_verdict(whole, run).outcome == "passed"
        idle = terminal_state(run.state.initial, run.state.initial)
        still = dataclasses.replace(run, state=idle)
        assert golden_verdict(whole, still).outcome == "failed"
