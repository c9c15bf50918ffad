"""An episode as people read it: one form, made from a row, for terminal and page alike.

A row is written for machines; here a call has its answer and the changes it made beside it, a
reason its call, and an error what to look at. Rows of other versions may lack any field, and are
shown with what they have.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from outcomebox.rollout.showing.placing import Json, change_view, session_calls
from outcomebox.rollout.showing.words import ENDS, STATUSES, phase_words, reason_words

_LARGE = ("ids", "logprobs", "prompt_ids")
"""Fields of a message of which only the number is shown."""


def outcome_of(row: Mapping[str, Any]) -> str:
    """A row's outcome; ``system_error`` where it has no verdict."""
    return str((row.get("verdict") or {}).get("outcome") or "system_error")


def is_simulated(policy: Any) -> bool:
    """Whether a policy's own description says that it is no model."""
    return isinstance(policy, Mapping) and policy.get("simulated") is True


def policy_words(policy: Any) -> str:
    """A policy in a few words; a simulated one is always called so."""
    if not isinstance(policy, Mapping):
        return "policy unknown" if policy is None else str(policy)
    name = str(policy.get("model") or policy.get("name") or "policy")
    if not is_simulated(policy):
        return name
    return "simulated policy (no model)" if name == "simulated" else f"simulated policy {name}"


def error_of(row: Mapping[str, Any]) -> Json | None:
    """A row's error with what its phase means and what to look at; None without one."""
    found = row.get("error") or (row.get("verdict") or {}).get("details", {}).get("error")
    if not found:
        return None
    phase = str(found.get("phase") or "run")
    title, look = phase_words(phase)
    return {
        "type": found.get("type"),
        "message": found.get("message"),
        "phase": phase,
        "title": title,
        "look": look,
    }


def view_of(row: Mapping[str, Any]) -> Json:
    """The episode of a row.

    Args:
        row: A row of this or another version.

    Returns:
        Plain JSON: ``uid``, ``repetition``, ``try``, ``domain``, ``family``, ``tags``, ``outcome``,
        ``score``, ``finish_reason``, ``finish`` (in words), ``reasons``, ``error``, ``steps`` (the
        conversation; see :func:`_steps`), ``changes`` (those that no call of it is known to have
        made), ``changed`` (how many there are), ``schema_changes``, ``effects``, ``warnings``,
        ``usage``, ``seconds`` by role, ``traffic``, ``started``, ``policy``, ``user``, ``judge``,
        ``simulated``, ``seeds``, ``versions``, ``details``.
    """
    verdict = row.get("verdict") or {}
    timing = row.get("timing") or {}
    steps, calls = _steps(row.get("messages") or (), timing.get("messages") or ())
    placed = session_calls(calls, row.get("calls") or ())
    for index, place in placed.items():
        calls[place]["index"] = index
    changes = [change_view(change) for change in row.get("changes") or ()]
    ending = row.get("finish_reason")
    return {
        "uid": str(row.get("uid")),
        "repetition": row.get("repetition") or 0,
        "try": row.get("try") or 0,
        "domain": row.get("domain"),
        "family": row.get("family"),
        "tags": list(row.get("tags") or ()),
        "outcome": outcome_of(row),
        "score": verdict.get("score"),
        "finish_reason": ending,
        "finish": ENDS.get(str(ending), ""),
        "reasons": _reasons(verdict.get("reasons") or (), calls, placed),
        "error": error_of(row),
        "steps": steps,
        "changes": _place(changes, calls, placed),
        "changed": len(changes),
        "schema_changes": list(row.get("schema_changes") or ()),
        "effects": row.get("effects") if isinstance(row.get("effects"), dict) else None,
        "warnings": list(row.get("warnings") or ()),
        "usage": row.get("usage") or {},
        "seconds": {
            name: value for name, value in timing.items() if isinstance(value, int | float)
        },
        "traffic": row.get("traffic") or {},
        "started": timing.get("started"),
        "policy": row.get("policy"),
        "user": row.get("user"),
        "judge": row.get("judge"),
        "simulated": is_simulated(row.get("policy")),
        "seeds": row.get("seeds") or {},
        "versions": row.get("versions") or {},
        "details": {
            name: value for name, value in (verdict.get("details") or {}).items() if name != "error"
        },
    }


