"""Questions of a check: to the judge, and to the session's tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from outcomebox.reward import JudgeError, Verdict
from outcomebox.reward.thinkingbox import (
    Ask,
    CheckOrder,
    JudgeQuestion,
    Question,
    ToolQuestion,
    ToolRefusedError,
)
from outcomebox.sandbox import InputError
from outcomebox.sandbox.errors import ToolDeadline
from tbcheck_orders import graded, graded_plain, one_grader, order


@pytest.fixture(scope="module", autouse=True)
def _one_grader() -> Iterator[None]:
    with one_grader():
        yield


class Runner:
    """Answers with what it was made with, in turn, the last one again and again."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Question] = []

    async def __call__(self, question: Question) -> str:
        self.asked.append(question)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return] # one case answers with what is no text


def verdict_of(name: str, ask: Ask | None, **fields: Any) -> Verdict:
    (verdict,) = graded([order(name, **fields)], ask=ask)
    return verdict


def error_of(verdict: Verdict) -> tuple[str, str]:
    assert verdict.error is not None
    return verdict.error["phase"], verdict.error["message"]


def test_a_judge_says_yes_or_no() -> None:
    ask = Runner("Yes.", "No.")
    passed, failed = verdict_of("asks_the_judge", ask), verdict_of("asks_the_judge", ask)
    assert (passed.outcome, failed.outcome) == ("passed", "failed")
    assert passed.details["judge"] == [{"question": "Is it done?", "answer": True}]
    first, second = ask.asked
    assert isinstance(first, JudgeQuestion)
    assert first == second
    assert first.user == "<message>\ndone\n</message>\nIs it done?"


def test_a_motivated_answer_is_kept() -> None:
    ask = Runner('{"motivation": "It says so.", "answer": "Yes"}')
    verdict = verdict_of("asks_the_judge", ask, judge_type="motivation")
    assert verdict.outcome == "passed"
    assert verdict.details["judge"] == [
        {"question": "Is it done?", "answer": True, "motivation": "It says so."}
    ]


def test_a_motivated_answer_that_is_no_json_means_no() -> None:
    verdict = verdict_of("asks_the_judge", Runner("Yes"), judge_type="motivation")
    assert verdict.outcome == "failed"


def test_a_motivated_answer_without_the_word_is_no_answer() -> None:
    verdict = verdict_of("asks_the_judge", Runner('{"motivation": "?"}'), judge_type="motivation")
    phase, message = error_of(verdict)
    assert phase == "judge"
    assert "has no word for `answer`" in message


@pytest.mark.parametrize("name", ["asks_the_judge", "asks_the_judge_and_swallows"])
def test_without_a_judge_a_question_is_no_failure(name: str) -> None:
    assert error_of(verdict_of(name, None)) == ("judge", "no judge is configured")
    verdict = verdict_of(name, Runner(JudgeError("429 after 5 tries")))
    assert error_of(verdict) == ("judge", "429 after 5 tries")
    assert verdict.details["error"]["type"] == "JudgeError"


def test_what_breaks_while_asking_is_no_failure() -> None:
    assert error_of(verdict_of("asks_the_judge", Runner(ValueError("a bug")))) == ("judge", "a bug")
    assert error_of(verdict_of("asks_the_judge", Runner(7)))[1] == "an answer must be text, not int"


def test_the_judge_is_only_asked_if_the_check_asks() -> None:
    ask = Runner(AssertionError("it was asked"))
    assert verdict_of("passes", ask).outcome == "passed"
    assert ask.asked == []


def test_a_question_answered_at_last_is_answered() -> None:
    ask = Runner(JudgeError("busy"), JudgeError("busy"), "yes")
    assert verdict_of("asks_again", ask).outcome == "passed"
    assert len(ask.asked) == 3


def test_a_check_that_never_stops_asking_ends() -> None:
    phase, message = error_of(verdict_of("asks_forever", Runner("no")))
    assert (phase, message) == ("judge", "the check asked over 1000 questions")


def test_of_too_many_answers_as_many_are_kept_as_fit() -> None:
    code = """
def check(judge):
    for n in range(30):
        judge.yesno(f"{n}" + "x" * 10_000)
"""
    (verdict,) = graded([order("check", code=code)], ask=Runner("no"))
    assert verdict.outcome == "passed"
    assert 5 <= len(verdict.details["judge"]) < 10
    assert verdict.details["judge"][0] == {"question": "0" + "x" * 10_000, "answer": False}


def test_time_that_an_answer_takes_is_not_the_checks() -> None:
    import anyio

    async def slowly(question: Question) -> str:
        await anyio.sleep(4.2)
        return "yes"

    (verdict,) = graded([order("asks_the_judge")], ask=slowly, deadline_s=4.0)
    assert verdict.outcome == "passed"


