"""Recorded turns out of JSONL files: our episode rows, ThinkingBox rows, and plain rows."""

import json
import re
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, cast, get_args

from outcomebox.interpret.formats import format_named
from outcomebox.interpret.output import PromptState
from outcomebox.interpret.replay.errors import ReplayError
from outcomebox.interpret.replay.offers import openai_tool, plain_tool
from outcomebox.interpret.replay.rows import FIELDS, RawTurn, raw_turns
from outcomebox.interpret.tokens.text import Tokenizer, TokenReader
from outcomebox.interpret.tools import Toolbox
from outcomebox.interpret.turn import Tool

_STATES: tuple[PromptState, ...] = get_args(PromptState)
_SEAL = re.compile(rb',"checksum":"([0-9a-f]{8})"\}\s*\Z')
_MOST_TOOLBOXES = 64


class RecordedTurn(NamedTuple):
    """One recorded output with all that a reader may look at.

    Attributes:
        text: The raw output, special tokens kept.
        ids: The token ids where they are recorded, else None.
        tools: The offered tools as OpenAI tool objects; None where they are not known.
        toolbox: The same, made ready.
        format: How the model writes calls.
        prompt_state: Where the prompt left the model.
        finish_reason: Why generation ended.
        file: Where it is recorded; empty for a turn that was made here.
        line: Its line, from 1.
        place: Its place in the row, such as `messages[4]`.
    """

    text: str
    ids: tuple[int, ...] | None
    tools: Sequence[Tool] | None
    toolbox: Toolbox
    format: str = "qwen3_xml"
    prompt_state: PromptState = "think_closed"
    finish_reason: str = "stop"
    file: str = ""
    line: int = 0
    place: str = ""

    @property
    def where(self) -> str:
        """File, line and place, for people."""
        return ":".join(str(part) for part in (self.file, self.line, self.place) if part)


