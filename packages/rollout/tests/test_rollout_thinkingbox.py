"""ThinkingBox tasks through the one loop: what the agent is shown, what test code sees, the row."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal

import pytest

from outcomebox.interpret import render
from outcomebox.reward.chat import Usage
from outcomebox.reward.thinkingbox.standin import StandIn
from outcomebox.rollout import Completion, Message, make_policy
from outcomebox.rollout.stage import UserBrief
from scripted_policy import END, Says, call
from till_tasks import PAY, Till, task_named, till

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(scope="module")
async def live() -> AsyncIterator[Till]:
    """A live till."""
    async with till() as live:
        yield live


class Answers:
    """A user who says some things in order."""

    def __init__(self, *replies: str | None) -> None:
        self.replies = replies
        self.briefs: list[UserBrief] = []

    def describe(self) -> Mapping[str, Any]:
        """Its name."""
        return {"name": "answers"}

    async def check(self) -> None:
        """Nothing to see."""

    def start(self, brief: UserBrief) -> _Answering:
        """From the first reply on."""
        self.briefs.append(brief)
        return _Answering(self.replies)

    async def aclose(self) -> None:
        """Nothing to release."""


class _Answering:
    def __init__(self, replies: Sequence[str | None]) -> None:
        self._left = list(replies)
        self.usage = Usage(3, 2)

    async def reply(self, messages: Sequence[Message]) -> str | None:
        return self._left.pop(0)


def several(*calls: tuple[str, dict[str, Any]], content: str | None = None) -> str:
    """A turn with several calls."""
    return render(reasoning=None, content=content, tool_calls=list(calls))


def noted(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the test `sees` noted."""
    assert row["verdict"]["outcome"] == "passed", row
    found: dict[str, Any] = row["verdict"]["details"]["metadata"]
    return found


async def test_golden_passes_and_nothing_done_fails(live: Till) -> None:
    for name, outcome in (("golden", "passed"), ("noop", "failed")):
        _, row = await live.played(task_named("pays"), make_policy(name))
        assert row["verdict"]["outcome"] == outcome
        assert row["finish_reason"] == "done"
    (reason,) = row["verdict"]["reasons"]
    assert reason["kind"] == "assertion_failed"
    assert "the till differs" in reason["message"]


async def test_a_row_tells_of_effects_but_not_of_whole_states(live: Till) -> None:
    task = task_named("pays")
    row = await live.row(task, PAY, END)
    told = row["effects"]["till"]
    assert told["result_db_hash"] == told["golden_db_hash"]
    assert told["entries"] == [["a", 5]]
    assert set(told["result_db_state"]["left_out"]) == {"bytes", "sha256"}
    assert row["versions"]["task"] == task.hash
    assert len(row["versions"]["servers"]) == 64
    assert row["tags"] == ["domain:shop", "money"]
    assert (row["domain"], row["family"]) == ("shop", "till")
    assert len(row["timing"]["messages"]) == len(row["messages"])
    assert row["timing"]["started"].endswith("+00:00")
    assert (row["changes"], row["calls"]) == ([], [])
    json.dumps(row)


async def test_the_same_episode_leaves_the_same_row_but_for_its_timing(live: Till) -> None:
    rows = [await live.row(task_named("remembers"), PAY, END) for _ in range(2)]
    for row in rows:
        del row["timing"]
    assert rows[0] == rows[1]


async def test_the_agent_sees_instructions_history_and_query_in_this_order(live: Till) -> None:
    row = await live.row(task_named("remembers"), PAY, END)
    assert row["verdict"]["outcome"] == "passed", row
    shown = row["messages"]
    assert [m["content"] for m in shown[:2]] == [
        "You work at a till.",
        "Count twice.\nYou are Ann.",
    ]
    roles = [m["role"] for m in shown if m.get("history")]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "tool", "tool", "assistant"]
    assert shown[3]["reasoning"] == "Let me see."
    assert [c["name"] for c in shown[3]["tool_calls"]] == ["balance"]
    assert shown[10] == {"role": "user", "content": "Ann, please pay 5 into a."}


async def test_calls_of_the_history_are_made_again_and_what_fails_is_a_warning(live: Till) -> None:
    row = await live.row(task_named("remembers"), PAY, END)
    assert any("history: balance failed" in text for text in row["warnings"])
    assert not any("muse" in text or "pay failed" in text for text in row["warnings"])


