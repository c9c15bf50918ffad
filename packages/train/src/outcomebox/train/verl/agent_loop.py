"""The agent loop that verl runs for each trajectory: the episode loop of probe and evaluation.

verl makes one :class:`OutcomeboxLoop` a trajectory and awaits its ``run``. What comes back is token
ids as they were sampled, the mask, log-probabilities and the reward; what has no verdict raises.

The loop works on verl 0.9.0 and 0.9.1. Their constructors differ (0.9.1 hands on the model's type,
and offers only its continuous tokens); both make tokenisers of their own, for each trajectory anew,
which fail with templates that want a question first and with tools whose parameters have more than
one type. None of that is used here, so that verl's constructor is not run: the prompt of each turn
comes from the model's own template, behind the ids that stand.
"""

from __future__ import annotations

import asyncio
from typing import Any

from verl.experimental.agent_loop.agent_loop import (  # pants: no-infer-dep
    AgentLoopBase,  # pants: no-infer-dep
    AgentLoopMetrics,  # pants: no-infer-dep
    AgentLoopOutput,  # pants: no-infer-dep
)

from outcomebox.rollout import classify
from outcomebox.sandbox import InputError
from outcomebox.train.errors import EpisodeFault
from outcomebox.train.groups.faults import report_fault
from outcomebox.train.settings import WorkerSettings, load_settings
from outcomebox.train.verl.budget import Budget
from outcomebox.train.verl.chat import chat_of
from outcomebox.train.verl.numbering import Asked, asked_of
from outcomebox.train.verl.process import Played, ProcessWorker
from outcomebox.train.verl.reward import DATA_SOURCE, DETAILS, compute
from outcomebox.train.verl.sampler import ServerSampler

REWARD_DETAILS = "reward_extra_info"
"""Where verl looks for the figures of a reward."""


class OutcomeboxLoop(AgentLoopBase):  # type: ignore[misc]  # verl has no types
    """Plays one episode; see the module.

    Args:
        trainer_config: verl's whole configuration, wrapped.
        server_manager: Samples behind a prompt.
        tokenizer: The model's tokenizer.
        **_: What else verl hands its loops, by version: processor, dataset class, tools.
    """

    def __init__(self, trainer_config: Any, server_manager: Any, tokenizer: Any, **_: Any) -> None:
        self.config = trainer_config.config
        self.rollout_config = self.config.actor_rollout_ref.rollout
        self.server_manager = server_manager
        self.tokenizer = tokenizer

    async def run(
        self, sampling_params: dict[str, Any], **fields: Any
    ) -> AgentLoopOutput | list[AgentLoopOutput]:
        """Play the episode that a row of the dataset asks for.

        Args:
            sampling_params: verl's: temperature, top_p, top_k, logprobs, repetition_penalty.
            **fields: The row's columns, and verl's name of group, session and step.

        Returns:
            The trajectory; several where the prompt began anew, see
            :mod:`outcomebox.train.verl.sequences`.

        Raises:
            InputError: The settings are not those that verl was started with.
            EpisodeFault: The episode has no verdict; the group's sampler has been told.
        """
        asked = asked_of(fields)
        try:
            worker = process_worker(self.config, self.tokenizer)
            sampler = ServerSampler(
                manager=self.server_manager,
                request_id=f"{asked.group}_{asked.session}",
                params=sampling_params,
                budget=budget_of(worker.settings, self.rollout_config),
                ends=worker.chat.ends,
            )
            played = await worker.play(asked, sampler)
        except EpisodeFault as fault:
            await _report(asked, fault)
            raise
        except Exception as error:  # of this package or its settings: no reward, whatever it is
            phase = "settings" if isinstance(error, InputError) else "run"
            record = classify(error)
            await _report(asked, EpisodeFault(asked.uid, phase, record.type, record.message))
            raise
        outputs = outputs_of(played, asked)
        return outputs[0] if len(outputs) == 1 else outputs


