"""A person in the agent's place: one task, its tools typed by hand, the verdict at the end."""

from outcomebox.reward.play.playing import Terminal, play

__all__ = ["Terminal", "play"]
