"""Where a selection came from, in words that mean the same on every machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from outcomebox.selection.episodes import Episodes
from outcomebox.selection.errors import shown
from outcomebox.selection.settings_file import ListFile


@dataclass(frozen=True)
class Provenance:
    """The inputs of a selection by what they hold, never by where they lie.

    Attributes:
        policy: the `policy` field of the episode rows.
        episodes: digest of the episodes.
        rows: number of rows.
        torn_lines: lines that a killed run left unfinished.
        reference: digest of the episodes of the golden actions; None where none were given.
        lists: the exclusion lists.
    """

    policy: Any
    episodes: str
    rows: int
    torn_lines: int = 0
    reference: str | None = None
    lists: tuple[ListFile, ...] = ()

    @classmethod
    def of(
        cls,
        episodes: Episodes,
        reference: Episodes | None = None,
        lists: tuple[ListFile, ...] = (),
    ) -> Self:
        """Takes the facts from what was read."""
        return cls(
            policy=episodes.policy,
            episodes=episodes.digest,
            rows=episodes.rows.height,
            torn_lines=episodes.torn_lines,
            reference=None if reference is None else reference.digest,
            lists=lists,
        )

    @property
    def simulated(self) -> bool:
        """Whether the rows say that the policy was simulated (`policy: {simulated: true}`)."""
        return isinstance(self.policy, dict) and self.policy.get("simulated") is True

    @property
    def policy_label(self) -> str:
        """A short name of the policy: its `name` and `model`, or the value itself."""
        if isinstance(self.policy, dict):
            parts = [self.policy[key] for key in ("name", "model") if self.policy.get(key)]
            return " ".join(str(part) for part in parts) or shown(self.policy)
        return self.policy if isinstance(self.policy, str) else "that the rows do not name"

    @property
    def policy_phrase(self) -> str:
        """The policy in a sentence, on one line; a simulated one is always called so."""
        label = " ".join(self.policy_label.split())
        if not self.simulated:
            return f"the policy {label}"
        return "the simulated policy" if label == "simulated" else f"the simulated policy {label}"
