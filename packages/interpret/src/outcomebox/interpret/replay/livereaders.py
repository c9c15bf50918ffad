"""Readers that ask the parser of a real release."""

from outcomebox.interpret.live import live_parser
from outcomebox.interpret.live.base import LiveParser
from outcomebox.interpret.live.pieces import recorded
from outcomebox.interpret.replay.errors import ReplayError
from outcomebox.interpret.replay.jsonvalues import read_arguments
from outcomebox.interpret.replay.readings import LIVE, Call, Reading
from outcomebox.interpret.replay.recorded import RecordedTurn
from outcomebox.interpret.tokens.text import Tokenizer

_STREAM = "-stream"


class LiveReader:
    """A live parser as a reader.

    Attributes:
        name: The parser and its release.
    """

    def __init__(self, parser: LiveParser, tokenizer: Tokenizer | None) -> None:
        self.name = f"{LIVE}{parser.name}"
        self._parser = parser
        self._tokenizer = tokenizer

    def read(self, turn: RecordedTurn) -> Reading:
        """Return what the release's server makes of a turn.

        Raises:
            ReplayError: The parser does not read the turn's format.
        """
        by_ids = turn.ids is not None and self._tokenizer is not None
        output = recorded(
            turn.ids if by_ids and turn.ids is not None else turn.text,
            tools=turn.tools,
            format=turn.format,
            prompt_state=turn.prompt_state,
            finish_reason=turn.finish_reason,
            tokenizer=self._tokenizer if by_ids else None,
        )
        try:
            answer = self._parser.parse(output)
        except ValueError as error:
            raise ReplayError(f"{self.name}: {error}", field="format") from None
        calls = []
        for name, wire in answer.calls:
            arguments = read_arguments(wire)
            status = "malformed" if arguments is None else "ok"
            calls.append(Call(name, wire, arguments, arguments is not None, status))
        return Reading(answer.reasoning, answer.content, tuple(calls), answer.error or "")


def live_reader(name: str, tokenizer: Tokenizer | None = None) -> LiveReader:
    """Return the reader `live:NAME`, `live:NAME-stream` or `live:NAME=WHERE`.

    Raises:
        ReplayError: There is no such parser, or its release is not installed.
    """
    asked, _, where = name.removeprefix(LIVE).partition("=")
    stream = asked.endswith(_STREAM)
    try:
        parser = live_parser(asked.removesuffix(_STREAM), stream=stream, where=where)
    except (ValueError, ImportError) as error:
        raise ReplayError(str(error), value=name) from None
    return LiveReader(parser, tokenizer)
