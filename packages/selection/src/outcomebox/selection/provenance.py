"""Where a selection came from, in words that mean the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from outcomebox.selection.episodes import Episodes
from outcomebox.selection.reading.oneness import policy_label
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
        reference_model: digest of the episodes of the reference model; None where none were given.
        repeated: rows that stood twice and counted once.
        others: rows of other policies, by name; they decide nothing.
        files: what was read: use, name and SHA-256 of each file, sorted.
    """

    policy: Any
    episodes: str
    rows: int
    torn_lines: int = 0
    reference: str | None = None
    lists: tuple[ListFile, ...] = ()
    reference_model: str | None = None
    repeated: int = 0
    others: tuple[tuple[str, int], ...] = ()
    files: tuple[tuple[str, str, str], ...] = ()

    @classmethod
    def of(
        cls,
        episodes: Episodes,
        reference: Episodes | None = None,
        lists: tuple[ListFile, ...] = (),
        *,
        reference_model: Episodes | None = None,
        files: Iterable[tuple[str, str, str]] = (),
    ) -> Self:
        """Takes the facts from what was read.

        Args:
            episodes: those that decide.
            reference: those of the golden actions.
            lists: exclusion lists.
            reference_model: the reference model's.
            files: other files: use, name and SHA-256.
        """
        uses = {
            "episodes": episodes,
            "reference": reference,
            "reference_model": reference_model,
        }
        told = {
            (use, file.name, file.sha256)
            for use, read in uses.items()
            if read is not None
            for file in read.files
        }
        told |= {("exclude_lists", item.name, item.sha256) for item in lists}
        return cls(
            policy=episodes.policy,
            episodes=episodes.digest,
            rows=episodes.rows.height,
            torn_lines=episodes.torn_lines,
            reference=None if reference is None else reference.digest,
            lists=lists,
            reference_model=None if reference_model is None else reference_model.digest,
            repeated=episodes.repeated,
            others=episodes.others,
            files=tuple(sorted(told | set(files))),
        )

    @property
    def simulated(self) -> bool:
        """Whether the rows say that the policy was simulated (`policy: {simulated: true}`)."""
        return isinstance(self.policy, dict) and self.policy.get("simulated") is True

    @property
    def policy_label(self) -> str:
        """A short name of the policy: its `name` and `model`, or the value itself."""
        return policy_label(self.policy)

    @property
    def policy_phrase(self) -> str:
        """The policy in a sentence, on one line; a simulated one is always called so."""
        label = " ".join(self.policy_label.split())
        if not self.simulated:
            return f"the policy {label}"
        return "the simulated policy" if label == "simulated" else f"the simulated policy {label}"