@dataclass
class Source:
    """How rows are to be understood, and what was met on the way.

    Attributes:
        format: The format of all turns; None to take what a row says, else `qwen3_xml`.
        tools: The tools of all turns, or a mapping from a row's domain to them; None to take what
            a row says.
        prompt_state: Where the prompt left the model, for turns that do not say so.
        plain: Whether to offer plain schemas in place of the tools' own (see `plain_tool`).
        fields: More names of fields: what is meant -> the dotted field it stands in.
        tokenizer: The model's tokenizer; without it ids are not read.
        turns: Turns read so far.
        without_output: Assistant messages without a raw output: an endpoint had parsed them.
        without_tools: Turns whose tools are not known.
        assumed_state: Turns that do not say where the prompt left the model.
        without_tokenizer: Turns whose ids were not used for want of a tokenizer.
        torn: Last lines that a killed writer cut off.
        bytes_read: Bytes read so far.
        boxes: The toolboxes of late turns, by the JSON of their tools.
        last: The tools of the turn before, as its row holds them, and what was made of them.
    """

    format: str | None = None
    tools: Sequence[Tool] | Mapping[str, Sequence[Tool]] | None = None
    prompt_state: PromptState = "think_closed"
    plain: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)
    tokenizer: Tokenizer | None = None
    turns: int = 0
    without_output: int = 0
    without_tools: int = 0
    assumed_state: int = 0
    without_tokenizer: int = 0
    torn: int = 0
    bytes_read: int = 0
    boxes: OrderedDict[str, tuple[Sequence[Tool] | None, Toolbox]] = field(
        default_factory=OrderedDict, repr=False
    )
    last: tuple[Any, tuple[Sequence[Tool] | None, Toolbox]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse fields that mean nothing here."""
        for name in self.fields:
            if name not in FIELDS:
                raise ReplayError(
                    f"no such field; there are {', '.join(FIELDS)}", field="--field", value=name
                )

    def notes(self) -> list[str]:
        """What a reader of the result should know, in words."""
        found = [
            (
                self.without_output,
                "turns hold no raw output (an endpoint had parsed them): left out",
            ),
            (self.without_tools, "turns do not say which tools were offered: every value is text"),
            (
                self.assumed_state,
                f"turns do not say where the prompt left the model: {self.prompt_state} is taken",
            ),
            (
                self.without_tokenizer,
                "turns have token ids that were not used: give --tokenizer to read by them",
            ),
            (self.torn, "last line is cut off, by a killed writer: left out"),
        ]
        return [f"{count} {words}" for count, words in found if count]


def read_recorded(file: Path, source: Source) -> Iterator[RecordedTurn]:
    """Yield the turns of a JSONL file, one row held at a time; lines end at LF only.

    Args:
        file: The rows.
        source: How to understand them; its counts go up as turns are read.

    Raises:
        ReplayError: It cannot be read, or a row cannot be used; the message names file, line and
            field.
    """
    for line, row in _rows(file, source):
        for raw in raw_turns(row, source.fields):
            if raw.output is None:
                source.without_output += 1
                continue
            try:
                turn = _turn(raw, source)
            except _Refused as refused:
                raise ReplayError(
                    refused.message,
                    file=file,
                    line=line,
                    field=".".join(filter(None, (raw.place, refused.field))),
                    value=refused.value,
                ) from None
            source.turns += 1
            yield turn._replace(file=str(file), line=line, place=raw.place)


def _rows(file: Path, source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                source.bytes_read += len(line)
                if line.isspace():
                    continue
                row = _row(file, number, line)
                if row is None:
                    source.torn += 1
                    continue
                yield number, row
    except OSError as error:
        raise ReplayError(f"cannot be read: {error.strerror}", file=file) from error


def _row(file: Path, number: int, line: bytes) -> dict[str, Any] | None:
    seal = _SEAL.search(line)
    if seal is not None and zlib.crc32(line[: seal.start()] + b"}") != int(seal[1], 16):
        raise ReplayError(
            "does not fit the line, which was damaged or edited; restore it or take the line out",
            file=file,
            line=number,
            field="checksum",
        )
    try:
        row = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        if not line.endswith(b"\n"):
            return None
        raise ReplayError(
            f"is not JSON ({error}); write one object a line", file=file, line=number
        ) from None
    if not isinstance(row, dict):
        raise ReplayError(
            "is no object; write one object a line", file=file, line=number, value=row
        )
    return row


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


class _Refused(Exception):
    def __init__(self, message: str, field: str, value: object = None) -> None:
        super().__init__(message)
        self.message, self.field, self.value = message, field, value


def _turn(raw: RawTurn, source: Source) -> RecordedTurn:
    text, ids = _output(raw, source)
    tools, toolbox = _offered(raw, source)
    state = raw.prompt_state
    if state is None:
        source.assumed_state += 1
        state = source.prompt_state
    if state not in _STATES:
        raise _Refused(f"write one of {', '.join(_STATES)}", "prompt_state", state)
    reason = raw.finish_reason or "stop"
    if not isinstance(reason, str):
        raise _Refused("must be text, such as stop or length", "finish_reason", reason)
    form = source.format or raw.format or "qwen3_xml"
    if not isinstance(form, str):
        raise _Refused("must be the name of a format", "format", form)
    try:
        format_named(form)
    except ValueError as error:
        raise _Refused(str(error), "format") from None
    return RecordedTurn(text, ids, tools, toolbox, form, cast(PromptState, state), reason)


def _output(raw: RawTurn, source: Source) -> tuple[str, tuple[int, ...] | None]:
    output, ids = raw.output, raw.ids
    if isinstance(output, list) and ids is None:
        output, ids = None, output
    if ids is not None:
        good = isinstance(ids, list) and all(type(number) is int for number in ids)
        if not good:
            raise _Refused("must be a list of token ids", "ids", ids)
        if source.tokenizer is not None:
            reader = TokenReader(source.tokenizer)
            try:
                text = reader.feed(ids) + reader.finish()
            except (KeyError, IndexError, OverflowError, ValueError) as error:
                raise _Refused(
                    f"are not ids of the tokenizer ({type(error).__name__}: {error}); give the "
                    "model's own with --tokenizer",
                    "ids",
                ) from None
            return text, tuple(ids)
        if not isinstance(output, str):
            raise _Refused("are ids without text; give --tokenizer", "ids")
        source.without_tokenizer += 1
    if not isinstance(output, str):
        raise _Refused("must be the raw text, or a list of token ids", "output", output)
    return output, None


def _offered(raw: RawTurn, source: Source) -> tuple[Sequence[Tool] | None, Toolbox]:
    """Return the tools of a turn and their toolbox; both are made once for all turns alike."""
    given = source.tools
    if isinstance(given, Mapping):
        if raw.domain is None:
            raise _Refused("is missing, and --tools has tools by domain; add it", "domain")
        if raw.domain not in given:
            raise _Refused(
                f"--tools has no tools of it; it has {', '.join(given)}", "domain", raw.domain
            )
        given = given[raw.domain]
    found = given if given is not None else raw.tools
    if found is None:
        source.without_tools += 1
    # The turns of one row share one list: it is not written out again for each.
    if source.last is not None and source.last[0] is found:
        return source.last[1]
    if found is not None and not isinstance(found, list | tuple):
        raise _Refused("must be a list of OpenAI tool objects", "tools", found)
    listed = None if found is None else [openai_tool(tool) for tool in found]
    if listed is not None and source.plain:
        listed = [plain_tool(tool) for tool in listed]
    made = _made(listed, source)
    source.last = found, made
    return made


def _made(tools: Sequence[Tool] | None, source: Source) -> tuple[Sequence[Tool] | None, Toolbox]:
    key = json.dumps(tools, sort_keys=True)
    made = source.boxes.get(key)
    if made is None:
        try:
            made = tools, Toolbox(tools)
        except ValueError as error:
            raise _Refused(str(error), "tools") from None
        source.boxes[key] = made
        if len(source.boxes) > _MOST_TOOLBOXES:
            source.boxes.popitem(last=False)
    source.boxes.move_to_end(key)
    return made
