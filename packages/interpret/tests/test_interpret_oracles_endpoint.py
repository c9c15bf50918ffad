"""The endpoint's parsers are asked as servers want it: exchanges on a loopback server.

`oracle/derender.json` was recorded from vLLM 0.32's own router and derenderer; the server here
answers what stands there, and only to the very same request.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from outcomebox.interpret.live.base import Answer
from outcomebox.interpret.live.endpoint import DERENDER, make
from outcomebox.interpret.live.pieces import recorded

EXCHANGE = json.loads(
    (Path(__file__).parent / "oracle" / "derender.json").read_text(encoding="utf-8")
)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "description": "d",
            "parameters": {
                "type": "object",
                "properties": {"s": {"type": "string"}, "i": {"type": "integer"}},
            },
        },
    }
]
CALL = (
    "<tool_call>\n<function=f>\n<parameter=s>\n  x \n</parameter>\n<parameter=i>\n7\n"
    "</parameter>\n</function>\n</tool_call>"
)
OUTPUT = f"hm</think>\n\n{CALL}<|im_end|>"

Told = tuple[int, Any]


@contextmanager
def serving(answers: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Serve: path -> an answer, or a function of the request's body; yield address and requests."""
    asked: list[tuple[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, body))
            answer = answers.get(self.path, (404, {"detail": "Not Found"}))
            status, told = answer(body) if callable(answer) else answer
            data = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def recorded_exchange(path: str) -> Any:
    def answer(body: Any) -> Told:
        for entry in EXCHANGE:
            if entry["path"] == path and entry["body"] == body:
                return entry["status"], entry["answer"]
        return 400, {"error": {"message": "this request was not recorded"}}

    return answer


def test_a_vllm_server_is_sent_ids_and_the_request() -> None:
    vllm = {path: recorded_exchange(path) for path in ("/tokenize", DERENDER)}
    with serving(vllm) as (address, asked):
        parser = make(stream=False, where=f"{address}/v1/")
        answer = parser.parse(recorded(OUTPUT, tools=TOOLS, prompt_state="assistant_start"))
    assert answer == Answer("hm", None, (("f", '{"s": "  x ", "i": 7}'),))
    assert [path for path, _ in asked] == ["/tokenize", DERENDER]
    # The end of turn that stopped the output is no part of what an engine hands to its parsers.
    assert asked[0][1]["prompt"] == OUTPUT.removesuffix("<|im_end|>")
    assert parser.name == f"openai {address}"


def test_sampled_ids_are_sent_as_they_are() -> None:
    class Vocabulary:
        words = ("<|im_end|>", "a", "</think>", "b")

        def get_vocab(self) -> dict[str, int]:
            return {word: number for number, word in enumerate(self.words)}

        def decode(self, token_ids: list[int], *, skip_special_tokens: bool = False) -> str:
            del skip_special_tokens
            return "".join(self.words[number] for number in token_ids)

    told = {"choices": [{"message": {"reasoning": "a", "content": "b", "tool_calls": []}}]}
    with serving({DERENDER: (200, told)}) as (address, asked):
        output = recorded([1, 2, 3, 0], tokenizer=Vocabulary(), prompt_state="think_open")
        assert make(stream=False, where=address).parse(output) == Answer("a", "b")
    ((path, body),) = asked
    assert path == DERENDER
    assert body["generate_response"]["choices"][0]["token_ids"] == [1, 2, 3]
    assert "tools" not in body["chat_request"]


def test_what_a_server_refuses_is_its_answer() -> None:
    refusal = (400, {"error": {"message": "too long", "code": 400}})
    with serving({"/tokenize": (200, {"tokens": [1]}), DERENDER: refusal}) as (address, _):
        answer = make(stream=False, where=address).parse(recorded("x", tools=TOOLS))
    assert answer == Answer(None, None, error="status 400: too long")


def test_a_server_of_sglang_splits_twice() -> None:
    calls = [{"tool_index": 0, "name": "f", "parameters": '{"i": 7}'}]
    sglang = {
        "/separate_reasoning": (200, {"reasoning_text": "hm", "text": f"\n\n{CALL}"}),
        "/parse_function_call": (200, {"normal_text": "\n\n", "calls": calls}),
    }
    with serving(sglang) as (address, asked):
        parser = make(stream=False, where=address)
        for _ in range(2):
            answer = parser.parse(recorded(OUTPUT, tools=TOOLS, prompt_state="think_open"))
            assert answer == Answer("hm", "\n\n", (("f", '{"i": 7}'),))
    paths = [path for path, _ in asked]
    # What the server is, is found out once.
    assert paths == ["/tokenize", *["/separate_reasoning", "/parse_function_call"] * 2]
    assert asked[1][1]["reasoning_parser"] == "qwen3-thinking"
    assert asked[2][1]["tool_call_parser"] == "qwen3_coder"
    assert asked[2][1]["tools"] == TOOLS


def test_a_server_that_parses_for_nobody_is_said_so() -> None:
    with serving({}) as (address, _):
        parser = make(stream=False, where=address)
        with pytest.raises(ConnectionError, match="has neither"):
            parser.parse(recorded("x"))


def test_an_address_without_a_server_is_said_so() -> None:
    with serving({}) as (address, _):
        pass
    with pytest.raises(ConnectionError, match="cannot be reached"):
        make(stream=False, where=address).parse(recorded("x"))


def test_arguments_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="needs a server's address"):
        make(stream=False, where="")
    with pytest.raises(ValueError, match="whole outputs only"):
        make(stream=True, where="http://127.0.0.1")
