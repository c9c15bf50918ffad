"""What becomes of a check, rule by rule, in real grader processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from outcomebox.reward import Verdict
from tbcheck_orders import (
    BOX,
    FIXTURES,
    RULES,
    graded,
    graded_in,
    graded_plain,
    line_of,
    one_grader,
    order,
)

PASSES = {
    "passes": 1.0,
    "passes_by_effects": 1.0,
    "scores_half": 0.5,
    "scores_zero": 0.0,
    "scores_one": 1.0,
    "takes_no_judge": 1.0,
    "takes_nothing": 1.0,
    "takes_all": 1.0,
    "fails_in_another_thread": 1.0,
    "imports_every_name": 0.5,
    "declares_a_dataclass": 1.0,
    "prints": 1.0,
    "prints_too_much": 1.0,
    "notes": 1.0,
}
FAILS = {
    "fails": ('x.response == "else"', "said 'done'"),
    "fails_without_words": ('TRUTHS["state"] == "open"', 'assert TRUTHS["state"] == "open"'),
    "fails_in_a_helper": ('value == "deep"', "from a helper"),
    "fails_with_a_broken_message": ("AssertionError(Odd())", "whose text cannot be had"),
    "forges_in_a_fork": ("the parent says no", "the parent says no"),
    "forges_by_a_thread": ("and yet it is told", "and yet it is told"),
}
BREAKS = {
    "breaks_on_a_key": ("KeyError", "'no such key'"),
    "breaks_on_true": ("TypeError", "the check returned True"),
    "breaks_on_text": ("TypeError", "the check returned '1.0'"),
    "breaks_on_two": ("TypeError", "the check returned 2"),
    "breaks_on_nan": ("ValueError", "the check returned nan"),
    "breaks_on_a_coroutine": ("TypeError", "the check returned <coroutine"),
    "breaks_by_exit": ("SystemExit", "ended its process instead of returning: SystemExit(0)"),
    "breaks_by_interrupt": ("KeyboardInterrupt", "ended its process instead of returning"),
    "breaks_on_input": ("EOFError", ""),
    "breaks_on_a_missing_module": ("ModuleNotFoundError", "thinkingbox.services"),
    "breaks_by_recursion": ("RecursionError", ""),
    "breaks_on_memory": ("MemoryError", ""),
    "breaks_on_creeping_memory": ("MemoryError", ""),
    "breaks_on_an_odd_number": ("ValueError", "the check returned 2.0"),
    "breaks_on_a_group": ("ExceptionGroup", "several"),
    "breaks_without_a_fixture": ("FixtureError", "the check needs ledger"),
    "dies_at_once": ("GraderDied", "ended with status 0 before it gave a verdict"),
    "dies_by_signal": ("GraderDied", "was killed by signal 11 before it gave a verdict"),
    "dies_in_the_context": ("GraderDied", "was killed by signal"),
    "forges_on_stdout": ("GraderDied", "ended with status 0 before it gave a verdict"),
    "forges_by_the_channel": ("UnreadableResult", "a result without the order's nonce"),
    "forges_everywhere": ("UnreadableResult", "a result without the order's nonce"),
}


@pytest.fixture(scope="module", autouse=True)
def _one_grader() -> Iterator[None]:
    with one_grader():
        yield


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    names = [*PASSES, *FAILS, *BREAKS]
    return dict(zip(names, graded_in(256, [order(name) for name in names]), strict=True))


def test_every_check_of_the_rules_is_tried_somewhere() -> None:
    import ast

    functions = [node for node in ast.parse(RULES).body if hasattr(node, "args")]
    names = {node.name for node in functions if not node.name.startswith("_")}  # type: ignore[attr-defined]
    elsewhere = ("asks_", "calls_", "hangs", "judges_", "leaves_", "fails_with_much")
    assert {name for name in names if not name.startswith(elsewhere)} == {
        *PASSES,
        *FAILS,
        *BREAKS,
    }


@pytest.mark.parametrize("name", PASSES)
def test_passed(verdicts: dict[str, Verdict], name: str) -> None:
    verdict = verdicts[name]
    assert (verdict.outcome, verdict.score) == ("passed", PASSES[name])
    assert verdict.reward == 1.0


@pytest.mark.parametrize("name", FAILS)
def test_failed_with_line_and_message(verdicts: dict[str, Verdict], name: str) -> None:
    verdict = verdicts[name]
    source, message = FAILS[name]
    line = line_of(source)
    assert (verdict.outcome, verdict.score) == ("failed", 0.0)
    (reason,) = verdict.reasons
    assert reason.kind == "assertion_failed"
    assert reason.message.startswith(f"rules.py:{line}: ")
    assert message in reason.message
    assert verdict.details["line"] == line
    assert verdict.details["source"] in RULES


@pytest.mark.parametrize("name", BREAKS)
def test_anything_else_is_no_verdict(verdicts: dict[str, Verdict], name: str) -> None:
    verdict = verdicts[name]
    kind, message = BREAKS[name]
    assert (verdict.outcome, verdict.reward) == ("system_error", None)
    assert verdict.error is not None
    assert (verdict.error["type"], verdict.error["phase"]) == (kind, "check")
    assert message in verdict.error["message"]


def test_the_line_of_an_error_is_told(verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts["breaks_on_a_key"]
    line = line_of('x.effects["desk"]["no such key"]')
    assert verdict.error is not None
    assert verdict.error["message"] == f"rules.py:{line}: 'no such key'"
    assert verdict.details["line"] == line


def test_what_was_printed_is_kept_up_to_a_bound(verdicts: dict[str, Verdict]) -> None:
    assert verdicts["prints"].details["printed"] == "to out\nto err\nbytes \ufffd\n\\ud800\n"
    assert "printed" not in verdicts["passes"].details
    much = verdicts["prints_too_much"].details["printed"]
    kept, _, more = much.rpartition("\n")
    assert len(kept) == 20_000
    assert more == f"[{3000 * 1001 - 20_000} bytes more]"


def test_notes_are_kept_where_they_are_json(verdicts: dict[str, Verdict]) -> None:
    details = verdicts["notes"].details
    assert details["metadata"] == {"found": {"rows": [1, 2.5, None, True, "\\ud800"]}}
    assert details["metadata_left_out"] == [
        "set: a set is not JSON",
        "nan: nan is not JSON",
        "long: too large",
        "3: not named by text",
        "many: too large",
        "round: nested too deep",
    ]


def test_a_long_message_is_cut_and_is_text() -> None:
    (verdict,) = graded([order("fails_with_much_to_say")])
    (reason,) = verdict.reasons
    assert "\\ud800xxx" in reason.message
    assert reason.message.endswith("[992001 characters more]")


def test_a_check_past_its_deadline_gives_no_verdict_and_goes() -> None:
    for verdict in graded([order("hangs"), order("hangs_deaf")], deadline_s=0.5):
        assert verdict.error == {
            "type": "TimeoutError",
            "message": "the check gave no verdict within 0.5 s",
            "phase": "check",
        }


def test_checks_never_see_each_other() -> None:
    verdicts = graded([order("leaves_a_mark")] * 5)
    assert [verdict.outcome for verdict in verdicts] == ["passed"] * 5


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        ("def check(x, judge:\n    pass\n", "SyntaxError", "rules.py:1: "),
        ("\n1 / 0\n", "ZeroDivisionError", "rules.py:2: division by zero"),
        ("check = 3\n", "CheckCodeError", "binds no function to __tb_test_fn"),
        ("from gone import away\n", "ModuleNotFoundError", "rules.py:1: No module named 'gone'"),
    ],
)
def test_code_that_gives_no_check(code: str, kind: str, message: str) -> None:
    (verdict,) = graded([order("check", code=code)])
    assert verdict.error is not None
    assert verdict.error["type"] == kind
    assert message in verdict.error["message"]


def test_an_assertion_at_module_level_fails() -> None:
    (verdict,) = graded([order("check", code="assert False, 'early'\ndef check(): pass\n")])
    assert [reason.message for reason in verdict.reasons] == ["rules.py:1: early"]


@pytest.mark.parametrize("name", ["passes_by_effects", "fails", "dies_at_once", "breaks_on_memory"])
def test_a_plain_process_gives_the_same_verdict(verdicts: dict[str, Verdict], name: str) -> None:
    plain = graded_plain(order(name), memory_mb=256)
    assert plain.outcome == verdicts[name].outcome
    assert plain.reasons == verdicts[name].reasons


def test_a_plain_process_has_a_deadline_too() -> None:
    verdict = graded_plain(order("hangs_deaf"), deadline_s=1.0)
    assert verdict.error is not None
    assert verdict.error["type"] == "TimeoutError"


def test_a_context_that_is_no_json_is_the_callers_mistake() -> None:
    with pytest.raises(TypeError):
        graded_plain(order("passes", context={"response": object()}))


# -- fixtures ----------------------------------------------------------------------------------


def _fixture_verdicts(cases: dict[str, tuple[dict[str, Any], str]]) -> dict[str, Verdict]:
    """Verdicts of one-line checks: parameters and body, with the fixtures configured."""
    orders = [
        order("check", code=f"def check({body}\n", fixtures={**FIXTURES, **fixtures})
        for fixtures, body in cases.values()
    ]
    return dict(zip(cases, graded(orders), strict=True))


def test_fixtures_are_made_entered_and_left() -> None:
    box = {"type": f"{BOX}.Box", "size": 3}
    cases: dict[str, tuple[dict[str, Any], str]] = {
        "class": ({"box": box}, "box): assert box.size == 3"),
        "function with injection": (
            {"box": box, "made": {"type": f"{BOX}.made_of"}},
            "x, judge, made): assert [*made.values()][1:] == [judge, x, 'none'], made",
        ),
        "an argument goes before a fixture": (
            {"box": box, "made": {"type": f"{BOX}.made_of", "box": 7, "note": "mine"}},
            "made): assert (made['box'], made['note']) == (7, 'mine')",
        ),
        "keyword only": (
            {"box": box, "kept": {"type": f"{BOX}.keyword"}},
            "kept): assert kept.size == 3",
        ),
        "a default does for one that is not there": ({}, "x, ledger=5): assert ledger == 5"),
        "one that is there goes before a default": ({"box": box}, "box=5): assert box.size == 3"),
        "left after the check": ({"opened": {"type": f"{BOX}.opened"}}, "opened): return 0.5"),
        "left when it fails": (
            {"opened": {"type": f"{BOX}.opened"}},
            "opened): assert opened == []",
        ),
        "left in the opposite order": (
            {"outer_events": {"type": f"{BOX}.opened"}, "inner": {"type": f"{BOX}.inner"}},
            "inner): inner.append('check')",
        ),
        "one may swallow": ({"calm": {"type": f"{BOX}.swallowing"}}, "calm): assert False"),
        "one may fail at the end": ({"last": {"type": f"{BOX}.FailsOnExit"}}, "last): return 1"),
    }
    verdicts = _fixture_verdicts(cases)
    failed = {"left when it fails", "one may fail at the end"}
    assert {name for name in cases if verdicts[name].outcome == "failed"} == failed
    assert {name for name in cases if verdicts[name].outcome == "system_error"} == set()
    assert verdicts["left after the check"].score == 0.5
    for name in ("left after the check", "left when it fails"):
        assert verdicts[name].details["metadata"] == {"events": ["enter", "exit"]}
    assert verdicts["left in the opposite order"].details["metadata"] == {
        "events": ["enter", "inner enter", "check", "inner exit", "exit"]
    }


def test_fixtures_that_cannot_be_made_give_no_verdict() -> None:
    a, b = {"type": f"{BOX}.needs_b"}, {"type": f"{BOX}.needs_a"}
    expected: dict[str, tuple[dict[str, Any], str]] = {
        "fixtures need each other in a circle: fixture_a -> fixture_b -> fixture_a": (
            {"fixture_a": a, "fixture_b": b},
            "fixture_a): pass",
        ),
        "fixture odd needs nobody_knows, and there is no such fixture": (
            {"odd": {"type": f"{BOX}.needs_nobody_knows"}},
            "odd): pass",
        ),
        "fixture odd has no `type`": ({"odd": {"size": 3}}, "odd): pass"),
        "type Box names no module": ({"odd": {"type": "Box"}}, "odd): pass"),
        "nowhere.Box cannot be imported": ({"odd": {"type": "nowhere.Box"}}, "odd): pass"),
        f"{BOX}.Gone cannot be imported": ({"odd": {"type": f"{BOX}.Gone"}}, "odd): pass"),
        "fixture odd cannot be made: AssertionError": (
            {"odd": {"type": f"{BOX}.asserts"}},
            "odd): pass",
        ),
        "fixture odd cannot be made: TypeError": (
            {"odd": {"type": f"{BOX}.Box", "colour": "red"}},
            "odd): pass",
        ),
        "'int' object is not callable": (
            {"odd": {"type": f"{BOX}.NOT_CALLABLE"}},
            "odd): pass",
        ),
    }
    for message, verdict in _fixture_verdicts(expected).items():
        assert verdict.error is not None
        assert verdict.error["type"] == "FixtureError"
        assert message in verdict.error["message"]
