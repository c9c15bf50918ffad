"""Record, then replay: the same digest, in any order, with no network; else one clear error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import aiohttp
import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outcomebox.reward.chat import StructuredCall, Usage
from outcomebox.reward.errors import JudgeError
from outcomebox.reward.judge import Judgement
from outcomebox.reward.rows import placed_rows
from outcomebox.rollout import (
    Completion,
    EpisodeSetting,
    EpisodeStore,
    PolicyError,
    RunReport,
    ScriptedUser,
    UserError,
    digest,
    make_policy,
    read_rows,
    run_all,
    seeder,
)
from outcomebox.rollout.errors import classify
from outcomebox.rollout.recording import ReplayError, recording, replaying
from outcomebox.rollout.recording.codec import error_from_json, error_to_json, plain, rebuilt
from outcomebox.rollout.runfolder import EXCHANGES
from outcomebox.sandbox import TaskSet, load_domain, sandbox, start_domains
from outcomebox.sandbox.errors import SandboxFault
from scripted_policy import END, MOVE, SHELF, Says, shelf_task

DOMAIN = load_domain(SHELF)
TASKS = [
    shelf_task(uid="shelf/test/move"),
    shelf_task(uid="shelf/test/other", query="Box B-008 has to go to another shelf. Move it."),
    shelf_task(
        uid="shelf/test/asked",
        query="Please move a box.",
        user_context={"background": "You mean B-008.", "replies": [{"when": ".", "say": "B-008"}]},
    ),
]


def run(
    tasks: Sequence[Any],
    folder: Path,
    *,
    policy: Any,
    user: Any = None,
    judge: Any = None,
    seed: int = 0,
    attempts: int = 1,
    concurrency: int = 2,
    keep: bool = False,
) -> RunReport:
    """A run of the shelf's tasks into a folder."""
    found = TaskSet(tuple(tasks), {"shelf": DOMAIN})
    folder.mkdir(exist_ok=True)

    async def body() -> RunReport:
        async with sandbox() as box:
            await start_domains(box, [DOMAIN])
            setting = EpisodeSetting(
                sandbox=box,
                policy=policy,
                user=user or ScriptedUser(),
                judge=judge,
                seed_of=seeder(seed),
            )
            try:
                with EpisodeStore(folder / "episodes.jsonl") as store:
                    return await run_all(
                        recording(setting) if keep else setting,
                        found,
                        store,
                        attempts=attempts,
                        concurrency=concurrency,
                    )
            finally:
                await policy.aclose()

    return anyio.run(body)


def found(folder: Path) -> str:
    """The digest of a run."""
    return digest(read_rows(folder / "episodes.jsonl"))


def replayed(tasks: Sequence[Any], folder: Path, source: Path, **how: Any) -> RunReport:
    """A run that a recording answers."""
    replay = replaying(source)
    return run(tasks, folder, policy=replay.policy, user=replay.user, judge=replay.judge, **how)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    chosen=st.sets(st.sampled_from(range(3)), min_size=1),
    seed=st.integers(0, 2**31),
    concurrency=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    name=st.sampled_from(["simulated", "golden"]),
)
def test_a_replay_finds_what_was_recorded(
    tmp_path_factory: pytest.TempPathFactory,
    chosen: set[int],
    seed: int,
    concurrency: tuple[int, int],
    name: str,
) -> None:
    folder = tmp_path_factory.mktemp("replay")
    tasks = [TASKS[index] for index in sorted(chosen)]
    run(
        tasks,
        folder / "a",
        policy=make_policy(name),
        seed=seed,
        attempts=2,
        concurrency=concurrency[0],
        keep=True,
    )
    replayed(
        tasks,
        folder / "b",
        folder / "a",
        seed=seed,
        attempts=2,
        concurrency=concurrency[1],
        keep=True,
    )
    assert found(folder / "b") == found(folder / "a")
    # What a replay records replays too.
    replayed(tasks, folder / "c", folder / "b", seed=seed, attempts=2)
    assert found(folder / "c") == found(folder / "a")


