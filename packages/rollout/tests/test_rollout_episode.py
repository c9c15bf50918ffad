"""The episode loop: finish reasons, the blame table, what the agent and a row are shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from outcomebox.rollout import (
    Completion,
    Episode,
    EpisodeSetting,
    EpisodeStore,
    PolicyError,
    ScriptedUser,
    StructuredCall,
    UserError,
    read_rows,
    run_all,
    run_episode,
    seeder,
)
from outcomebox.rollout.stages import NativeTasks
from outcomebox.sandbox import (
    Domain,
    Sandbox,
    Task,
    TaskSet,
    load_domain,
    sandbox,
    start_domains,
)
from scripted_policy import END, MOVE, SHELF, Says, call, shelf_task

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(scope="module")
def shelf() -> Domain:
    """The shelf domain."""
    return load_domain(SHELF)


@pytest.fixture(scope="module")
async def box(shelf: Domain) -> AsyncIterator[Sandbox]:
    """A sandbox with the shelf domain started."""
    async with sandbox() as box:
        await start_domains(box, [shelf])
        yield box


def setting(box: Sandbox, policy: Says, **more: Any) -> EpisodeSetting:
    """The setting of a test."""
    return EpisodeSetting(
        sandbox=box, policy=policy, user=ScriptedUser(), seed_of=seeder(0), **more
    )


async def play(
    box: Sandbox, shelf: Domain, *turns: Completion | str | BaseException, **task: Any
) -> Episode:
    """One episode of a task in which the policy writes these turns."""
    tasks = TaskSet((shelf_task(**task),), {"shelf": shelf})
    (one,) = tasks.tasks
    return await run_episode(setting(box, Says(*turns)), NativeTasks(tasks, box), one, 0)


async def test_the_right_change_passes_and_the_row_of_it_is_seen(
    box: Sandbox, shelf: Domain
) -> None:
    episode = await play(box, shelf, MOVE, END)
    assert episode.verdict is not None
    assert episode.verdict.outcome == "passed"
    assert episode.finish_reason == "done"
    assert episode.state is not None
    assert [c.columns for c in episode.state.changes] == [("shelf_id",)]
    roles = [message["role"] for message in episode.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert episode.messages[2]["raw"] == MOVE


@pytest.mark.parametrize(
    ("turns", "kind", "column"),
    [
        ([END], "missing_update", "shelf_id"),
        ([call("move_box", box_id="B-009", shelf_id="S-1"), END], "extra_update", "shelf_id"),
        ([MOVE, call("add_box", shelf_id="S-1", weight=1), END], "extra_insert", None),
    ],
)
async def test_wrong_missing_and_extra_changes_fail_and_are_named(
    box: Sandbox, shelf: Domain, turns: list[str], kind: str, column: str | None
) -> None:
    episode = await play(box, shelf, *turns)
    assert episode.verdict is not None
    assert episode.verdict.outcome == "failed"
    assert (kind, "boxes", column) in [
        (reason.kind, reason.table, reason.column) for reason in episode.verdict.reasons
    ]


@pytest.mark.parametrize(
    ("turns", "limits", "reason"),
    [
        ([MOVE, Completion("I was about to", finish_reason="length")], {}, "token_limit"),
        ([MOVE, ""], {}, "empty_output"),
        ([MOVE, "<think>\nhm\n</think>\n\n"], {}, "empty_output"),
        ([MOVE, MOVE, MOVE], {"turns": 2}, "agent_limit"),
        ([MOVE, "Anything else?", "Really?"], {"user_turns": 1}, "user_limit"),
        ([MOVE, "Anything else?", "Really?"], {}, "user_done"),
    ],
)
async def test_a_limit_ends_the_episode_and_the_state_decides(
    box: Sandbox, shelf: Domain, turns: list[Any], limits: dict[str, Any], reason: str
) -> None:
    episode = await play(box, shelf, *turns, limits=limits)
    assert episode.finish_reason == reason
    assert episode.verdict is not None
    assert episode.verdict.outcome == "passed"


async def test_a_truncated_call_is_not_executed(box: Sandbox, shelf: Domain) -> None:
    cut = MOVE[: MOVE.rindex("</function>")]
    episode = await play(box, shelf, cut, MOVE, END)
    assert episode.verdict is not None
    assert episode.verdict.outcome == "passed"
    answer = episode.messages[3]
    assert answer["role"] == "tool"
    assert answer["is_error"]
    assert "was not executed" in answer["content"]
    assert (await play(box, shelf, cut, END)).verdict.outcome == "failed"  # type: ignore[union-attr]


async def test_an_unknown_tool_and_refused_arguments_are_answered_and_the_agent_goes_on(
    box: Sandbox, shelf: Domain
) -> None:
    episode = await play(
        box,
        shelf,
        call("teleport_box", box_id="B-008"),
        call("move_box", box_id="B-008"),
        call("move_box", box_id="B-008", shelf_id="S-7"),
        MOVE,
        END,
    )
    answers = [m for m in episode.messages if m["role"] == "tool"]
    assert [bool(m.get("is_error")) for m in answers] == [True, True, True, False]
    assert "teleport_box" in answers[0]["content"]
    assert "shelf_id" in answers[1]["content"]
    assert "FOREIGN KEY" in answers[2]["content"]
    assert episode.verdict is not None
    assert episode.verdict.outcome == "passed"


async def test_calls_that_the_endpoint_has_read_run_the_same_way(
    box: Sandbox, shelf: Domain
) -> None:
    def structured(arguments: str) -> Completion:
        calls = (StructuredCall("move_box", arguments, "call-7"),)
        return Completion("", finish_reason="tool_calls", structured=calls, reasoning="hm")

    good = structured('{"box_id": "B-008", "shelf_id": "S-2"}')
    episode = await play(box, shelf, structured("{broken"), structured("[1]"), good, END)
    assert episode.verdict is not None
    assert episode.verdict.outcome == "passed"
    answers = [m for m in episode.messages if m["role"] == "tool"]
    assert [bool(m.get("is_error")) for m in answers] == [True, True, False]
    assert "not JSON" in answers[0]["content"]
    assert "raw" not in episode.messages[2]
    assert episode.messages[2]["reasoning"] == "hm"


async def test_the_user_answers_what_fits_and_ends_when_asked_in_vain(
    box: Sandbox, shelf: Domain
) -> None:
    replies = [{"when": "(?i)which", "say": "B-008."}, {"say": "Yes."}]
    episode = await play(
        box,
        shelf,
        "Are you sure?",
        "Which box?",
        "And now?",
        "Hello?",
        user_context={"replies": replies},
    )
    said = [m["content"] for m in episode.messages if m["role"] == "user"][1:]
    assert said[0] == "Yes."
    assert said[1] == "B-008."
    assert "nothing to add" in said[2]
    assert episode.finish_reason == "user_done"


async def test_a_call_that_breaks_the_server_again_is_the_agents_doing(
    box: Sandbox, shelf: Domain
) -> None:
    for tool in ("hang", "die"):
        episode = await play(box, shelf, MOVE, call(tool), END)
        assert episode.finish_reason == "tool_crash"
        assert episode.verdict is not None
        assert episode.verdict.outcome == "failed"
        assert [reason.kind for reason in episode.verdict.reasons] == ["tool_crash"]
        assert tool in episode.verdict.reasons[0].message


async def rows_of(
    box: Sandbox, shelf: Domain, tmp_path: Path, policy: Says, task: Task, **more: Any
) -> tuple[list[dict[str, Any]], Any]:
    """The rows and the report of a run of one attempt at one task."""
    tasks = TaskSet((task,), {"shelf": shelf})
    path = tmp_path / "episodes.jsonl"
    with EpisodeStore(path) as store:
        report = await run_all(
            setting(box, policy, **more), tasks, store, attempts=1, concurrency=1, tries=3
        )
    return list(read_rows(path)), report


@pytest.mark.parametrize(("how", "error"), [("hang", "ToolDeadline"), ("die", "ServerDied")])
async def test_a_server_that_breaks_once_is_infrastructure_and_tried_again(
    box: Sandbox, shelf: Domain, tmp_path: Path, how: str, error: str
) -> None:
    once = call("once", marker=str(tmp_path / "marker"), how=how)
    rows, report = await rows_of(box, shelf, tmp_path, Says(once, MOVE, END), shelf_task())
    assert [row["verdict"]["outcome"] for row in rows] == ["system_error", "passed"]
    assert rows[0]["error"]["type"] == error
    assert rows[0]["error"]["phase"] == "tool"
    assert [row["try"] for row in rows] == [0, 1]
    assert report.complete
    assert report.progress.retried == 1


@pytest.mark.parametrize(
    ("turns", "env", "phase", "error"),
    [
        ([call("vanish"), END], {}, "read", "StateUnreadable"),
        ([call("spoil"), END], {}, "read", "StateUnreadable"),
        ([END], {"OUTCOMEBOX_DATABASE": "gone.sqlite"}, "open", "SessionOpenError"),
        ([PolicyError("HTTP 503")], {}, "policy", "PolicyError"),
        ([UserError("HTTP 503")], {}, "user", "UserError"),
        ([RuntimeError("a bug of ours")], {}, "run", "RuntimeError"),
    ],
)
async def test_broken_infrastructure_is_never_a_failure_of_the_agent(
    box: Sandbox,
    shelf: Domain,
    tmp_path: Path,
    turns: list[Any],
    env: dict[str, str],
    phase: str,
    error: str,
) -> None:
    rows, report = await rows_of(box, shelf, tmp_path, Says(*turns), shelf_task(), session_env=env)
    assert [row["verdict"]["outcome"] for row in rows] == ["system_error"] * 3
    assert {(row["error"]["phase"], row["error"]["type"]) for row in rows} == {(phase, error)}
    assert not report.complete
    assert report.progress.outcomes == {"system_error": 1}
    (left,) = report.left
    assert (left.uid, left.error.phase) == ("shelf/test/1", phase)


async def test_a_resumed_run_makes_only_what_is_missing_or_broken(
    box: Sandbox, shelf: Domain, tmp_path: Path
) -> None:
    tasks = TaskSet((shelf_task(), shelf_task(uid="shelf/test/2")), {"shelf": shelf})
    path = tmp_path / "episodes.jsonl"
    policy = Says(MOVE, END)
    with EpisodeStore(path) as store:
        await run_all(
            setting(box, Says(PolicyError("down"))),
            tasks,
            store,
            attempts=1,
            concurrency=2,
            tries=1,
        )
        report = await run_all(
            setting(box, policy), tasks, store, attempts=2, concurrency=2, tries=1
        )
    assert report.complete
    assert len(policy.seen) == 4 * 2
    keys = [(row["uid"], row["repetition"], row["try"]) for row in read_rows(path)]
    assert sorted(keys) == [
        ("shelf/test/1", 0, 0),
        ("shelf/test/1", 0, 1),
        ("shelf/test/1", 1, 0),
        ("shelf/test/2", 0, 0),
        ("shelf/test/2", 0, 1),
        ("shelf/test/2", 1, 0),
    ]
    with EpisodeStore(path) as store:
        again = await run_all(
            setting(box, Says()), tasks, store, attempts=2, concurrency=2, tries=1
        )
    assert again.progress.resumed == 4