async def test_the_scenario_has_the_last_word_about_tools(live: Till) -> None:
    class Looks(Says):
        def start(self, context: Any) -> Any:
            self.context = context
            return super().start(context)

    policy = Looks(END)
    _, row = await live.played(task_named("pays"), policy)
    tools = {tool.name: tool for tool in policy.context.tools}
    assert list(tools)[:3] == ["hand_over", "muse", "pay"]
    assert tools["pay"].description == "Pay money into an account of the shop."
    properties = tools["pay"].input_schema["properties"]
    assert properties["account"]["description"] == "The letter of the account."
    assert "description" not in properties["amount"]
    assert not any(name.startswith("__reserved__") for name in tools)
    assert any("colour" in text for text in row["warnings"])
    assert [c.tool for c in policy.context.golden] == ["balance", "pay"]


async def test_reserved_unknown_and_builtin_tools_are_answered_with_an_error(live: Till) -> None:
    row = await live.row(
        task_named("pays"),
        call("__reserved__geteffects"),
        call("teleport"),
        call("muse"),
        call("balance", account="z"),
        PAY,
        END,
    )
    answers = [m for m in row["messages"] if m["role"] == "tool"]
    assert [bool(m.get("is_error")) for m in answers] == [True, True, True, True, False]
    assert "hand_over" in answers[1]["content"]
    # The server's own words, which its SDK decides.
    assert answers[3]["content"]
    assert row["verdict"]["outcome"] == "passed"


async def test_a_direct_response_reaches_the_user_behind_all_answers_of_its_turn(
    live: Till,
) -> None:
    turn = several(
        ("announce", {"text": "We close."}),
        ("balance", {"account": "a"}),
        ("announce", {"text": "Soon."}),
    )
    row = await live.row(task_named("sees"), turn, "Goodbye. <DONE>")
    own = row["messages"][3:]
    assert [m["role"] for m in own] == ["assistant", "tool", "tool", "tool"] + ["assistant"] * 3
    assert own[1]["content"] == '{"text": "We close."}'
    assert own[4] == {
        "role": "assistant",
        "content": "Attention: We close.",
        "direct_response": "announce",
    }
    seen = noted(row)
    assert seen["direct"] == ["Attention: We close.", "Attention: Soon."]
    assert seen["response"] == "Goodbye. <DONE>"
    assert "Assistant: Attention: We close." in seen["transcript"]
    assert [name for name, _, _ in seen["calls"]] == ["announce", "balance", "announce"]


async def test_an_answer_that_fits_no_direct_response_stays_as_it_is(live: Till) -> None:
    row = await live.row(task_named("sees"), call("announce", text=""), END)
    assert row["messages"][4]["content"] == "nothing to say"
    assert noted(row)["direct"] == []
    assert any("announce" in text for text in row["warnings"])


@pytest.mark.parametrize("tool", ["hand_over", "close_till"])
async def test_an_end_turn_tool_ends_it_and_no_call_of_its_turn_is_made(
    live: Till, tool: str
) -> None:
    turn = several(("pay", {"account": "a", "amount": 5}), (tool, {}), content="Goodbye.")
    row = await live.row(task_named("sees"), turn)
    assert row["finish_reason"] == "end_turn_tool"
    assert row["messages"][-1]["role"] == "assistant"
    seen = noted(row)
    assert seen["entries"] == []
    assert seen["calls"] == [[tool, {}, ""]]
    assert seen["response"] == "Goodbye."


async def test_an_end_turn_call_that_cannot_be_read_ends_nothing(live: Till) -> None:
    cut = call("hand_over", reason="I am lost")
    row = await live.row(task_named("sees"), cut[: cut.rindex("</function>")], END)
    assert row["finish_reason"] == "done"
    assert row["messages"][4]["is_error"]


async def test_text_that_says_done_beside_a_call_does_not_end_it(live: Till) -> None:
    turn = several(("pay", {"account": "a", "amount": 5}), content="Paying. <DONE>")
    row = await live.row(task_named("pays"), turn, END)
    assert row["finish_reason"] == "done"
    assert row["verdict"]["outcome"] == "passed"
    assert len([m for m in row["messages"] if m["role"] == "assistant"]) == 2


