"""No exception of any kind becomes a failure: one is raised in every function that grading calls.

A first run notes which functions of ours are called. Then, for each, the run is repeated and the
function raises when it is called. What must come of it is a ``system_error`` with the right phase;
only an exception that is no ``Exception``, such as an interrupt, goes through.
"""

from __future__ import annotations

import inspect
import sqlite3
import sys
import unittest
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from outcomebox.reward import Verdict, grade, grade_safely, nearest, verdict_of
from outcomebox.sandbox.changes import TerminalState, read_state, terminal_state
from reward_states import check

SOURCES = Path(sys.modules[verdict_of.__module__].__file__ or "").parent
SANDBOX = Path(sys.modules[read_state.__module__].__file__ or "").parent
# What a verdict is made of and by: a fault in here cannot be told in a verdict, and goes through.
LAST = {"verdict.py", "safely.py", "grade_safely"}
CORE = [
    SOURCES / f"{name}.py"
    for name in (
        *("assign", "edits", "exact", "fit", "grade", "graphs", "groups", "ignored", "inserts"),
        *("labels", "matchers", "nearest", "reasons", "refine", "showing", "unions", "wanted"),
    )
]
NOT_CALLED: set[tuple[str, str]] = set()

SCRIPT = """
CREATE TABLE orders(id INTEGER PRIMARY KEY, status TEXT DEFAULT 'new', note TEXT, at TEXT);
CREATE TABLE items(id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders, sku TEXT, n INTEGER);
CREATE TABLE log(at TEXT, what TEXT);
INSERT INTO orders VALUES (1, 'open', NULL, 'mon'), (2, 'open', NULL, 'mon'), (3, 'paid', 'x', 'x');
INSERT INTO items VALUES (10, 1, 'lamp', 1), (11, 1, 'mug', 2), (12, 1, 'mug', 2);
INSERT INTO log VALUES ('mon', 'start'), ('mon', 'start');
"""
RIGHT = """
UPDATE orders SET status = 'paid', note = 'Dear customer', at = '{"a": [1, 2]}' WHERE id = 1;
INSERT INTO orders(id, note, at) VALUES (4, 'ruby', 'wed'), (5, 'sea', 'wed');
INSERT INTO items(order_id, sku, n) VALUES (5, 'cup', 1), (4, 'pen', 1), (5, 'cup', 1);
INSERT INTO items VALUES (99, 4, '2026-03-02T09:00:00Z', 1);
DELETE FROM items WHERE id = 10;
DELETE FROM log WHERE rowid = 1;
INSERT INTO log VALUES ('e\u0301', '7.5');
UPDATE items SET order_id = 5, n = 3 WHERE id = 11;
"""
WRONG = """
UPDATE orders SET status = 'lost', note = 'Dear customer', at = '{"a": [NaN]}' WHERE id = 1;
INSERT INTO orders(id, note, at) VALUES (4, 'ruby', 'wed'), (5, 'sea', 'wed'), (6, 'e', 'e\u0301');
INSERT INTO items(order_id, sku, n) VALUES (4, 'cup', 1), (4, 'pen', 1), (5, 'cup', 1);
DELETE FROM items WHERE id = 12;
UPDATE items SET order_id = 2, sku = x'00ff' WHERE id = 11;
CREATE INDEX more ON items(n);
"""
CHECK = check(
    {
        "orders": {
            "update": [
                {
                    "key": {"id": 1},
                    "set": {
                        "status": "paid",
                        "note": {"$rubric": "Is it polite?"},
                        "at": {"$json": {"a": [1, 2]}},
                    },
                }
            ],
            "insert": [
                {"id": {"$id": "a"}, "at": "wed", "note": {"$rubric": "Is it blue?"}},
                {"id": {"$id": "b"}, "at": "wed", "note": {"$rubric": "Is it red?"}},
            ],
        },
        "items": {
            "insert": [
                {"id": {"$id": "x"}, "order_id": {"$id": "a"}, "sku": "cup", "n": 1},
                {"id": {"$id": "y"}, "order_id": {"$id": "a"}, "sku": "cup", "n": 1},
                {
                    "id": {"$id": "z"},
                    "order_id": {"$id": "b"},
                    "sku": {"$pattern": "p.*n"},
                    "n": {"$close": 1, "abs": 0.5},
                },
                {"id": 99, "order_id": {"$id": "b"}, "sku": {"$instant": "2026-03-02T10:00+01"},
                 "n": {"$one_of": [1, 2]}},
            ],
            "delete": [{"key": {"id": 10}}],
            "update": [{"key": {"id": 11}, "set": {"order_id": {"$id": "a"}, "n": 3}}],
        },
        "log": {
            "insert": [{"at": {"$nfc": "\u00e9"}, "what": {"$decimal": "7.50"}}],
            "delete": [{"row": {"at": "mon", "what": "start"}}],
        },
    },
    answer={"$rubric": "Is it short?"},
    rubrics=["Was it polite?"],
)  # fmt: skip
SAID = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Done."}]


