"""What verl's agent loop makes of an output that it never reads."""

from outcomebox.interpret.turn import Diagnostic, Turn


def refused_turn(text: str, why: str) -> Turn:
    """Return the turn of a run that does not start: no content and no calls, and why."""
    message = f"{why}; a run with these tools does not start, so nothing is read"
    return Turn(None, None, (), (Diagnostic("tools_refused", message, (0, len(text))),))
