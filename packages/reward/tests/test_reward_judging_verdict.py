"""Grading with a judge who takes his time says what it would say to one who answers at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import stamina
from hypothesis import event, given, settings
from hypothesis import strategies as st

from outcomebox.reward import Check, JudgeError, Verdict, grade_safely
from outcomebox.reward.judge import Judge, Judgement
from outcomebox.reward.judging import (
    RecordedJudge,
    judge_settings,
    model_judge,
    require_judge,
    rubric_questions,
    with_answers,
)
from outcomebox.sandbox import InputError
from outcomebox.sandbox.changes import TerminalState
from reward_judge_stub import NO, YES, Scripted, StubEndpoint, completion, stub_endpoint
from reward_states import Says, check, state_after

NOTES = """
    CREATE TABLE notes(note_id INTEGER PRIMARY KEY, kind TEXT, body TEXT);
    CREATE TABLE orders(order_id TEXT PRIMARY KEY, reason TEXT);
    INSERT INTO orders VALUES ('O-1', 'none'), ('O-2', 'none');
"""
TALK = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Dear customer, bye."}]


def notes(*questions: str) -> list[dict[str, Any]]:
    """Inserts of notes whose bodies a judge has to look at."""
    return [
        {"note_id": {"$id": f"n{number}"}, "kind": "n", "body": {"$rubric": question}}
        for number, question in enumerate(questions)
    ]


class Later:
    """A judge with fixed answers, who takes a moment for each."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str]] = []
        self.most = 0
        self._now = 0

    def describe(self) -> Mapping[str, Any]:
        return {"name": "later"}

    async def check(self) -> None:
        pass

    async def answer(self, question: str, text: str) -> Judgement:
        self.asked.append((question, text))
        self._now += 1
        self.most = max(self.most, self._now)
        await anyio.lowlevel.checkpoint()
        self._now -= 1
        answer = self.answers[text]
        if isinstance(answer, Exception):
            raise answer
        return Judgement(answer, {"from": "later"})

    async def aclose(self) -> None:
        pass


def later(form: Check, state: TerminalState, judge: Any) -> Verdict:
    """The verdict of a judge who takes his time."""

    def grading(known: Judge) -> Verdict:
        return grade_safely(form, state, judge=known, transcript=TALK)

    async def run() -> Verdict:
        return await with_answers(grading, judge)

    return anyio.run(run)


TEXTS = ["a", "b", "c"]
ANSWERS = st.sampled_from([True, False, JudgeError("mumble"), ValueError("x"), KeyError("y")])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3),
    st.lists(st.sampled_from(["One?", "Two?"]), min_size=1, max_size=3),
    st.sampled_from([None, "Is the order's reason good?"]),
    st.fixed_dictionaries(
        dict.fromkeys([*TEXTS, "new", "user: hi\n\nassistant: Dear customer, bye."], ANSWERS)
    ),
    st.booleans(),
)
def test_the_verdict_is_the_one_of_a_judge_who_answers_at_once(
    written: list[str],
    wanted: list[str],
    updated: str | None,
    answers: Mapping[str, Any],
    more: bool,
) -> None:
    tables: dict[str, Any] = {"notes": {"insert": notes(*wanted)}}
    statements: list[Any] = [
        ("INSERT INTO notes(kind, body) VALUES ('n', ?)", (each,)) for each in written
    ]
    if updated:
        change = {"key": {"order_id": "O-1"}, "set": {"reason": {"$rubric": updated}}}
        tables["orders"] = {"update": [change]}
        statements.append("UPDATE orders SET reason = 'new' WHERE order_id = 'O-1'")
    also = {"notes": {"insert": notes(*["Three?"] * len(wanted))}}
    form = check(
        tables,
        rubrics=["Was it polite?"],
        accept_also=[{"name": "also", "tables": {**tables, **also}}] if more else [],
    )
    state = state_after(NOTES, *statements)

    class AtOnce:
        def ask(self, question: str, text: str) -> Judgement:
            answer = answers[text]
            if isinstance(answer, Exception):
                raise answer
            return Judgement(answer, {"from": "later"})

    at_once = grade_safely(form, state, judge=AtOnce(), transcript=TALK)
    in_time = later(form, state, Later(answers))
    event(at_once.outcome)
    assert at_once.error is None or at_once.error["phase"] == "judge"
    assert (in_time.outcome, in_time.reasons, in_time.error) == (
        at_once.outcome,
        at_once.reasons,
        at_once.error,
    )
    if at_once.error is None:
        assert in_time.details == at_once.details


