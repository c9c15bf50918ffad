"""What a service does when there is too much, too little or nobody."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from outcomebox.sandbox.service import ServiceSettings
from process_states import alive, descendants
from served import Client, served

ORDER: dict[str, Any] = {"server_config": {"rogue": {}}, "available_tools": ["echo", "hang"]}


def order(client: Client, name: str, **more: Any) -> None:
    """Open a session of the server that is quickly there."""
    client.value("session_create", session_id=name, **{**ORDER, **more})


def test_a_full_service_says_come_again_and_a_place_that_is_left_is_given() -> None:
    with served(ServiceSettings(most=1, wait_s=0.0)) as client:
        order(client, "a")
        answer = client.http.post("/session_create", json={"session_id": "b", **ORDER})
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        assert client.ask("list_tools", session_id="b")[0] == 400
        client.value("session_destroy", session_id="a")
        order(client, "b")
        assert client.metric('outcomebox_session_events_total{event="refused"}') == 1
        assert client.metric("outcomebox_sessions ") == 1


def test_who_waits_gets_the_place_and_who_is_destroyed_waiting_does_not() -> None:
    with served(ServiceSettings(most=1, wait_s=30.0)) as client:
        order(client, "a")
        found: dict[str, Any] = {}

        def create(name: str) -> None:
            found[name] = client.ask("session_create", session_id=name, **ORDER)

        threads = [threading.Thread(target=create, args=(name,)) for name in ("b", "c")]
        for number, thread in enumerate(threads, 1):
            thread.start()
            client.until("outcomebox_sessions_waiting ", number)
        assert client.ask("session_destroy", session_id="b") == (200, "Ok")
        client.until("outcomebox_sessions_waiting ", 1)
        client.value("session_destroy", session_id="a")
        for thread in threads:
            thread.join()
        assert found["b"] == (400, "Session does not exist")
        assert found["c"][0] == 200
        client.value("session_destroy_all")
        client.until("outcomebox_sessions ", 0)


def test_who_is_idle_is_ended_and_who_is_called_is_not() -> None:
    with served(ServiceSettings(idle_s=0.6)) as client:
        order(client, "idle")
        order(client, "used")
        order(client, "busy", timeout=2.0)
        hanging = threading.Thread(target=client.call, args=("busy", "hang"))
        hanging.start()
        deadline = time.monotonic() + 1.4
        while time.monotonic() < deadline:
            assert client.call("used", "echo")[0] == 200
            time.sleep(0.05)
        assert client.ask("list_tools", session_id="idle") == (400, "Session does not exist")
        assert client.ask("list_tools", session_id="busy")[0] == 200
        hanging.join()


def test_a_token_is_asked_for_everywhere_but_at_health() -> None:
    with served(ServiceSettings(token="s3cret")) as client:
        refused = {"success": False, "error": "Unauthorized"}
        wrong: list[dict[str, str]] = [
            {},
            {"Authorization": "Bearer no"},
            {"Authorization": "s3cret"},
            {"Authorization": "Bearer s3cret2"},
        ]
        for headers in wrong:
            for path in ("/session_create", "/mcp", "/metrics", "/no", "/health/x"):
                answer = client.http.post(path, json={}, headers=headers)
                assert (answer.status_code, answer.json()) == (401, refused)
        assert client.http.get("/health").text == "OK"
        client.http.headers["Authorization"] = "Bearer s3cret"
        order(client, "a")


def test_the_harness_tool_is_closed_unless_it_is_opened() -> None:
    with served() as client:
        order(client, "a")
        asked = {"server_name": "rogue", "tool_name": "seen", "arguments": {}}
        status, message = client.call("a", "__reserved__server_tool", **asked)
        assert status == 400
        assert "--server-tool" in message
        assert client.call("a", "seen")[0] == 400


def test_equal_orders_are_equal_sessions() -> None:
    with served() as client:
        client.open("a", {"shelf": {}}, available_tools=["add_box"])
        client.open("b", {"shelf": {}}, available_tools=["add_box"], seed=0)
        arguments = {"shelf_id": "S-1", "weight": 7, "note": "new"}
        answers = [client.call(name, "add_box", **arguments) for name in ("a", "b")]
        assert answers[0] == answers[1]
        assert answers[0][0] == 200
        assert client.value("get_effects", session_id="a") == client.value(
            "get_effects", session_id="b"
        )


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_sdks_own_client_speaks_with_it(anyio_backend: str) -> None:
    from mcp import ClientSession

    with served() as client:
        order(client, "a")
        url, headers = str(client.http.base_url).rstrip("/") + "/mcp", {"X-TB-Session-Id": "a"}
        async with _streams(url, headers) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            listed = await session.list_tools()
            assert [tool.name for tool in listed.tools] == ["echo", "hang"]
            result: Any = await session.call_tool("echo", {"text": "to me"})
            assert "to me" in result.content[0].text


def _streams(url: str, headers: dict[str, str]) -> Any:
    """The SDK's transport, which its two lines make in different ways."""
    from contextlib import asynccontextmanager

    from mcp.client import streamable_http

    @asynccontextmanager
    async def opened() -> Any:
        try:
            from mcp.shared._httpx_utils import create_mcp_http_client
        except ModuleNotFoundError:
            import httpx2 as http

            made: Any = http.AsyncClient(headers=headers)
        else:
            made = create_mcp_http_client(headers=headers)
        async with made, streamable_http.streamable_http_client(url, http_client=made) as found:
            yield found[:2]

    return opened()


def test_all_is_gone_when_the_service_ends() -> None:
    before = descendants()
    with served() as client:
        order(client, "a")
        order(client, "b", timeout=30.0)
        hanging = threading.Thread(target=client.call, args=("b", "hang"))
        hanging.start()
        during = descendants() - before
        time.sleep(0.2)
        client.value("session_destroy_all")
        hanging.join(timeout=10)
        assert not hanging.is_alive()
    assert during
    assert not {pid for pid in during if alive(pid)}
