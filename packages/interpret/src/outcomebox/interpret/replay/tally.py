"""Counts of differences, and one example of each class: all that a replay keeps in memory."""

from dataclasses import dataclass, field
from typing import NamedTuple

from outcomebox.interpret.replay.causes import ClassKey, Finding
from outcomebox.interpret.replay.readings import Reading
from outcomebox.interpret.replay.recorded import RecordedTurn


class Example(NamedTuple):
    """A recorded turn that shows a class.

    Attributes:
        turn: The output.
        left: What the left reader makes of it.
        right: What the right one does.
        findings: All that differs in it.
    """

    turn: RecordedTurn
    left: Reading
    right: Reading
    findings: tuple[Finding, ...]


@dataclass
class ClassTally:
    """One class.

    Attributes:
        turns: Turns that show it.
        findings: How often it was found.
        calls_changed: Turns in which it changes what is executed.
        example: The shortest turn that shows it, the first of them.
    """

    turns: int = 0
    findings: int = 0
    calls_changed: int = 0
    example: Example | None = None


@dataclass
class Tally:
    """All that was counted.

    Attributes:
        turns: Turns compared.
        differing: Turns in which anything differs.
        turns_changed: Turns in which something else is executed.
        calls: Calls that at least one reader executes.
        calls_changed: Those of them that the other does not, or with other arguments.
        classes: Counts by class.
    """

    turns: int = 0
    differing: int = 0
    turns_changed: int = 0
    calls: int = 0
    calls_changed: int = 0
    classes: dict[ClassKey, ClassTally] = field(default_factory=dict)

    def add(self, turn: RecordedTurn, left: Reading, right: Reading, found: list[Finding]) -> None:
        """Count one turn."""
        self.turns += 1
        executed = [sum(call.executable for call in one.calls) for one in (left, right)]
        self.calls += max(executed)
        if not found:
            return
        differences = [finding for finding in found if not finding.shared]
        self.differing += bool(differences)
        changed = {
            finding.where.partition(".arguments.")[0]
            for finding in differences
            if finding.changes_call
        }
        self.turns_changed += bool(changed)
        # A reader that answers nothing changes every call of the other.
        self.calls_changed += max(executed) if "turn" in changed else len(changed)
        example = Example(turn, left, right, tuple(found))
        for key in {finding.key: None for finding in found}:
            tally = self.classes.setdefault(key, ClassTally())
            mine = [finding for finding in found if finding.key == key]
            tally.turns += 1
            tally.findings += len(mine)
            tally.calls_changed += any(finding.changes_call for finding in mine)
            if tally.example is None or len(turn.text) < len(tally.example.turn.text):
                tally.example = example

    def merge(self, later: "Tally") -> None:
        """Add the counts of turns that come behind these."""
        for name in ("turns", "differing", "turns_changed", "calls", "calls_changed"):
            setattr(self, name, getattr(self, name) + getattr(later, name))
        for key, other in later.classes.items():
            mine = self.classes.setdefault(key, ClassTally())
            mine.turns += other.turns
            mine.findings += other.findings
            mine.calls_changed += other.calls_changed
            example = other.example
            if example is not None and (
                mine.example is None or len(example.turn.text) < len(mine.example.turn.text)
            ):
                mine.example = example

    def ordered(self) -> list[tuple[ClassKey, ClassTally]]:
        """The classes, the gravest first; shared hazards behind all differences."""
        return sorted(self.classes.items(), key=lambda item: (item[0].by == "both", item[0].rank))
