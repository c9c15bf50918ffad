"""Which call of the conversation wrote what: changes stand beside the calls that made them.

A change names calls by their index among the tool calls of the session. The conversation also
holds calls that never reached it (unknown tools, unreadable calls, tools that the harness answers
itself), so the two are laid side by side by the names that the row recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]


def session_calls(calls: Sequence[Json], recorded: Sequence[str]) -> dict[int, int]:
    """Index of a call in the session -> its place among the conversation's calls.

    Args:
        calls: All calls of the conversation in order, each with ``name`` and ``executable``.
        recorded: Names of the session's calls in order; empty where a row does not tell.
    """
    sent = [place for place, call in enumerate(calls) if call["executable"]]
    if not recorded or [calls[place]["name"] for place in sent] == list(recorded):
        return dict(enumerate(sent))
    # From the end: what the session did before the conversation began comes first in its list.
    found: dict[int, int] = {}
    waiting = list(sent)
    for index in range(len(recorded) - 1, -1, -1):
        rest = list(waiting)
        while rest and calls[rest[-1]]["name"] != recorded[index]:
            rest.pop()
        if rest:
            found[index] = rest.pop()
            waiting = rest
    return found


def change_view(change: Mapping[str, Any]) -> Json:
    """A change as people read it: its row, and one cell a column.

    An update has the columns that differ, each with its old and its new value; a row that was
    added or deleted has all of them.
    """
    old, new = change.get("old") or {}, change.get("new") or {}
    op = change.get("op")
    if op == "update":
        cells = [
            {"column": name, "old": old.get(name), "new": new.get(name)}
            for name in dict.fromkeys((*old, *new))
            if _differ(old.get(name), new.get(name))
        ]
    elif op == "delete":
        cells = [{"column": name, "old": value} for name, value in old.items()]
    else:
        cells = [{"column": name, "new": value} for name, value in new.items()]
    return {
        "op": op,
        "table": change.get("table"),
        "key": change.get("key"),
        "cells": cells,
        "calls": list(change.get("calls") or ()),
    }


def _differ(one: Any, other: Any) -> bool:
    # 1, 1.0 and True are equal in Python and different in a database.
    return type(one) is not type(other) or one != other
