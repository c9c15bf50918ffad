"""An episode in a line."""

from __future__ import annotations

from outcomebox.rollout.showing.placing import Json


def note_of(view: Json) -> str:
    """Why an episode has no pass, in a line; empty for one that passed."""
    if view["error"] is not None:
        return " ".join(f"{view['error']['type']}: {view['error']['message']}".split())
    reasons = view["reasons"]
    if not reasons:
        return ""
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    said = reasons[0]["message"] or reasons[0]["title"]
    return " ".join(str(said).split()) + more
