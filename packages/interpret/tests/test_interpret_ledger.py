"""The ledger: what is sound passes, and every way to break it is found, with its place."""

import copy
import json
import math
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_tokenizers import IM_END, NEWLINE, JinjaChat, encode, hub, qwen, spell
from outcomebox.interpret.tokens import (
    ChatTemplate,
    Ledger,
    LedgerError,
    RecordedTurn,
    ViolationCode,
    next_turn,
    read_episode,
)

EXAMPLES = settings(max_examples=100, deadline=None)

CALL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "find", "arguments": {"what": "00501"}},
}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Where is 00501?"},
    {"role": "assistant", "content": "", "reasoning_content": "Look.", "tool_calls": [CALL]},
    {"role": "tool", "content": "Holtsville"},
    {"role": "assistant", "content": "In Holtsville.", "reasoning_content": "Say it."},
]
FIRST = encode(
    "Look.\n</think>\n\n<tool_call>\n<function=find>\n<parameter=what>\n00501\n</parameter>\n"
    "</function>\n</tool_call><|im_end|>"
)
SECOND = encode("Say it.\n</think>\n\nIn Holtsville.<|im_end|>")


def template() -> ChatTemplate:
    return ChatTemplate(JinjaChat("qwen3_5"), qwen())


def logprobs(ids: list[int]) -> list[float]:
    return [-(each % 7) / 8 for each in ids]


def prompts() -> tuple[list[int], list[int]]:
    """Return the prompts of both turns."""
    prompt = template().ids(MESSAGES[:1], generation=True)
    found = next_turn(
        template(),
        prompt_ids=prompt,
        sampled_ids=FIRST,
        messages=MESSAGES[:2],
        new_messages=MESSAGES[2:3],
    )
    return prompt, list(found.ids)


def sound(tokenizer: Any = None) -> Ledger:
    ledger = Ledger(tokenizer or qwen())
    first, second = prompts()
    ledger.add_prompt(first)
    ledger.add_sampled(FIRST, logprobs(FIRST), message=MESSAGES[1])
    ledger.add_context(second[len(ledger.ids) :], message=MESSAGES[2])
    ledger.add_sampled(SECOND, logprobs(SECOND), message=MESSAGES[3])
    return ledger


def test_a_sound_episode() -> None:
    ledger = sound()
    assert ledger.audit() == ()
    sample = ledger.sample()
    first, second = prompts()
    assert list(sample.ids) == [*second, *SECOND]
    assert list(sample.ids) == template().ids(MESSAGES)[:-1]
    assert sample.prompt_length == len(first)
    assert len(sample.ids) == len(sample.mask) == len(sample.logprobs)
    trained = [each for each, on in zip(sample.ids, sample.mask, strict=True) if on]
    assert trained == [*FIRST, *SECOND]
    kept = [each for each, on in zip(sample.logprobs, sample.mask, strict=True) if on]
    assert kept == [*logprobs(FIRST), *logprobs(SECOND)]
    assert {each for each, on in zip(sample.logprobs, sample.mask, strict=True) if not on} == {0.0}


def test_a_ledger_goes_through_json_and_back() -> None:
    ledger = sound()
    data = json.loads(json.dumps(ledger.to_json(), allow_nan=False))
    back = Ledger.from_json(data, hub())
    assert back.segments == ledger.segments
    assert back.sample() == ledger.sample()
    assert back.to_json() == ledger.to_json()


def test_sampled_ids_that_are_not_trained_have_no_loss() -> None:
    ledger = Ledger(qwen())
    ledger.add_prompt(prompts()[0])
    ledger.add_sampled(FIRST, None, train=False)
    assert set(ledger.sample().mask) == {0}
    with pytest.raises(LedgerError, match="logprob_missing"):
        ledger.add_sampled(SECOND, None)


class Number:
    """An integer of an array library."""

    def __init__(self, value: int) -> None:
        self._value = value

    def __index__(self) -> int:
        return self._value

    def __float__(self) -> float:
        return -float(self._value)


def test_numbers_of_an_array_become_plain() -> None:
    ledger = Ledger()
    ids: Any = [Number(1), Number(2)]
    ledger.add_prompt(ids)
    ledger.add_sampled(ids, ids)
    back = Ledger.from_json(json.loads(json.dumps(ledger.to_json())))
    assert back.sample() == ((1, 2, 1, 2), (0, 0, 1, 1), (0.0, 0.0, -1.0, -2.0), 2)
    with pytest.raises(TypeError):
        ledger.add_context([1.5])  # type: ignore[list-item]


Break = Callable[[dict[str, Any]], None]


def put(segment: int, **fields: Any) -> Break:
    def change(data: dict[str, Any]) -> None:
        data["segments"][segment].update(fields)

    return change


def lose_newline(data: dict[str, Any]) -> None:
    del data["segments"][2]["ids"][0]


