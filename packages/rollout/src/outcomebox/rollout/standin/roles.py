"""The stand-in as the user and as a judge: scripted, and the same answer to the same prompt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.rollout.standin.known import Known
from outcomebox.rollout.standin.said import Refused, Said, text_of
from outcomebox.rollout.turns import DONE
from outcomebox.rollout.users.escaping import escape, restore

_LAST = ("<LAST_ASSISTANT_MESSAGE>\n", "\n</LAST_ASSISTANT_MESSAGE>")

_ONE_WORD = "one word and nothing else"


def play_user(known: Known, messages: Sequence[Mapping[str, Any]]) -> Said:
    """The task's own scripted reply: the first that fits and has not been said.

    Raises:
        Refused: The prompt is about no task that is known.
    """
    asked = "\n".join(text_of(message) for message in messages)
    task = known.of_user(asked)
    if task is None:
        raise Refused("the stand-in is no model: this prompt is about no task it was started with")
    history, _, rest = asked.rpartition(_LAST[0])
    said = restore(rest.partition(_LAST[1])[0])
    for reply in task.user_context.replies:
        if escape(reply.say) not in history and reply.fits(said):
            return Said(reply.say)
    return Said(f"That is all, thank you. {DONE}")


def judge(known: Known, messages: Sequence[Mapping[str, Any]], *, yes: float) -> Said:
    """An answer drawn from the prompt; it has read nothing.

    Args:
        known: The tasks.
        messages: The judge's prompt.
        yes: Share of the prompts that are answered with yes.
    """
    asked = "\n".join(text_of(message) for message in messages)
    digest = hashlib.sha256(asked.encode("utf-8", "backslashreplace")).digest()
    answer = "yes" if int.from_bytes(digest[:8], "big") / 2**64 < yes else "no"
    known_one = "one of its tasks'" if known.rubric(asked) else "an unknown"
    reason = f"Drawn by a stand-in that is no model, for {known_one} question."
    # Checks in the ThinkingBox form ask in ways of their own.
    if _ONE_WORD in asked.lower():
        return Said(answer.upper())
    why = "motivation" if '"motivation"' in asked else "reason"
    return Said(json.dumps({why: reason, "answer": answer}))