def _steps(messages: Sequence[Json], seconds: Sequence[Any]) -> tuple[list[Json], list[Json]]:
    """The conversation's steps, and all its calls in order.

    A step is a message with ``n`` (its index), ``role``, ``text``, ``seconds``, and for the
    agent's ``reasoning``, ``calls``, ``diagnostics``, ``raw``. A call has ``name``, ``arguments``,
    ``status``, ``executable``, ``why``, its ``place`` among the calls, its ``index`` among those
    that reached the session (None for others), by which reasons name it, the ``changes`` it made,
    and its ``answer``: the message of the tool, which is no step of its own then.
    """
    steps: list[Json] = []
    calls: list[Json] = []
    asked: dict[Any, Json] = {}
    for n, message in enumerate(messages):
        role = str(message.get("role"))
        step: Json = {"n": n, "role": role, "text": text_of(message.get("content"))}
        if n < len(seconds) and isinstance(seconds[n], int | float):
            step["seconds"] = seconds[n]
        if role == "tool":
            step["name"] = message.get("name")
            step["is_error"] = bool(message.get("is_error"))
            call = asked.pop(message.get("tool_call_id"), None)
            if call is not None:
                call["answer"] = step
                continue
        elif role == "assistant":
            step |= _said(message)
            step["calls"] = [
                _call(call, len(calls) + place)
                for place, call in enumerate(message.get("tool_calls") or ())
            ]
            calls += step["calls"]
            asked |= {call["id"]: call for call in step["calls"]}
        steps.append(step)
    return steps, calls


def _said(message: Json) -> Json:
    names = ("reasoning", "diagnostics", "raw", "finish_reason", "prompt_state")
    said: Json = {name: message[name] for name in names if message.get(name)}
    said["counts"] = {
        name: len(message[name]) for name in _LARGE if isinstance(message.get(name), list)
    }
    return said


def _call(call: Json, place: int) -> Json:
    # Endpoints nest what a row of ours holds flat; an old row may do, too.
    inner = call.get("function") or call
    arguments = inner.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            arguments = {"(as written)": arguments}
    status = str(call.get("status") or "ok")
    return {
        "id": call.get("id"),
        "place": place,
        "index": None,
        "name": str(inner.get("name") or ""),
        "arguments": arguments if isinstance(arguments, dict) else {"(as written)": arguments},
        "status": status,
        "executable": call.get("executable") is not False,
        "why": STATUSES.get(status, status),
        "changes": [],
    }


def _reasons(
    reasons: Sequence[Json], calls: Sequence[Json], placed: Mapping[int, int]
) -> list[Json]:
    """The reasons; what to look at stands with the first of a kind."""
    found: list[Json] = []
    for each in reasons:
        reason = _reason(each, calls, placed)
        if any(other["kind"] == reason["kind"] for other in found):
            reason["look"] = ""
        found.append(reason)
    return found


def _reason(reason: Json, calls: Sequence[Json], placed: Mapping[int, int]) -> Json:
    title, look = reason_words(str(reason.get("kind")))
    places = [placed[index] for index in reason.get("calls") or () if index in placed]
    return {
        **{name: reason.get(name) for name in ("kind", "table", "key", "column", "message")},
        # A column may hold NULL, or be to hold it; elsewhere None says that there is nothing.
        **{
            name: reason.get(name)
            for name in ("expected", "found")
            if reason.get(name) is not None or reason.get("column") is not None
        },
        "title": title,
        "look": look,
        "calls": [_named(calls[place]) for place in places],
    }


def _named(call: Json) -> Json:
    return {name: call[name] for name in ("place", "index", "name")}


def _place(changes: Iterable[Json], calls: Sequence[Json], placed: Mapping[int, int]) -> list[Json]:
    """Put each change beside the last call that wrote it; what is left has no known call."""
    left = []
    for change in changes:
        places = sorted(placed[index] for index in change["calls"] if index in placed)
        change["calls"] = [_named(calls[place]) for place in places]
        if places:
            calls[places[-1]]["changes"].append(change)
        else:
            left.append(change)
    return left


def text_of(content: Any) -> str:
    """A message's content as text; of one in parts, the texts of its parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(
            str(part["text"])
            if isinstance(part, dict) and "text" in part
            else json.dumps(part, ensure_ascii=False)
            for part in content
        )
    return json.dumps(content, ensure_ascii=False)
