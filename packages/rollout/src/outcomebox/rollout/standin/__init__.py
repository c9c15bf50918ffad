"""A stand-in for a model's endpoint: the real protocol over a real socket, no model behind.

It plays the simulated policy, so that everything between a policy and a verdict can be tried where
there is no model, and be shown to survive what endpoints do::

    async with standin(await known_tasks(["retail"]), Chaos(rate=0.2)) as endpoint:
        endpoint.address                      # http://127.0.0.1:PORT/v1
"""

from outcomebox.rollout.standin.chaos import KINDS, Chaos
from outcomebox.rollout.standin.known import known_tasks
from outcomebox.rollout.standin.server import StandIn, standin

__all__ = ["KINDS", "Chaos", "StandIn", "known_tasks", "standin"]