POLITE = check({}, read_only=True, rubrics=["Polite?", "Short?"], answer={"$rubric": "Kind?"})
UNTOUCHED = state_after(NOTES)


def test_the_questions_of_a_verdict_are_asked_at_once_and_told_in_order() -> None:
    conversation = "user: hi\n\nassistant: Dear customer, bye."
    judge = Later({conversation: True, "Dear customer, bye.": True})
    verdict = later(POLITE, UNTOUCHED, judge)
    assert verdict.outcome == "passed"
    assert judge.most == 3
    assert verdict.details["judge"] == [
        {"question": question, "text": text, "answer": True, "from": "later"}
        for question, text in (
            ("Kind?", "Dear customer, bye."),
            ("Polite?", conversation),
            ("Short?", conversation),
        )
    ]


def test_questions_that_follow_a_yes_do_not_wait_for_it() -> None:
    form = check({"notes": {"insert": notes("Clear?")}}, rubrics=["Polite?"])
    state = state_after(NOTES, "INSERT INTO notes(kind, body) VALUES ('n', 'a')")
    judge = Later({"a": True, "user: hi\n\nassistant: Dear customer, bye.": True})
    assert later(form, state, judge).outcome == "passed"
    assert judge.most == 2


def test_a_judge_is_not_asked_where_the_exact_columns_decide() -> None:
    judge = Later({})
    touched = state_after(NOTES, "UPDATE orders SET reason = 'x'")
    assert later(POLITE, touched, judge).outcome == "failed"
    assert judge.asked == []


def test_a_check_that_never_stops_asking_gets_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outcomebox.reward.judging.answering.MAX_QUESTIONS", 20)
    judge = Later({str(number): True for number in range(40)})

    async def run() -> Verdict:
        asked = iter(range(40))

        def grading(known: Judge) -> Verdict:
            known.ask("New?", str(next(asked)))
            return grade_safely(POLITE, UNTOUCHED)

        return await with_answers(grading, judge)

    verdict = anyio.run(run)
    assert verdict.error is not None
    assert "over 20 questions" in verdict.error["message"]
    assert len(judge.asked) == 20


@pytest.fixture
def stub() -> Iterator[StubEndpoint]:
    """A running stub; retries do not wait."""
    stamina.set_testing(True, attempts=2)
    with stub_endpoint() as running:
        yield running
    stamina.set_testing(False)


def by_stub(form: Check, state: TerminalState, stub: StubEndpoint, **options: object) -> Verdict:
    """The verdict of a judge model at the stub."""

    async def run() -> Verdict:
        judge = model_judge(judge_settings(stub.options(**options)))
        try:
            return await with_answers(
                lambda known: grade_safely(form, state, judge=known, transcript=TALK), judge
            )
        finally:
            await judge.aclose()

    return anyio.run(run)


def test_details_say_what_was_asked_and_said(stub: StubEndpoint) -> None:
    stub.script = lambda body: NO if "Short?" in body["messages"][1]["content"] else YES
    verdict = by_stub(POLITE, UNTOUCHED, stub, votes=3)
    assert verdict.outcome == "failed"
    (reason,) = verdict.reasons
    assert reason.kind == "rubric_failed"
    told = {each["question"]: each for each in verdict.details["judge"]}
    assert [each["answer"] for each in told.values()] == [True, True, False]
    assert told["Short?"]["split"] == {"yes": 0, "no": 3}
    assert [vote["reason"] for vote in told["Short?"]["votes"]] == ["because"] * 3
    assert told["Short?"]["model"] == "stub-model"
    assert json.loads(json.dumps(verdict.to_json())) == verdict.to_json()


