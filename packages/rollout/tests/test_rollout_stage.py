"""The loop on a stage without a sandbox, and how conversations, effects and tools are turned."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.interpret import render
from outcomebox.reward import Verdict
from outcomebox.rollout import Completion, EpisodeSetting, ScriptedUser, seeder
from outcomebox.rollout.episode import Episode, run_episode
from outcomebox.rollout.judges import make_judge
from outcomebox.rollout.stage import Ended, Limits, Message, StageTool, UserBrief
from outcomebox.rollout.stages import NativeTasks, ThinkingBoxTasks, open_tasks
from outcomebox.rollout.stages.checkform import chat_messages, check_calls, check_messages
from outcomebox.rollout.stages.effects import LARGEST, recorded_effects
from outcomebox.rollout.stages.toolview import direct_text
from outcomebox.sandbox import InputError, TaskSet, ToolResult, ToolSpec, load_domain, load_servers
from outcomebox.sandbox.thinkingbox import load_thinkingbox
from outcomebox.sandbox.thinkingbox.history import normal_messages
from scripted_policy import SHELF, Says, shelf_task
from till_tasks import TILL, task_named

TOOLS = (
    StageTool(ToolSpec("look", "Look.", {"type": "object", "properties": {}}, writes=False)),
    StageTool(
        ToolSpec("tell", "Tell.", {"type": "object", "properties": {}}, writes=False),
        direct_response="{text}",
    ),
    StageTool(
        ToolSpec("leave", "Leave.", {"type": "object", "properties": {}}, writes=False),
        end_turn=True,
    ),
)


class FakeStage:
    """A task without a backend: it notes the calls, and passes."""

    tools = TOOLS
    opening: Sequence[Message] = (
        {"role": "system", "content": "s"},
        {"role": "user", "content": "q"},
    )
    golden = ()

    def __init__(self, limits: Limits, brief: UserBrief) -> None:
        self.limits = limits
        self.brief = brief
        self.warnings: list[str] = []
        self.called: list[str] = []

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        self.called.append(name)
        return ToolResult(json.dumps({"text": f"told {len(self.called)}"}), is_error=False)

    async def finish(self) -> Ended:
        return Ended()

    async def grade(
        self,
        ended: Ended,
        messages: Sequence[Message],
        judge: Any | None = None,
    ) -> Verdict:
        return Verdict("passed", 1.0)


class FakeTasks:
    """The one task of a fake stage."""

    def __init__(self, stage: FakeStage) -> None:
        self.stage = stage

    @asynccontextmanager
    async def open(self, task: Any, **_: Any) -> AsyncIterator[FakeStage]:
        yield self.stage


def played(stage: FakeStage, turns: Sequence[Completion]) -> Episode:
    """An episode on a fake stage; it has no turn more than are written."""
    setting = EpisodeSetting(
        sandbox=cast("Any", None), policy=Says(*turns), user=ScriptedUser(), seed_of=seeder(0)
    )

    async def run() -> Episode:
        tasks = cast("Any", FakeTasks(stage))
        return await run_episode(setting, tasks, shelf_task(), 0)

    return anyio.run(run)


SPOKEN = st.sampled_from(["", "Which one?", "Good. <DONE>"])
TURNS = st.builds(
    lambda said, calls, cut: (said, tuple(calls), cut),
    SPOKEN,
    st.lists(st.sampled_from(["look", "tell", "leave"]), max_size=3),
    st.sampled_from([False, False, False, True]),
)
Turn = tuple[str, tuple[str, ...], bool]


def completion(turn: Turn) -> Completion:
    """A turn as a policy writes it."""
    said, calls, cut = turn
    text = render(reasoning=None, content=said or None, tool_calls=[(name, {}) for name in calls])
    return Completion(text, finish_reason="length" if cut else "stop")


def expected(turns: Sequence[Turn], limits: Limits, *, silent: bool) -> tuple[str, list[str]]:
    """Why such an episode ends and what was called, told in another way than the loop has it."""
    called: list[str] = []
    replies = 0
    for index, (said, calls, cut) in enumerate(turns):
        last = index == limits.turns - 1
        if cut:
            return "token_limit", called
        if "leave" in calls:
            return "end_turn_tool", called
        called += calls
        if calls:
            if last:
                return "agent_limit", called
            continue
        if said.endswith("<DONE>"):
            return "done", called
        if not said:
            return "empty_output", called
        if last:
            return "agent_limit", called
        if silent:
            return "no_user", called
        if replies == limits.user_turns:
            return "user_limit", called
        replies += 1
        if replies == 2:  # the scripted user has nothing to add, then leaves
            return "user_done", called
    raise AssertionError("the episode has no end")


@settings(max_examples=150, deadline=None)
@given(
    turns=st.lists(TURNS, min_size=1, max_size=6),
    user_turns=st.integers(0, 3),
    silent=st.booleans(),
)
def test_the_first_end_that_holds_counts_and_every_call_is_answered_once(
    turns: list[Turn], user_turns: int, silent: bool
) -> None:
    limits = Limits(len(turns), user_turns, 1.0)
    brief = UserBrief("", protocol="thinkingbox" if silent else "outcomebox")
    stage = FakeStage(limits, brief)
    episode = played(stage, [completion(turn) for turn in turns])
    reason, called = expected(turns, limits, silent=silent)
    assert (episode.finish_reason, stage.called) == (reason, called)
    assert len(episode.spent.messages) == len(episode.messages)
    asked = [call["id"] for m in episode.messages for call in m.get("tool_calls", ())]
    answered = [m["tool_call_id"] for m in episode.messages if m["role"] == "tool"]
    assert len(set(asked)) == len(asked)
    assert answered == [key for key in asked if key in set(answered)]
    told = [m for m in episode.messages if m.get("direct_response")]
    assert len(told) == called.count("tell")
    assert not stage.warnings


ID = st.text("abc", min_size=1, max_size=3)
WORDS = st.text(min_size=1, max_size=8)
CALLS = st.builds(
    lambda name, key: {"T": "ToolCall", "metadata": {}, "name": name, "arguments": {}, "id": key},
    WORDS,
    ID,
)
HISTORY = st.lists(
    st.one_of(
        st.builds(
            lambda role, words: {"T": "Text", "metadata": {}, "role": role, "content": words},
            st.sampled_from(["user", "assistant"]),
            WORDS,
        ),
        st.builds(
            lambda words, tag: {
                "T": "Text",
                "metadata": {"tag": tag},
                "role": "assistant",
                "content": words,
            },
            WORDS,
            st.sampled_from(["think", "direct"]),
        ),
        st.builds(
            lambda calls: {"T": "ParallelToolCall", "metadata": {}, "tool_calls": calls},
            st.lists(CALLS, min_size=1, max_size=3),
        ),
        st.builds(
            lambda name, words, key: {
                "T": "ToolResponse",
                "metadata": {},
                "name": name,
                "content": words,
                "id": key,
            },
            WORDS,
            WORDS,
            ID,
        ),
    ),
    max_size=8,
)


@settings(max_examples=200, deadline=None)
@given(history=HISTORY)
def test_a_conversation_comes_back_from_chat_messages_as_it_was(
    history: list[dict[str, Any]],
) -> None:
    history = normal_messages(history)
    back = check_messages(chat_messages(history))
    for message in back:
        message["metadata"].pop("is_done", None)
    assert normal_messages(back) == history


def test_a_call_that_was_not_read_has_its_error_as_answer() -> None:
    calls = [
        {"id": "1", "name": "look", "arguments": {}, "status": "malformed", "executable": False},
        {"id": "2", "name": "leave", "arguments": {}, "status": "malformed", "executable": False},
    ]
    messages: list[Message] = [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "1", "name": "look", "content": "not executed"},
    ]
    (found,) = check_calls(messages, frozenset({"leave"}))
    assert found["tool_call"]["metadata"] == {"error": "malformed"}
    assert found["tool_response"]["content"] == "not executed"


@settings(max_examples=100, deadline=None)
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_small_effects_stay_and_states_go(value: Any) -> None:
    told = recorded_effects({"s": {"diff": value, "result_db_state": {"t": value}}, "t": value})
    assert told["s"]["diff"] == value
    assert told["t"] == value
    assert set(told["s"]["result_db_state"]["left_out"]) == {"bytes", "sha256"}


def test_large_effects_go_and_say_which_they_were() -> None:
    one, other = "x" * (LARGEST + 1), "y" * (LARGEST + 1)
    found = [recorded_effects({"s": {"log": value}})["s"]["log"] for value in (one, one, other)]
    assert found[0] == found[1] != found[2]
    assert found[0]["left_out"]["bytes"] == LARGEST + 3


@pytest.mark.parametrize(
    ("template", "answer", "text"),
    [
        ("Hello {name}", '{"name": "Kim"}', "Hello Kim"),
        ("{a[b]}: {c:>3}", '{"a": {"b": 1}, "c": 2}', "1:   2"),
        ("plain", "{}", "plain"),
        ("{name.__class__}", '{"name": "Kim"}', None),
        ("{a.__class__.__init__.__globals__}", '{"a": 1}', None),
        ("{gone}", '{"name": "Kim"}', None),
        ("{}", '{"name": "Kim"}', None),
        ("{name}", '["name"]', None),
        ("{name}", "no JSON", None),
        ("{name:d}", '{"name": "Kim"}', None),
    ],
)
def test_a_direct_response_looks_items_up_and_nothing_else(
    template: str, answer: str, text: str | None
) -> None:
    assert direct_text(template, answer) == text


def test_tasks_are_opened_by_what_their_selector_is(tmp_path: Path) -> None:
    assert isinstance(open_tasks(["travel"]), NativeTasks)
    servers = load_servers(TILL / "servers.yaml")
    found = open_tasks([str(TILL)], servers=servers)
    assert isinstance(found, ThinkingBoxTasks)
    assert "till.py:skipped" not in found.by_uid
    assert [task.uid for task in found.tasks] == sorted(found.by_uid)
    one = open_tasks(["till.py:pays"], dataset=TILL, servers=servers)
    assert list(one.by_uid) == ["till.py:pays"]
    with pytest.raises(InputError, match="needs its tool servers"):
        open_tasks([str(TILL)])
    with pytest.raises(InputError, match="run by itself"):
        open_tasks([str(TILL), "travel"], servers=servers)
    with pytest.raises(InputError, match="needs the tool server till"):
        open_tasks([str(TILL)], servers={})
    with pytest.raises(InputError, match="names no file"):
        open_tasks(["nothing.py"], dataset=TILL, servers=servers)


def test_what_needs_a_judge_says_so() -> None:
    servers = load_servers(TILL / "servers.yaml")
    needing = ThinkingBoxTasks([task_named("asks"), task_named("pays")], servers)
    plain = ThinkingBoxTasks([task_named("pays")], servers)
    assert plain.needs_judge() is None
    assert make_judge(None, {}, tasks=plain) is None
    with pytest.raises(InputError, match=r"till.py:asks asks a judge .* give --judge model"):
        make_judge(None, {}, tasks=needing)
    judge = make_judge("yes", {}, tasks=needing)
    assert judge is not None
    assert judge.describe() == {"name": "stand-in (yes)"}
    with pytest.raises(InputError, match="write one of model"):
        make_judge("yes", {}, tasks=NativeTasks(TaskSet((), {})))
    shelf = {"shelf": load_domain(SHELF)}
    rubric = NativeTasks(TaskSet((shelf_task(rubrics=["Is it kind?"]),), shelf))
    assert "Is it kind?" in (rubric.needs_judge() or "")
    with pytest.raises(InputError, match="Is it kind"):
        make_judge(None, {}, tasks=rubric)


def test_digests_of_servers_hold_on_any_machine_and_tell_no_secret() -> None:
    (task,) = load_thinkingbox(TILL, ["till.py:pays"])
    here = load_servers(TILL / "servers.yaml")
    there = {
        "till": here["till"].model_copy(
            update={"command": ("/elsewhere/python3.12", *here["till"].command[1:])}
        )
    }
    other = {"till": here["till"].model_copy(update={"clock": "2026-01-01T00:00:00Z"})}
    known, same, changed = (
        ThinkingBoxTasks([task], specs).versions(task)["servers"] for specs in (here, there, other)
    )
    assert known == same != changed
    assert task.content_hash == task.model_copy(update={"uid": "other.py:name"}).content_hash
