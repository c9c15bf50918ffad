"""What the backend and its servers are called.

It imports nothing: a process may come to the server first, which imports verl, which loads us.
"""

from __future__ import annotations

NAME = "transformers"
"""What ``actor_rollout_ref.rollout.name`` says."""


def server_name(replica: int, node: int = 0) -> str:
    """What Ray knows a server by; verl names those of its own backends alike."""
    return f"{NAME}_server_{replica}_{node}"
