"""A ToolServer's own serving: the official SDK's client finds an MCP server like any other."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import ClientSession, StdioServerParameters, stdio_client

from outcomebox.sandbox import domain_image, find_domain, load_domain
from outcomebox.sandbox._mcp import MCPServer
from outcomebox.sandbox.serving import Answers, at_once, serve_lines
from shelf_domain import FOLDER

pytestmark = pytest.mark.anyio

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@asynccontextmanager
async def sdk(folder: Path, name: str) -> AsyncIterator[ClientSession]:
    """The official client on a bundled domain's server, or that of the shelf, started plainly."""
    domain = load_domain(FOLDER) if name == "shelf" else find_domain(name)
    database = folder / "database.sqlite"
    database.write_bytes(domain_image(domain).data)
    command = domain.server.command
    env = {"OUTCOMEBOX_DATABASE": str(database), "OUTCOMEBOX_SEED": "3"}
    env |= {"OUTCOMEBOX_NOW": domain.settings.now, "PYTHONPATH": ":".join(sys.path)}
    parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env=env)
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as client:
        await client.initialize()
        yield client


@pytest.mark.parametrize("name", ["retail", "travel"])
async def test_the_official_client_lists_the_tools(name: str, tmp_path: Path) -> None:
    async with sdk(tmp_path, name) as client:
        tools = (await client.list_tools()).tools
        assert len(tools) >= 12
        assert all(tool.description for tool in tools)
        await client.send_ping()


async def test_the_official_client_calls_and_reads_errors(tmp_path: Path) -> None:
    async with sdk(tmp_path, "shelf") as client:
        made: Any = await client.call_tool("add_box", {"shelf_id": "S-1", "weight": 2})
        assert json.loads(made.content[0].text)["seed"] == 3
        for tool, arguments, words in (
            ("add_box", {"shelf_id": "S-1"}, "weight"),
            ("move_box", {"box_id": "none", "shelf_id": "S-1"}, "There is no box 'none'"),
            ("fly", {}, "fly"),
        ):
            refused: Any = await client.call_tool(tool, arguments)
            flag = refused.is_error if hasattr(refused, "is_error") else refused.isError
            assert flag
            assert words in refused.content[0].text


def small() -> Answers:
    """The answers of a small server."""
    server = MCPServer("small", log_level="WARNING")

    @server.tool(structured_output=False)
    async def double(text: str) -> str:
        """Twice the text."""
        return text * 2

    return Answers(server, "Be kind.")


def test_the_messages_there_are() -> None:
    answers = small()

    def ask(method: str, **params: Any) -> Any:
        return answers.answer({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})

    told = ask("initialize", protocolVersion="2025-03-26")["result"]
    assert told["protocolVersion"] == "2025-03-26"
    assert told["instructions"] == "Be kind."
    assert ask("ping")["result"] == {}
    (tool,) = ask("tools/list")["result"]["tools"]
    assert tool["inputSchema"]["required"] == ["text"]
    said = ask("tools/call", name="double", arguments={"text": "ab"})
    assert said["result"] == {"content": [{"type": "text", "text": "abab"}], "isError": False}
    assert ask("tools/call", name="double")["result"]["isError"]
    assert ask("tools/call", name=3)["error"]["code"] == -32602
    assert ask("resources/list")["error"]["code"] == -32601
    assert answers.answer({"jsonrpc": "2.0", "method": "notifications/initialized"}) is None
    assert answers.answer([1])["error"]["code"] == -32600  # type: ignore[index]


@given(message=JSON)
def test_no_message_breaks_the_server(message: Any) -> None:
    told = small().answer(message)
    assert told is None or told["error"]["code"] < 0 or "result" in told


@given(texts=st.lists(st.text(max_size=30), max_size=5), junk=st.binary(max_size=30))
def test_a_line_in_is_a_line_out(texts: list[str], junk: bytes) -> None:
    calls = [
        {
            "id": number,
            "method": "tools/call",
            "params": {"name": "double", "arguments": {"text": t}},
        }
        for number, t in enumerate(texts)
    ]
    lines = b"".join(json.dumps(call).encode() + b"\n" for call in calls)
    out = io.BytesIO()
    serve_lines(small().answer, io.BytesIO(junk.replace(b"\n", b"") + b"\n" + lines), out)
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    results = [each["result"]["content"][0]["text"] for each in told if "result" in each]
    assert results == [text * 2 for text in texts]


def test_a_tool_that_waits_is_named() -> None:
    class Waits:
        def __await__(self) -> Any:
            yield

    async def wait() -> None:
        await Waits()

    with pytest.raises(RuntimeError, match="may not wait"):
        at_once(wait())
