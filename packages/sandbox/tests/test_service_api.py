"""The session-proxy API as a client meets it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from outcomebox.sandbox.service import ServiceSettings
from served import TOOLS, WORLD, Client, served


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A client of a service of this module."""
    with served(ServiceSettings(server_tool=True)) as client:
        yield client


@pytest.fixture
def name(request: pytest.FixtureRequest, client: Client) -> Iterator[str]:
    """A name for a session of this test, which is ended after it."""
    yield request.node.name
    client.ask("session_destroy", session_id=request.node.name)


def test_the_recorded_conversation(client: Client) -> None:
    file = Path(__file__).parent / "service" / "conversation.yaml"
    for step in yaml.safe_load(file.read_text(encoding="utf-8")):
        answer = client.http.post(f"/{step['post']}", json=step["send"])
        assert (answer.status_code, answer.json()) == (step["status"], step["answer"]), step
    assert client.http.get("/health").text == "OK"


@pytest.mark.parametrize(
    ("endpoint", "body", "part"),
    [
        ("session_create", {}, "session_id"),
        ("session_create", {"server_config": {"ledger": 3}}, "server_config.ledger"),
        ("session_create", {"server_config": {"no": {}}}, "Server no does not exist"),
        ("session_create", {"available_tools": ["no"]}, "no"),
        ("session_create", {"available_tools": ["__reserved__init"]}, "the harness's"),
        ("session_create", {"server_config": {"ledger": {"misbehave": "refuse"}}}, "no such world"),
        (
            "session_create",
            {"server_config": {"ledger": {"misbehave": "die"}}},
            "ended with status 9",
        ),
        ("session_create", {"timeout": 0}, "timeout"),
        ("session_create", {"timeout": "NaN"}, "timeout"),
        ("session_create", {"server_config": {"shelf": {}, **WORLD}}, "no other server"),
        ("session_create", {"server_config": {"shelf": {"task": "no"}}}, "no task 'no'"),
        ("session_create", {"server_config": {"shelf": {"tusk": 1}}}, "no tusk"),
        ("call_tool", {"tool_name": "pay"}, "arguments"),
        ("call_tool", {"tool_name": "pay", "arguments": []}, "arguments"),
        ("get_effects", {"session_id": 4}, "session_id"),
        ("garbage_collect", {"inactivity_minutes": -1}, "inactivity_minutes"),
    ],
)
def test_what_is_wrong_is_said_and_leaves_nothing(
    client: Client, endpoint: str, body: dict[str, Any], part: str
) -> None:
    order: dict[str, Any] = {
        "session_id": "wrong",
        "server_config": WORLD,
        "available_tools": TOOLS,
    }
    if not body:
        order = {}
    status, message = client.ask(endpoint, **{**order, **body})
    assert status == 400
    assert part in message
    assert client.ask("session_destroy", session_id="wrong") == (400, "Session does not exist")
    client.until("outcomebox_sessions ", 0)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b"[" * 100_000, b'"x"', b"[]", b"null", b'{"session_id": "\\ud800"}'],
)
def test_a_body_that_is_none_is_refused(client: Client, body: bytes) -> None:
    answer = client.http.post("/session_create", content=body)
    assert answer.status_code == 400
    assert answer.json()["success"] is False


def test_other_paths_and_methods_have_the_envelope(client: Client) -> None:
    for method, path, status in (("GET", "/call_tool", 405), ("POST", "/no", 404)):
        answer = client.http.request(method, path)
        assert answer.status_code == status
        assert answer.json()["content"]["type"] == "string"


def test_no_session_sees_another(client: Client, name: str) -> None:
    client.open(name)
    client.open("other")
    assert client.call(name, "pay", source="A", target="B", amount=7)[0] == 200
    assert json.loads(client.call("other", "balance", account="B")[1])["balance"] == 0
    effects = client.value("get_effects", session_id=name)["ledger"]
    assert effects["result_db_state"]["accounts"] == {"A": 3, "B": 7}
    client.value("session_destroy", session_id="other")


def test_numbers_and_characters_come_through_whole(client: Client, name: str) -> None:
    client.open(name, {"rogue": {}, "ledger": {"accounts": {"ü": 1 << 80}}})
    answer = client.call(name, "balance", account="ü")
    assert json.loads(answer[1]) == {"account": "ü", "balance": 1 << 80}
    other = f"{name} too"
    client.open(other, {"rogue": {}}, available_tools=["echo"])
    assert client.call(other, "echo", text="half \ud800 of it") == (200, "half \ud800 of it")
    client.value("session_destroy", session_id=other)


def test_a_call_past_the_sessions_deadline_is_504(client: Client, name: str) -> None:
    client.open(name, {"rogue": {}}, available_tools=["hang", "echo"], timeout=0.2)
    status, message = client.call(name, "hang")
    assert (status, message) == (504, "Tool call timed out after 0.2 seconds")


