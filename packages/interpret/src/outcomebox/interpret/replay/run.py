"""A whole replay: turns through two readers, in one process or several."""

import multiprocessing
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice

from outcomebox.interpret.replay.causes import ClassKey
from outcomebox.interpret.replay.compare import compare
from outcomebox.interpret.replay.readings import Reader, reader_named
from outcomebox.interpret.replay.recorded import RecordedTurn
from outcomebox.interpret.replay.shrink import DEFAULT_TRIES, Shrunk, shrink
from outcomebox.interpret.replay.tally import Tally
from outcomebox.interpret.replay.tokenizers import load_tokenizer
from outcomebox.interpret.tokens.text import TokenReader

_CHUNK = 200
"""Turns that a process gets at a time."""

Observer = Callable[[Tally], None]


@dataclass(frozen=True)
class Replay:
    """What is to be compared.

    Attributes:
        left: Name of the left reader.
        right: Name of the right one.
        tokenizer: File of the model's tokenizer, for turns whose ids are recorded.
        jobs: Processes; 1 for this one alone.
        shrink: Whether to make a smallest example of each class.
        tries: Most outputs to read for one example.
        texts: Whether reasoning and content are compared too, not only what is executed.
    """

    left: str
    right: str
    tokenizer: str | None = None
    jobs: int = 1
    shrink: bool = False
    tries: int = DEFAULT_TRIES
    texts: bool = True

    def readers(self) -> tuple[Reader, Reader]:
        """Make the two readers.

        Raises:
            ReplayError: There is no such reader, or no such tokenizer.
        """
        tokenizer = None if self.tokenizer is None else load_tokenizer(self.tokenizer)
        return (
            reader_named(self.left, tokenizer=tokenizer),
            reader_named(self.right, tokenizer=tokenizer),
        )


@dataclass
class ReplayResult:
    """A finished replay.

    Attributes:
        left: What the left reader is called; a live parser tells its release.
        right: The same of the right one.
        tally: The counts.
        shrunk: A smallest example by class, where they were wanted.
        seconds: Time spent.
        notes: What a reader of the result should know.
    """

    left: str
    right: str
    tally: Tally
    shrunk: dict[ClassKey, Shrunk] = field(default_factory=dict)
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)


def compare_turns(
    turns: Iterable[RecordedTurn], replay: Replay, observe: Observer | None = None
) -> ReplayResult:
    """Read every turn with both readers and count what differs.

    Memory does not grow with the number of turns: one example of each class is kept. The result
    does not depend on the number of processes.

    Args:
        turns: The recorded turns.
        replay: What to compare.
        observe: Called with the counts so far every few hundred turns.

    Raises:
        ReplayError: There is no such reader; or whatever `turns` raises.
    """
    started = time.monotonic()
    left, right = replay.readers()
    tally = Tally()
    if replay.jobs > 1:
        parts: Iterator[Tally] = _in_processes(turns, replay)
    else:
        parts = (_counted(chunk, left, right, replay) for chunk in _chunks(turns))
    for part in parts:
        tally.merge(part)
        if observe:
            observe(tally)
    result = ReplayResult(left.name, right.name, tally)
    if replay.shrink:
        result.shrunk = _examples(tally, replay, left, right)
    result.seconds = time.monotonic() - started
    return result


def _examples(tally: Tally, replay: Replay, left: Reader, right: Reader) -> dict[ClassKey, Shrunk]:
    decode = None
    if replay.tokenizer is not None:
        tokenizer = load_tokenizer(replay.tokenizer)

        def decode(ids: Iterable[int]) -> str:
            reader = TokenReader(tokenizer)
            return reader.feed(list(ids)) + reader.finish()

    return {
        key: shrink(
            counts.example.turn,
            key,
            left,
            right,
            decode=decode,
            tries=replay.tries,
            texts=replay.texts,
        )
        for key, counts in tally.ordered()
        if counts.example is not None
    }


def _chunks(turns: Iterable[RecordedTurn]) -> Iterator[list[RecordedTurn]]:
    turns = iter(turns)
    while chunk := list(islice(turns, _CHUNK)):
        yield chunk


def _counted(chunk: list[RecordedTurn], left: Reader, right: Reader, replay: Replay) -> Tally:
    tally = Tally()
    for turn in chunk:
        one, other = left.read(turn), right.read(turn)
        tally.add(turn, one, other, compare(turn, one, other, texts=replay.texts))
    return tally


_started: tuple[Reader, Reader, Replay] | None = None


def _start(replay: Replay) -> None:
    global _started  # noqa: PLW0603 - a process of a pool makes its readers once
    _started = *replay.readers(), replay


def _count(chunk: list[RecordedTurn]) -> Tally:
    if _started is None:
        raise AssertionError("the pool starts its processes with readers")
    return _counted(chunk, *_started)


def _in_processes(turns: Iterable[RecordedTurn], replay: Replay) -> Iterator[Tally]:
    """Yield the counts of each chunk in order; few chunks are under way at any time."""
    waiting: deque[Future[Tally]] = deque()
    with ProcessPoolExecutor(
        replay.jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(replay,),
    ) as pool:
        for chunk in _chunks(turns):
            waiting.append(pool.submit(_count, chunk))
            if len(waiting) > 2 * replay.jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