class Judge:
    def ask(self, question: str, text: str) -> bool:
        return (question, text) not in {("Is it blue?", "ruby"), ("Is it red?", "sea")}


ALIKE = """
INSERT INTO orders(id, note, at) VALUES (4, 'ruby', 'wed'), (5, 'sea', 'wed');
INSERT INTO items(order_id, sku, n) VALUES (4, 'cup', 1), (5, 'cup', 1);
"""
ALIKE_CHECK = check(
    {
        "orders": {
            "insert": [
                {"id": {"$id": label}, "at": "wed", "note": {"$rubric": f"Is it {colour}?"}}
                for label, colour in (("a", "blue"), ("b", "red"))
            ]
        },
        "items": {
            "insert": [
                {"id": {"$id": f"item {label}"}, "order_id": {"$id": label}, "sku": "cup", "n": 1}
                for label in ("a", "b")
            ]
        },
    }
)
LOST = f"""
UPDATE orders SET note = '{"word " * 30}' WHERE id = 1;
INSERT INTO items(order_id, sku, n) VALUES (2, 'cup', 7);
"""
LOST_CHECK = check(
    {
        "orders": {
            "update": [
                {"key": {"id": 1}, "set": {"note": "word " * 29 + "work "}},
                {"key": {"id": 9}, "set": {"note": "x"}},
            ]
        },
        "items": {"insert": [{"id": {"$id": "i"}, "order_id": 2, "sku": "cup"}]},
    },
    answer="Well done.",
)
ENDS = {
    "right": (CHECK, RIGHT),
    "wrong": (CHECK, WRONG),
    "many": (CHECK, WRONG),
    "alike": (ALIKE_CHECK, ALIKE),
    "lost": (LOST_CHECK, LOST),
}
Name = tuple[str, str]
"""File and qualified name of a function."""


@dataclass(frozen=True)
class Reached:
    code: CodeType
    stage: Stage
    count: int

    @property
    def name(self) -> Name:
        return _name(self.code)

    @property
    def run(self) -> Callable[[], Verdict]:
        """What calls it; the state is read anew only if reading is what breaks."""
        mine = self.code.co_filename.startswith(str(SOURCES))
        return self.stage.grade if mine else self.stage.whole

    @property
    def last(self) -> bool:
        return not LAST.isdisjoint(self.name)