def test_threads_of_a_check_get_each_its_own_answer() -> None:
    async def even(question: Question) -> str:
        assert isinstance(question, JudgeQuestion)
        return "yes" if int(question.user.rstrip("?")) % 2 == 0 else "no"

    assert verdict_of("asks_from_threads", even).outcome == "passed"


def test_a_prompt_of_the_checks_own() -> None:
    ask = Runner("7")
    assert verdict_of("asks_by_hand", ask).outcome == "passed"
    assert ask.asked == [JudgeQuestion("Give a number.", "now")]


def test_a_large_question_gets_through() -> None:
    text = "ä" * 3_000_000
    ask = Runner("yes " + text)
    verdict = verdict_of("asks_the_judge", ask, context={"response": text})
    assert verdict.outcome == "passed"
    (question,) = ask.asked
    assert isinstance(question, JudgeQuestion)
    assert text in question.user


def test_a_judge_type_of_another_name_is_refused() -> None:
    with pytest.raises(InputError, match=r"rules\.py: .*judge_type: write one of legacy"):
        order("passes", judge_type="strict")


def test_rubrics_ask_one_question_each() -> None:
    ask = Runner("YES", "NO")
    verdict = verdict_of("judges_by_rubrics", ask)
    assert (verdict.outcome, verdict.score) == ("passed", 1.0)
    assert len(ask.asked) == 2
    assert verdict.details["metadata"]["rubric_reward"] == 1.0
    failed = verdict_of("judges_by_rubrics", Runner("NO", "YES"))
    assert failed.outcome == "failed"
    assert "the reward 0.000 is below the threshold 0.500" in failed.reasons[0].message


def test_an_answer_is_compared_with_a_reference() -> None:
    ask = Runner("Yes", "YES", "NO", "YES", "YES")
    assert verdict_of("judges_the_answer", ask).outcome == "passed"
    first, document, place, *_ = [
        each.user for each in ask.asked if isinstance(each, JudgeQuestion)
    ]
    assert "<reference>\nIt is done.\n</reference>" in first
    assert "<query>\nPlease close it.\n</query>" in first
    assert "manual.pdf" in document
    assert "page 3" in place

    other = verdict_of("judges_the_answer", Runner("No"))
    assert other.outcome == "failed"
    assert "'done' does not say what the reference says: 'It is done.'" in other.reasons[0].message
    poor = verdict_of("judges_the_answer", Runner("Yes", "NO"))
    assert "the reward 0.000 is below the threshold 0.500" in poor.reasons[0].message


def test_a_reference_may_be_one_rubric_of_many() -> None:
    ask = Runner("NO", "YES", "YES")
    verdict = verdict_of("judges_the_answer_as_one_of_many", ask)
    assert (verdict.outcome, verdict.score) == ("passed", 0.25)
    assert verdict.details["metadata"]["rubric_reward"] == 0.5
    assert verdict_of("judges_the_answer_as_one_of_many", Runner("YES")).score == 1.0


# -- tools -------------------------------------------------------------------------------------


def test_a_tool_of_the_session_is_called() -> None:
    ask = Runner(json.dumps({"status": "resolved"}))
    assert verdict_of("calls_a_tool", ask).outcome == "passed"
    assert ask.asked == [ToolQuestion("desk", "get_ticket", {"ticket_id": "T-1"})]


@pytest.mark.parametrize("answer", ["7", "no json"])
def test_an_answer_that_is_no_object_is_no_verdict(answer: str) -> None:
    assert verdict_of("calls_a_tool", Runner(answer)).outcome == "system_error"


def test_a_refused_call_is_the_checks_to_handle() -> None:
    ask = Runner(ToolRefusedError("no such tool"))
    assert verdict_of("calls_no_tool", ask).outcome == "passed"
    verdict = verdict_of("calls_a_tool", ask)
    assert error_of(verdict)[0] == "check"
    assert verdict.details["error"]["type"] == "ThinkingBoxError"


def test_a_call_that_breaks_is_no_verdict_whatever_the_check_makes_of_it() -> None:
    ask = Runner(ToolDeadline("no answer within 20 s: no such tool", tool="none"))
    verdict = verdict_of("calls_no_tool", ask)
    assert error_of(verdict) == ("check", "no answer within 20 s: no such tool")


def test_no_other_session_can_be_called() -> None:
    ask = Runner("{}")
    verdict = verdict_of("calls_another_session", ask)
    assert "another is not the check's own session" in error_of(verdict)[1]
    assert ask.asked == []


def test_a_session_must_be_set_and_be_there() -> None:
    assert "no session is set" in error_of(verdict_of("calls_without_a_session", Runner("{}")))[1]
    assert "no session is open" in error_of(verdict_of("calls_a_tool", None))[1]


def test_a_plain_process_asks_too() -> None:
    one: CheckOrder = order("asks_the_judge")
    assert graded_plain(one, ask=Runner("yes")).outcome == "passed"
