"""Episodes as people read them, in a terminal."""

from outcomebox.rollout.showing.view import view_of

__all__ = ["view_of"]
