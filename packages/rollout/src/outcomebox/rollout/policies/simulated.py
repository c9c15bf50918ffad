"""The simulated policy: no model, a seeded agent that knows the golden list and slips at times.

It is for demonstrations and tests, and every output says so. What it writes is raw model text in
the Qwen3 form, reasoning included, so that it takes the whole way through interpreter, tools and
grader; what a slip costs, the database decides.

A task's skills are its tags. Each skill has a stated rate of slips (:data:`SLIP_RATES`); a task's
own difficulty, drawn once from its uid, makes them rarer or more frequent:

    ``p(slip) = 1 - (1 - rate) ** exp(spread * z)``, with z standard normal by uid

Independently, some calls are first written wrongly (cut off, a misspelt tool) and mended when the
error comes back (:data:`STUMBLE_RATE`). With ``quirks`` some calls are also written in a way that
parsers disagree about (see ``quirks``); without it, none is.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outcomebox.interpret import render
from outcomebox.rollout.policies.quirks import quirk
from outcomebox.rollout.policies.slips import Step, apply_slip, known_values, unasked_write
from outcomebox.rollout.policy import Completion, EpisodeContext, Message, PolicyEpisode
from outcomebox.rollout.turns import DONE
from outcomebox.sandbox import InputError, Task

# skill -> (chance of a slip in an episode, the slips it leads to)
SLIP_RATES: Mapping[str, tuple[float, tuple[str, ...]]] = {
    "any": (0.04, ("wrong_value", "skip", "draft", "end_early")),
    "identity": (0.03, ("wrong_value", "end_early")),
    "lookup": (0.04, ("wrong_value",)),
    "policy-rule": (0.14, ("skip", "unasked_write", "wrong_value")),
    "two-systems": (0.12, ("skip", "draft")),
    "multi-write": (0.10, ("skip", "end_early")),
    "free-text": (0.06, ("wrong_value", "skip")),
    "arithmetic": (0.16, ("wrong_number",)),
    "changes-mind": (0.20, ("wrong_value", "unasked_write")),
    "duplicate": (0.20, ("repeat", "unasked_write")),
    "no-change": (0.20, ("unasked_write",)),
    "long": (0.14, ("end_early", "skip")),
}
STUMBLE_RATE = 0.04
_ASK_WHO = (
    "I can help with that. Could you give me your email, postcode, reference or employee id, so "
    "that I can verify your identity?"
)
_ASK_GO = (
    "I have found everything I need. Is there anything to change, or do you confirm that I shall "
    "go ahead?"
)
_ASK = (_ASK_WHO, _ASK_GO)


@dataclass(frozen=True)
class SimulatedPolicy:
    """The simulated policy.

    Attributes:
        skill: Above 1 slips are rarer, below 1 more frequent; rates are divided by it.
        spread: How far apart the tasks are in difficulty (standard deviation of the log rate).
        quirks: Chance that a call is written in a way that parsers disagree about.
    """

    skill: float = 1.0
    spread: float = 1.2
    quirks: float = 0.0
    name: str = "simulated"
    simulated: bool = True
    format: str = "qwen3_xml"

    def describe(self) -> Mapping[str, Any]:
        """Name, nature and the stated rates."""
        return {
            "name": self.name,
            "simulated": True,
            "skill": self.skill,
            "spread": self.spread,
            **({"quirks": self.quirks} if self.quirks else {}),
            "slip_rates": {skill: rate for skill, (rate, _) in SLIP_RATES.items()},
            "stumble_rate": STUMBLE_RATE,
        }

    async def check(self) -> None:
        """Nothing to see."""

    def start(self, context: EpisodeContext) -> PolicyEpisode:
        """The agent of one episode, its slips drawn from the episode's seed."""
        return _Agent(self, context)

    async def aclose(self) -> None:
        """Nothing to release."""


def slip_chance(rate: float, uid: str, *, skill: float, spread: float) -> float:
    """Chance of a slip of one skill in an episode of one task (the module's formula)."""
    uniform = (int.from_bytes(hashlib.sha256(uid.encode()).digest()[:8], "big") + 0.5) / 2**64
    z = statistics.NormalDist().inv_cdf(uniform)
    return float(1.0 - (1.0 - min(rate / skill, 0.999)) ** math.exp(spread * z))


