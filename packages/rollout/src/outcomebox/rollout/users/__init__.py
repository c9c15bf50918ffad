"""Simulated users: scripted from the task, or an OpenAI-compatible model when configured."""

from outcomebox.rollout.users.base import User, UserEpisode, ends
from outcomebox.rollout.users.model import ModelUser
from outcomebox.rollout.users.options import make_user
from outcomebox.rollout.users.scripted import ScriptedUser

__all__ = ["ModelUser", "ScriptedUser", "User", "UserEpisode", "ends", "make_user"]
