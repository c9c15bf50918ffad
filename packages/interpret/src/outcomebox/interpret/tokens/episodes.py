"""A recorded episode, turn by turn, as ledgers: one for each run of turns that only append."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from outcomebox.interpret.tokens.errors import Drift
from outcomebox.interpret.tokens.ledger import Ledger, LedgerError
from outcomebox.interpret.tokens.segments import Violation
from outcomebox.interpret.tokens.tokenizers import Encoding, Tokenizer


class RecordedTurn(NamedTuple):
    """A turn as an engine reports it.

    Attributes:
        prompt_ids: The whole prompt.
        sampled_ids: What was sampled behind it.
        logprobs: One for each sampled id, in nats; None where they were not recorded.
        message: What the ids were read as, where known.
    """

    prompt_ids: Sequence[int]
    sampled_ids: Sequence[int]
    logprobs: Sequence[float] | None = None
    message: Mapping[str, Any] | None = None


class Episode(NamedTuple):
    """What was found in the turns of an episode.

    Attributes:
        ledgers: One for each run of turns whose prompts go on from what stood.
        breaks: For each turn whose prompt does not, by its number, where and why.
        violations: For each turn that is unsound by itself, by its number, every rule it breaks;
            such a turn is in no ledger, and a new one begins behind it.
    """

    ledgers: tuple[Ledger, ...]
    breaks: dict[int, Drift]
    violations: dict[int, tuple[Violation, ...]]

    @property
    def prefix_stable(self) -> bool:
        """Whether every prompt goes on from the ids that stood before it."""
        return not self.breaks


def read_episode(
    turns: Sequence[RecordedTurn],
    tokenizer: Tokenizer | Encoding | None = None,
    format: str = "qwen3_xml",  # noqa: A002 - the word users know it by
) -> Episode:
    """Put the turns of an episode into ledgers, and tell everything that is wrong with them.

    A prompt that rewrites the past begins a new ledger, so that ids of the one are never mixed with
    ids of the other.

    Args:
        turns: The turns in order. A turn without log-probs is kept and gets no loss.
        tokenizer: The model's tokenizer; see `Ledger`.
        format: How the model writes calls.

    Raises:
        ValueError: An unknown format.
    """
    ledgers: list[Ledger] = []
    breaks: dict[int, Drift] = {}
    unsound: dict[int, tuple[Violation, ...]] = {}
    current: Ledger | None = None
    for number, turn in enumerate(turns):
        if current is not None:
            drift = current.drift_of(turn.prompt_ids)
            if drift is not None:
                breaks[number] = drift
                current = None
        ledger = Ledger(tokenizer, format) if current is None else current
        try:
            ledger.add_turn(
                turn.prompt_ids,
                turn.sampled_ids,
                turn.logprobs,
                train=turn.logprobs is not None,
                message=turn.message,
            )
        except LedgerError as error:
            unsound[number] = error.violations
            current = None
            continue
        if ledger is not current:
            ledgers.append(ledger)
        current = ledger
    return Episode(tuple(ledgers), breaks, unsound)
