"""A policy so small that two cores train it: it passes some attempts at each task, and not others.

It is a Qwen3 of two layers with a byte-level tokenizer of its own. It has learnt by heart what
demonstrations of the tasks in ``live/lamps`` say, of which some do the right thing and some go
wrong, so that at temperature 1 a group of attempts is often mixed: without that no update would
ever be made. The demonstrations are played in real sessions by the real episode loop, so that the
model learns the very ids that it will be asked for.

It runs under the Python that has torch and transformers, not under ours::

    python train_tiny.py MODEL [DOMAIN]
    python train_tiny.py MODEL [DOMAIN] --rates 16
"""

from __future__ import annotations

import importlib
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from outcomebox.interpret import render
from outcomebox.interpret.tokens import read_ids
from outcomebox.rollout import EpisodeSetting, ScriptedUser, run_episode, seeder
from outcomebox.rollout.policies.modelfolder import model_folder
from outcomebox.rollout.policies.tokens import ContextFull, Sampled, TokenPolicy
from outcomebox.rollout.stages import NativeTasks
from outcomebox.rollout.tokens import TokenSample, token_samples
from outcomebox.sandbox import Task, load_tasks, sandbox

LIVE = Path(__file__).parent / "live"
LAMPS = LIVE / "lamps"
TEMPLATE = LIVE / "template.jinja"

CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>",
           "</tool_call>")  # fmt: skip
CONTEXT = 1024
MARK = "|".join(re.escape(each) for each in CONTROL)
VOCABULARY = 2000
STEPS = 600
BATCH = 8
SEED = 7

END = "Done. <DONE>"
HALF = "<tool_call>\n<function=switch>\n<parameter=lamp>\n{lamp}\n"
"""A call that breaks off: nothing is carried out, and the model is told so."""


@dataclass(frozen=True)
class Demonstration:
    """One way to go about a task.

    Attributes:
        turns: The text of each assistant turn.
        passes: Whether the task's check accepts what it does.
        weight: How often the model should do just this, beside the other ways of the task.
    """

    turns: tuple[str, ...]
    passes: bool
    weight: int = 1


def switch(lamp: str, state: str = "on", *, thought: str | None = None) -> str:
    """A turn that switches a lamp."""
    call = ("switch", {"lamp": lamp, "state": state})
    return render(
        reasoning=thought, content=None, tool_calls=[call], prompt_state="assistant_start"
    )


def demonstrations(task: Task) -> list[Demonstration]:
    """The ways to go about a task of the lamps; a coin's pass and fail equally often."""
    lamp = task.golden[0].arguments["lamp"]
    right = switch(lamp)
    thinks = switch(lamp, thought="one lamp")
    half = HALF.format(lamp=lamp)
    if "easy" in task.tags:
        return [
            Demonstration((right, END), passes=True, weight=3),
            Demonstration((thinks, END), passes=True, weight=1),
        ]
    if "hopeless" in task.tags:
        return [Demonstration((END,), passes=False)]
    return [
        Demonstration((right, END), passes=True, weight=3),
        Demonstration((thinks, END), passes=True, weight=1),
        Demonstration((half, right, END), passes=True, weight=1),
        Demonstration((switch("red"), END), passes=False, weight=3),
        Demonstration((END,), passes=False, weight=1),
        Demonstration((half, END), passes=False, weight=1),
    ]


class Told:
    """A sampler that says what it is told to, encoded."""

    def __init__(self, tokenizer: Any, turns: Sequence[str]) -> None:
        self._tokenizer = tokenizer
        self._turns = iter(turns)

    def describe(self) -> Mapping[str, Any]:
        """Its name."""
        return {"model": "demonstration"}

    async def check(self) -> None:
        """Nothing to see."""

    async def sample(self, prompt_ids: Sequence[int], *, seed: int) -> Sampled:
        """The next turn."""
        ids = self._tokenizer.encode(next(self._turns) + "<|im_end|>", add_special_tokens=False)
        return Sampled(tuple(ids), (0.0,) * len(ids))

    async def aclose(self) -> None:
        """Nothing to release."""


