"""The terminal state that a row tells of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.reward.rows import Row
from outcomebox.sandbox.changes import Schema, TerminalState, change_from_json
from outcomebox.sandbox.database import DatabaseState
from outcomebox.sandbox.recorded import recorded_state

_KIND = re.compile(
    r"CREATE\s+(?:UNIQUE\s+|TEMP\s+|TEMPORARY\s+)*(TABLE|INDEX|VIEW|TRIGGER)\b", re.IGNORECASE
)


class SchemaUnknown(ValueError):
    """The schema was changed, and the row does not tell how."""


def rebuilt_state(row: Row, initial: DatabaseState) -> TerminalState:
    """The terminal state of an episode.

    Args:
        row: Its row.
        initial: What its session started from.

    Raises:
        InitialDiffers: It started from something else.
        SchemaUnknown: It changed the schema, and its reasons do not tell how.
        ValueError, KeyError, TypeError: A change is not as records hold them.
    """
    names = row["schema_changes"]
    return recorded_state(
        initial,
        map(change_from_json, row["changes"]),
        names,
        schema=_schema(initial, names, row["verdict"]["reasons"]) if names else None,
        calls=called(row["messages"]),
    )


def called(messages: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The tools that a session was asked for, in order."""
    return tuple(
        call["name"]
        for message in messages
        for call in message.get("tool_calls") or ()
        if call.get("executable", True)
    )


def _schema(
    initial: DatabaseState, names: Sequence[str], reasons: Sequence[Mapping[str, Any]]
) -> Schema:
    """The terminal schema: rows name what changed, and the reasons of the verdict tell how."""
    schema = dict(initial.schema)
    told = [each for each in reasons if each.get("kind") == "schema_changed"]
    own = {name for _, name in initial.own}
    for name in names:
        if name in own:
            continue  # of the change log: that somebody meddled with it is denied, however
        # The message is the only place where an index or a trigger is named.
        reason = next((each for each in told if f" {name} was " in each["message"]), None)
        if reason is None:
            raise SchemaUnknown(f"{name} was created, dropped or altered")
        for kind, named in initial.schema:
            if named == name:
                schema.pop((kind, named), None)
        if reason["found"] is not None:
            match = _KIND.match(reason["found"])
            kind = match[1].lower() if match else "table"
            schema[kind, name] = (reason["table"] or name, reason["found"])
    return schema