class Stage:
    """Reads two databases and grades; raises on demand in the n-th call of a function."""

    def __init__(self, folder: Path, end: str) -> None:
        self.many = end == "many"
        self.files = [folder / f"{end}-before.sqlite", folder / f"{end}-after.sqlite"]
        self.check, written = ENDS[end]
        for path, script in zip(self.files, (SCRIPT, SCRIPT + written), strict=True):
            connection = sqlite3.connect(path, isolation_level=None)
            connection.executescript(script)
            connection.close()
        self.known = self.read()

    def read(self) -> TerminalState:
        before, after = map(read_state, self.files)
        return terminal_state(before, after)

    def whole(self) -> Verdict:
        with self._limits():
            return grade_safely(self.check, self.read, judge=Judge(), transcript=SAID)

    def grade(self) -> Verdict:
        with self._limits():
            return grade_safely(self.check, lambda: self.known, judge=Judge(), transcript=SAID)

    @contextmanager
    def _limits(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            if self.many:  # as if there were so many rows that not all pairs can be weighed
                patch.setattr(nearest, "MANY", 1)
            yield

    def custom(self) -> Verdict:
        """The same within a check of somebody's own, where an AssertionError can mean no."""
        with self._limits():
            return verdict_of(lambda: grade(self.check, self.known, judge=Judge(), transcript=SAID))

    def calls(self) -> Counter[CodeType]:
        """The functions of ours that are called, with how often."""
        found: Counter[CodeType] = Counter()

        def note(frame: FrameType) -> None:
            found[frame.f_code] += 1

        with tracing(note):
            self.whole()
        return found

    def broken(
        self, run: Callable[[], Verdict], code: CodeType, error: BaseException, *, call: int = 1
    ) -> tuple[Verdict, str]:
        """What comes of an error in the n-th call of a function, and the phase it was raised in."""
        left = call
        phases: list[str] = []

        def fault(frame: FrameType) -> BaseException | None:
            nonlocal left
            if frame.f_code is not code:
                return None
            left -= 1
            if left:
                return None
            phases.append(_phase(frame))
            return error

        try:
            with tracing(fault):
                verdict = run()
        finally:
            error.__traceback__ = None  # else its frames would be closed while the next one runs
        (phase,) = phases
        return verdict, phase


def _name(code: CodeType) -> Name:
    return Path(code.co_filename).name, code.co_qualname


def _phase(frame: FrameType | None) -> str:
    while frame is not None:
        if frame.f_code is Stage.read.__code__:
            return "read"
        frame = frame.f_back
    return "check"


@contextmanager
def tracing(on_call: Callable[[FrameType], BaseException | None]) -> Iterator[None]:
    """Look at each call of a function of ours; what is given back is raised there."""
    # The raising function says that it stands in our library, as a fault in there would.
    space: dict[str, Any] = {
        "__name__": "outcomebox.fault",
        "on_call": on_call,
        "folders": (str(SOURCES), str(SANDBOX)),
    }
    source = """
def trace(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(folders) and code.co_name != "<module>":
        error = on_call(frame)
        if error is not None:
            raise error
"""
    exec(source, space)  # noqa: S102 -- a function with a module name of its own
    before = sys.gettrace()
    sys.settrace(space["trace"])
    try:
        yield
    finally:
        sys.settrace(before)


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Stage]:
    folder = tmp_path_factory.mktemp("faults")
    return {end: Stage(folder, end) for end in ENDS}


@pytest.fixture(scope="module")
def reached(stages: dict[str, Stage]) -> list[Reached]:
    """Every function that grading calls, with an end that calls it and how often."""
    found = {
        code: Reached(code, stage, count)
        for stage in stages.values()
        for code, count in stage.calls().items()
    }
    return list(found.values())


def _defined(code: CodeType, file: str) -> Iterator[Name]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & inspect.CO_NEWLOCALS and "<" not in inner.co_name:
                yield file, inner.co_qualname
            yield from _defined(inner, file)


def test_the_two_ends_are_what_they_are_called(stages: dict[str, Stage]) -> None:
    right, wrong = (stages[end].grade() for end in ("right", "wrong"))
    assert right.outcome == "passed", [reason.message for reason in right.reasons]
    assert wrong.outcome == "failed"
    assert len(right.details["judge"]) > 4


def test_every_function_of_the_grading_path_is_called(reached: list[Reached]) -> None:
    """So that what is added later is put to the test as well."""
    called = {each.name for each in reached} | NOT_CALLED
    for path in CORE:
        defined = set(_defined(compile(path.read_text(), str(path), "exec"), path.name))
        assert defined - called == set()