def begin_later(data: dict[str, Any]) -> None:
    del data["segments"][0]


def begin_twice(data: dict[str, Any]) -> None:
    data["segments"].insert(1, data["segments"][0])


def lose_end(data: dict[str, Any]) -> None:
    del data["segments"][1]["ids"][-1]
    del data["segments"][1]["logprobs"][-1]


def lose_calls(data: dict[str, Any]) -> None:
    del data["segments"][1]["message"]["tool_calls"]


PROMPT, ANSWER = len(prompts()[0]), len(FIRST)
BROKEN: dict[ViolationCode, tuple[Break, int, int]] = {
    # Code -> how an episode is broken, the first id and the segment that are named.
    "no_prompt": (begin_later, 0, 0),
    "kind": (begin_twice, PROMPT, 1),
    "empty": (put(2, ids=[]), PROMPT + ANSWER, 2),
    "id": (put(3, ids=[1, -2, 3], logprobs=[-1, -1, -1], message=None), -2, 3),
    "logprob_missing": (put(1, logprobs=None), PROMPT, 1),
    "logprob_length": (put(1, logprobs=[-0.5] * 5), PROMPT + 5, 1),
    "logprob_value": (put(1, logprobs=[-0.5] * 4 + [0.5] * (ANSWER - 4)), PROMPT + 4, 1),
    "logprob_of_context": (put(0, logprobs=[-1.0] * PROMPT), 0, 0),
    "loss_on_context": (put(2, train=True), PROMPT + ANSWER, 2),
    "text_after_end": (
        put(1, ids=[*FIRST, NEWLINE], logprobs=[-0.5] * (ANSWER + 1)),
        PROMPT + ANSWER,
        1,
    ),
    "not_ended": (lose_end, PROMPT + ANSWER - 1, 2),
    "boundary_newline": (lose_newline, PROMPT + ANSWER, 2),
    "calls_missing": (put(3, message=MESSAGES[1]), -1, 3),
    "calls_dropped": (lose_calls, PROMPT, 1),
}


@pytest.mark.parametrize("code", BROKEN)
def test_every_way_to_break_an_episode_is_found(code: ViolationCode) -> None:
    change, at, segment = BROKEN[code]
    data = sound().to_json()
    data = copy.deepcopy(data)
    change(data)
    ledger = Ledger.from_json(data, qwen())
    found = [each for each in ledger.audit() if each.code == code]
    assert found
    start = sum(len(each.ids) for each in ledger.segments[:segment])
    places = {-1: start, -2: start + 1}
    assert (found[0].at, found[0].segment) == (places.get(at, at), segment)
    with pytest.raises(LedgerError) as refused:
        ledger.sample()
    assert refused.value.violations == ledger.audit()


def test_every_rule_is_broken_once() -> None:
    assert set(BROKEN) == set(get_args(ViolationCode))


def test_an_audit_lists_everything() -> None:
    data = copy.deepcopy(sound().to_json())
    lose_newline(data)
    put(3, logprobs=[-0.5])(data)
    lose_calls(data)
    codes = [each.code for each in Ledger.from_json(data, qwen()).audit()]
    assert codes == ["calls_dropped", "boundary_newline", "logprob_length"]
    # Without a tokenizer only what needs none is looked at.
    assert [each.code for each in Ledger.from_json(data).audit()] == ["logprob_length"]


def test_an_empty_ledger_is_not_a_sample() -> None:
    with pytest.raises(LedgerError, match="begin with add_prompt"):
        Ledger(qwen()).sample()


def test_what_is_refused_is_not_appended() -> None:
    ledger = sound()
    before = ledger.segments
    with pytest.raises(LedgerError) as refused:
        ledger.add_context(encode("<|im_start|>user\nMore<|im_end|>\n"))
    assert [each.code for each in refused.value.violations] == ["boundary_newline"]
    assert refused.value.violations[0].at == len(ledger.ids)
    with pytest.raises(LedgerError):
        ledger.add_turn([*ledger.ids, *encode("\n<|im_start|>assistant\n")], [1, 2], [-1.0])
    assert ledger.segments == before


NOT_LEDGERS: dict[str, tuple[Any, str]] = {
    "no version": ({}, "ledger: version None is unknown; this reads 1"),
    "a kind": (
        {"segments": [{"kind": "answer", "ids": []}]},
        r"segments\[0\]: an object with a kin",
    ),
    "no object": ({"segments": [7]}, r"segments\[0\]: an object with a kind"),
    "ids": ({"segments": [{"kind": "prompt", "ids": ["a"]}]}, r"segments\[0\]\.ids: \['a'\] is no"),
    "log-probs": (
        {"segments": [{"kind": "sampled", "ids": [1], "logprobs": [None]}]},
        r"segments\[0\]\.logprobs: \[None\] is no list of numbers",
    ),
    "a format": ({"format": "xml", "segments": []}, "format 'xml' is unknown"),
}


