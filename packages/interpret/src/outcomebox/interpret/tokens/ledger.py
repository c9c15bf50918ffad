"""The tokens of a whole episode: appended only, every id with its origin, audited.

A trainer needs the ids that were sampled, one log-probability for each, and a loss mask that covers
them and nothing else. The ledger holds them as they came and refuses what would break that.
"""

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, NamedTuple, cast, get_args

from outcomebox.interpret.tokens.drift import drifts, first_difference
from outcomebox.interpret.tokens.errors import Drift
from outcomebox.interpret.tokens.marks import Marks
from outcomebox.interpret.tokens.segments import (
    Segment,
    SegmentKind,
    Violation,
    violations,
    violations_of,
)
from outcomebox.interpret.tokens.tokenizers import Encoding, Tokenizer

_VERSION = 1


class Sample(NamedTuple):
    """An episode as a trainer takes it; the three lists are aligned.

    Attributes:
        ids: Every id.
        mask: 1 for an id that gets a loss, else 0.
        logprobs: The log-probability of each sampled id; 0.0 for an id that was not sampled.
        prompt_length: How many ids the first prompt has; what follows is the response.
    """

    ids: tuple[int, ...]
    mask: tuple[int, ...]
    logprobs: tuple[float, ...]
    prompt_length: int


class LedgerError(ValueError):
    """A segment that would break the ledger; it was not appended.

    Attributes:
        violations: Every rule that it breaks.
        drift: Where and why a prompt does not go on from what stands; None where rules were broken.
    """

    def __init__(
        self, message: str, *, violations: tuple[Violation, ...] = (), drift: Drift | None = None
    ) -> None:
        super().__init__(message)
        self.violations = violations
        self.drift = drift


