"""The runner's side of a check's conversation with its grader, up to a verdict."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc

from outcomebox.reward.errors import CheckError, JudgeError
from outcomebox.reward.thinkingbox.effects import encode
from outcomebox.reward.thinkingbox.judging import JUDGE_TYPES
from outcomebox.reward.thinkingbox.orders import CheckOrder
from outcomebox.reward.thinkingbox.processes import GraderProcess
from outcomebox.reward.thinkingbox.questions import (
    Ask,
    JudgeQuestion,
    Question,
    ToolQuestion,
    ToolRefusedError,
)
from outcomebox.reward.thinkingbox.results import UnreadableResultError, no_verdict, verdict_from
from outcomebox.reward.verdict import Phase, Verdict

MAX_QUESTIONS = 1_000
_MAX_LINE = 64 * 1024 * 1024


@dataclass
class Conversation:
    """One check's conversation with its grader.

    Attributes:
        order: The check.
        ask: Answers its questions.
        nonce: What the grader's result must bear.
        deadline_s: Seconds the check may take, its questions' answers not counted.
        left_s: Seconds of that which are left.
        questions: How many it has asked.
        unanswered: Those of them that were never answered, with what went wrong.
        buffer: Bytes received and not yet read.
    """

    order: CheckOrder
    ask: Ask | None
    nonce: str
    deadline_s: float
    left_s: float = 0.0
    questions: int = 0
    unanswered: dict[str, tuple[Exception, Phase]] = field(default_factory=dict)
    buffer: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.left_s = self.deadline_s

    async def verdict(self, process: GraderProcess, data: bytes) -> Verdict:
        """Send the encoded order and talk with the grader until there is a verdict."""
        try:
            await self._in_time(process.stream.send(data))
            while True:
                message = self._read(await self._in_time(self._line(process.stream)))
                if "result" in message:
                    self._check_nonce(message)
                    return self._judged(verdict_from(message["result"]))
                answer = self._effects(message) or await self._answer(message)
                await self._in_time(process.stream.send(answer))
        except _Deadline:
            words = f"the check gave no verdict within {self.deadline_s:g} s"
            return self._judged(no_verdict("TimeoutError", words, "check"))
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            words = await process.obituary("before it gave a verdict")
            return self._judged(no_verdict("GraderDied", words, "check"))
        except UnreadableResultError as error:
            words = f"the grader wrote what is no message of its own: {error}"
            return self._judged(no_verdict("UnreadableResult", words, "check"))

    async def _in_time(self, step: Awaitable[Any]) -> Any:
        """A step that the check's own time is spent on."""
        began = time.monotonic()
        with anyio.move_on_after(self.left_s) as scope:
            result = await step
        self.left_s -= time.monotonic() - began
        if scope.cancelled_caught:
            raise _Deadline
        return result

    async def _line(self, stream: anyio.abc.ByteStream) -> bytes:
        searched = 0
        while (end := self.buffer.find(b"\n", searched)) < 0:
            searched = len(self.buffer)
            if searched > _MAX_LINE:
                raise UnreadableResultError(f"a line of over {_MAX_LINE} bytes")
            self.buffer += await stream.receive(1 << 18)
        line = bytes(self.buffer[:end])
        del self.buffer[: end + 1]
        return line

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            message = json.loads(line, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise UnreadableResultError(str(error)) from error
        if not isinstance(message, dict):
            raise UnreadableResultError(f"{type(message).__name__} where an object is due")
        return message

    def _check_nonce(self, message: Mapping[str, Any]) -> None:
        nonce = message.get("nonce")
        if not isinstance(nonce, str) or not secrets.compare_digest(
            nonce.encode("utf-8", "replace"), self.nonce.encode()
        ):
            raise UnreadableResultError("a result without the order's nonce")

    def _effects(self, message: Mapping[str, Any]) -> bytes | None:
        """The effects that a message asks for, as the grader reads them."""
        if message.get("ask") != "effects":
            return None
        try:
            found = self.order.context["effects"][message["server"]][message["key"]]
        except (KeyError, TypeError) as error:
            raise UnreadableResultError(f"effects that are not there: {error}") from error
        codec, data = encode(found)
        return _line_of({"codec": codec, "size": len(data)}) + data

    async def _answer(self, message: Mapping[str, Any]) -> bytes:
        question, phase = _question(message)
        key = repr(question)
        self.questions += 1
        try:
            text = await self._ask(question, message)
        except UnreadableResultError:
            raise
        except ToolRefusedError as error:
            return _line_of({"error": str(error)})
        except Exception as error:  # noqa: BLE001 -- kept: the verdict will be a system_error
            self.unanswered[key] = error, phase
            return _line_of({"error": f"{type(error).__name__}: {error}"})
        self.unanswered.pop(key, None)
        return _line_of({"text": text})

    async def _ask(self, question: Question, message: Mapping[str, Any]) -> str:
        if self.questions > MAX_QUESTIONS:
            raise JudgeError(f"the check asked over {MAX_QUESTIONS} questions")
        if self.ask is None:
            if isinstance(question, JudgeQuestion):
                raise JudgeError("no judge is configured")
            raise CheckError("no session is open for the check's tool calls")
        if isinstance(question, ToolQuestion):
            session = _text(message, "session_id")
            if session != self.order.session_id:
                raise ToolRefusedError(f"{session} is not the check's own session")
        text = await self.ask(question)
        if not isinstance(text, str):
            raise JudgeError(f"an answer must be text, not {type(text).__name__}")
        return text

    def _judged(self, verdict: Verdict) -> Verdict:
        """The verdict, or none where it rests on a question that was never answered."""
        if not self.unanswered:
            return verdict
        error, phase = next(iter(self.unanswered.values()))
        details = {name: value for name, value in verdict.details.items() if name != "error"}
        return no_verdict(type(error).__name__, str(error), phase, details)


def _line_of(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


class _Deadline(Exception):
    """The check has used up its time."""


def _question(message: Mapping[str, Any]) -> tuple[Question, Phase]:
    kind = message.get("ask")
    if kind == "judge":
        reads = message.get("reads")
        return JudgeQuestion(
            _text(message, "system"),
            _text(message, "user"),
            reads if reads in JUDGE_TYPES else None,
        ), "judge"
    if kind == "tool":
        arguments = message.get("arguments")
        if not isinstance(arguments, dict):
            raise UnreadableResultError("a tool call without arguments")
        return ToolQuestion(_text(message, "server"), _text(message, "tool"), arguments), "check"
    raise UnreadableResultError(f"there is no question {kind!r}")


def _text(message: Mapping[str, Any], name: str) -> str:
    value = message.get(name)
    if not isinstance(value, str):
        raise UnreadableResultError(f"a question without text for {name!r}")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
