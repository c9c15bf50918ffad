"""Advice about text that an agent wrote in words of its own: it may pass word for word only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from outcomebox.reward.derive.known import Known
from outcomebox.sandbox import Value

# A fact has a digit, or is a code word in capitals.
_FACT = re.compile(r"(?<!\w)(?=\S*\d|[A-Z_]{3,}(?!\w))\w+(?:[-.:/@]\w+)*")
_WORD = re.compile(r"[^\W\d_]{4,}")
_MOST_WORDS = 3


@dataclass(frozen=True, slots=True)
class Advice:
    """Something for a person to decide.

    Attributes:
        note: What is open.
        choices: What could be written instead, as in a task file.
    """

    note: str
    choices: tuple[Any, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {"note": self.note, "choices": list(self.choices)}


def own_words(known: Known, value: Value) -> Advice | None:
    """What to decide about a stored text, where the agent made it up."""
    call = known.own_words(value)
    if call is None or not isinstance(value, str):
        return None
    return Advice(
        f"the agent's own words (call {call.index}, {call.tool}). As it stands only this very text "
        "passes; if less will do, write one of",
        ({"$pattern": skeleton(value)}, {"$rubric": question(value)}),
    )


def skeleton(text: str) -> str:
    """A pattern for texts that state the same facts: ids, numbers and code words, in any order.

    Without any, the longest words take their place, in capital or small letters.
    """
    facts = list(dict.fromkeys(_FACT.findall(text)))
    flag = ""
    if not facts:
        words = sorted(set(_WORD.findall(text)), key=lambda word: (-len(word), text.index(word)))
        facts = sorted(words[:_MOST_WORDS], key=text.index)
        flag = "(?i)"
    if not facts:
        return ".*"
    if len(facts) == 1:
        return rf"{flag}.*\b{re.escape(facts[0])}\b.*".replace(r"\-", "-")
    parts = "".join(rf"(?=.*\b{re.escape(fact)}\b)" for fact in facts)
    return f"{flag}{parts}.*".replace(r"\-", "-")


def question(text: str) -> str:
    """A yes/no question for a judge."""
    return f"Does the text say the same as this, in whatever words: {text.strip()}"