ERRORS = [
    KeyError("street"),
    AssertionError("broken"),
    RecursionError("deep"),
    MemoryError(),
    OSError("disk"),
    sqlite3.DatabaseError("malformed"),
    UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"),
    ValueError("odd"),
    TimeoutError("late"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_fault_anywhere_is_a_system_error(error: Exception, reached: list[Reached]) -> None:
    turn = ERRORS.index(error)
    for number, each in enumerate(reached):
        # Two kinds in every function; to save time, of the others every third by turns.
        if not each.last and (turn < 2 or (number + turn) % 3 == 0):
            verdict, phase = each.stage.broken(each.run, each.code, error)
            assert verdict.error is not None, (each.name, verdict.outcome)
            assert verdict.error["phase"] == phase, (each.name, verdict.error)
            assert verdict.reward is None


def test_a_fault_in_the_last_call_is_one_too(reached: list[Reached]) -> None:
    for each in reached:
        # The last that a generator hears is that nobody wants more, and that cannot go wrong.
        if not each.last and not each.code.co_flags & inspect.CO_GENERATOR:
            error = KeyError("late")
            verdict, phase = each.stage.broken(each.run, each.code, error, call=each.count)
            assert verdict.error is not None, (each.name, verdict.outcome)
            assert verdict.error["phase"] == phase, (each.name, verdict.error)


def test_an_assertion_of_this_library_is_no_way_to_say_no(reached: list[Reached]) -> None:
    """Not even within a custom check, whose own assertions are."""
    own = {("grade.py", "_read"), ("grade.py", "grade_safely.<locals>.run")}
    for each in reached:
        if (
            not each.last
            and each.name not in own
            and each.code.co_filename.startswith(str(SOURCES))
        ):
            error = AssertionError("broken")
            verdict, _ = each.stage.broken(each.stage.custom, each.code, error)
            assert verdict.outcome == "system_error", each.name


def test_a_fault_in_making_the_verdict_goes_through(reached: list[Reached]) -> None:
    for each in reached:
        if each.last:
            with suppress(OSError):
                verdict, _ = each.stage.broken(each.run, each.code, OSError("disk"))
                assert verdict.outcome == "system_error", each.name


def test_an_interrupt_goes_through(reached: list[Reached]) -> None:
    for each in reached:
        with pytest.raises(KeyboardInterrupt):
            each.stage.broken(each.run, each.code, KeyboardInterrupt())


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_judge_that_breaks_is_no_verdict(error: Exception, stages: dict[str, Stage]) -> None:
    class Broken:
        def __init__(self, left: int) -> None:
            self.left = left

        def ask(self, question: str, text: str) -> bool:
            self.left -= 1
            if self.left < 0:
                raise error
            return Judge().ask(question, text)

    state = stages["right"].read()
    for left in range(5):
        verdict = grade_safely(CHECK, state, judge=Broken(left), transcript=SAID)
        assert verdict.error is not None
        assert verdict.error["phase"] == "judge"


def test_an_error_whose_words_cannot_be_read_is_one_too() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise KeyError("nothing to say")

    def broken() -> None:
        raise Mute

    verdict = verdict_of(broken)
    assert verdict.error == {
        "type": "Mute",
        "message": "its message cannot be read: KeyError",
        "phase": "check",
    }


def test_an_assertion_helper_may_say_no_and_the_standard_library_may_not() -> None:
    case = unittest.TestCase()
    assert verdict_of(lambda: case.assertEqual(1, 2)).outcome == "failed"  # noqa: PT009

    def in_the_library() -> None:
        space = {"__name__": "asyncio.events"}
        exec("def check(): assert False, 'loop'", space)  # noqa: S102
        space["check"]()  # type: ignore[operator]

    assert verdict_of(in_the_library).outcome == "system_error"
