"""A stub of a judge's endpoint: a real HTTP server on loopback that answers as a test scripts it.

No model is behind it. It speaks as much of the OpenAI chat completions API as a judge uses.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Scripted:
    """One answer of the stub.

    Attributes:
        body: JSON, or text that is sent as it is.
        status: HTTP status.
        headers: More headers.
        after_s: Seconds before anything is sent.
    """

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    after_s: float = 0.0


def completion(content: Any, *, finish: str = "stop", **message: Any) -> Scripted:
    """A chat completion, with fields that a client does not know."""
    said = {"role": "assistant", "content": content, "annotations": [], **message}
    choice = {"index": 0, "message": said, "finish_reason": finish, "logprobs": None}
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    return Scripted({"id": "x", "choices": [choice], "usage": usage, "service_tier": "stub"})


def says(answer: str, reason: str = "because") -> Scripted:
    """A readable answer."""
    return completion(json.dumps({"reason": reason, "answer": answer}))


YES, NO = says("yes"), says("no")

Script = Callable[[dict[str, Any]], Scripted]


@dataclass
class StubEndpoint:
    """A running stub.

    Attributes:
        url: Its address, as ``base_url``.
        script: Answers of the next requests, the last one for ever; or what makes an answer.
        asked: The requests' bodies, in order.
        keys: Their Authorization headers.
        most: The most requests it had at once.
    """

    url: str
    script: list[Scripted] | Script = field(default_factory=lambda: [YES])
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    most: int = 0
    now: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def options(self, **more: object) -> dict[str, str]:
        """Options of a judge that asks here."""
        given = {"base_url": self.url, "model": "stub-model", **more}
        return {name: str(value) for name, value in given.items()}

    def answer(self, body: dict[str, Any], key: str | None) -> Scripted:
        """The next answer."""
        with self.lock:
            self.asked.append(body)
            self.keys.append(key)
            if callable(self.script):
                return self.script(body)
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]


@contextmanager
def stub_endpoint() -> Iterator[StubEndpoint]:
    """A stub that runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(Scripted({"data": []}))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with stub.lock:
                stub.now += 1
                stub.most = max(stub.most, stub.now)
            try:
                self._send(stub.answer(body, self.headers.get("Authorization")))
            finally:
                with stub.lock:
                    stub.now -= 1

        def _send(self, answer: Scripted) -> None:
            time.sleep(answer.after_s)
            text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
            data = text.encode()
            try:
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client did not wait

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub = StubEndpoint(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