def outputs_of(played: Played, asked: Asked) -> list[AgentLoopOutput]:
    """A played episode as verl takes it: one output for each sequence, all with one reward.

    Args:
        played: The episode.
        asked: What verl asked for.
    """
    reward = compute(DATA_SOURCE, "", asked.uid, {DETAILS: played.figures})
    figures = played.figures
    extra: dict[str, Any] = {
        DETAILS: {**figures, "score": reward["score"]},
        REWARD_DETAILS: reward,
        "min_global_steps": played.weights[0],
        "max_global_steps": played.weights[1],
        "turn_scores": [],
        "tool_rewards": [],
    }
    metrics = AgentLoopMetrics(
        generate_sequences=figures["seconds_generation"],
        tool_calls=figures["seconds_tools"],
        compute_score=figures["seconds_grading"],
        num_preempted=-1 if played.preempted is None else played.preempted,
    )
    outputs = []
    for sequence in played.sequences:
        told: dict[str, Any] = {}
        if sequence.logprobs is not None:
            told["response_logprobs"] = list(sequence.logprobs)
        outputs.append(
            AgentLoopOutput(
                prompt_ids=list(sequence.prompt_ids),
                response_ids=list(sequence.response_ids),
                response_mask=list(sequence.mask),
                reward_score=reward["score"],
                num_turns=figures["turns"] + figures["user_turns"] + figures["tool_calls"] + 1,
                metrics=metrics,
                extra_fields=dict(extra),
                **told,
            )
        )
    return outputs


def budget_of(settings: WorkerSettings, rollout: Any) -> Budget:
    """The limits of an episode, the same in our settings and in verl's.

    Args:
        settings: The run's settings.
        rollout: verl's ``actor_rollout_ref.rollout``.

    Raises:
        InputError: They differ.
    """
    for field, ours, theirs in (
        ("prompt_tokens", settings.prompt_tokens, rollout.prompt_length),
        ("response_tokens", settings.response_tokens, rollout.response_length),
    ):
        if ours != theirs:
            raise InputError(
                f"is {ours} and verl was started with {theirs}; start the run by outcomebox-train, "
                "which writes both",
                file=settings.out,
                field=field,
            )
    window = rollout.get("max_model_len")
    return Budget(
        prompt_tokens=settings.prompt_tokens,
        response_tokens=settings.response_tokens,
        turn_tokens=settings.turn_tokens,
        context_tokens=min(settings.context_tokens, window or settings.context_tokens),
    )


_WORKERS: dict[asyncio.AbstractEventLoop, ProcessWorker] = {}
"""The worker of each event loop; a process of verl's has one."""


def process_worker(config: Any, tokenizer: Any) -> ProcessWorker:
    """The worker of the running event loop; made when it is first asked for.

    Args:
        config: verl's whole configuration; ``data.settings_path`` names the run's settings, or the
            environment does.
        tokenizer: The model's tokenizer.

    Raises:
        InputError: The settings cannot be used.
    """
    loop = asyncio.get_running_loop()
    if loop not in _WORKERS:
        found = load_settings(config.data.get("settings_path"))
        rollout = config.actor_rollout_ref.rollout
        stride = max(int(rollout.n), int(rollout.val_kwargs.n))
        _WORKERS[loop] = ProcessWorker(found, chat_of(found, tokenizer), stride)
    return _WORKERS[loop]


async def close_process() -> None:
    """Close the worker of the running event loop, if there is one: for those who end gracefully."""
    worker = _WORKERS.pop(asyncio.get_running_loop(), None)
    if worker is not None:
        await worker.aclose()


async def _report(asked: Asked, fault: EpisodeFault) -> None:
    """Tell whoever fills batches why this group will have to be run again."""
    try:
        await report_fault(
            uid=asked.group,
            session=asked.session,
            phase=fault.phase,
            kind=fault.type,
            message=fault.message,
            task=asked.uid,
        )
    except Exception as error:  # noqa: BLE001 -- the fault is what matters; the group fails anyway
        fault.add_note(f"and the trainer could not be told: {type(error).__name__}: {error}")
