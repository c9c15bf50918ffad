"""The parsers of a running server, asked over HTTP: no model runs, only what it parses with.

vLLM (0.32) turns token ids into a chat message at `/v1/chat/completions/derender`; sglang splits a
text at `/separate_reasoning` and `/parse_function_call`. Both read with the parsers, and vLLM with
the tokenizer and defaults, that the server was started with: so this tells how *that* server reads.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from outcomebox.interpret.live.base import Answer, LiveParser, Recorded, failed, parser_for
from outcomebox.interpret.live.deltas import END_OF_TURN, served_text
from outcomebox.interpret.live.pieces import PieceTokenizer

DERENDER = "/v1/chat/completions/derender"
TOOL_PARSERS = {"qwen3_xml": "qwen3_coder", "qwen3_coder": "qwen3_coder", "hermes": "hermes"}
"""Format -> which of sglang's parsers reads it; a vLLM server has its own."""

_MISSING = (404, 405, 501)
_REFUSED = (400, 422, 500)


class Endpoint:
    """A server's parsers.

    Args:
        where: The server's address, with or without the `/v1` behind it.
        client: An HTTP client to ask with; one of httpx by default.

    Raises:
        ImportError: httpx is not installed.

    Attributes:
        name: The server's address.
    """

    def __init__(self, where: str, *, client: Any = None) -> None:
        base = where.rstrip("/").removesuffix("/v1")
        if not base.startswith(("http://", "https://")):
            raise ValueError(
                f"live parser 'openai' needs a server's address such as openai=http://HOST:8000, "
                f"not {where!r}"
            )
        self._base = base
        self._client = client or _client()
        self._is_vllm: bool | None = None
        self.name = f"openai {base}"

    def parse(self, output: Recorded) -> Answer:
        """Ask the server how it reads one output.

        Raises:
            ConnectionError: The server cannot be reached, or does not parse for others.
        """
        if self._is_vllm is not False:
            answer = self._derendered(output)
            if answer is not None:
                return answer
        return self._split(output)

    def _derendered(self, output: Recorded) -> Answer | None:
        """Return vLLM's answer, or None where the server is no vLLM that derenders."""
        if self._is_vllm is None and not output.ids:
            return None
        ids = self._ids(output)
        if ids is None:
            return None
        thinking = {"enable_thinking": output.prompt_state != "think_closed"}
        asked: dict[str, Any] = {
            "messages": [{"role": "user", "content": "Go on."}],
            "chat_template_kwargs": thinking,
        }
        if output.tools:
            asked |= {"tools": output.openai_tools(), "tool_choice": "auto"}
        choice = {"index": 0, "token_ids": ids, "finish_reason": output.finish_reason}
        body = {
            "generate_response": {"request_id": "parity", "choices": [choice]},
            "chat_request": asked,
        }
        status, told = self._post(DERENDER, body)
        if status in _MISSING and self._is_vllm is None:
            return None
        self._is_vllm = True
        if status in _REFUSED:
            return Answer(None, None, error=_error(status, told))
        message: Mapping[str, Any] = told["choices"][0]["message"]
        calls = [call["function"] for call in message.get("tool_calls") or ()]
        return Answer(
            message.get("reasoning"),
            message.get("content"),
            tuple((call["name"], call["arguments"]) for call in calls) if output.tools else (),
        )

    def _ids(self, output: Recorded) -> list[int] | None:
        """Return the ids to derender; None where the server cannot give them for a text."""
        if not isinstance(output.tokenizer, PieceTokenizer):
            stopped = not output.cut and output.pieces and output.pieces[-1] in END_OF_TURN
            return list(output.ids[:-1] if stopped else output.ids)
        body = {"prompt": served_text(output), "add_special_tokens": False}
        status, told = self._post("/tokenize", body)
        if status in _MISSING or not isinstance(told, Mapping) or "tokens" not in told:
            return None
        return list(told["tokens"])

    def _split(self, output: Recorded) -> Answer:
        """Return sglang's answer."""
        # The parser that starts inside reasoning goes by another name there.
        reasoning = "qwen3" if output.prompt_state == "think_closed" else "qwen3-thinking"
        status, told = self._post(
            "/separate_reasoning", {"text": served_text(output), "reasoning_parser": reasoning}
        )
        if status in _MISSING:
            raise ConnectionError(
                f"{self._base} has neither {DERENDER} nor /separate_reasoning: ask a vLLM 0.32 or "
                "sglang 0.5 server, or use live:vllm or live:sglang"
            )
        self._is_vllm = False
        if status in _REFUSED:
            return Answer(None, None, error=_error(status, told))
        thoughts, text = told["reasoning_text"], told["text"]
        calls: list[Mapping[str, Any]] = []
        if output.tools:
            body = {
                "text": text or "",
                "tools": output.openai_tools(),
                "tool_call_parser": parser_for(TOOL_PARSERS, output.format),
            }
            status, told = self._post("/parse_function_call", body)
            # The chat endpoint sends the text as content where its parser fails.
            if status not in _REFUSED:
                text, calls = told["normal_text"], told["calls"]
        return Answer(
            thoughts or None,
            text or "",
            tuple((call["name"] or "", call["parameters"]) for call in calls),
        )

    def _post(self, path: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        try:
            response = self._client.post(self._base + path, json=body)
        except OSError as error:
            raise ConnectionError(f"{self._base} cannot be reached: {failed(error)}") from error
        except Exception as error:
            if type(error).__module__.split(".")[0] != "httpx":
                raise
            raise ConnectionError(f"{self._base} cannot be reached: {failed(error)}") from error
        status = int(response.status_code)
        if status in _MISSING:
            return status, None
        if status not in (200, *_REFUSED):
            raise ConnectionError(f"{self._base}{path} answers with status {status}")
        try:
            return status, response.json()
        except ValueError:
            return status, response.text


def _error(status: int, told: Any) -> str:
    """Return what a refusal says."""
    error = told.get("error", told) if isinstance(told, Mapping) else told
    message = error.get("message", error) if isinstance(error, Mapping) else error
    return f"status {status}: {message}"[:200]


def _client() -> Any:
    try:
        httpx: Any = import_module("httpx")
    except ModuleNotFoundError as error:
        raise ImportError(
            "live parser 'openai' asks over HTTP: install outcomebox-interpret[replay]"
        ) from error
    return httpx.Client(timeout=60.0)


def make(*, stream: bool, where: str) -> LiveParser:
    """Make the live parser of the server at `where`.

    Raises:
        ValueError: A stream was asked for, which no server parses for others.
    """
    if stream:
        raise ValueError("live parser 'openai' reads whole outputs only; leave out the stream")
    return Endpoint(where)
