"""Lint of tasks in the ThinkingBox form: a small dataset whose checks have one thing wrong each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest

from outcomebox.reward.lint import Finding, LintedTask, Report
from outcomebox.reward.lint_thinkingbox import (
    MEANINGS,
    Linted,
    LintSettings,
    Progress,
    lint_thinkingbox,
)
from outcomebox.reward.thinkingbox.questions import JudgeQuestion, Reply
from outcomebox.reward.thinkingbox.standin import StandIn
from outcomebox.sandbox import InputError, load_servers
from outcomebox.sandbox.clock import faketime_library
from outcomebox.sandbox.thinkingbox import load_thinkingbox

FOLDER = Path(__file__).parent / "tblint"
FROZEN = pytest.mark.skipif(faketime_library() is None, reason="needs libfaketime")


def settings(*names: str, **how: Any) -> LintSettings:
    """Settings for tasks of the dataset, by name; all without one."""
    chosen = [f"till_checks.py:{name}" for name in names]
    tasks = load_thinkingbox(FOLDER, chosen or None)
    return LintSettings(
        tasks, load_servers(FOLDER / "servers.yaml"), moment="2030-06-01T12:00:00+00:00", **how
    )


def lint(given: LintSettings) -> Linted:
    """Lint, and hold the progress to account."""
    seen: list[tuple[int, str | None]] = []

    def observe(progress: Progress) -> None:
        seen.append((progress.done, None if progress.last is None else progress.last.uid))
        assert progress.total == len(given.tasks)

    done = anyio.run(lint_thinkingbox, given, observe)
    assert [count for count, _ in seen] == [*range(1, len(given.tasks) + 1)]
    assert {uid for _, uid in seen if uid} == {task.uid for task in done.tasks}
    return done


@cache
def whole() -> Linted:
    """A lint of the whole dataset with all parts."""
    return lint(settings())


def task(name: str) -> LintedTask:
    """What was found of a task."""
    (found,) = [each for each in whole().tasks if each.uid == f"till_checks.py:{name}"]
    return found


def codes(found: LintedTask) -> list[str]:
    """The codes of its findings, sorted."""
    return sorted(each.code for each in found.findings)


def only(found: LintedTask, code: str) -> Finding:
    """Its one finding of a code."""
    (finding,) = [each for each in found.findings if each.code == code]
    return finding


def test_a_check_that_sees_everything_kills_everything() -> None:
    strict = task("strict")
    assert (codes(strict), strict.score, strict.survivors) == ([], 1.0, ())
    assert dict(strict.kinds) == {
        "text": (2, 2),
        "drop": (3, 3),
        "double": (2, 2),
        "word": (4, 4),
        "number": (1, 1),
    }
    # To close a closed case once more leaves what golden leaves.
    assert strict.equivalent == 1


def test_texts_that_may_be_any_are_named_with_where_they_land() -> None:
    found = task("any_words")
    assert codes(found) == ["unchecked_text", "unchecked_text"]
    body, title = found.findings
    assert (body.table, body.column) == ("cases", "body")
    assert body.details == {
        "server": "till",
        "tool": "open_case",
        "argument": "body",
        "calls": [0],
        "empty": True,
    }
    # One word, so it could have been a choice; a whole sentence passes as well.
    assert (title.column, title.details["empty"]) == ("title", None)
    assert found.kinds["text"] == (2, 0)
    assert {each.column for each in found.survivors} == {"body", "title"}
    assert {each.code for each in found.survivors} == {"unchecked_text"}


def test_where_one_text_is_checked_the_other_is_found_alone() -> None:
    found = task("title_only")
    assert only(found, "unchecked_text").column == "body"
    assert found.kinds["text"] == (2, 1)


def test_other_values_calls_left_out_and_made_twice_survive_where_nobody_looks() -> None:
    amount = only(task("any_amount"), "mutant_survives")
    assert (amount.table, amount.column) == ("payments", "amount")
    assert "21 instead of 20" in amount.message
    found = task("last_only")
    kinds = sorted(each.details["kind"] for each in found.findings)
    assert kinds == ["double", "double", "drop", "number", "word"]
    dropped = next(each for each in found.findings if each.details["kind"] == "drop")
    assert (dropped.details["call"], dropped.table) == (2, "sales")
    assert found.mutants - found.killed == sum(each.count for each in found.survivors)


def test_a_harmless_reordering_that_fails_is_named() -> None:
    found = only(task("ids_by_order"), "order_dependence")
    assert found.details == {"calls": [0, 2], "tools": ["open_case", "open_case"]}
    # The same calls, and a check that follows references: the payment is for the other id then.
    assert codes(task("ids_by_content")) == []
    notes = " ".join(whole().notes)
    assert "3 harmless and accepted, 0 leave something else" in notes
    assert "5 need each other's answers" in notes


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("anything", "noop_passes", "before the first call"),
        ("never", "golden_fails", "there is no C-9"),
        ("refused", "golden_error", "golden call 1, open_case, is refused: no S-9"),
        ("no_such_tool", "golden_error", "golden call 0, weigh, is refused: till has no tool"),
        ("broken_check", "check_error", "KeyError"),
        ("by_chance", "golden_nondeterministic", "cases.ticket"),
    ],
)
def test_what_is_wrong_with_golden_or_the_check_is_named(name: str, code: str, words: str) -> None:
    found = only(task(name), code)
    assert words in found.message
    assert found.mend
    if code != "noop_passes":
        assert task(name).mutants == 0


@FROZEN
def test_a_tool_that_reads_the_real_clock_is_found_by_another_moment() -> None:
    found = only(task("the_time"), "reads_real_clock")
    assert (found.table, found.column) == ("cases", "stamped")
    moments = ["2030-06-01T12:00:00+00:00", "2031-07-06T17:07:11+00:00"]
    assert found.details["moments"] == moments
    # Golden asks nothing that the day tells, but an agent may.
    seen = only(task("the_age"), "reads_real_clock")
    assert seen.details["tools"] == ["age"]
    assert "age, which an agent may call, answer otherwise" in seen.message
    asked = only(task("the_age_by_golden"), "reads_real_clock")
    assert "golden calls of age are answered otherwise" in asked.message
    others = [each for each in whole().tasks if "reads_real_clock" in codes(each)]
    assert len(others) == 3


def test_a_mutant_that_a_stand_in_waved_through_is_neither_killed_nor_alive() -> None:
    found = task("asks")
    assert (found.judged, found.kinds["text"]) == (1, (1, 1))
    assert codes(found) == []
    (note,) = [each for each in whole().notes if "stand-in (yes)" in each]
    assert note.startswith("1 questions of 1 checks to a judge")
    assert "1 mutants passed only so" in note
    assert note.endswith("till_checks.py:asks")


def test_it_prints_and_writes_as_every_lint_does() -> None:
    report = Report(whole().tasks, meanings=MEANINGS, notes=whole().notes)
    told = report.to_json()
    assert told["codes"]["unchecked_text"] == 5
    assert all(told["meanings"].values())
    assert whole().broken == {}
    assert {each.uid for each in whole().tasks} == {each.uid for each in settings().tasks}


def test_parts_are_chosen_and_the_same_run_finds_the_same() -> None:
    names = ("any_words", "ids_by_order")
    again = lint(settings(*names, parts=("order",), concurrency=1))
    assert [codes(each) for each in again.tasks] == [[], ["order_dependence"]]
    assert all(each.score is None for each in again.tasks)
    (twice,) = lint(settings("any_words", concurrency=1)).tasks
    assert twice.to_json() == task("any_words").to_json()


def test_the_bound_on_replays_is_told_when_it_is_hit() -> None:
    done = lint(settings("strict", limit=5))
    assert done.replays == 5
    assert any("replays of 1 tasks were not made: the bound is 5" in note for note in done.notes)


class _Fickle(StandIn):
    """Says yes and no in turn."""

    def __init__(self) -> None:
        super().__init__("yes")
        self._yes = False

    async def answer(self, question: JudgeQuestion) -> Reply:
        self._yes = not self._yes
        return Reply("yes" if self._yes else "no")


def test_grading_one_end_twice_must_say_the_same() -> None:
    (found,) = lint(settings("asks", judge=_Fickle())).tasks
    assert codes(found) == ["verdict_differs"]
    assert found.findings[0].details == {"verdicts": ["passed", "failed"]}


def test_without_an_answer_of_the_judge_nothing_is_said_about_the_task() -> None:
    done = lint(settings("asks", "never", judge=StandIn("none")))
    assert [each.uid for each in done.tasks] == ["till_checks.py:never"]
    error: Mapping[str, str] = done.broken["till_checks.py:asks"]
    assert error["phase"] == "judge"
    assert any("till_checks.py:asks was not linted: judge" in note for note in done.notes)


def test_mistakes_are_named() -> None:
    with pytest.raises(InputError, match="write some of clock, texts"):
        settings(parts=("words",))
    with pytest.raises(InputError, match="golden alone can take 3"):
        settings(limit=1)
    with pytest.raises(InputError, match="nothing to lint"):
        anyio.run(lint_thinkingbox, replace(settings(), tasks=()), lambda _: None)
    with pytest.raises(InputError, match="needs the tool server till"):
        anyio.run(lint_thinkingbox, replace(settings(), specs={}), lambda _: None)
