"""The texts of a task as they are used, once the servers have been started."""

from __future__ import annotations

import re
import string
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.thinkingbox.task import ThinkingBoxTask

# As in str.format a key is taken as it stands, digits alone being a number; a dot asks for an
# attribute and fits nothing here.
_FIELD = re.compile(r"([^.\[\]]+)((?:\[[^\]]+\])*)")
_KEY = re.compile(r"\[([^\]]+)\]")


@dataclass(frozen=True)
class Prompts:
    """The texts of a task.

    Attributes:
        query: The user's first message.
        user_context: What only the simulated user knows.
        bot_instructions: The scenario's instructions to the agent and the task's, a line break
            between; None where there are neither.
    """

    query: str
    user_context: str | None
    bot_instructions: str | None


def prompts(task: ThinkingBoxTask, init_result: Mapping[str, Any]) -> Prompts:
    """The texts of a task, filled in where it says ``format_query``.

    The query, the user context and the task's own instructions are then format strings in which
    ``{init[server][key]}`` stands for what the init of a server returned. Only items can be looked
    up, never attributes: a text of a dataset cannot reach into our objects. The scenario's
    instructions are taken as they are.

    Args:
        task: The task.
        init_result: What the init of each server returned, by server.

    Raises:
        InputError: A text is not such a format string, or names what is not there.
    """
    query, context, own = task.query, task.user_context, task.bot_instructions
    if task.format_query:
        query = _fill(task, "query", query, init_result)
        context = context and _fill(task, "user_context", context, init_result)
        own = own and _fill(task, "bot_instructions", own, init_result)
    parts = [part for part in (task.scenario_instructions, own) if part is not None]
    return Prompts(query, context, "\n".join(parts) if parts else None)


def _fill(task: ThinkingBoxTask, field: str, text: str, init: Mapping[str, Any]) -> str:
    try:
        return fill(text, {"init": init}, "{init[server][key]}")
    except KeyError as error:
        message = f"asks for what the servers' init did not return: {error.args[0]}; mend the name"
        raise InputError(message, file=task.file, task=task.uid, field=field) from error
    except (ValueError, TypeError) as error:
        message = f"not a format string: {error}; write {{{{ and }}}} for braces"
        raise InputError(message, file=task.file, task=task.uid, field=field) from error


def fill(text: str, values: Mapping[str, Any], form: str = "{name[key]}") -> str:
    """``str.format`` in which items can be looked up, and no attributes.

    Args:
        text: The format string.
        values: What its fields start from, by name.
        form: What a field looks like, for messages.

    Raises:
        KeyError: It names what is not there.
        ValueError: It is no such format string.
        TypeError: A value does not take its format.
    """
    return _ItemsOnly(form).vformat(text, (), values)


class _ItemsOnly(string.Formatter):
    """``str.format`` without attributes, and without fields that are only numbered."""

    def __init__(self, form: str) -> None:
        self._form = form

    def get_field(
        self,
        field_name: str,
        args: Sequence[Any],  # noqa: ARG002 -- the base class has it
        kwargs: Mapping[str, Any],
    ) -> tuple[Any, str]:
        """What a field stands for."""
        match = _FIELD.fullmatch(field_name)
        if match is None or match[1] not in kwargs:
            raise ValueError(f"{{{field_name}}} is not of the form {self._form}")
        found: Any = kwargs[match[1]]
        for key in _KEY.findall(match[2]):
            place = int(key) if key.isdecimal() else key
            if isinstance(place, int) and place > sys.maxsize:
                raise ValueError(f"[{key}] is too large a number")
            try:
                found = found[place]
            except (LookupError, TypeError) as error:
                raise KeyError(f"{{{field_name}}} has no [{key}]") from error
        return found, match[1]

    def check_unused_args(self, *_: Any) -> None:
        """Nothing: a text need not use what there is."""
