"""The system prompt of an episode: the domain's policy and how to end."""

from __future__ import annotations

from outcomebox.rollout.turns import DONE
from outcomebox.sandbox import Domain

_TEMPLATE = """\
You are a support agent. You act through the tools you are given; what counts is the state that
the records are in when you have finished. Follow the policy below to the letter.

The current time is {now}. It does not pass while you work.

Ask the customer for what you need and cannot look up. When everything is done, or has to be
refused, tell the customer and end that message with {done}.

{policy}
"""


def system_prompt(domain: Domain) -> str:
    """What the agent is told before the first message."""
    return _TEMPLATE.format(now=domain.settings.now, done=DONE, policy=domain.policy.strip())