class Flaky(Says):
    """Breaks at some starts of an episode, as an endpoint or as infrastructure does."""

    def __init__(self, *turns: Any, breaks: Mapping[int, BaseException]) -> None:
        super().__init__(*turns)
        self._breaks = breaks
        self._starts = 0

    def start(self, context: Any) -> Any:
        """Fail, or go on."""
        self._starts += 1
        broken = self._breaks.get(self._starts)
        if isinstance(broken, SandboxFault):
            raise broken
        return super().start(context) if broken is None else Says(broken).start(context)


def test_tries_that_broke_replay_as_they_broke(tmp_path: Path) -> None:
    policy = Flaky(MOVE, END, breaks={1: SandboxFault("gone"), 2: PolicyError("HTTP 503")})
    run(TASKS[:1], tmp_path / "a", policy=policy, keep=True)
    rows = list(read_rows(tmp_path / "a" / "episodes.jsonl"))
    assert [row["verdict"]["outcome"] for row in rows] == ["system_error", "system_error", "passed"]
    replayed(TASKS[:1], tmp_path / "b", tmp_path / "a")
    assert found(tmp_path / "b") == found(tmp_path / "a")


def test_a_request_that_differs_is_one_error_that_says_where(tmp_path: Path) -> None:
    run(TASKS[:1], tmp_path / "a", policy=Says(MOVE, END), keep=True)
    changed = [shelf_task(uid="shelf/test/move", query="Please move box B-009 to the right shelf.")]
    with pytest.raises(BaseException) as caught:  # noqa: PT011 -- a group or the error itself
        replayed(changed, tmp_path / "b", tmp_path / "a")
    error: BaseException = caught.value
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, ReplayError)
    for part in (
        "shelf/test/move",
        "repetition 0 try 0",
        "request 0 to the policy",
        "messages[1] differs at character",
        "box B-008",
        "box B-009",
    ):
        assert part in str(error)
    assert list(read_rows(tmp_path / "b" / "episodes.jsonl")) == []


def test_a_try_that_was_not_recorded_is_named(tmp_path: Path) -> None:
    run(TASKS[:1], tmp_path / "a", policy=Says(MOVE, END), keep=True)
    replay = replaying(tmp_path / "a")
    with pytest.raises(ReplayError, match="repetition 7 try 0 is not in the recording"):
        replay.policy.recording.exchanges_of("shelf/test/move", 7, 0)


def test_a_recording_grows_with_the_conversation_and_not_with_its_square(tmp_path: Path) -> None:
    long = "x" * 20_000
    turns = [f"{long} {MOVE}"] * 8
    task = shelf_task(uid="shelf/test/long", limits={"turns": 8, "tool_deadline_s": 2.0})
    run([task], tmp_path / "a", policy=Says(*turns), keep=True)
    rows = (tmp_path / "a" / "episodes.jsonl").stat().st_size
    assert (tmp_path / "a" / EXCHANGES).stat().st_size < rows
    requests = [
        placed.row
        for placed in placed_rows(tmp_path / "a" / EXCHANGES)
        if placed.row["role"] == "policy"
    ]
    assert len(requests) == 8
    assert all(len(each["new"]) <= 4 for each in requests)


class Judge:
    """Says yes, or breaks."""

    def __init__(self, answer: Judgement | Exception) -> None:
        self._answer = answer

    def describe(self) -> Mapping[str, Any]:
        """Its name."""
        return {"name": "test"}

    async def check(self) -> None:
        """Nothing to see."""

    async def answer(self, question: str, text: str) -> Judgement:
        """The answer, or the error."""
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    async def aclose(self) -> None:
        """Nothing to release."""


