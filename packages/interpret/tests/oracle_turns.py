"""Generates model outputs, well-formed and damaged: for the corpus and for property tests alike."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hypothesis import strategies as st

from oracle_chunks import STATES, Chunk, Chunks, call_chunks, sentence, thinking
from oracle_damage import HERMES, SHARED, XML, Damage, Scene
from oracle_draw import Draw, HypothesisDraw, SeededDraw, chance, pick
from oracle_values import make_tools
from outcomebox.interpret.live.pieces import MARKERS, SPECIAL, split
from outcomebox.interpret.turn import Tool

FORMATS = ("qwen3_xml", "hermes")

DAMAGES: Mapping[str, Mapping[str, Damage]] = {
    "qwen3_xml": {**SHARED, **XML},
    "hermes": {**SHARED, **HERMES},
}
"""What can be done to a turn of each format."""

OWN: Mapping[str, Mapping[str, Damage]] = {"qwen3_xml": XML, "hermes": HERMES}

ENDS = ("well_formed", "cut", "cut_but_stopped", "length_unharmed", "no_tools", "no_call")
"""What else a turn can be."""


class Row(NamedTuple):
    """A generated output.

    Attributes:
        format: How the model writes calls.
        prompt_state: Where the prompt left the model.
        finish_reason: Why generation ended.
        toolbox: Which of the tool sets is offered; None where none is.
        pieces: The text of each token.
        damages: What was done to it.
    """

    format: str
    prompt_state: str
    finish_reason: str
    toolbox: int | None
    pieces: tuple[str, ...]
    damages: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the output."""
        return "".join(self.pieces)

    def plain(self, toolboxes: list[list[dict[str, Any]]]) -> dict[str, Any]:
        """Return the row as the recorder reads it."""
        return {
            "format": self.format,
            "prompt_state": self.prompt_state,
            "finish_reason": self.finish_reason,
            "tools": [] if self.toolbox is None else toolboxes[self.toolbox],
            "pieces": list(self.pieces),
        }


def kinds(format_name: str) -> tuple[str, ...]:
    """Return the name of everything that can be done to a turn of that format."""
    return (*ENDS, *DAMAGES[format_name])


def turn(
    draw: Draw,
    format_name: str,
    toolboxes: list[list[dict[str, Any]]],
    wanted: tuple[str, ...],
) -> Row:
    """Draw one turn to which all that is wanted is done, in that order, as far as it can be."""
    number = draw.below(len(toolboxes))
    tools: list[Tool] = list(toolboxes[number])
    state = "think_open" if _wants_thinking(wanted) else pick(draw, STATES)
    chunks = thinking(draw, state)
    if chunks:
        chunks.append(Chunk("space", "\n\n"))
    if chance(draw, 35):
        chunks.append(Chunk("text", sentence(draw)))
    if "no_call" not in wanted:
        for _ in range(1 + chance(draw, 15)):
            chunks += call_chunks(draw, format_name, pick(draw, tools))
    if chance(draw, 60):
        chunks.append(Chunk("end", "<|im_end|>" if chance(draw, 90) else "<|endoftext|>"))
    done = [name for name in wanted if name in ENDS]
    scene = Scene(chunks, tools, format_name)
    damages = DAMAGES[format_name]
    done += [name for name in wanted if name in damages and damages[name](scene, draw)]
    pieces = tokens(draw, chunks)
    finish = "length" if {"cut", "length_unharmed"} & set(done) else "stop"
    if {"cut", "cut_but_stopped"} & set(done):
        pieces = pieces[: 1 + draw.below(len(pieces))] if pieces else pieces
    if not pieces:
        pieces = ["x"]
    offered = None if "no_tools" in done else number
    return Row(format_name, state, finish, offered, tuple(pieces), tuple(done))


def tokens(draw: Draw, chunks: Chunks) -> list[str]:
    """Cut a turn into tokens: markers whole unless spelled, the rest in one of three manners."""
    manner = draw.below(3)
    pieces: list[str] = []
    for spelled, text in _runs(chunks):
        for piece in _spelled_out(text) if spelled else split(text):
            if manner == 0 or (piece in _WHOLE and not spelled):
                pieces.append(piece)
            elif manner == 1:
                pieces += piece
            else:
                pieces += _uneven(draw, piece)
    return _merged(draw, pieces) if manner == 2 else pieces


def corpus(
    seed: int | str, count: int, toolbox_count: int = 60
) -> tuple[list[list[dict[str, Any]]], Iterator[Row]]:
    """Return tool sets and `count` turns on them; the same for the same seed.

    The formats take turns, and each kind of damage leads in turn, so that none is rare.
    """
    tool_draw = SeededDraw(f"{seed}/tools")
    toolboxes = [make_tools(tool_draw, number)[0] for number in range(toolbox_count)]

    def rows() -> Iterator[Row]:
        for index in range(count):
            draw = SeededDraw(f"{seed}/{index}")
            format_name = FORMATS[index % len(FORMATS)]
            yield turn(draw, format_name, toolboxes, _wanted(draw, format_name, index // 2))

    return toolboxes, rows()


@st.composite
def rows(draw_from: st.DrawFn, toolboxes: list[list[dict[str, Any]]], format_name: str) -> Row:
    """Draw a turn for a property test."""
    draw = HypothesisDraw(draw_from)
    return turn(draw, format_name, toolboxes, _wanted(draw, format_name, None))


_WHOLE = frozenset(SPECIAL + MARKERS)


def _wants_thinking(wanted: tuple[str, ...]) -> bool:
    return any(name.startswith(("think", "draft", "marker_quoted_in_th")) for name in wanted)


def _wanted(draw: Draw, format_name: str, turn_number: int | None) -> tuple[str, ...]:
    """Draw what is to be done to a turn; the first leads, and some turns are left alone."""
    names = kinds(format_name)
    lead = pick(draw, names) if turn_number is None else names[turn_number % len(names)]
    if lead == "well_formed":
        return (lead,)
    wanted = [lead]
    for _ in range(draw.below(3)):
        # What belongs to one format alone is drawn more often: the other gives it no turns.
        own = chance(draw, 75)
        wanted.append(pick(draw, list(OWN[format_name]) if own else names[1:]))
    if chance(draw, 12):
        wanted.append("cut")
    return tuple(dict.fromkeys(wanted))


def _runs(chunks: Chunks) -> Iterator[tuple[bool, str]]:
    """Yield stretches that are tokenised together."""
    text = ""
    for chunk in chunks:
        if chunk.spelled:
            yield False, text
            yield True, chunk.text
            text = ""
        else:
            text += chunk.text
    yield False, text


def _spelled_out(text: str) -> list[str]:
    """Cut a text so that no piece is a marker's own token."""
    pieces: list[str] = []
    for piece in split(text):
        pieces += [piece[:2], piece[2:]] if piece in _WHOLE else [piece]
    return [piece for piece in pieces if piece]


def _uneven(draw: Draw, piece: str) -> list[str]:
    pieces: list[str] = []
    while piece:
        length = 1 + draw.below(6)
        pieces.append(piece[:length])
        piece = piece[length:]
    return pieces


def _merged(draw: Draw, pieces: list[str]) -> list[str]:
    """Join neighbours now and then, as tokens like `>` with a newline do."""
    merged: list[str] = []
    for piece in pieces:
        joins = merged and piece not in _WHOLE and merged[-1] not in _WHOLE and chance(draw, 40)
        if joins and merged[-1] + piece not in _WHOLE:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged
