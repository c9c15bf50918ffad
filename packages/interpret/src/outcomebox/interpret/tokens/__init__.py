"""Token ids: read without decoding twice, continued without encoding what was sampled.

- `read_ids`, `TokenReader`, `Vocabulary`: ids to text, exact for any split.
- `prompt_state_of`: where a prompt left the model.
- `parts_of`: which ids wrote the reasoning, the content and each call.
- `next_turn` with a `ChatTemplate` or a `RenderersTemplate`: the next prompt behind what stands.
- `drifts`: where a render differs from what stands, and why.
- `Ledger`, `read_episode`: the tokens of an episode, audited.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from outcomebox.interpret.tokens.bridge import NextTurn, next_turn
    from outcomebox.interpret.tokens.drift import ALL_DRIFTS, CAUSES, OWN_WORDS, drifts
    from outcomebox.interpret.tokens.episodes import Episode, RecordedTurn, read_episode
    from outcomebox.interpret.tokens.errors import Drift, DriftCode, RefusalCode, TurnRefused
    from outcomebox.interpret.tokens.ledger import Ledger, LedgerError, Sample
    from outcomebox.interpret.tokens.marks import Marks
    from outcomebox.interpret.tokens.parts import Part, parts_of
    from outcomebox.interpret.tokens.prompts import prompt_state_of
    from outcomebox.interpret.tokens.rendered import RenderersTemplate, renderer_named
    from outcomebox.interpret.tokens.segments import Segment, Violation, ViolationCode
    from outcomebox.interpret.tokens.templates import ChatTemplate
    from outcomebox.interpret.tokens.text import TokenReader, TokenText, read_ids
    from outcomebox.interpret.tokens.tokenizers import Encoding, Tokenizer
    from outcomebox.interpret.tokens.vocabulary import Vocabulary

_HOLDERS = {
    "bridge": ("NextTurn", "next_turn"),
    "drift": ("ALL_DRIFTS", "CAUSES", "OWN_WORDS", "drifts"),
    "episodes": ("Episode", "RecordedTurn", "read_episode"),
    "errors": ("Drift", "DriftCode", "RefusalCode", "TurnRefused"),
    "ledger": ("Ledger", "LedgerError", "Sample"),
    "marks": ("Marks",),
    "parts": ("Part", "parts_of"),
    "prompts": ("prompt_state_of",),
    "rendered": ("RenderersTemplate", "renderer_named"),
    "segments": ("Segment", "Violation", "ViolationCode"),
    "templates": ("ChatTemplate",),
    "text": ("TokenReader", "TokenText", "read_ids"),
    "tokenizers": ("Encoding", "Tokenizer"),
    "vocabulary": ("Vocabulary",),
}
"""Module beside this one -> what it hands out. Loaded when asked for: text needs none of it."""

_HOLDER_OF = {name: module for module, names in _HOLDERS.items() for name in names}

__all__ = [
    "ALL_DRIFTS",
    "CAUSES",
    "OWN_WORDS",
    "ChatTemplate",
    "Drift",
    "DriftCode",
    "Encoding",
    "Episode",
    "Ledger",
    "LedgerError",
    "Marks",
    "NextTurn",
    "Part",
    "RecordedTurn",
    "RefusalCode",
    "RenderersTemplate",
    "Sample",
    "Segment",
    "TokenReader",
    "TokenText",
    "Tokenizer",
    "TurnRefused",
    "Violation",
    "ViolationCode",
    "Vocabulary",
    "drifts",
    "next_turn",
    "parts_of",
    "prompt_state_of",
    "read_episode",
    "read_ids",
    "renderer_named",
]


def __getattr__(name: str) -> Any:
    """Load what is asked for by name."""
    if name not in _HOLDER_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOLDER_OF[name]}"), name)