@pytest.mark.parametrize(
    "answer",
    [
        Judgement(True, {"split": [1, 0], "votes": [{"tokens": [3, 1], "cached": False}]}),
        Judgement(False),
        JudgeError("no reply", {"unreadable": ["x"]}),
        RuntimeError("boom"),
    ],
    ids=str,
)
def test_judges_replay(tmp_path: Path, answer: Judgement | Exception) -> None:
    task = shelf_task(uid="shelf/test/judged", rubrics=["Was the customer told?"])
    run([task], tmp_path / "a", policy=Says(MOVE, END), judge=Judge(answer), keep=True)
    replayed([task], tmp_path / "b", tmp_path / "a")
    assert found(tmp_path / "b") == found(tmp_path / "a")
    (tmp_path / "c").mkdir()
    replay = replaying(tmp_path / "a")
    assert replay.judge.describe() == {"name": "test"}


@pytest.mark.parametrize(
    "error",
    [
        PolicyError("down"),
        UserError("x"),
        JudgeError("y", {"a": 1}),
        RuntimeError(),
        RuntimeError(""),
        aiohttp.ServerTimeoutError("slow"),
        type("EndpointGone", (PolicyError,), {})("404"),
    ],
    ids=repr,
)
def test_an_error_comes_back_as_it_was_classified(error: Exception) -> None:
    told = json.loads(json.dumps(error_to_json(error)))
    again = error_from_json(told)
    assert classify(again) == classify(error)
    assert getattr(again, "record", {}) == getattr(error, "record", {})
    for kind in (PolicyError, UserError, JudgeError):
        assert isinstance(again, kind) == isinstance(error, kind)


COMPLETIONS = st.builds(
    Completion,
    text=st.text(st.characters()),
    finish_reason=st.sampled_from(["stop", "length", "tool_calls"]),
    structured=st.none()
    | st.lists(st.builds(StructuredCall, st.text(), st.text(), st.text())).map(tuple),
    reasoning=st.none() | st.text(),
    prompt_state=st.sampled_from(["assistant_start", "think_open", "think_closed"]),
    usage=st.builds(Usage, st.none() | st.integers(0), st.none() | st.integers(0)),
    ids=st.none() | st.lists(st.integers(0, 200_000)).map(tuple),
)


@given(COMPLETIONS)
def test_a_completion_comes_back_unchanged(completion: Completion) -> None:
    assert rebuilt(Completion, json.loads(json.dumps(plain(completion)))) == completion


class _Answers(BaseHTTPRequestHandler):
    """A model that moves the box and ends."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        call = {"name": "move_box", "arguments": '{"box_id": "B-008", "shelf_id": "S-2"}'}
        message: dict[str, Any] = {"content": "Done. <DONE>"}
        if body["messages"][-1]["role"] != "tool":
            message = {"content": None, "tool_calls": [{"id": "c0", "function": call}]}
        usage = {"prompt_tokens": 5, "completion_tokens": 2}
        choice = {"message": {"role": "assistant", **message}, "finish_reason": "stop"}
        said = json.dumps({"choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 -- its name
        """Say nothing."""


def test_a_replay_needs_no_endpoint(tmp_path: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/v1"
        policy = make_policy("openai", {"base_url": address, "model": "m"})
        run(TASKS[:2], tmp_path / "a", policy=policy, keep=True)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    rows = list(read_rows(tmp_path / "a" / "episodes.jsonl"))
    assert [row["verdict"]["outcome"] for row in rows] == ["passed", "passed"]
    assert rows[0]["usage"]["policy"] == {"prompt": 10, "completion": 4}
    replayed(TASKS[:2], tmp_path / "b", tmp_path / "a")
    assert found(tmp_path / "b") == found(tmp_path / "a")
    policy = make_policy("replay", {"recording": str(tmp_path / "a" / EXCHANGES)})
    run(TASKS[:2], tmp_path / "c", policy=policy)
    assert found(tmp_path / "c") == found(tmp_path / "a")