class Sampler:
    """The model itself by plain torch: what a rollout engine does, one id after the other.

    Args:
        folder: The model's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._torch = importlib.import_module("torch")
        transformers = importlib.import_module("transformers")
        self._model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=self._torch.float32
        ).eval()
        self._eos = self._model.config.eos_token_id

    def describe(self) -> Mapping[str, Any]:
        """Its name."""
        return {"model": "tiny"}

    async def check(self) -> None:
        """Nothing to see."""

    async def sample(self, prompt_ids: Sequence[int], *, seed: int) -> Sampled:
        """Sample a turn at temperature 1."""
        if len(prompt_ids) >= CONTEXT:
            raise ContextFull(f"{len(prompt_ids)} of {CONTEXT}")
        torch = self._torch
        generator = torch.Generator().manual_seed(seed)
        ids: list[int] = []
        logprobs: list[float] = []
        past, given = None, torch.tensor([list(prompt_ids)])
        with torch.no_grad():
            while len(ids) < 96:
                out = self._model(given, past_key_values=past, use_cache=True)
                past = out.past_key_values
                values = torch.log_softmax(out.logits[0, -1].float(), -1)
                chosen = int(torch.multinomial(values.exp(), 1, generator=generator))
                ids.append(chosen)
                logprobs.append(float(values[chosen]))
                if chosen == self._eos:
                    return Sampled(tuple(ids), tuple(logprobs))
                given = torch.tensor([[chosen]])
        return Sampled(tuple(ids), tuple(logprobs), "length")

    async def aclose(self) -> None:
        """Nothing to release."""


def make_tokenizer(texts: Sequence[str], folder: Path) -> Any:
    """A byte-level tokenizer, so that every text has ids, with the control tokens of Qwen3."""
    tokenizers: Any = importlib.import_module("tokenizers")
    transformers: Any = importlib.import_module("transformers")
    own = tokenizers.Tokenizer(tokenizers.models.BPE())
    # A line is one word where it was seen often enough: conversations are then a hundred ids long.
    own.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Split("\n", "isolated"),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    own.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(CONTROL[:3]),
        initial_alphabet=sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    own.train_from_iterator(texts, trainer)
    # As in Qwen3 these are tokens of their own, but shown when text is decoded.
    own.add_tokens([tokenizers.AddedToken(each, special=False) for each in CONTROL[3:]])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=own,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = TEMPLATE.read_text(encoding="utf-8")
    tokenizer.save_pretrained(folder)
    return tokenizer


@dataclass(frozen=True)
class Played:
    """A demonstration as it went.

    Attributes:
        sample: Its ids.
        weight: The demonstration's weight.
        texts: What was said and offered in it.
    """

    sample: TokenSample
    weight: int
    texts: tuple[str, ...]


async def played(folder: Path, tasks: NativeTasks) -> list[Played]:
    """Every demonstration, by the tokenizer in a folder; each does what it is meant to do."""
    found = []
    model = model_folder(folder, "qwen3_xml", {})
    async with sandbox() as box, tasks.started(box):
        for task in tasks.tasks:
            assert isinstance(task, Task)
            for each in demonstrations(task):
                policy = TokenPolicy(
                    Told(model.tokenizer, each.turns),
                    model.template,
                    model.tokenizer,
                    name="demonstration",
                )
                setting = EpisodeSetting(
                    sandbox=box, policy=policy, user=ScriptedUser(), seed_of=seeder(SEED)
                )
                episode = await run_episode(setting, tasks, task, 0)
                assert episode.verdict is not None
                assert (episode.verdict.outcome == "passed") == each.passes, (task.uid, each)
                (sample,) = token_samples(episode.messages)
                text = read_ids(sample.ids, model.tokenizer)[0]
                found.append(Played(sample, each.weight, tuple(re.split(MARK, text))))
    return found


def learn(model: Any, samples: Sequence[Played], steps: int) -> float:
    """Train on the assistants' turns alone; returns the mean loss of the last steps."""
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)  # the sums of two threads differ from run to run
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1.0, (step + 1) / 20) * 0.5 * (1 + math.cos(math.pi * step / steps)),
    )
    losses = []
    for batch in _batches(samples, steps):
        longest = max(len(sample.ids) for sample in batch)
        ids = torch.zeros(len(batch), longest, dtype=torch.long)
        labels = torch.full_like(ids, -100)
        mask = torch.zeros_like(ids)
        for row, sample in enumerate(batch):
            length = len(sample.ids)
            ids[row, :length] = torch.tensor(sample.ids)
            mask[row, :length] = 1
            sampled = torch.tensor(sample.mask, dtype=torch.bool)
            labels[row, :length][sampled] = ids[row, :length][sampled]
        loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return float(sum(losses[-20:]) / 20)