def test_a_server_that_dies_is_an_error_and_the_session_can_go(client: Client, name: str) -> None:
    client.open(name, {"rogue": {}}, available_tools=["die"])
    status, message = client.call(name, "die", status=5)
    assert status == 400
    assert "ended with status 5" in message
    assert client.ask("session_destroy", session_id=name) == (200, "Ok")


def test_the_wish_for_json_and_for_the_calls(client: Client, name: str) -> None:
    more = {"always_json_output": True, "geteffects_proxy_info": True}
    client.open(name, {"rogue": {}}, available_tools=["echo"], **more)
    assert client.call(name, "echo", text="plain") == (200, '{"result": "plain"}')
    assert client.call(name, "echo", text="[1]") == (200, "[1]")
    calls = client.value("get_effects", session_id=name)["__reserved__proxy_info"]["tool_calls"]
    assert calls[0] == {
        "tool_name": "echo",
        "arguments": {"text": "plain"},
        "response": '{"result": "plain"}',
    }


def test_the_tool_of_the_harness(client: Client, name: str) -> None:
    client.open(name, available_tools=[])
    asked = {"server_name": "ledger", "tool_name": "balance", "arguments": {"account": "A"}}
    status, text = client.call(name, "__reserved__server_tool", **asked)
    assert (status, json.loads(text)["balance"]) == (200, 10)
    status, text = client.call(name, "__reserved__server_tool", **{**asked, "tool_name": "no"})
    assert (status, text) == (400, "Tool ledger > no does not exist")


def test_a_domains_task(client: Client, name: str) -> None:
    told = client.open(name, {"shelf": {"task": "shelf/move/1"}}, available_tools=["move_box"])
    assert told["shelf"]["query"].startswith("Please move box B-008")
    assert not {"golden", "expect", "user_context"} & told["shelf"].keys()
    assert client.call(name, "move_box", box_id="B-008", shelf_id="S-2")[0] == 200
    for _ in range(2):  # looking at it ends nothing
        (change,) = client.value("get_effects", session_id=name)["shelf"]["changes"]
        assert (change["op"], change["table"], change["calls"]) == ("update", "boxes", [0])
    assert client.call(name, "get_box", box_id="B-008")[0] == 400  # not listed


def test_requests_of_one_session_wait_for_each_other(client: Client, name: str) -> None:
    client.open(name)

    def pay() -> None:
        client.call(name, "pay", source="A", target="B", amount=1)

    threads = [threading.Thread(target=pay) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    effects = client.value("get_effects", session_id=name)["ledger"]
    assert [entry["id"] for entry in effects["result_db_state"]["entries"]] == list(range(1, 11))


def test_garbage_is_collected_by_its_age(client: Client, name: str) -> None:
    client.open(name)
    assert client.value("garbage_collect", inactivity_minutes=5)["count"] == 0
    assert client.value("garbage_collect", inactivity_minutes=0)["session_ids"] == [name]
    assert client.ask("list_tools", session_id=name) == (400, "Session does not exist")


def test_a_page_in_a_browser_is_refused(client: Client) -> None:
    for headers in ({"Origin": "https://a.example"}, {"Host": "a.example"}, {"Origin": "null"}):
        assert client.http.get("/health", headers=headers).status_code == 403
    for headers in ({"Origin": "http://localhost:3000"}, {"Host": "localhost:1"}):
        assert client.http.get("/health", headers=headers).status_code == 200


def mcp(client: Client, method: str, session: str | None, **params: Any) -> Any:
    headers = {} if session is None else {"X-TB-Session-Id": session}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = client.http.post("/mcp/", json=message, headers=headers)
    assert answer.status_code == 200
    return answer.json()


def test_mcp_of_the_session_in_the_header(client: Client, name: str) -> None:
    client.open(name)
    tools = mcp(client, "tools/list", name)["result"]["tools"]
    assert [tool["name"] for tool in tools] == TOOLS
    called = mcp(client, "tools/call", name, name="balance", arguments={"account": "A"})["result"]
    assert called["structuredContent"] == {"account": "A", "balance": 10}
    assert called["isError"] is False
    for other, words in ((None, "Missing X-TB-Session-Id header"), ("no", "does not exist")):
        assert words in mcp(client, "tools/list", other)["error"]["message"]
    assert "does not exist" in mcp(client, "tools/call", name, name="crash")["error"]["message"]
    assert mcp(client, "no/such", name)["error"]["code"] == -32601
    assert client.http.get("/mcp").status_code == 405
    assert client.http.post("/mcp", content=b"{").json()["error"]["code"] == -32700
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert client.http.post("/mcp", json=note).status_code == 202