@pytest.mark.parametrize(
    ("acts", "turns", "messages"),
    [
        (0, [END], 0),
        (1, [PAY, END], 2),
        (2, [PAY, "Anything else?", END], 3),
        (1, [several(("pay", {"account": "a", "amount": 5}), content="Paying.")], 1),
        (2, [call("announce", text="We close."), END], 3),
        (3, [PAY, PAY, END], 5),
    ],
)
async def test_what_the_agent_does_is_counted_where_the_task_limits_it(
    live: Till, acts: int, turns: list[str], messages: int
) -> None:
    row = await live.row(task_named("sees", max_agent_sim_turns=acts), *turns)
    assert len(row["messages"]) == 3 + messages
    assert row["finish_reason"] == ("done" if acts == 3 else "agent_limit")


async def test_an_agent_that_never_ends_is_ended(live: Till) -> None:
    row = await live.row(task_named("sees"), *[PAY] * 4, settings={"turns": 3})
    assert row["finish_reason"] == "agent_limit"
    assert noted(row)["entries"] == [["a", 5]] * 3


async def test_the_user_is_told_the_context_and_has_so_many_replies(live: Till) -> None:
    user = Answers("Yes.", "Yes, please.", "Really.")
    task = task_named("remembers", max_user_sim_turns=2)
    row = await live.row(task, *["Sure?"] * 4, user=user)
    assert row["finish_reason"] == "user_limit"
    (brief,) = user.briefs
    assert (brief.background, brief.replies) == ("You know Ann.", ())
    assert (brief.may_end, brief.protocol) == (False, "thinkingbox")
    said = [m["content"] for m in row["messages"] if m["role"] == "user" and not m.get("history")]
    assert said[1:] == ["Yes.", "Yes, please."]
    assert row["usage"]["user"] == {"prompt": 3, "completion": 2}


@pytest.mark.parametrize(
    ("may_end", "reason", "turns"), [(True, "user_done", 1), (False, "done", 2)]
)
async def test_done_from_the_user_counts_where_the_user_may_end_it(
    live: Till, may_end: bool, reason: str, turns: int
) -> None:
    row = await live.row(
        task_named("sees"),
        "Anything else?",
        END,
        user=Answers("Thanks, no. <DONE>"),
        settings={"user_may_end": may_end},
    )
    assert row["finish_reason"] == reason
    assert len([m for m in row["messages"] if m["role"] == "assistant"]) == turns
    assert {"role": "user", "content": "Thanks, no. <DONE>"} in row["messages"]


async def test_a_user_who_may_end_it_has_one_reply_more(live: Till) -> None:
    user = Answers("Yes.", "No. <DONE>")
    task = task_named("sees", max_user_sim_turns=1)
    row = await live.row(task, "Sure?", "Sure?", user=user, settings={"user_may_end": True})
    assert row["finish_reason"] == "user_done"


async def test_where_nobody_can_answer_a_question_ends_it(live: Till) -> None:
    row = await live.row(task_named("alone"), PAY, "Anything else?")
    assert row["finish_reason"] == "no_user"
    assert row["verdict"]["outcome"] == "passed"


async def test_a_judge_answers_what_test_code_asks(live: Till) -> None:
    task = task_named("asks")
    answers: list[tuple[Literal["yes", "no"], str]] = [("yes", "passed"), ("no", "failed")]
    for says, outcome in answers:
        row = await live.row(task, "How kind of you. <DONE>", judge=StandIn(says))
        assert row["verdict"]["outcome"] == outcome
        assert row["judge"] == {"name": f"stand-in ({says})"}
        assert row["verdict"]["details"]["judge"] == [
            {"question": "Is the agent kind?", "answer": says == "yes"}
        ]


async def test_variables_of_the_session_reach_its_servers(live: Till) -> None:
    row = await live.row(task_named("sees"), END, session_env={"TILL_MARK": "x"})
    assert noted(row)["env"] == "x"


async def test_test_code_sees_thoughts_words_and_calls_one_by_one(live: Till) -> None:
    turn = render(reasoning="hm", content="One moment.", tool_calls=[("balance", {"account": "a"})])
    row = await live.row(task_named("sees"), Completion(turn), call("balance"), END)
    kinds = noted(row)["messages"][2:]
    assert kinds == [
        ["Text", "Please tell everybody that we close."],
        ["Text", "hm"],
        ["Text", "One moment."],
        ["ParallelToolCall", ""],
        ["ToolResponse", '{"balance": 10}'],
        ["ParallelToolCall", ""],
        ["ToolResponse", row["messages"][6]["content"]],
        ["Text", END],
    ]
