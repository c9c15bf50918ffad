"""How long the pool's conversations are in the model's tokens, against what they may be.

Every task is opened in a session of its own, so its first prompt is rendered with the very tools
and texts that training will show. Its golden calls are made there too: the conversation that they
give, without a word of reasoning, is the least that a response has to hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import anyio

from outcomebox.interpret.tokens import TurnRefused
from outcomebox.rollout.policies.api import to_api
from outcomebox.rollout.stage import AnyTask, Stage, ToolCrash
from outcomebox.rollout.worker import cores
from outcomebox.sandbox import InputError, SandboxFault, sandbox
from outcomebox.train.preflight.context import Context

_PROMPT = "lengths.prompt"
_RESPONSE = "lengths.response"


@dataclass(frozen=True, slots=True)
class Length:
    """What one task takes, in tokens.

    Attributes:
        uid: The task.
        prompt: Of its first prompt.
        golden: Behind it, where its golden calls are made and nothing else is said.
    """

    uid: str
    prompt: int
    golden: int


def check_lengths(context: Context, tell: Callable[[int, int], None] | None = None) -> str:
    """The longest prompt and the longest golden conversation fit.

    Args:
        context: The run.
        tell: Told how many tasks of how many are measured.

    Raises:
        InputError: One does not fit, or a task cannot be opened.
    """
    found = anyio.run(measured, context, tell or _silent)
    lengths = context.plan.config.lengths
    over = [each for each in found if each.prompt > lengths.prompt]
    if over:
        worst = max(over, key=lambda each: each.prompt)
        raise context.wrong(
            _PROMPT,
            f"is too short for the first prompt of {len(over)} of {len(found)} tasks; "
            f"{worst.uid} has {worst.prompt} tokens: write at least that, or leave them out of "
            "the pool",
            lengths.prompt,
        )
    over = [each for each in found if each.golden > lengths.response]
    if over:
        worst = max(over, key=lambda each: each.golden)
        raise context.wrong(
            _RESPONSE,
            f"is too short for what {len(over)} of {len(found)} tasks need at the least; "
            f"{worst.uid} takes {worst.golden} tokens with its golden calls alone: write more, or "
            "leave them out of the pool",
            lengths.response,
        )
    prompts = [each.prompt for each in found]
    golden = [each.golden for each in found]
    return (
        f"first prompts {median(prompts):.0f} tokens, at most {max(prompts)} of {lengths.prompt}; "
        f"golden conversations {median(golden):.0f} behind them, at most {max(golden)} of "
        f"{lengths.response}"
    )


async def measured(context: Context, tell: Callable[[int, int], None]) -> list[Length]:
    """The lengths of all tasks of the pool.

    Args:
        context: The run.
        tell: Told how many tasks of how many are measured.

    Raises:
        InputError: A task cannot be opened, or the template refuses its conversation.
    """
    tasks = context.tasks
    found: dict[str, Length] = {}
    limit = anyio.CapacityLimiter(cores())

    async def one(task: AnyTask) -> None:
        async with limit, tasks.open(task, seed=context.spec.seed, repetition=0) as stage:
            found[task.uid] = await _length(context, task.uid, stage)
        tell(len(found), len(tasks.tasks))

    try:
        async with sandbox() as box, tasks.started(box), anyio.create_task_group() as group:
            for task in tasks.tasks:
                group.start_soon(one, task)
    except* (SandboxFault, InputError) as errors:
        error: BaseException = errors
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, InputError):
            raise error from None
        raise InputError(
            f"a session of the pool's tasks cannot be opened ({error}); mend the tool servers",
            file=context.plan.loaded.file,
            field="episodes.tasks",
        ) from error
    return [found[uid] for uid in sorted(found)]


async def _length(context: Context, uid: str, stage: Stage) -> Length:
    tools = [tool.spec.openai() for tool in stage.tools] or None
    messages: list[dict[str, Any]] = list(stage.opening)
    prompt = _ids(context, uid, messages, tools, generation=True)
    for number, call in enumerate(stage.golden):
        try:
            answer = (await stage.call(call.tool, call.arguments)).text
        except ToolCrash as error:
            answer = str(error)  # as long as what the agent would be told
        identity = f"call_{number}"
        asked = {"id": identity, "name": call.tool, "arguments": dict(call.arguments)}
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [asked]},
            {"role": "tool", "tool_call_id": identity, "content": answer},
        ]
    messages.append({"role": "assistant", "content": "That is done. <DONE>"})
    whole = _ids(context, uid, messages, tools, generation=False)
    return Length(uid, prompt, max(0, whole - prompt))


def _ids(
    context: Context,
    uid: str,
    messages: Sequence[dict[str, Any]],
    tools: Sequence[dict[str, Any]] | None,
    *,
    generation: bool,
) -> int:
    written = [to_api(message, thought="reasoning_content") for message in messages]
    try:
        return len(context.template.ids(written, tools=tools, generation=generation))
    except TurnRefused as error:
        raise InputError(
            f"the chat template refuses its conversation ({error}); give another with "
            "model.chat_template",
            file=context.plan.loaded.file,
            task=uid,
        ) from error


def _silent(done: int, total: int) -> None:
    del done, total
