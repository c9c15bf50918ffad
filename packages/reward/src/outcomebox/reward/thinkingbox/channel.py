"""The grader's one line to the runner that started it.

Messages are JSON, one a line:

=========  ==============================================================================
received   the order, first (see :mod:`outcomebox.reward.thinkingbox.orders`); for each
           question ``{"text": TEXT}`` or ``{"error": TEXT}``, and for one about effects
           ``{"codec": C, "size": N}`` with N bytes behind it
sent       ``{"ask": "judge", "system": S, "user": U}``, with ``"reads"`` where the reply will be
           read in one of the two protocols; ``{"ask": "tool", "server": S,
           "tool": T, "arguments": {...}, "session_id": ID}``; ``{"ask": "effects",
           "server": S, "key": K}``; ``{"result": {...}, "nonce": N}``, last
=========  ==============================================================================

The line is taken away from standard input and output before a check runs: what a check prints, or
writes to descriptor 1, goes elsewhere. The nonce comes with the order and is kept from the check's
code; a result without it is none, so that even a write to the right descriptor decides nothing.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

from outcomebox.reward.thinkingbox.effects import decode

_CHUNK = 1 << 20


class UnansweredError(Exception):
    """The runner has no answer to a question, and says why."""


class Channel:
    """One check's line to the runner.

    Args:
        source: Descriptor to read from.
        sink: Descriptor to write to.
    """

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._data = bytearray()
        self._process = os.getpid()
        self._asking = threading.Lock()

    @classmethod
    def of_stdio(cls) -> Channel:
        """The line on standard input and output, which are put out of a check's reach.

        This is the first use of ``sys.stdin``: a supervisor forks here.
        """
        # Copies are not inherited by programs that a check starts.
        channel = cls(os.dup(sys.stdin.buffer.fileno()), os.dup(sys.stdout.buffer.fileno()))
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.close(nothing)
        return channel

    def order(self) -> dict[str, Any] | None:
        """The order, or None if the runner has hung up.

        Raises:
            ValueError: It cannot be read.
        """
        line = self._line()
        if line is None:
            return None
        order: dict[str, Any] = json.loads(line)
        return order

    def ask(self, question: dict[str, Any]) -> str:
        """The runner's answer to a question; safe to call from several threads.

        Raises:
            UnansweredError: The runner cannot answer it.
        """
        with self._asking:
            return str(self._answer(question)["text"])

    def effects(self, server: str, key: str) -> Any:
        """A value of a server's effects; safe to call from several threads.

        Raises:
            UnansweredError: The runner has hung up.
        """
        with self._asking:
            answer = self._answer({"ask": "effects", "server": server, "key": key})
            data = self._exactly(answer["size"])
        return decode(answer["codec"], data)

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        if os.getpid() != self._process:
            raise UnansweredError("a process that the check has forked cannot ask")
        self._send(question)
        line = self._line()
        if line is None:
            raise UnansweredError("the runner has hung up")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise UnansweredError(answer["error"])
        return answer

    def report(self, result: dict[str, Any], nonce: str) -> None:
        """Send what became of the check; a process that the check has forked sends nothing."""
        if os.getpid() == self._process:
            self._send({"result": result, "nonce": nonce})

    def _send(self, message: dict[str, Any]) -> None:
        data = memoryview(json.dumps(message).encode() + b"\n")
        while data:
            data = data[os.write(self._sink, data) :]

    def _line(self) -> bytes | None:
        searched = 0
        while (end := self._data.find(b"\n", searched)) < 0:
            searched = len(self._data)
            if not self._more():
                return None
        line = bytes(self._data[:end])
        del self._data[: end + 1]
        return line

    def _exactly(self, size: int) -> bytes:
        while len(self._data) < size:
            if not self._more():
                raise UnansweredError("the runner has hung up")
        with memoryview(self._data) as view:
            blob = bytes(view[:size])
        del self._data[:size]
        return blob

    def _more(self) -> bool:
        chunk = os.read(self._source, _CHUNK)
        self._data += chunk
        return bool(chunk)


_current: list[Channel] = []


def use(channel: Channel) -> None:
    """Make a channel this process's own; a grader serves one check and has one."""
    _current[:] = [channel]


def current() -> Channel:
    """This process's channel.

    Raises:
        UnansweredError: This process is no grader.
    """
    if not _current:
        raise UnansweredError("there is no runner to ask: this process is no grader")
    return _current[0]