class Ledger:
    """The tokens of one episode.

    Args:
        tokenizer: The model's tokenizer. Without it ends of turns and calls are not looked at.
        format: How the model writes calls.

    Raises:
        ValueError: An unknown format.
    """

    def __init__(
        self,
        tokenizer: Tokenizer | Encoding | None = None,
        format: str = "qwen3_xml",  # noqa: A002 - the word users know it by
    ) -> None:
        self._format = format
        self._marks = None if tokenizer is None else Marks(tokenizer, format)
        self._segments: list[Segment] = []

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Return the segments in order."""
        return tuple(self._segments)

    @property
    def ids(self) -> tuple[int, ...]:
        """Return every id that stands."""
        return tuple(each for segment in self._segments for each in segment.ids)

    def add_prompt(self, ids: Sequence[int]) -> None:
        """Begin the episode with its first prompt.

        Raises:
            LedgerError: It has begun, or the ids are none.
        """
        self._append(Segment("prompt", _plain(ids)))

    def add_sampled(
        self,
        ids: Sequence[int],
        logprobs: Sequence[float] | None,
        *,
        train: bool = True,
        message: Mapping[str, Any] | None = None,
    ) -> None:
        """Append what the model sampled, as the engine returned it.

        Args:
            ids: The ids, the end of the turn included.
            logprobs: One for each id, in nats; None only where nothing is trained.
            train: Whether they get a loss.
            message: What they were read as; it must hold the calls that the ids hold.

        Raises:
            LedgerError: The ids, log-probs and message do not agree.
        """
        given = None if logprobs is None else tuple(map(float, logprobs))
        self._append(Segment("sampled", _plain(ids), given, train, message))

    def add_context(self, ids: Sequence[int], *, message: Mapping[str, Any] | None = None) -> None:
        """Append ids that were not sampled: `NextTurn.context`, or a rendered turn of others.

        Raises:
            LedgerError: The turn before has no end, the white space between two turns is lost, or
                the message has calls that its ids lack.
        """
        self._append(Segment("context", _plain(ids), message=message))

    def add_turn(
        self,
        prompt_ids: Sequence[int],
        sampled_ids: Sequence[int],
        logprobs: Sequence[float] | None,
        *,
        train: bool = True,
        message: Mapping[str, Any] | None = None,
    ) -> None:
        """Append a turn as an engine reports it: its whole prompt, and what was sampled behind it.

        Raises:
            LedgerError: The prompt does not begin with the ids that stand; `drift` says where it
                differs first and why. Or as for `add_sampled`.
        """
        stands = len(self._segments)
        try:
            if not stands:
                self.add_prompt(prompt_ids)
            else:
                self.check_prompt(prompt_ids)
                added = prompt_ids[len(self.ids) :]
                if added:
                    self.add_context(added)
            self.add_sampled(sampled_ids, logprobs, train=train, message=message)
        except LedgerError:
            del self._segments[stands:]
            raise

    def check_prompt(self, prompt_ids: Sequence[int]) -> None:
        """Check that a prompt begins with the ids that stand.

        Raises:
            LedgerError: It does not; `drift` says where it differs first and why.
        """
        drift = self.drift_of(prompt_ids)
        if drift is not None:
            raise LedgerError(
                f"the prompt does not go on from what stands: {drift.message}; append to the ids "
                "that stand (next_turn), or begin another ledger with this prompt",
                drift=drift,
            )

    def drift_of(self, prompt_ids: Sequence[int]) -> Drift | None:
        """Return where a prompt first differs from the ids that stand; None where it goes on."""
        standing = self.ids
        at = first_difference(standing, prompt_ids[: len(standing)])
        if at is None:
            return None
        if self._marks is None:
            stands, found = standing[at : at + 8], tuple(prompt_ids[at : at + 8])
            message = f"ids differ: id {at}: stands {stands}, found {found}"
            return Drift("text", at, 0, stands, found, message)
        covered = list(prompt_ids)
        cuts = [place + 1 for place, each in enumerate(covered) if each in self._marks.ends]
        turns = sum(each in self._marks.ends for each in standing)
        if 0 < turns <= len(cuts) and standing[-1] in self._marks.ends:
            covered = covered[: cuts[turns - 1]]
        found_drifts = drifts(standing, covered, self._marks)
        return found_drifts[0] if found_drifts else None

    def audit(self) -> tuple[Violation, ...]:
        """Return every rule that does not hold, in order; empty for a sound episode."""
        found = violations(self._segments, self._marks)
        if not self._segments:
            return (Violation("no_prompt", 0, 0, "the ledger is empty; begin with add_prompt"),)
        return found

    def sample(self) -> Sample:
        """Return the episode as a trainer takes it.

        Raises:
            LedgerError: A rule does not hold.
        """
        self._refuse(self.audit())
        mask: list[int] = []
        logprobs: list[float] = []
        for segment in self._segments:
            size = len(segment.ids)
            mask += [int(segment.train)] * size
            logprobs += segment.logprobs or [0.0] * size
        return Sample(self.ids, tuple(mask), tuple(logprobs), len(self._segments[0].ids))

    def to_json(self) -> dict[str, Any]:
        """Return the ledger as plain values; the tokenizer is not among them."""
        return {
            "ledger": _VERSION,
            "format": self._format,
            "segments": [
                {
                    "kind": each.kind,
                    "ids": list(each.ids),
                    "logprobs": None if each.logprobs is None else list(each.logprobs),
                    "train": each.train,
                    "message": None if each.message is None else dict(each.message),
                }
                for each in self._segments
            ],
        }

    @classmethod
    def from_json(
        cls, data: Mapping[str, Any], tokenizer: Tokenizer | Encoding | None = None
    ) -> "Ledger":
        """Return a ledger that was written by `to_json`, unsound ones too: `audit` tells.

        Raises:
            ValueError: The data is not a ledger; the message says which field.
        """
        if data.get("ledger") != _VERSION:
            raise ValueError(
                f"ledger: version {data.get('ledger')!r} is unknown; this reads {_VERSION}"
            )
        made = cls(tokenizer, data.get("format", "qwen3_xml"))
        made._segments = [_segment(at, each) for at, each in enumerate(data.get("segments", ()))]
        return made

    def _append(self, segment: Segment) -> None:
        self._refuse(tuple(violations_of(segment, self._segments, self._marks)))
        self._segments.append(segment)

    def _refuse(self, found: tuple[Violation, ...]) -> None:
        if found:
            first = found[0]
            raise LedgerError(
                f"{first.code} at id {first.at} (segment {first.segment}): {first.message}",
                violations=found,
            )


def _plain(ids: Sequence[int]) -> tuple[int, ...]:
    """Return ids as plain integers, which JSON can hold; arrays of numbers too."""
    return tuple(map(index, ids))


def _segment(at: int, data: Any) -> Segment:
    where = f"segments[{at}]"
    if not isinstance(data, Mapping) or data.get("kind") not in get_args(SegmentKind):
        raise ValueError(f"{where}: an object with a kind of {get_args(SegmentKind)} is wanted")
    ids, logprobs = data.get("ids"), data.get("logprobs")
    if not isinstance(ids, list) or not all(isinstance(each, int) for each in ids):
        raise ValueError(f"{where}.ids: {ids!r:.80} is no list of ids")
    if logprobs is not None and not (
        isinstance(logprobs, list) and all(isinstance(each, int | float) for each in logprobs)
    ):
        raise ValueError(f"{where}.logprobs: {logprobs!r:.80} is no list of numbers, one an id")
    return Segment(
        cast(SegmentKind, data["kind"]),
        tuple(ids),
        None if logprobs is None else tuple(map(float, logprobs)),
        bool(data.get("train")),
        data.get("message"),
    )
