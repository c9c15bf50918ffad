"""Wrong trajectories of a task, each held against the golden end, and what the check says of it.

A mutant is wrong only if it leaves another state: one whose end is golden's (the same rows, or the
same but for generated ids) is *equivalent* and counts nowhere. One that passes after a question to
a stand-in judge is *judged*: nobody knows what a judge would have said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from outcomebox.reward.lint.findings import Count, Finding, Survivors
from outcomebox.reward.lint_thinkingbox import words
from outcomebox.reward.lint_thinkingbox.alike import alike
from outcomebox.reward.lint_thinkingbox.arguments import (
    Place,
    another,
    another_text,
    places,
    put,
)
from outcomebox.reward.lint_thinkingbox.golden import Golden
from outcomebox.reward.lint_thinkingbox.replays import Replays
from outcomebox.reward.lint_thinkingbox.tables import Cell, Tables, differences, landed, tables_of
from outcomebox.reward.thinkingbox.mutations import Kind as CallKind
from outcomebox.reward.thinkingbox.mutations import Policy, variants
from outcomebox.reward.thinkingbox.replaying import Played
from outcomebox.sandbox.thinkingbox import GoldenCall

_DONE: Mapping[CallKind, str] = {"drop": "left out", "double": "made once more at the end"}


@dataclass
class Tally:
    """What became of a task's mutants.

    Attributes:
        made: By kind, those that leave another end and got a verdict.
        killed: By kind, those of them that were not accepted.
        survivors: The others, one each.
        findings: What they show.
        equivalent: Mutants that leave golden's end.
        judged: Mutants that passed because a stand-in said yes.
        unjudged: Mutants that got no verdict: the check, or a server, broke.
    """

    made: Counter[str] = field(default_factory=Counter)
    killed: Counter[str] = field(default_factory=Counter)
    survivors: list[Survivors] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    equivalent: int = 0
    judged: int = 0
    unjudged: int = 0

    @property
    def kinds(self) -> dict[str, Count]:
        """Kind -> (mutants, killed)."""
        return {kind: (made, self.killed[kind]) for kind, made in self.made.items()}

    def kill(self, kind: str) -> None:
        """Count a mutant that was not accepted."""
        self.made[kind] += 1
        self.killed[kind] += 1

    def survive(self, kind: str, cell: Cell | None, example: str, code: str) -> None:
        """Count a mutant that was accepted."""
        self.made[kind] += 1
        table, column = ("", None) if cell is None else (cell.table, cell.column)
        key = None if cell is None else cell.key
        self.survivors.append(Survivors(table, column, kind, 1, example, key, code))

    def folded(self) -> tuple[Survivors, ...]:
        """The survivors by table, column, kind and code, counted."""
        groups: dict[tuple[Any, ...], list[Survivors]] = {}
        for each in self.survivors:
            groups.setdefault((each.table, each.column, each.kind, each.code), []).append(each)
        return tuple(
            Survivors(
                first.table,
                first.column,
                first.kind,
                len(group),
                first.example,
                first.key,
                first.code,
            )
            for group in groups.values()
            for first in group[:1]
        )


@dataclass(frozen=True)
class Mutating:
    """Tries the mutants of one task.

    Attributes:
        replays: Plays them.
        golden: What they are held against.
        tally: Where they are counted.
    """

    replays: Replays
    golden: Golden
    tally: Tally

    @property
    def _calls(self) -> tuple[GoldenCall, ...]:
        return self.replays.task.golden

    async def texts(self) -> None:
        """Every text of several words that a mutating call is given, replaced.

        All at once first: if that passes, each that shows in the end may be any text. If not, one
        by one.
        """
        found = self._places("text")
        if not found:
            return
        played = await self._put({place: another_text(place) for place in found})
        if played is None:
            return
        known = not (played.asked and self.replays.stand_in)
        if played.passed and known and not played.refused:
            await self._any_text(found, tables_of(played.effects or {}))
            return
        if len(found) == 1:
            await self._text(found[0], played)
            return
        for place in found:
            await self._text(place, await self._put({place: another_text(place)}))

    async def values(self) -> None:
        """Every other value that a mutating call is given, replaced, one by one."""
        for place in self._places("word", "number", "flag", "moment"):
            value = another(place, self.golden.end)
            call = self._calls[place.call]
            what = f"{place.name} of {call.tool} is {value!r} instead of {place.value!r}"
            played = await self._put({place: value})
            cells = self._survived(place.kind, played)
            if cells is None:
                continue
            if place.kind == "word" and await self._takes_any(place):
                cell = cells[0] if cells else None
                self._unchecked(place, [place.call], cell, empty=None)
                continue
            self.tally.survive(place.kind, next(iter(cells), None), what, "mutant_survives")
            details = {"kind": place.kind, "call": place.call, "argument": place.name}
            self.tally.findings.append(words.survives(what, cells, details))

    async def calls(self) -> None:
        """Every mutating call left out, and made once more at the end."""
        mutating = self.golden.mutating
        for kind, done in _DONE.items():
            made = variants(Policy(kind), len(self._calls), mutating)
            for index, variant in zip(mutating, made, strict=True):
                played = await self.replays.play([self._calls[each] for each in variant.calls])
                cells = self._survived(kind, played)
                if cells is None:
                    continue
                tool = self._calls[index].tool
                what = f"golden call {index}, {tool}, is {done}"
                self.tally.survive(kind, next(iter(cells), None), what, "mutant_survives")
                details = {"kind": kind, "call": index, "tool": tool}
                self.tally.findings.append(words.survives(what, cells, details))

    def _places(self, *kinds: str) -> list[Place]:
        return [
            place
            for index in self.golden.mutating
            for place in places(index, self._calls[index])
            if place.kind in kinds
        ]

    async def _put(self, values: Mapping[Place, Any]) -> Played | None:
        calls = [*self._calls]
        for place, value in values.items():
            calls[place.call] = put(calls[place.call], place.path, value)
        return await self.replays.play(calls)

    def _survived(self, kind: str, played: Played | None) -> list[Cell] | None:
        """Where an accepted end differs; None if it was not accepted, or counts nowhere."""
        if played is None:
            return None
        if played.verdict is None or played.effects is None or played.verdict.error is not None:
            self.tally.unjudged += 1
            return None
        end = tables_of(played.effects)
        if self._equivalent(end):
            self.tally.equivalent += 1
        elif played.failed:
            self.tally.kill(kind)
        elif played.asked and self.replays.stand_in:
            self.tally.judged += 1
        else:
            return differences(self.golden.end, end)
        return None

    def _equivalent(self, end: Tables) -> bool:
        golden = self.golden
        return alike(golden.start, golden.end, end, known=golden.given) is True

    async def _text(self, place: Place, played: Played | None) -> None:
        cells = self._survived("text", played)
        if cells is None or played is None:
            return
        cell = next(iter(landed(tables_of(played.effects or {}), place.token)), None)
        self._unchecked(place, [place.call], cell or next(iter(cells), None), empty=None)

    async def _any_text(self, found: Sequence[Place], end: Tables) -> None:
        """All of them were replaced, and the end accepted."""
        emptied = await self._put(dict.fromkeys(found, ""))
        empty = None if emptied is None else emptied.passed and not emptied.refused
        groups: dict[tuple[str, str, Cell], list[Place]] = {}
        for place in found:
            cells = landed(end, place.token)
            if not cells:
                self.tally.equivalent += 1
                continue
            cell = Cell(cells[0].table, cells[0].column)
            groups.setdefault((self._calls[place.call].tool, place.name, cell), []).append(place)
        for (_, _, cell), group in groups.items():
            calls = [place.call for place in group]
            self._unchecked(group[0], calls, cell, empty=empty)

    def _unchecked(
        self, place: Place, calls: Sequence[int], cell: Cell | None, *, empty: bool | None
    ) -> None:
        call = self._calls[place.call]
        for _ in calls:
            what = f"{place.name} of {call.tool} is another text"
            self.tally.survive("text", cell, what, "unchecked_text")
        self.tally.findings.append(words.unchecked_text(call, place.name, cell, calls, empty=empty))

    async def _takes_any(self, place: Place) -> bool:
        """Whether any text passes where a single word stood: then it is no choice and no id."""
        played = await self._put({place: another_text(place)})
        return (
            played is not None
            and played.passed
            and bool(landed(tables_of(played.effects or {}), place.token))
        )