@pytest.mark.parametrize(("data", "says"), NOT_LEDGERS.values(), ids=NOT_LEDGERS.keys())
def test_what_is_no_ledger_is_an_error(data: dict[str, Any], says: str) -> None:
    version = {"ledger": 1} if data else {}
    with pytest.raises(ValueError, match=says):
        Ledger.from_json(version | data, qwen())


# -- episodes as engines report them --------------------------------------------------------------


def turns() -> list[RecordedTurn]:
    first, second = prompts()
    return [
        RecordedTurn(first, FIRST, logprobs(FIRST), MESSAGES[1]),
        RecordedTurn(second, SECOND, logprobs(SECOND), MESSAGES[3]),
    ]


def test_turns_that_only_append_are_one_ledger() -> None:
    episode = read_episode(turns(), qwen())
    assert episode.prefix_stable
    assert episode.violations == {}
    (ledger,) = episode.ledgers
    assert ledger.sample() == sound().sample()


def test_a_prompt_that_was_encoded_again_begins_another_ledger() -> None:
    recorded = turns()
    split = [*spell("Lo"), *spell("ok"), *FIRST[1:]]
    recorded[0] = recorded[0]._replace(sampled_ids=split, logprobs=logprobs(split))
    episode = read_episode(recorded, qwen())
    assert list(episode.breaks) == [1]
    drift = episode.breaks[1]
    assert (drift.code, drift.at) == ("retokenised", len(recorded[0].prompt_ids))
    assert [len(each.segments) for each in episode.ledgers] == [2, 2]
    assert all(each.audit() == () for each in episode.ledgers)
    ledger = Ledger(qwen())
    ledger.add_turn(*recorded[0][:3])
    with pytest.raises(LedgerError, match="begin another ledger with this prompt") as refused:
        ledger.add_turn(*recorded[1][:3])
    assert refused.value.drift == drift


def test_a_break_is_found_without_a_tokenizer_too() -> None:
    recorded = turns()
    recorded[1] = recorded[1]._replace(prompt_ids=[*recorded[1].prompt_ids[:-9], 0, 0])
    drift = read_episode(recorded).breaks.get(1)
    assert drift is None  # It differs only behind what stands.
    recorded[1] = recorded[1]._replace(prompt_ids=[0, *recorded[1].prompt_ids[1:]])
    assert read_episode(recorded).breaks[1].at == 0


def test_a_prompt_that_lost_the_end_of_what_stands_is_a_break() -> None:
    recorded = turns()
    recorded[1] = recorded[1]._replace(prompt_ids=recorded[1].prompt_ids[:20])
    for tokenizer in (None, qwen()):
        assert read_episode(recorded, tokenizer).breaks[1].at == 20


def test_a_turn_that_is_unsound_by_itself_is_in_no_ledger() -> None:
    recorded = turns()
    prompt = [*recorded[1].prompt_ids, *SECOND, *encode("\n<|im_start|>user\nb<|im_end|>\n")]
    recorded.append(RecordedTurn(prompt, [1, 2, IM_END], [-0.5]))
    episode = read_episode(recorded, qwen())
    assert [each.code for each in episode.violations[2]] == ["logprob_length"]
    assert len(episode.ledgers) == 1
    assert episode.ledgers[0].sample() == sound().sample()


def test_turns_without_logprobs_are_kept_without_a_loss() -> None:
    recorded = [turns()[0]._replace(logprobs=None), turns()[1]]
    (ledger,) = read_episode(recorded, qwen()).ledgers
    sample = ledger.sample()
    assert sum(sample.mask) == len(SECOND)


IDS = st.lists(st.integers(0, 100_000), min_size=1, max_size=8)


@EXAMPLES
@given(
    first=IDS,
    rest=st.lists(st.tuples(IDS, IDS, st.booleans()), max_size=5),
)
def test_ids_mask_and_logprobs_stay_aligned(
    first: list[int], rest: list[tuple[list[int], list[int], bool]]
) -> None:
    ledger = Ledger()
    ledger.add_prompt(first)
    wanted: list[tuple[int, int, float]] = [(each, 0, 0.0) for each in first]
    for answer, context, train in rest:
        given_ = [-math.log1p(each) for each in answer]
        ledger.add_sampled(answer, given_, train=train)
        ledger.check_prompt([*ledger.ids, *context])
        ledger.add_context(context)
        wanted += zip(answer, [int(train)] * len(answer), given_, strict=True)
        wanted += [(each, 0, 0.0) for each in context]
    sample = ledger.sample()
    assert list(zip(sample.ids, sample.mask, sample.logprobs, strict=True)) == wanted
    data = json.loads(json.dumps(ledger.to_json()))
    assert Ledger.from_json(data).sample() == sample
    for at in range(len(sample.ids)):
        other = [*sample.ids]
        other[at] += 1
        drift = ledger.drift_of(other)
        assert drift is not None
        assert drift.at == at
