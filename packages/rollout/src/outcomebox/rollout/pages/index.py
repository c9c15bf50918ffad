"""What the list of a page knows of each row; conversations stand elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from outcomebox.rollout.showing.brief import note_of
from outcomebox.rollout.showing.placing import Json
from outcomebox.rollout.showing.view import is_simulated, policy_words
from outcomebox.rollout.showing.words import OUTCOMES

_PLACES = {outcome: place for place, outcome in enumerate(OUTCOMES)}
_QUERY = 200
_NOTE = 200


@dataclass
class Index:
    """All rows of a run, each as a short list; filled one by one.

    Attributes:
        outcomes: Results by outcome: one a (uid, repetition), the last clean try if there is one.
        tasks: uid -> its place.
        simulated: Rows whose policy is no model.
        policies: Rows by policy, in words.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    tasks: dict[str, int] = field(default_factory=dict)
    simulated: int = 0
    policies: Counter[str] = field(default_factory=Counter)
    _about: list[list[Any]] = field(default_factory=list)
    _tools: dict[str, int] = field(default_factory=dict)
    _rows: list[list[Any]] = field(default_factory=list)
    _results: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, view: Json, *, chunk: int, within: int) -> None:
        """Take up a row.

        Args:
            view: Its episode.
            chunk: Number of the part that has its conversation.
            within: Its place in that part.
        """
        task = self._task(view)
        self.simulated += is_simulated(view["policy"])
        self.policies[policy_words(view["policy"])] += 1
        self._rows.append(
            [
                task,
                view["repetition"],
                view["try"],
                _PLACES.get(view["outcome"], _PLACES["system_error"]),
                view["finish_reason"],
                view["error"]["phase"] if view["error"] else None,
                self._used(view),
                _total_seconds(view["seconds"]),
                _total_tokens(view["usage"]),
                chunk,
                within,
                note_of(view)[:_NOTE],
            ]
        )
        self._settle(task, view["repetition"])

    def _settle(self, task: int, repetition: int) -> None:
        """The last clean try of an attempt is its result; without one, its last try."""
        place = len(self._rows) - 1
        key = (task, repetition)
        before = self._results.get(key)
        if before is None or self._rank(place) > self._rank(before):
            self._results[key] = place

    def _rank(self, place: int) -> tuple[bool, int]:
        row = self._rows[place]
        return row[3] != _PLACES["system_error"], row[2]

    def _task(self, view: Json) -> int:
        place = self.tasks.setdefault(view["uid"], len(self._about))
        if place == len(self._about):
            asked = next((step["text"] for step in view["steps"] if step["role"] == "user"), "")
            self._about.append([view["uid"], view["domain"], view["family"], asked[:_QUERY]])
        return place

    def _used(self, view: Json) -> list[int]:
        names = dict.fromkeys(
            call["name"] for step in view["steps"] for call in step.get("calls", ())
        )
        return [self._tools.setdefault(name, len(self._tools)) for name in names]

    def finish(self) -> None:
        """Mark the results and count them; nothing is added afterwards."""
        results = set(self._results.values())
        names = list(OUTCOMES)
        self.outcomes = Counter(dict.fromkeys(names, 0))
        for place, row in enumerate(self._rows):
            row.append(int(place in results))
            if place in results:
                self.outcomes[names[row[3]]] += 1

    @property
    def retried(self) -> int:
        """Tries that are not an attempt's result."""
        return len(self._rows) - len(self._results)

    def sentence(self) -> str:
        """What ran, in a sentence."""
        policies = ", ".join(
            name if len(self.policies) == 1 else f"{name} ({count})"
            for name, count in sorted(self.policies.items())
        )
        parts = [f"Policy: {policies or 'none'}."]
        if self.outcomes["system_error"]:
            parts.append("A system error is no verdict: it counts neither as passed nor as failed.")
        if self.retried:
            tries = "1 earlier try is" if self.retried == 1 else f"{self.retried} earlier tries are"
            parts.append(f"{tries} listed under all tries.")
        return " ".join(parts)

    def warning(self) -> str:
        """That the policy is no model; of how many rows, where it is not all."""
        total = len(self._rows)
        share = "" if self.simulated == total else f" in {self.simulated} of {total} rows"
        return f"The policy is simulated{share}: no model was asked."

    def to_json(self, title: str, files: str | None) -> Mapping[str, Any]:
        """As the page's script reads it.

        Args:
            title: The page's title.
            files: Folder beside the page with the conversations; None where they stand in it.
        """
        uids = [about[0] for about in self._about]
        return {
            "title": title,
            "files": files,
            "tasks": self._about,
            "tools": list(self._tools),
            # By key: the order in which episodes happened to end says nothing.
            "rows": sorted(self._rows, key=lambda row: (uids[row[0]], row[1], row[2])),
        }


def _total_seconds(seconds: Mapping[str, float]) -> float:
    return round(sum(seconds.values()), 3)


def _total_tokens(usage: Mapping[str, Any]) -> int:
    return sum(
        number
        for tokens in usage.values()
        if isinstance(tokens, Mapping)
        for number in tokens.values()
        if isinstance(number, int)
    )
