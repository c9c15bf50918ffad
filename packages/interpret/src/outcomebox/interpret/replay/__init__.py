"""Parity replay: do two readers take the same recorded outputs for the same turns?

    from outcomebox.interpret.replay import Replay, compare_turns, read_recorded, reader_named

Every difference is classed by its cause, told with its place, and can be shrunk to a smallest
example. The command over it is `outcomebox-parity` (extra `replay`); this package itself needs
nothing that is not in the standard library.
"""

from outcomebox.interpret.replay.causes import CAUSES, Cause, ClassKey, Finding, Side
from outcomebox.interpret.replay.compare import compare
from outcomebox.interpret.replay.errors import ReplayError
from outcomebox.interpret.replay.readings import Call, Reader, Reading, reader_named
from outcomebox.interpret.replay.recorded import RecordedTurn, Source, read_recorded
from outcomebox.interpret.replay.report import report_json
from outcomebox.interpret.replay.run import Replay, ReplayResult, compare_turns
from outcomebox.interpret.replay.shrink import Shrunk, shrink

__all__ = [
    "CAUSES",
    "Call",
    "Cause",
    "ClassKey",
    "Finding",
    "Reader",
    "Reading",
    "RecordedTurn",
    "Replay",
    "ReplayError",
    "ReplayResult",
    "Shrunk",
    "Side",
    "Source",
    "compare",
    "compare_turns",
    "read_recorded",
    "reader_named",
    "report_json",
    "shrink",
]
