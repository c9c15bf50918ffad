"""Where a prompt left the model: is the turn already inside its reasoning?"""

from collections.abc import Sequence

from outcomebox.interpret.output import PromptState
from outcomebox.interpret.tokens.marks import Marks
from outcomebox.interpret.tokens.tokenizers import Encoding, Tokenizer

_LONGEST_TAIL = 4096
"""Ids of the open turn that are decoded where a format's marks are not tokens of their own."""


def prompt_state_of(
    prompt_ids: Sequence[int],
    tokenizer: Tokenizer | Encoding,
    format: str = "qwen3_xml",  # noqa: A002 - the word users know it by
) -> PromptState:
    """Say where a prompt left the model, for `interpret(prompt_state=)`.

    Only the open turn counts: what stands behind the last end of a turn and the last other control
    token. A mark that has a token of its own is that token; ordinary tokens that spell it are text,
    as in a tool result that quotes it.

    Args:
        prompt_ids: The prompt, generation prompt included.
        tokenizer: The model's tokenizer.
        format: How the model writes calls and reasoning.

    Raises:
        ValueError: An unknown format.
    """
    return state_of(prompt_ids, Marks(tokenizer, format))


def state_of(prompt_ids: Sequence[int], marks: Marks) -> PromptState:
    """Say where ids leave the model; see `prompt_state_of`."""
    opener, closer = marks.think
    if not opener:
        return "think_closed"
    open_id, close_id = marks.id_of(opener), marks.id_of(closer)
    if open_id is None or close_id is None:
        return _spelled_state(prompt_ids, marks)
    known = {marks.id_of(each) for each in marks.format.spellings.values()}
    for token in reversed(prompt_ids):
        if token == open_id:
            return "think_open"
        if token == close_id:
            return "think_closed"
        if token in marks.ends or (token in marks.vocabulary.control and token not in known):
            break
    return "assistant_start"


def _spelled_state(prompt_ids: Sequence[int], marks: Marks) -> PromptState:
    """Look for the marks in the text of the open turn."""
    start = max(0, len(prompt_ids) - _LONGEST_TAIL)
    for at in range(len(prompt_ids) - 1, start - 1, -1):
        if prompt_ids[at] in marks.ends or prompt_ids[at] in marks.vocabulary.control:
            start = at + 1
            break
    text = marks.text(prompt_ids[start:])
    opener, closer = marks.think
    opened, closed = text.rfind(opener), text.rfind(closer)
    if opened == closed:
        return "assistant_start"
    return "think_open" if opened > closed else "think_closed"