class _Agent:
    def __init__(self, policy: SimulatedPolicy, context: EpisodeContext) -> None:
        self._context = context
        self._quirks = policy.quirks
        self._random = random.Random(context.seed)
        self._writes = {tool.name for tool in context.tools if tool.writes}
        task = context.task
        tags, replies = (
            (task.tags, task.user_context.replies)
            if isinstance(task, Task)
            else (task.tags.labels, ())
        )
        steps = [Step(call.tool, dict(call.arguments)) for call in context.golden]
        for skill in ("any", *tags):
            if skill not in SLIP_RATES:
                continue
            rate, slips = SLIP_RATES[skill]
            # Both numbers are drawn whatever comes of them, so that one skill's rate
            # does not move another's luck.
            luck, which = self._random.random(), self._random.choice(slips)
            if luck < slip_chance(rate, task.uid, skill=policy.skill, spread=policy.spread):
                steps = apply_slip(which, steps, self._writes, self._random)
        self._steps = steps
        # As many questions as the user has answers for: identity first, then the go-ahead.
        self._questions = list(_ASK[: len(replies)])
        self._mend: Step | None = None

    async def complete(self, messages: Sequence[Message]) -> Completion:
        if self._mend is not None:
            step, self._mend = self._mend, None
            return self._write(step, "The call did not go through. I send it again, whole.")
        if len(self._questions) == len(_ASK) or (
            self._questions and (not self._steps or self._steps[0].tool in self._writes)
        ):
            question = self._questions.pop(0)
            return Completion(_turn("I should ask before I go on.", question))
        return self._act(messages, None)

    def _act(self, messages: Sequence[Message], thought: str | None) -> Completion:
        """The next step; what was only thought of stands in front of it."""
        if not self._steps:
            end = f"All done, thank you. {DONE}"
            return Completion(_turn(thought or "Everything is done.", end))
        step = self._steps.pop(0)
        if step.kind == "draft":
            return self._act(messages, f"I would call this now:\n{_draft(step)}\nThat settles it.")
        if step.kind == "unasked":
            found = unasked_write(
                [tool for tool in self._context.tools if tool.writes],
                known_values(messages),
                self._random,
            )
            if found is None:
                return self._act(messages, thought)
            step = found
        if self._random.random() < STUMBLE_RATE:
            self._mend = step
            return self._stumble(step)
        thought = thought or f"Next I use {step.tool}."
        # Without quirks no number is drawn, so that a run is what it was before there were any.
        if self._quirks and self._random.random() < self._quirks:
            return self._write_oddly(step, thought)
        return self._write(step, thought)

    def _write_oddly(self, step: Step, thought: str) -> Completion:
        schema = next(
            (tool.input_schema for tool in self._context.tools if tool.name == step.tool), {}
        )
        kind, odd = quirk(step, schema, self._random)
        if kind == "draft":
            return self._write(step, f"{thought}\n{_draft(odd)}\nYes, that is right.")
        return self._write(odd, thought)

    def _write(self, step: Step, thought: str) -> Completion:
        return Completion(
            _turn(thought, None, (step.tool, step.arguments)), prompt_state="assistant_start"
        )

    def _stumble(self, step: Step) -> Completion:
        if self._random.random() < 0.5:
            return self._write(Step(f"{step.tool}s", step.arguments), f"Next I use {step.tool}s.")
        text = _turn(f"Next I use {step.tool}.", None, (step.tool, step.arguments))
        return Completion(text[: text.rindex("</function>")], prompt_state="assistant_start")


def _turn(
    thought: str, content: str | None, call: tuple[str, Mapping[str, Any]] | None = None
) -> str:
    """Raw text of a turn; calls stand behind the reasoning as a Qwen3 model writes them."""
    body = render(
        reasoning=None, content=content, tool_calls=[] if call is None else [_plain(call)]
    )
    return f"<think>\n{thought}\n</think>\n\n{body.lstrip()}"


def _draft(step: Step) -> str:
    """Raw text of a call as it may stand inside the reasoning."""
    return render(reasoning=None, content=None, tool_calls=[(step.tool, step.arguments)]).strip()


def _plain(call: tuple[str, Mapping[str, Any]]) -> tuple[str, Mapping[str, Any]]:
    # Through JSON, so that what is rendered is what a row can hold.
    return call[0], json.loads(json.dumps(call[1]))


def simulated_policy(skill: str = "1.0", spread: str = "1.2", quirks: str = "0") -> SimulatedPolicy:
    """The policy from options given as text.

    Raises:
        InputError: An option is not a number it can use.
    """
    return SimulatedPolicy(
        skill=_number("skill", skill, 1e-6),
        spread=_number("spread", spread, 0.0),
        quirks=_number("quirks", quirks, 0.0, 1.0),
    )


def _number(name: str, text: str, least: float, most: float = math.inf) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (least <= value <= most and math.isfinite(value)):
        limit = "" if math.isinf(most) else f" and at most {most:g}"
        raise InputError(
            f"give a number of at least {least:g}{limit}", field=f"policy-option {name}", value=text
        )
    return value
