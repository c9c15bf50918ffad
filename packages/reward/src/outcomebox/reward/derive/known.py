"""What an agent knew before each call of a replay, and which words are its own.

A value that first turns up in a tool's answer was generated there; one that the query, the user,
the seed or an argument named before was not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from outcomebox.reward.golden import Called, GoldenRun
from outcomebox.sandbox import Task, Value

_BLANKS = re.compile(r"\s+")
_FEWEST = 3  # characters that make a text worth looking for inside another


@dataclass(frozen=True)
class Known:
    """The texts of a replay in the order in which the agent met them.

    Attributes:
        task: The task.
        run: Its replay.
    """

    task: Task
    run: GoldenRun

    @cached_property
    def told(self) -> str:
        """What the user says or knows, with single blanks and small letters."""
        context = self.task.user_context
        said = [reply.say for reply in context.replies]
        return _plain("\n".join([self.task.query, context.background, *said]))

    @cached_property
    def seeded(self) -> frozenset[Value]:
        """Every value that the initial state holds."""
        state = self.run.state.initial
        return frozenset(
            value for table in state.tables for row in state.rows(table) for value in row.values()
        )

    def generated(self, column: str, value: Value) -> bool:
        """Whether a new key was made by the tools rather than chosen by the agent.

        Text was chosen where an argument has it before any answer does; a number where an argument
        of the column's own name has it, since numbers meet by chance.
        """
        if isinstance(value, str):
            if value in self.seeded:
                return False
            for result in self.run.results:
                if value in set(scalars(result.arguments)):
                    return False
                if mentions(result.text, value):
                    return True
            return True
        named = (dict(_named(result.arguments)) for result in self.run.results)
        return all(arguments.get(column) != value for arguments in named)

    def own_words(self, value: Value) -> Called | None:
        """The call in which the agent wrote this text in words of its own, if there is one.

        Words are the agent's own where an argument has several, the tool lists no such choice, and
        neither the user nor the seed nor an earlier answer has them.
        """
        if not isinstance(value, str):
            return None
        earlier: list[str] = []
        for result in self.run.results:
            choices = self._choices.get(result.tool, frozenset())
            for text in scalars(result.arguments):
                if (
                    isinstance(text, str)
                    and _BLANKS.search(text.strip())
                    and text not in choices
                    and _overlap(text.strip(), value)
                    and not self._dictated(text, earlier)
                ):
                    return result
            earlier.append(result.text)
        return None

    @cached_property
    def _choices(self) -> dict[str, frozenset[str]]:
        return {tool.name: frozenset(_enumerated(tool.input_schema)) for tool in self.run.tools}

    def _dictated(self, text: str, earlier: Iterable[str]) -> bool:
        plain = _plain(text)
        return (
            plain in self.told
            or text in self.seeded
            or any(plain in _plain(answer) for answer in earlier)
        )


def scalars(data: Any) -> Iterator[Any]:
    """The texts, numbers and nulls in a JSON value."""
    if isinstance(data, Mapping):
        for item in data.values():
            yield from scalars(item)
    elif isinstance(data, (list, tuple)):
        for item in data:
            yield from scalars(item)
    else:
        yield data


def mentions(text: str, value: Any) -> bool:
    """Whether a text has a value as a word of its own."""
    word = value if isinstance(value, str) else repr(value)
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def _named(data: Any) -> Iterator[tuple[str, Any]]:
    """The scalars in a JSON value, each with the name that it stands under."""
    if isinstance(data, Mapping):
        for name, item in data.items():
            if isinstance(item, (Mapping, list, tuple)):
                yield from _named(item)
            else:
                yield name, item
    elif isinstance(data, (list, tuple)):
        for item in data:
            yield from _named(item)


def _enumerated(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        listed = schema.get("enum", ())
        yield from (item for item in listed if isinstance(item, str))
        for item in schema.values():
            yield from _enumerated(item)
    elif isinstance(schema, list):
        for item in schema:
            yield from _enumerated(item)


def _overlap(written: str, stored: str) -> bool:
    """Whether a stored text is what was written, or has it, or is a part of it in several words."""
    whole = stored.strip()
    return written in whole or (bool(_BLANKS.search(whole)) and whole in written)


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", text).strip().casefold()
