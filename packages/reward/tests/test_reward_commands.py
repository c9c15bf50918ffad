"""Each command is a program of its own too, and says what a person at a terminal can do."""

from __future__ import annotations

import sys

import anyio
import pytest
import typer

from outcomebox.reward.commands import app, derive, judge_audit, lint, regrade
from outcomebox.reward.commands.shared import next_command, progress, reported, stderr
from outcomebox.reward.errors import CheckError
from outcomebox.sandbox import InputError, SessionOpenError

PROGRAMS = {
    "outcomebox-reward": app.main,
    "outcomebox-reward derive": derive.main,
    "outcomebox-reward judge-audit": judge_audit.main,
    "outcomebox-reward lint": lint.main,
    "outcomebox-reward regrade": regrade.main,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_helps_with_examples_and_exit_statuses(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["main.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        PROGRAMS[name]()
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert f"Usage: {name} " in out
    assert "Examples:" in out
    assert "Exit status:" in out


@pytest.mark.parametrize(
    ("started", "told"),
    [
        ("/usr/bin/outcomebox-reward", "outcomebox-reward lint"),
        ("/x/lint.pex", "./pants run packages/reward:lint --"),
    ],
)
def test_the_next_command_is_one_that_the_person_has(
    started: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [started])
    assert next_command("lint") == told


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (InputError("mend it", file="a.yaml", field="f"), 2, "error: a.yaml: f: mend it\n"),
        (CheckError("say what [is] due"), 2, "error: say what [is] due\n"),
        (SessionOpenError("no server"), 2, "error: no server\n"),
        (KeyboardInterrupt(), 130, "Interrupted. All is kept.\n"),
    ],
)
def test_what_a_person_can_mend_is_one_line(
    error: BaseException, status: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        pytest.raises(typer.Exit) as ended,
        reported(stderr(), interrupted="Interrupted. All is kept."),
    ):
        raise error
    assert ended.value.exit_code == status
    assert capsys.readouterr().err == told


def test_other_errors_are_ours_and_stay_what_they_are() -> None:
    with pytest.raises(ZeroDivisionError), reported(stderr()):
        _ = 1 / 0


def test_errors_from_inside_an_event_loop_are_reported_alike() -> None:
    async def fail() -> None:
        await anyio.lowlevel.checkpoint()
        raise InputError("mend it")

    with pytest.raises(typer.Exit), reported(stderr()):
        anyio.run(fail)


def test_progress_tells_each_tenth_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress("calls", stderr()) as tell:
        for done in range(1, 31):
            tell(done, 30)
    assert capsys.readouterr().err.splitlines() == [
        f"calls: {done} of 30" for done in range(3, 31, 3)
    ]
