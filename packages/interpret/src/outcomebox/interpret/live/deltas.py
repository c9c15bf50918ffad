"""How an output arrives at a server's parser, token by token, and what its client joins."""

from collections.abc import Iterator
from typing import NamedTuple

from outcomebox.interpret.live.base import Answer, Recorded

_PROMPTS = {
    "assistant_start": ("<|im_start|>",),
    "think_open": ("<|im_start|>", "<think>"),
    "think_closed": ("<|im_start|>", "<think>", "</think>"),
}
"""The tokens of a shortest prompt that leaves the model in each state, as Qwen3's template writes
it; parsers look at these alone.
"""


END_OF_TURN = ("<|im_end|>", "<|endoftext|>")
"""The tokens that stop a model of Qwen's template."""


class Delta(NamedTuple):
    """What one step of the engine hands to the parser."""

    text: str
    ids: tuple[int, ...]
    finished: bool


def prompt_ids(output: Recorded) -> list[int]:
    """Return the ids of a prompt that leaves the model in the output's state."""
    vocab = output.tokenizer.get_vocab()
    return [vocab[token] for token in _PROMPTS[output.prompt_state] if token in vocab]


def served_text(output: Recorded) -> str:
    """Return the text that an engine hands out: without the end of turn that stopped it."""
    ending = _ending(output)
    return output.text[: len(output.text) - len(ending)] if ending else output.text


def deltas(output: Recorded) -> Iterator[Delta]:
    """Yield one delta a token, as engines do.

    An output that ended by itself ends in an end of turn, whose id arrives in a last delta without
    text, recorded or not; one that was cut ends with its last token.
    """
    steps = list(zip(output.pieces, output.ids, strict=True))
    if output.cut:
        for step, (piece, token) in enumerate(steps, 1):
            yield Delta(piece, (token,), step == len(steps))
        return
    last = steps.pop()[1] if _ending(output) else _end_id(output)
    for piece, token in steps:
        yield Delta(piece, (token,), finished=False)
    yield Delta("", (last,), finished=True)


class Joined:
    """Joins the deltas that a client receives."""

    def __init__(self) -> None:
        self._reasoning: list[str] = []
        self._content: list[str] = []
        self._calls: dict[int, tuple[list[str], list[str]]] = {}

    def text(self, reasoning: str | None, content: str | None) -> None:
        """Take text of a delta."""
        self._reasoning.append(reasoning or "")
        self._content.append(content or "")

    def call(self, index: int, name: str | None, arguments: str | None) -> None:
        """Take a piece of the call of that index."""
        names, pieces = self._calls.setdefault(index, ([], []))
        names.append(name or "")
        pieces.append(arguments or "")

    def answer(self, error: str | None = None) -> Answer:
        """Return the whole; text of which nothing came is None."""
        return Answer(
            "".join(self._reasoning) or None,
            "".join(self._content) or None,
            tuple(
                ("".join(names), "".join(pieces))
                for _, (names, pieces) in sorted(self._calls.items())
            ),
            error,
        )


def _ending(output: Recorded) -> str:
    """Return the end of turn that stopped the output, or an empty string."""
    if output.cut or not output.pieces:
        return ""
    last = output.pieces[-1]
    return last if last in END_OF_TURN else ""


def _end_id(output: Recorded) -> int:
    vocab = output.tokenizer.get_vocab()
    for token in END_OF_TURN:
        if token in vocab:
            return vocab[token]
    raise ValueError(
        f"the tokenizer has no end of turn: add {' or '.join(END_OF_TURN)} to its vocabulary"
    )
