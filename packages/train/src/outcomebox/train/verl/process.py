"""The worker of a process: opened once, shared by all episodes that are played in its event loop.

verl makes an agent loop for each trajectory, and hundreds of them run in one process at a time.
They share one sandbox, whose tool servers are started once.

Whoever ends the process leaves nothing behind: servers and folders of a sandbox belong to
supervisors, which end them as soon as this process is gone, however it went. Rows are written as
they come and need no closing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from outcomebox.reward.rows import Row
from outcomebox.rollout import Job, classify
from outcomebox.train.errors import EpisodeFault
from outcomebox.train.settings import WorkerSettings
from outcomebox.train.verl.chat import Chat
from outcomebox.train.verl.figures import figures_of
from outcomebox.train.verl.keeping import Keeper
from outcomebox.train.verl.numbering import Asked
from outcomebox.train.verl.opening import Opened, opened
from outcomebox.train.verl.parity import Parity, parity_of
from outcomebox.train.verl.policy import PLAYING, Playing
from outcomebox.train.verl.sampler import ServerSampler
from outcomebox.train.verl.sequences import TrainedSequence, sequences_of

TRAINING = "training"
"""Field of a row that says which part of the training run it is."""


@dataclass(frozen=True)
class Played:
    """A finished episode with a verdict.

    Attributes:
        sequences: What it is trained as.
        figures: Its figures, with the outcome.
        weights: verl's steps of the oldest and the newest weights that sampled it.
        preempted: How often the server put a turn off; None where it does not tell.
    """

    sequences: tuple[TrainedSequence, ...]
    figures: Mapping[str, Any]
    weights: tuple[int | None, int | None]
    preempted: int | None


@dataclass
class ProcessWorker:
    """Plays the episodes of a process.

    Attributes:
        settings: The run's settings.
        chat: The model's template and tokenizer.
        stride: The largest group of the run; numbers attempts.
    """

    settings: WorkerSettings
    chat: Chat
    stride: int
    _keeper: Keeper[Opened] = field(init=False)

    def __post_init__(self) -> None:
        self._keeper = Keeper(lambda: opened(self.settings, self.chat))

    async def play(self, asked: Asked, sampler: ServerSampler) -> Played:
        """Play an episode and store its row.

        Args:
            asked: Which one.
            sampler: Of this episode.

        Raises:
            EpisodeFault: It has no verdict, or nothing that could be trained on. Its row, where
                the episode could be begun, is stored.
        """
        live, job = await self._begin(asked)
        playing = Playing(sampler)
        token = PLAYING.set(playing)
        try:
            tried = await live.worker.attempt(job)
        finally:
            PLAYING.reset(token)
        row = tried.row
        sequences, parity, fault = self._read(row, playing, live.worker.setting.profile)
        row[TRAINING] = self._training(asked, sampler, sequences, parity, fault)
        try:
            live.store.append(row, tried.exchanges)
        except Exception as error:  # a reward whose row is lost could not be looked into
            record = classify(error)
            raise EpisodeFault(asked.uid, "store", record.type, record.message) from error
        if fault is not None:
            raise fault
        figures = figures_of(
            row,
            asked=asked,
            band=self.settings.pool.bands.get(asked.uid),
            sequences=sequences,
            restarts=sampler.restarts,
            parity=parity,
        )
        weights = sampler.weights
        return Played(sequences, figures, (weights.oldest, weights.newest), weights.preempted)

    async def _begin(self, asked: Asked) -> tuple[Opened, Job]:
        """What an episode is played with, and which try it is."""
        try:
            repetition = asked.repetition(self.stride)
            live = await self._keeper.live()
            attempt = live.tries.next(asked.uid, repetition)
        except Exception as error:  # no episode, so no row: whatever it was, it is no reward
            record = classify(error)
            raise EpisodeFault(asked.uid, "start", record.type, record.message) from error
        return live, Job(asked.uid, repetition, attempt)

    def _read(
        self, row: Row, playing: Playing, profile: str
    ) -> tuple[tuple[TrainedSequence, ...], Parity, EpisodeFault | None]:
        """What a row is trained as, what reading it again finds, and why it cannot be used."""
        fault = _fault_of(row)
        if fault is not None:
            return (), Parity(0, ()), fault
        messages = row["messages"]
        try:
            sequences = sequences_of(messages, playing.sampler.turns)
            parity = parity_of(
                messages,
                playing.tools,
                self.chat.vocabulary,
                format=self.chat.format,
                profile=profile,
            )
        except Exception as error:  # noqa: BLE001 -- the row is kept, whatever is wrong with it
            record = classify(error)
            return (
                (),
                Parity(0, ()),
                EpisodeFault(row["uid"], "tokens", record.type, record.message),
            )
        return tuple(sequences), parity, None

    def _training(
        self,
        asked: Asked,
        sampler: ServerSampler,
        sequences: tuple[TrainedSequence, ...],
        parity: Parity,
        fault: EpisodeFault | None,
    ) -> dict[str, Any]:
        """What a row says of the training run."""
        untrained = None
        if fault is not None:
            untrained = {"phase": fault.phase, "type": fault.type, "message": fault.message}
        return {
            "run": self.settings.run_id,
            "verl": self.settings.verl_version,
            "side": asked.side,
            "step": asked.step,
            "draw": asked.draw,
            "session": asked.session,
            "weights": [sampler.weights.oldest, sampler.weights.newest],
            "sequences": [[len(each.prompt_ids), len(each.response_ids)] for each in sequences],
            "restarts": sampler.restarts,
            "parity": parity.to_json(),
            "untrained": untrained,
        }

    async def aclose(self) -> None:
        """Close the sandbox, with its processes and files, and the store."""
        await self._keeper.aclose()


def _fault_of(row: Row) -> EpisodeFault | None:
    """Why a row has no verdict; None where it has one."""
    if row["verdict"]["outcome"] != "system_error":
        return None
    error = row["error"] or row["verdict"]["details"]["error"]
    return EpisodeFault(row["uid"], error["phase"], error["type"], error["message"])
