"""Write the next turn's prompt behind what stands, never anew.

What was sampled stands as it was sampled. The ids that a template puts behind it are taken from a
render of the whole conversation, behind the place where the assistant's turn ends; everything
before that place is compared with what stands, and each difference has a cause. Differences that
only say that the model wrote the same in its own way are reported. Others refuse: the caller
accepts them by name, which appends all the same, or starts a new sample with a fresh render. The
two are never mixed.
"""

from collections.abc import Collection, Sequence
from operator import index
from typing import NamedTuple

from outcomebox.interpret.tokens.drift import CAUSES, OWN_WORDS, drifts, first_difference
from outcomebox.interpret.tokens.errors import Drift, DriftCode, TurnRefused
from outcomebox.interpret.tokens.marks import Marks
from outcomebox.interpret.tokens.messages import Message
from outcomebox.interpret.tokens.prompts import state_of
from outcomebox.interpret.tokens.templates import ChatTemplate
from outcomebox.interpret.turn import Tool


class NextTurn(NamedTuple):
    """The prompt of the next turn.

    Attributes:
        ids: The whole prompt: what stood, then `context`.
        context: The ids that were put behind what stood; none of them was sampled, so none of them
            has a log-probability or a loss.
        drifts: Differences between what stands and a fresh render, all of them accepted.
        witnessed: Whether the template's own bridge gave the same ids; None where it gave none.
    """

    ids: tuple[int, ...]
    context: tuple[int, ...]
    drifts: tuple[Drift, ...]
    witnessed: bool | None


def next_turn(
    template: ChatTemplate,
    *,
    prompt_ids: Sequence[int],
    sampled_ids: Sequence[int],
    messages: Sequence[Message],
    new_messages: Sequence[Message],
    tools: Sequence[Tool] | None = None,
    accept: Collection[DriftCode] = OWN_WORDS,
    close: bool = False,
) -> NextTurn:
    """Return the next prompt, behind the ids that stand.

    Args:
        template: The model's chat template.
        prompt_ids: The prompt of the turn that was sampled last, all earlier turns included.
        sampled_ids: What was sampled behind it.
        messages: The conversation, the sampled turn as its last message.
        new_messages: What comes now: all results of its calls together, or a user's message.
        tools: The offered tools.
        accept: Causes of a difference in what stands that do not refuse. `ALL_DRIFTS` appends
            whatever a template would make of the past.
        close: Whether a turn that the token limit cut gets its end as context; else it is refused.

    Raises:
        TurnRefused: With a code, and the first id that differs where ids were compared.
    """
    prompt_ids, sampled_ids = list(map(index, prompt_ids)), list(map(index, sampled_ids))
    _check(template, sampled_ids, messages, new_messages, close=close)
    unknown = sorted(set(accept) - set(CAUSES))
    if unknown:
        raise ValueError(f"accept has unknown causes {unknown}; use some of: {sorted(CAUSES)}")
    standing = [*prompt_ids, *sampled_ids]
    past, context = _split(template, messages, new_messages, tools)
    close_ids = _closing(template.marks, standing, past)
    found = drifts([*standing, *close_ids], past, template.marks)
    refused = next((each for each in found if each.code not in accept), None)
    if refused is not None:
        raise TurnRefused(
            refused.code,
            f"{refused.message}; {_mend(refused.code)}",
            index=refused.at,
            drifts=found,
        )
    added = [*close_ids, *context]
    ids = (*standing, *added)
    witness = template.bridge(prompt_ids, sampled_ids, new_messages, tools=tools)
    differs = None if witness is None else first_difference(ids, witness)
    if differs is not None:
        raise TurnRefused(
            "bridges_differ",
            "the template's own bridge writes other ids than its render of the whole conversation; "
            "report it to the template's maker",
            index=differs,
            drifts=found,
        )
    return NextTurn(ids, tuple(added), found, None if witness is None else True)


def _check(
    template: ChatTemplate,
    sampled_ids: Sequence[int],
    messages: Sequence[Message],
    new_messages: Sequence[Message],
    *,
    close: bool,
) -> None:
    """Refuse what no template can answer."""
    if not new_messages:
        raise TurnRefused("nothing_new", "new_messages is empty; give what follows the turn")
    if any(each.get("role") == "assistant" for each in new_messages):
        raise TurnRefused(
            "assistant_in_new",
            "new_messages holds an assistant's turn, which would be encoded anew; append its "
            "sampled ids",
        )
    last = messages[-1].get("role") if messages else None
    if last == "tool" and new_messages[0].get("role") == "tool":
        raise TurnRefused(
            "tool_merging",
            "the conversation ends with a tool result and another follows; templates write all "
            "results of a turn as one, so give them together",
        )
    if last != "assistant":
        raise TurnRefused(
            "no_assistant",
            f"messages ends with {last or 'nothing'}; its last message is the sampled turn",
        )
    if not sampled_ids:
        raise TurnRefused("nothing_sampled", "sampled_ids is empty; the turn has no ids")
    ends = template.marks.ends
    after = next((at for at, each in enumerate(sampled_ids[:-1]) if each in ends), None)
    if after is not None:
        raise TurnRefused(
            "text_after_end",
            f"sampled_ids[{after}] ends the turn and more follows; cut what comes behind it",
        )
    if sampled_ids[-1] not in ends and not close:
        raise TurnRefused(
            "not_ended",
            "the sampled turn was cut before its end of turn; pass close=True to end it as context",
        )


def _split(
    template: ChatTemplate,
    messages: Sequence[Message],
    new_messages: Sequence[Message],
    tools: Sequence[Tool] | None,
) -> tuple[list[int], list[int]]:
    """Render the conversation; return it up to the end of the last turn, and what follows."""
    ends = template.marks.ends
    before = template.ids(messages, tools=tools)
    turns = sum(each in ends for each in before)
    after = template.ids([*messages, *new_messages], tools=tools, generation=True)
    closers = [at for at, each in enumerate(after) if each in ends]
    if not turns or turns > len(closers):
        raise TurnRefused(
            "no_end_of_turn",
            f"the template ends {turns} turns of the conversation and {len(closers)} of it with "
            "what follows; the end of the assistant's turn cannot be told",
        )
    cut = closers[turns - 1] + 1
    return after[:cut], after[cut:]


def _closing(marks: Marks, standing: Sequence[int], past: Sequence[int]) -> list[int]:
    """Return the ids that end a turn which was cut, and its reasoning where that is open."""
    if standing[-1] in marks.ends:
        return []
    opened, closer, call = (marks.id_of(each) for each in (*marks.think, marks.call_open))
    if opened is None or closer is None or state_of(standing, marks) != "think_open":
        return list(past[-1:])
    start = len(standing) - 1 - list(reversed(standing)).index(opened)
    return [*([] if call in standing[start:] else [closer]), *past[-1:]]


def _mend(code: DriftCode) -> str:
    if code in ("thinking_stripped", "empty_thinking"):
        return (
            f"accept {code!r} to keep what was thought and append, or start a new sample with a "
            "fresh render"
        )
    if code in ("call_missing", "text"):
        return "give the turn's message as it was sampled, or accept it by name"
    return "start a new sample with a fresh render, or accept it by name"
