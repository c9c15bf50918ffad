"""Conversations that a task begins with: ``history: "key:start:end"`` and ``<stem>.meta.yaml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    metadata: dict[str, Any] = Field(default_factory=dict)


class _Text(_Message):
    T: Literal["Text"]
    role: Literal["system", "user", "assistant"]
    content: str


class _ToolCall(_Message):
    T: Literal["ToolCall"]
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    id: str


class _ParallelToolCall(_Message):
    T: Literal["ParallelToolCall"]
    tool_calls: tuple[_ToolCall, ...]


class _ToolResponse(_Message):
    T: Literal["ToolResponse"]
    name: str
    content: str
    id: str


_AnyMessage = Annotated[
    _Text | _ToolCall | _ParallelToolCall | _ToolResponse, Field(discriminator="T")
]
_adapter: TypeAdapter[tuple[_AnyMessage, ...]] = TypeAdapter(tuple[_AnyMessage, ...])


class HistoryRef(BaseModel):
    """Which messages a task begins with.

    Attributes:
        key: Name of a list under ``$history``.
        start: Number of the first message from 0, or its ``message_id``.
        end: ``message_id`` of the first message that is left out; empty: none is.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    key: str = Field(min_length=1)
    start: int | str
    end: str

    @classmethod
    def parse(cls, value: Any) -> HistoryRef:
        """A reference from ``"key:start:end"`` (the key may have colons) or a mapping.

        Raises:
            ValueError: It is neither.
        """
        if isinstance(value, Mapping):
            return cls.model_validate(value)
        parts = value.rsplit(":", 2) if isinstance(value, str) else ()
        if len(parts) != 3 or not parts[0]:
            raise ValueError('write it as "key:start:end", in quotes; the end may be empty')
        key, start, end = parts
        try:
            return cls(key=key, start=int(start), end=end)
        except ValueError:
            return cls(key=key, start=start, end=end)

    def cut(self, messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """The part of a list that this names.

        Raises:
            ValueError: A ``message_id`` is not there, the start lies outside, or the end is not
                after the start.
        """
        if isinstance(self.start, int):
            start = self.start
            if not 0 <= start <= len(messages):
                raise ValueError(f"start {start} is not from 0 to {len(messages)}; mend it")
        else:
            start = _position(messages, self.start)
        if not self.end:
            return messages[start:]
        end = _position(messages, self.end)
        if end <= start:
            raise ValueError(
                f"the end {self.end!r} is message {end}, which is not after the start, {start}; "
                "name a later one"
            )
        return messages[start:end]


def normal_messages(messages: Any) -> list[dict[str, Any]]:
    """Messages of the format with nothing left open: ``T``, ``metadata`` and the kind's fields.

    ``T`` may be missing where the fields tell the kind; other fields (``message_id``) are left
    out, as they are for whoever keeps the file. A call without ``id`` gets one that is the same on
    every load.

    Raises:
        ValueError: One is not a message; the text says which.
    """
    if not isinstance(messages, list | tuple):
        raise ValueError("must be a list of messages")  # noqa: TRY004 -- pydantic collects these
    given = [_with_kind(message, f"call_{number}") for number, message in enumerate(messages)]
    try:
        found = _adapter.validate_python(given)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise ValueError(f"message {where}: {problem['msg']}") from error
    return [message.model_dump(mode="json") for message in found]


def _with_kind(message: Any, name: str) -> Any:
    if not isinstance(message, Mapping):
        return message
    given = {"T": _kind(message), **message}
    if given["T"] in {"ToolCall", "ToolResponse"}:
        given.setdefault("id", name)
    if given["T"] == "ParallelToolCall" and isinstance(given.get("tool_calls"), list | tuple):
        given["tool_calls"] = [
            {"T": "ToolCall", "id": f"{name}_{number}", **call}
            if isinstance(call, Mapping)
            else call
            for number, call in enumerate(given["tool_calls"])
        ]
    return given


def _kind(message: Mapping[str, Any]) -> str:
    if "tool_calls" in message:
        return "ParallelToolCall"
    if "role" in message:
        return "Text"
    return "ToolResponse" if "content" in message else "ToolCall"


def _position(messages: Sequence[Mapping[str, Any]], message_id: str) -> int:
    known = []
    for number, message in enumerate(messages):
        if isinstance(message, Mapping) and "message_id" in message:
            if message["message_id"] == message_id:
                return number
            known.append(str(message["message_id"]))
    has = ", ".join(known) or "none"
    raise ValueError(f"no message has the message_id {message_id!r}; there are: {has}")