@pytest.mark.parametrize(
    "fault",
    [Scripted("boom", 500), completion("Yes"), completion("x", finish="length"), Scripted("{")],
)
def test_no_answer_is_no_verdict(stub: StubEndpoint, fault: Scripted) -> None:
    stub.script = lambda body: fault if "Short?" in body["messages"][1]["content"] else YES
    verdict = by_stub(POLITE, UNTOUCHED, stub)
    assert verdict.outcome == "system_error"
    assert verdict.error is not None
    assert (verdict.error["type"], verdict.error["phase"]) == ("JudgeError", "judge")
    asked = {each["question"]: each for each in verdict.details["judge"]}
    assert asked["Polite?"]["answer"] is True
    assert "answer" not in asked["Short?"]
    assert asked["Short?"]["error"] == verdict.error["message"]
    if fault.body == completion("Yes").body:
        assert len(asked["Short?"]["unreadable"]) == 3


def test_a_recorded_verdict_is_given_again_without_a_model(stub: StubEndpoint) -> None:
    verdict = by_stub(POLITE, UNTOUCHED, stub)
    recorded = RecordedJudge(json.loads(json.dumps(verdict.to_json()))["details"]["judge"])
    again = grade_safely(POLITE, UNTOUCHED, judge=recorded, transcript=TALK)
    assert again == verdict
    assert later(POLITE, UNTOUCHED, recorded) == verdict
    other = check({}, read_only=True, rubrics=["Another?"])
    new = grade_safely(other, UNTOUCHED, judge=recorded, transcript=TALK)
    assert new.error is not None
    assert "was not asked about this text" in new.error["message"]


def test_an_answer_that_is_none_is_no_answer() -> None:
    for answer in (None, "yes", 1, Judgement("yes")):  # type: ignore[arg-type]
        judge = Says({"Polite?": answer, "Short?": True, "Kind?": True})
        verdict = grade_safely(POLITE, UNTOUCHED, judge=judge, transcript=TALK)
        assert verdict.error is not None
        assert verdict.error["phase"] == "judge"


class Task:
    """A task as far as a check needs it."""

    def __init__(self, uid: str, form: Check) -> None:
        self.uid = uid
        self.expect = form.tables
        self.accept_also = form.accept_also
        self.ignore: Mapping[str, Mapping[str, str]] = {}
        self.rubrics = form.rubrics
        self.tags: tuple[str, ...] = ()


def test_a_task_that_needs_a_judge_is_named() -> None:
    row = {"kind": "n", "body": {"$rubric": "One?"}}
    update = {"key": {"order_id": "O-1"}, "set": {"reason": {"$rubric": "Two?"}}}
    also = {"name": "also", "tables": {"notes": {"insert": [{"body": {"$rubric": "Three?"}}]}}}
    asking = check(
        {"notes": {"insert": [row, row]}, "orders": {"update": [update]}},
        accept_also=[also],
        rubrics=["Four?"],
    )
    plain = check({"notes": {"insert": [{"kind": "n", "body": "x"}]}})
    assert rubric_questions(Task("t", asking)) == ("One?", "Two?", "Three?", "Four?")
    assert rubric_questions(Task("t", plain)) == ()
    require_judge([Task("t", plain)])
    with pytest.raises(InputError, match=r'u: judge: asks a judge "One\?" and .* give --judge'):
        require_judge([Task("t", plain), Task("u", asking)])
    with pytest.raises(InputError, match="and 1 more tasks"):
        require_judge([Task("u", asking), Task("v", asking)])
