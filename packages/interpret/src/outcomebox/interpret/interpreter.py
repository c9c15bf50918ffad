"""The interpreter's face: one output at once, or a stream of pieces; the turn is the same."""

from collections.abc import Sequence
from typing import get_args

from outcomebox.interpret.formats import format_named
from outcomebox.interpret.output import Output, PromptState
from outcomebox.interpret.profiles import profile_named, reading_of
from outcomebox.interpret.scanner import Scanner
from outcomebox.interpret.tokens.text import TokenReader
from outcomebox.interpret.tokens.tokenizers import Encoding, Tokenizer
from outcomebox.interpret.tools import Toolbox
from outcomebox.interpret.turn import Tool, Turn

_PROMPT_STATES: tuple[PromptState, ...] = get_args(PromptState)


def interpret(
    output: str | Sequence[int],
    *,
    tools: Sequence[Tool] | Toolbox | None = None,
    format: str = "qwen3_xml",  # noqa: A002 - the word users know it by
    profile: str = "strict",
    prompt_state: PromptState = "think_closed",
    finish_reason: str = "stop",
    tokenizer: Tokenizer | Encoding | None = None,
) -> Turn:
    """Read one raw output.

    Args:
        output: The sampled token ids, or the model's text with the special tokens of the format
            kept. Ids are the better source: a marker that has a token of its own is markup only
            where that token was sampled, and text where ordinary tokens spell it.
        tools: The offered tools as OpenAI tool objects, or a `Toolbox` made of them once; None
            where they are not known, in which case no call is unknown and every value stays text.
        format: How the model writes calls.
        profile: Whose reading is wanted; `strict` is our own.
        prompt_state: Where the prompt left the model: before any reasoning (`assistant_start`),
            inside it (`think_open`) or after it (`think_closed`).
        finish_reason: Why generation ended; `length` (also `abort`, `content_filter`) says that
            the output was cut.
        tokenizer: The model's tokenizer, needed for ids: of transformers or vLLM, a
            `tokenizers.Tokenizer` or a tiktoken `Encoding`.

    Returns:
        The turn: reasoning, content, calls and what else was noticed.

    Raises:
        TypeError: `output` is neither, or ids come without a tokenizer.
        ValueError: An unknown format, profile or prompt state, a format that the profile does not
            read, or a tool without a name.
    """
    toolbox = tools if isinstance(tools, Toolbox) else Toolbox(tools)
    if isinstance(output, str) and prompt_state in _PROMPT_STATES:
        form = format_named(format)
        short = profile_named(profile).short.get(form.name)
        if short is not None:
            whole = Output(output, None, toolbox, form, prompt_state, finish_reason, None)
            turn = short(whole)
            if turn is not None:
                return turn
    reader = Interpreter(
        tools=toolbox,
        format=format,
        profile=profile,
        prompt_state=prompt_state,
        tokenizer=tokenizer,
    )
    reader.feed(output)
    return reader.finish(finish_reason)


class Interpreter:
    """Reads one output that arrives in pieces; any split gives the turn of the whole."""

    def __init__(
        self,
        *,
        tools: Sequence[Tool] | Toolbox | None = None,
        format: str = "qwen3_xml",  # noqa: A002 - the word users know it by
        profile: str = "strict",
        prompt_state: PromptState = "think_closed",
        tokenizer: Tokenizer | Encoding | None = None,
    ) -> None:
        """Start an output. The arguments are those of `interpret`.

        Raises:
            ValueError: An unknown format, profile or prompt state, a format that the profile does
                not read, or a tool without a name.
        """
        if prompt_state not in _PROMPT_STATES:
            known = ", ".join(_PROMPT_STATES)
            raise ValueError(f"prompt_state {prompt_state!r} is unknown; use one of: {known}")
        self._format = format_named(format)
        chosen = profile_named(profile)
        self._read = reading_of(chosen, self._format)
        self._tools = tools if isinstance(tools, Toolbox) else Toolbox(tools)
        self._prompt_state = prompt_state
        self._scanner = Scanner(self._format) if chosen.scans else None
        self._tokens = None if tokenizer is None else TokenReader(tokenizer)
        self._kind: str | None = None
        self._chunks: list[str] = []
        self._finished = False

    def feed(self, chunk: str | Sequence[int]) -> None:
        """Read on: text, or token ids where there is a tokenizer; one kind in one output.

        Raises:
            TypeError: `chunk` is neither, ids come without a tokenizer, or text is mixed with ids.
            RuntimeError: The output is finished.
        """
        if self._finished:
            raise RuntimeError("this output is finished; start another Interpreter")
        kind = "text" if isinstance(chunk, str) else "ids"
        if self._kind not in (None, kind):
            raise TypeError(f"this output is read from {self._kind}; do not mix {kind} into it")
        self._take(chunk if isinstance(chunk, str) else self._decode(chunk))
        self._kind = kind

    def finish(self, finish_reason: str = "stop") -> Turn:
        """End the output and return its turn.

        Raises:
            RuntimeError: The output is finished.
        """
        if self._finished:
            raise RuntimeError("this output is finished; start another Interpreter")
        self._finished = True
        tokens = None
        if self._tokens and self._kind == "ids":
            self._take(self._tokens.finish())
            tokens = self._tokens.text()
        return self._read(
            Output(
                text="".join(self._chunks),
                tokens=tokens,
                tools=self._tools,
                format=self._format,
                prompt_state=self._prompt_state,
                finish_reason=finish_reason,
                scanner=self._scanner,
            )
        )

    def _take(self, text: str) -> None:
        self._chunks.append(text)
        if self._scanner:
            self._scanner.feed(text)

    def _decode(self, ids: Sequence[int]) -> str:
        if isinstance(ids, bytes) or not isinstance(ids, Sequence):
            raise TypeError(
                f"output must be a str or a sequence of token ids, not {type(ids).__name__}"
            )
        if self._tokens is None:
            raise TypeError("output is token ids: pass the model's tokenizer as `tokenizer`")
        return self._tokens.feed(ids)
