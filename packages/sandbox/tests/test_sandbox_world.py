"""Sessions in the ThinkingBox form: init, effects, and no way to reserved tools for an agent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outcomebox.sandbox import (
    Sandbox,
    ServerDied,
    SessionOpenError,
    StateUnreadable,
    ToolSpec,
    World,
    open_world,
    sandbox,
)
from outcomebox.sandbox.world import agent_view
from server_kinds import kind

pytestmark = pytest.mark.anyio

KIM = {"accounts": {"a": 10, "b": 0}}
TOOLS = ("pay", "balance", "crash")
SPECS = {"ledger": kind("ledger"), "second": kind("ledger", env={"WHICH": "second"})}
SPECS["rogue"] = kind("rogue")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(scope="module")
async def box() -> AsyncIterator[Sandbox]:
    """A sandbox with all test servers started."""
    async with sandbox() as box:
        for spec in SPECS.values():
            await box.start(spec)
        yield box


@asynccontextmanager
async def opened(
    box: Sandbox, world_state: Mapping[str, Any], tools: tuple[str, ...] = TOOLS
) -> AsyncIterator[World]:
    """A world of the test servers."""
    async with open_world(box, SPECS, world_state, tools, seed=1, session_id="s-1") as world:
        yield world


async def test_init_gets_its_part_and_effects_tell_the_end(box: Sandbox) -> None:
    golden = {"tool": "pay", "parameters": {"source": "a", "target": "b", "amount": 4}}
    config = {**KIM, "owner": "Ann", "golden_test_case": {"tool_interactions": [golden]}}
    async with opened(box, {"ledger": config}) as world:
        assert world.init_result == {"ledger": {"session": "s-1", "owner": "Ann"}}
        assert [tool.name for tool in world.tools] == list(TOOLS)
        before = (await world.effects())["ledger"]
        assert before["result_db_hash"] != before["golden_db_hash"]
        await world.call("pay", golden["parameters"])  # type: ignore[arg-type]
        after = (await world.effects())["ledger"]
        assert after["result_db_state"]["accounts"] == {"a": 6, "b": 4}
        assert after["result_db_hash"] == after["golden_db_hash"]
    assert world.cpu_s > 0


async def test_two_sessions_of_one_server_hold_two_states(box: Sandbox) -> None:
    async with opened(box, {"ledger": KIM}) as one, opened(box, {"ledger": KIM}) as other:
        await one.call("pay", {"source": "a", "target": "b", "amount": 10})
        balance = await other.call("balance", {"account": "a"})
        assert json.loads(balance.text) == {"account": "a", "balance": 10}


async def test_the_later_server_wins_a_name_and_each_gets_its_init(box: Sandbox) -> None:
    state = {"ledger": KIM, "second": {"accounts": {"z": 3}, "quiet": True}}
    async with opened(box, state) as world:
        assert world.init_result["second"] == {}
        assert "3" in (await world.call("balance", {"account": "z"})).text
        assert "null" in (await world.call("balance", {"account": "a"})).text
        found = await world.call_server("ledger", "balance", {"account": "a"})
        assert "10" in found.text
        effects = await world.effects()
        assert set(effects) == {"ledger", "second"}


async def test_a_server_without_reserved_tools_has_no_effects(box: Sandbox) -> None:
    async with opened(box, {"rogue": {"anything": 1}}, ("echo",)) as world:
        assert world.init_result == {"rogue": {}}
        assert await world.effects() == {"rogue": {}}


@pytest.mark.parametrize(
    ("state", "tools", "words"),
    [
        ({"ledger": {"misbehave": "refuse"}}, TOOLS, "no such world"),
        ({"ledger": {"misbehave": "garbage"}}, TOOLS, "not initialised: ready!"),
        ({"ledger": {"misbehave": "die"}}, TOOLS, "not initialised.*status 9"),
        ({"nobody": {}}, TOOLS, "no tool server nobody is configured"),
        ({"ledger": KIM}, ("pay", "fly"), "has the tool fly"),
        ({"ledger": KIM}, ("pay", "__reserved__init"), "is the harness's"),
    ],
)
async def test_a_world_that_does_not_come_up_says_why(
    box: Sandbox, state: dict[str, Any], tools: tuple[str, ...], words: str
) -> None:
    with pytest.raises(SessionOpenError, match=words):
        async with opened(box, state, tools):
            pass


@pytest.mark.parametrize("how", ["no effects", "error effects"])
async def test_effects_that_are_none_are_no_state(box: Sandbox, how: str) -> None:
    async with opened(box, {"ledger": {**KIM, "misbehave": how}}) as world:
        with pytest.raises(StateUnreadable, match="gave no effects"):
            await world.effects()


async def test_a_dead_server_is_named_and_the_other_worlds_go_on(box: Sandbox) -> None:
    async with opened(box, {"ledger": KIM}) as one, opened(box, {"ledger": KIM}) as other:
        with pytest.raises(ServerDied, match="status 4 in tool crash"):
            await one.call("crash", {})
        with pytest.raises(StateUnreadable, match="gave no effects"):
            await one.effects()
        assert "10" in (await other.call("balance", {"account": "a"})).text


TRICKS: list[tuple[str, dict[str, Any]]] = [
    ("__reserved__geteffects", {}),
    ("__reserved__init", {"config": {"accounts": {"a": 1000}}}),
    ("__reserved__teardown", {}),
    # Upstream's proxy answers this one: any tool of any server, reserved ones included.
    (
        "__reserved__server_tool",
        {"server_name": "ledger", "tool_name": "__reserved__geteffects", "arguments": {}},
    ),
    ("ledger__reserved__geteffects", {}),
    ("ledger.__reserved__geteffects", {}),
    ("ledger/__reserved__geteffects", {}),
    ("ledger:__reserved__geteffects", {}),
    (" __reserved__geteffects", {}),
    ("__reserved__geteffects ", {}),
    ("__reserved__geteffects\n", {}),
    ("__RESERVED__GETEFFECTS", {}),
    ("__reserved__gete\u0066fects\u200b", {}),
    ("\uff3f\uff3freserved\uff3f\uff3fgeteffects", {}),  # full-width underscores
    ("__reserved__geteffects\x00", {}),
    ("tools/call", {"name": "__reserved__geteffects", "arguments": {}}),
    ("pay", {"name": "__reserved__geteffects", "source": "a", "target": "b", "amount": 0}),
    ("balance", {"account": "__reserved__geteffects"}),
    ("balance", {"account": "a", "session_id": "s-2", "_meta": {"session": "other"}}),
    ("pay", {"source": "a", "target": "b", "amount": 0, "config": {"golden_test_case": {}}}),
    ("crash\u0000", {}),
    ("", {}),
    ("../ledger", {}),
]
"""What an agent may try, by any name and arguments, to reach what is not for it."""

SECRET = "the-golden-account"


@pytest.mark.parametrize(("tool", "arguments"), TRICKS)
async def test_no_trick_reaches_the_harness(
    box: Sandbox, tool: str, arguments: dict[str, Any]
) -> None:
    golden = {"tool": "pay", "parameters": {"source": "a", "target": SECRET, "amount": 5}}
    config: dict[str, Any] = {"accounts": {"a": 10, "b": 0, SECRET: 0}}
    config |= {"golden_test_case": {"tool_interactions": [golden]}}
    other = {"accounts": {"a": 777}}
    async with opened(box, {"ledger": config}, ("pay", "balance")) as world:
        async with opened(box, {"ledger": other}) as second:
            before = await world.effects()
            result = await world.call(tool, arguments)
            assert SECRET not in result.text
            assert "777" not in result.text
            assert "golden" not in result.text.replace(repr(tool), "")
            if tool not in {"pay", "balance"}:
                assert result.is_error
                assert "There is no tool" in result.text
            theirs = (await second.effects())["ledger"]["result_db_state"]
            assert theirs["accounts"] == {"a": 777}
        after = await world.effects()
        changed = after["ledger"]["result_db_state"]["accounts"]
        assert changed == before["ledger"]["result_db_state"]["accounts"]
        assert after["ledger"]["golden_db_hash"] == before["ledger"]["golden_db_hash"]
    shown = json.dumps([each.openai() for each in world.tools])
    assert "reserved" not in shown


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(name=st.text(max_size=40).filter(lambda name: name not in TOOLS))
async def test_any_other_name_is_answered_without_a_server(box: Sandbox, name: str) -> None:
    async with _one_world(box) as world:
        result = await world.call(name, {})
    assert result.is_error
    assert "There is no tool" in result.text


@asynccontextmanager
async def _one_world(box: Sandbox) -> AsyncIterator[World]:
    """A world that is only asked for what it must refuse."""
    async with opened(box, {"ledger": KIM}) as world:
        yield world


def test_the_agents_view_has_references_in_place_and_no_titles_at_the_top() -> None:
    schema = {
        "title": "payArguments",
        "type": "object",
        "properties": {
            "money": {"$ref": "#/$defs/Money", "title": "Money"},
            "all": {"type": "array", "title": "All", "items": {"$ref": "#/$defs/Money"}},
        },
        "$defs": {
            "Money": {
                "title": "Money",
                "type": "object",
                "properties": {"unit": {"$ref": "#/$defs/a~1b~0c"}},
            },
            "a/b~c": {"enum": ["EUR"], "title": "Unit"},
        },
    }
    unit = {"enum": ["EUR"], "title": "Unit"}
    money = {"type": "object", "properties": {"unit": unit}}
    seen = agent_view(ToolSpec("pay", "", schema, writes=True)).input_schema
    assert seen == {
        "type": "object",
        "properties": {
            "money": money,
            "all": {"type": "array", "items": {**money, "title": "Money"}},
        },
    }
    assert schema["title"] == "payArguments"


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ({"$ref": "#/$defs/Node"}, "refers to itself"),
        ({"$ref": "#/$defs/Gone"}, "is not in it"),
        ({"$ref": "https://elsewhere/schema"}, "is not in it"),
    ],
)
def test_references_that_lead_nowhere_are_refused(definition: dict[str, Any], words: str) -> None:
    schema = {"type": "object", "properties": {"node": {"$ref": "#/$defs/Node"}}}
    schema["$defs"] = {"Node": {"properties": {"next": definition}}}
    with pytest.raises(SessionOpenError, match=words):
        agent_view(ToolSpec("pay", "", schema, writes=True))


async def test_a_server_is_torn_down_after_an_error_too_and_may_hang_in_it(box: Sandbox) -> None:
    config = {**KIM, "misbehave": "hang at the end"}
    with pytest.raises(KeyError, match="mine"):
        async with opened(box, {"ledger": config}):
            raise KeyError("mine")
    async with opened(box, {"ledger": KIM}) as world:
        assert "10" in (await world.call("balance", {"account": "a"})).text
