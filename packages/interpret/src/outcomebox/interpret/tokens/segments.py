"""The pieces of an episode's tokens, and the rules that hold between them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from outcomebox.interpret.interpreter import interpret
from outcomebox.interpret.tokens.marks import Marks
from outcomebox.interpret.tokens.prompts import state_of

SegmentKind = Literal["prompt", "sampled", "context"]

ViolationCode = Literal[
    "boundary_newline",
    "calls_dropped",
    "calls_missing",
    "empty",
    "id",
    "kind",
    "logprob_length",
    "logprob_missing",
    "logprob_of_context",
    "logprob_value",
    "loss_on_context",
    "no_prompt",
    "not_ended",
    "text_after_end",
]
"""What can be wrong with a segment; `Violation.message` says each in words."""


class Segment(NamedTuple):
    """Ids that came in one piece.

    Attributes:
        kind: `prompt`: what the episode began with. `sampled`: what the model wrote, id for id.
            `context`: what was put behind it: ends of turns, tool results, the next prompt.
        ids: The ids.
        logprobs: The log-probability of each sampled id, in nats; None for ids not sampled.
        train: Whether its ids get a loss.
        message: The chat message that it stands for, where known.
    """

    kind: SegmentKind
    ids: tuple[int, ...]
    logprobs: tuple[float, ...] | None = None
    train: bool = False
    message: Mapping[str, Any] | None = None


class Violation(NamedTuple):
    """A rule that does not hold.

    Attributes:
        code: The rule.
        at: The first id that it concerns, counted from the start of the episode.
        segment: The segment.
        message: What is wrong and how to mend it.
    """

    code: ViolationCode
    at: int
    segment: int
    message: str


def violations(segments: Sequence[Segment], marks: Marks | None) -> tuple[Violation, ...]:
    """Return every rule that does not hold in an episode, in order.

    Args:
        segments: All segments.
        marks: The tokenizer and format; None leaves out the rules that read what ids say.
    """
    found: list[Violation] = []
    done: list[Segment] = []
    for segment in segments:
        found += violations_of(segment, done, marks)
        done.append(segment)
    return tuple(found)


def violations_of(
    segment: Segment, before: Sequence[Segment], marks: Marks | None
) -> list[Violation]:
    """Return every rule that does not hold for a segment behind those before it."""
    at = sum(len(each.ids) for each in before)
    rules = _rules(segment, before, marks)
    return [Violation(code, at + where, len(before), says) for code, where, says in rules]


_Found = tuple[ViolationCode, int, str]


def _rules(segment: Segment, before: Sequence[Segment], marks: Marks | None) -> Iterator[_Found]:
    if (segment.kind == "prompt") == bool(before):
        says = (
            f"{segment.kind} stands at place {len(before)}; an episode is one prompt, then sampled "
            "and context segments"
        )
        yield ("kind" if before else "no_prompt"), 0, says
    if not segment.ids:
        yield "empty", 0, f"the {segment.kind} segment has no ids; leave it out"
        return
    knows = marks.vocabulary.knows if marks else None
    for at, each in enumerate(segment.ids):
        if isinstance(each, bool) or each < 0 or (knows and not knows(each)):
            yield "id", at, f"{each!r} is no id of the tokenizer; give ids as the engine returned"
            return
    yield from _logprobs(segment)
    if marks is not None:
        yield from _turn_ends(segment, before, marks)
        yield from _calls(segment, before, marks)


def _logprobs(segment: Segment) -> Iterator[_Found]:
    if segment.kind != "sampled":
        if segment.logprobs is not None:
            yield "logprob_of_context", 0, f"{segment.kind} ids were not sampled: no log-probs"
        if segment.train:
            yield "loss_on_context", 0, f"{segment.kind} ids were not sampled: no loss"
        return
    if segment.logprobs is None:
        if segment.train:
            yield "logprob_missing", 0, "sampled ids without log-probs; ask the engine for them"
        return
    size, given = len(segment.ids), len(segment.logprobs)
    if size != given:
        says = (
            f"{size} sampled ids and {given} log-probs; use the ids that the engine returned, not "
            "ids of its text"
        )
        yield "logprob_length", min(size, given), says
    for at, each in enumerate(segment.logprobs[:size]):
        if not math.isfinite(each) or each > _ROUNDING:
            yield "logprob_value", at, f"log-prob {each!r} is not a finite number below 0"
            return


_ROUNDING = 1e-3
"""How far above 0 rounding in half precision may put the log-probability of a sure token."""


def _turn_ends(segment: Segment, before: Sequence[Segment], marks: Marks) -> Iterator[_Found]:
    """Ends of turns: sampled ids stop there, and context goes on as the prompt shows it."""
    if segment.kind == "sampled":
        end = next((at for at, each in enumerate(segment.ids[:-1]) if each in marks.ends), None)
        if end is not None:
            yield (
                "text_after_end",
                end + 1,
                "sampled ids go on behind the end of the turn; cut them",
            )
        return
    if segment.kind != "context" or not before or before[-1].kind != "sampled":
        return
    at = 0
    if before[-1].ids and before[-1].ids[-1] not in marks.ends:
        at = next((place for place, each in enumerate(segment.ids) if each in marks.ends), -1) + 1
        opened = [place for place, each in enumerate(segment.ids) if _opens(each, marks)]
        if not at or (opened and opened[0] < at):
            yield "not_ended", 0, "the turn before this context has no end; put its end token first"
            return
    boundary = _boundary(before[0], marks)
    for place, wanted in enumerate(boundary or ()):
        found = segment.ids[at + place] if at + place < len(segment.ids) else None
        if found != wanted:
            says = (
                f"the prompt goes on with {boundary} behind the end of a turn, here is {found}; "
                "engines stop at that end, and what the template writes behind it is context"
            )
            yield "boundary_newline", at + place, says
            return


def _opens(token: int, marks: Marks) -> bool:
    known = {marks.id_of(each) for each in marks.format.spellings.values()}
    return token in marks.vocabulary.control and token not in known and token not in marks.ends


def _boundary(prompt: Segment, marks: Marks) -> tuple[int, ...] | None:
    """Return what the prompt puts between the end of a turn and the next control token.

    None where it shows no such place, or several that differ.
    """
    found: set[tuple[int, ...]] = set()
    for start, _ in marks.turns(prompt.ids)[1:]:
        stop = start
        while stop < len(prompt.ids) and not _opens(prompt.ids[stop], marks):
            stop += 1
            if stop - start > 4:
                return None
        if stop < len(prompt.ids):
            found.add((*prompt.ids[start : stop + 1],))
    return found.pop() if len(found) == 1 else None


def _calls(segment: Segment, before: Sequence[Segment], marks: Marks) -> Iterator[_Found]:
    """A message and its ids hold the same calls."""
    message = segment.message
    if message is None or message.get("role") != "assistant":
        return
    told = len(message.get("tool_calls") or ())
    text = marks.text(segment.ids)
    if told and marks.call_open and marks.call_open not in text:
        says = (
            f"the message has {told} calls and its ids none: only its content was encoded; append "
            "the sampled ids, or render the message with its calls"
        )
        yield "calls_missing", 0, says
    elif segment.kind == "sampled":
        turn = interpret(
            segment.ids,
            format=marks.format.name,
            prompt_state=state_of(_open_turn(before, marks), marks),
            tokenizer=marks.vocabulary,
        )
        wrote = sum(each.executable for each in turn.tool_calls)
        if wrote > told:
            says = f"the ids hold {wrote} calls and the message {told}; keep its tool_calls"
            yield "calls_dropped", 0, says


def _open_turn(before: Sequence[Segment], marks: Marks) -> list[int]:
    """Return the last ids, back to a segment in which a turn ends."""
    ids: list[int] = []
    for segment in reversed(before):
        ids[:0] = segment.ids
        if not marks.ends.isdisjoint(segment.ids):
            break
    return ids