def _batches(samples: Sequence[Played], steps: int) -> Iterator[list[TokenSample]]:
    torch: Any = importlib.import_module("torch")
    generator = torch.Generator().manual_seed(SEED)
    weighted = [each.sample for each in samples for _ in range(each.weight)]
    order: list[int] = []
    for _ in range(steps):
        if len(order) < BATCH:
            order += torch.randperm(len(weighted), generator=generator).tolist()
        yield [weighted[order.pop(0)] for _ in range(BATCH)]


def make(folder: Path, domain: Path = LAMPS, steps: int = STEPS) -> None:
    """Write the model's folder, as hubs hold it: the same bytes on the same machine."""
    transformers: Any = importlib.import_module("transformers")
    tasks = NativeTasks(load_tasks([str(domain)]))
    # Letters alone at first: what is said in an episode is known when it was played.
    make_tokenizer([], folder)
    texts = [text for each in anyio.run(played, folder, tasks) for text in each.texts]
    tokenizer = make_tokenizer(texts, folder)
    samples = anyio.run(played, folder, tasks)
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,  # the least that vLLM has kernels for on a CPU
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    transformers.set_seed(SEED)
    model = transformers.Qwen3ForCausalLM(config)
    model.generation_config.do_sample = True
    longest = max(len(each.sample.ids) for each in samples)
    sys.stdout.write(
        f"{len(samples)} demonstrations, at most {longest} tokens, {len(tokenizer)} words, "
        f"{model.num_parameters()} parameters\n"
    )
    loss = learn(model, samples, steps)
    model.save_pretrained(folder)
    sys.stdout.write(f"loss {loss:.3f}\n")


async def rates(folder: Path, tasks: NativeTasks, attempts: int) -> dict[str, int]:
    """How many attempts at each task the model passes, sampled without any engine.

    Args:
        folder: The model.
        tasks: The tasks.
        attempts: At each of them.
    """
    model = model_folder(folder, "qwen3_xml", {})
    policy = TokenPolicy(Sampler(folder), model.template, model.tokenizer, name="tiny")
    passed = {}
    async with sandbox() as box, tasks.started(box):
        setting = EpisodeSetting(
            sandbox=box, policy=policy, user=ScriptedUser(), seed_of=seeder(SEED)
        )
        for task in tasks.tasks:
            episodes = [await run_episode(setting, tasks, task, each) for each in range(attempts)]
            passed[task.uid] = sum(
                each.verdict is not None and each.verdict.outcome == "passed" for each in episodes
            )
    return passed


def main(arguments: Sequence[str]) -> None:
    """Make the model, or measure it."""
    paths = [Path(each) for each in arguments if not each.startswith("--") and not each.isdigit()]
    folder, domain = (*paths, LAMPS)[:2]
    if "--rates" in arguments:
        tasks = NativeTasks(load_tasks([str(domain)]))
        attempts = int(arguments[-1])
        for uid, passed in anyio.run(rates, folder, tasks, attempts).items():
            sys.stdout.write(f"{uid} {passed}/{attempts}\n")
        return
    make(folder, domain)


if __name__ == "__main__":
    main(sys.argv[1:])
