"""Compares profiles with live parsers, and holds what differs to the list of known deviations."""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from oracle_turns import FORMATS, Row, kinds
from outcomebox.interpret import interpret
from outcomebox.interpret.live.base import Recorded
from outcomebox.interpret.live.record import recorded_row
from outcomebox.interpret.tools import Toolbox

LEAST = 200
"""How often each kind of damage must have been tried."""

MOST_CLASSES = 10
MOST_SHARE = 0.001
"""How many classes of known deviations there may be, and the share of turns that may show one."""

_LIST = Path(__file__).parent / "oracle" / "deviations.json"


class Deviation(NamedTuple):
    """A known class of differences between a profile and the parser it is named after.

    Attributes:
        name: What it is called.
        why: What the parser does, and why the profile does not do it.
        profiles: Which profiles it is about.
        fields: Which of `reasoning`, `content`, `calls` may differ.
        pattern: A regular expression that the output matches.
        example: The smallest turn that shows it, as the recorder reads rows, with the parser's
            `answer`.
    """

    name: str
    why: str
    profiles: tuple[str, ...]
    fields: tuple[str, ...]
    pattern: str
    example: Mapping[str, Any]


class Case(NamedTuple):
    """A turn that is ready to be read."""

    row: Row
    record: Recorded
    tools: Toolbox


class Difference(NamedTuple):
    """One turn that a profile reads otherwise than its parser."""

    row: Row
    fields: tuple[str, ...]
    got: dict[str, Any]
    want: dict[str, Any]
    known: str | None

    def told(self) -> str:
        """Return the difference in words."""
        row = self.row
        lines = [
            f"{row.format}, {row.prompt_state}, {row.finish_reason}, tools {row.toolbox}",
            f"  damages {', '.join(row.damages)}: {', '.join(self.fields)} differ",
            f"  tokens  {list(row.pieces)!r}",
        ]
        for field in self.fields:
            lines += [f"  parser  {self.want[field]!r}", f"  profile {self.got[field]!r}"]
        return "\n".join(lines)


class Outcome(NamedTuple):
    """What comparing a profile with its parser gave."""

    profile: str
    turns: int
    tried: Counter[str]
    differences: list[Difference]

    def unlisted(self) -> list[Difference]:
        """Return the differences of no known class, smallest first."""
        new = [difference for difference in self.differences if difference.known is None]
        return sorted(new, key=lambda difference: len(difference.row.text))

    def told(self) -> str:
        """Return the counts in words."""
        known = Counter(difference.known for difference in self.differences if difference.known)
        lines = [f"{self.profile}: {self.turns} turns, {len(self.differences)} differ"]
        lines += [f"  known deviation {name}: {count}" for name, count in sorted(known.items())]
        return "\n".join(lines)


def say(text: str) -> None:
    """Print a line of a report."""
    sys.stdout.write(text + "\n")


def deviations() -> list[Deviation]:
    """Read the list of known deviations."""
    listed: list[dict[str, Any]] = json.loads(_LIST.read_text(encoding="utf-8"))
    return [
        Deviation(
            **{**entry, "profiles": tuple(entry["profiles"]), "fields": tuple(entry["fields"])}
        )
        for entry in listed
    ]


def cases_of(toolboxes: list[list[dict[str, Any]]], rows: Iterable[Row]) -> list[Case]:
    """Make turns ready to be read, once for all profiles."""
    ready = [Toolbox(tools) for tools in toolboxes]
    none = Toolbox([])
    return [
        Case(
            row,
            recorded_row(row.plain(toolboxes)),
            none if row.toolbox is None else ready[row.toolbox],
        )
        for row in rows
    ]


def reading(profile: str, record: Recorded, tools: Toolbox) -> dict[str, Any]:
    """Return how a profile reads an output, in the form of a recorded answer."""
    turn = interpret(
        record.ids,
        tools=tools,
        format=record.format,
        profile=profile,
        prompt_state=record.prompt_state,
        finish_reason=record.finish_reason,
        tokenizer=record.tokenizer,
    )
    calls = [[call.name, call.arguments_json()] for call in turn.tool_calls]
    return {"reasoning": turn.reasoning, "content": turn.content, "calls": calls}


def differing(got: Mapping[str, Any], want: Mapping[str, Any]) -> tuple[str, ...]:
    """Return which fields of two answers differ; a parser's error is no field."""
    return tuple(name for name in ("reasoning", "content", "calls") if got[name] != want[name])


def compare(profile: str, cases: Sequence[Case], answers: Iterable[Mapping[str, Any]]) -> Outcome:
    """Read every turn as the profile does and hold it to the parser's answer."""
    known = [deviation for deviation in deviations() if profile in deviation.profiles]
    tried: Counter[str] = Counter()
    found: list[Difference] = []
    for case, answer in zip(cases, answers, strict=True):
        tried.update(case.row.damages)
        got = reading(profile, case.record, case.tools)
        fields = differing(got, answer)
        if fields:
            name = next((one.name for one in known if _is_of(one, case.record.text, fields)), None)
            found.append(Difference(case.row, fields, got, dict(answer), name))
    return Outcome(profile, len(cases), tried, found)


def rarely_tried(tried: Mapping[str, int]) -> dict[str, int]:
    """Return the kinds of damage that were tried too seldom, with how often they were."""
    all_kinds = {name for format_name in FORMATS for name in kinds(format_name)}
    return {name: tried.get(name, 0) for name in sorted(all_kinds) if tried.get(name, 0) < LEAST}


def counted(tried: Mapping[str, int]) -> str:
    """Return the counts of what was tried, in words."""
    return ", ".join(f"{name} {count}" for name, count in sorted(tried.items()))


def faults(outcome: Outcome) -> list[str]:
    """Return what is wrong with an outcome: nothing compared, or an unlisted difference."""
    wrong = []
    if not outcome.turns:
        wrong.append(f"{outcome.profile}: no turn was compared")
    new = outcome.unlisted()
    if new:
        wrong.append(f"{outcome.profile}: {len(new)} differences are not listed; the smallest:")
        wrong += [difference.told() for difference in new[:3]]
    known = len(outcome.differences) - len(new)
    if known > MOST_SHARE * outcome.turns:
        wrong.append(f"{outcome.profile}: {known} of {outcome.turns} turns show a known deviation")
    return wrong


def _is_of(deviation: Deviation, text: str, fields: tuple[str, ...]) -> bool:
    return set(fields) <= set(deviation.fields) and bool(re.search(deviation.pattern, text))
