"""What is trained on, and parity: planted differences are found, each by its name."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outcomebox.interpret import Toolbox
from outcomebox.interpret.tokens import prompt_state_of, read_ids
from outcomebox.rollout import Completion
from outcomebox.rollout.turns import read_turn
from outcomebox.train.verl.chat import Chat
from outcomebox.train.verl.parity import Parity, parity_of
from outcomebox.train.verl.sampler import Exchange, ids_digest
from outcomebox.train.verl.sequences import Untrainable, sequences_of
from train_chat import chat_without_library, make_model
from train_episodes import call, spelled

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "move_box",
            "parameters": {
                "type": "object",
                "properties": {
                    "box_id": {"type": "string"},
                    "weight": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                },
            },
        },
    }
]
TEXTS = (
    "<think>\nhm\n</think>\n\n" + call("move_box", box_id="B-1", weight=2),
    call("move_box", box_id="B-2") + "\n" + call("no_such_tool", a="b"),
    "Done. <DONE>",
)
ANSWER = "\n<tool_response>\nyes\n</tool_response>\n"


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Chat:
    """A model's tokenizer."""
    return chat_without_library(make_model(tmp_path_factory.mktemp("model")))


class Episode:
    """The messages of an episode as the loop records them, and what the servers saw."""

    def __init__(self, chat: Chat, texts: tuple[str, ...] = TEXTS, anew_at: int = -1) -> None:
        self.chat = chat
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": "move"}]
        self.turns: list[Exchange] = []
        standing: list[int] = []
        for number, text in enumerate(texts):
            anew = number == anew_at
            opening = "<|im_start|>user\nmove<|im_end|>" if number == 0 or anew else ANSWER
            context = spelled(chat.vocabulary, opening + "<|im_start|>assistant\n")
            standing = [*context] if anew else [*standing, *context]
            ids = spelled(chat.vocabulary, text + "<|im_end|>")
            begins = anew or number == 0
            self.turns.append(
                Exchange(ids_digest(standing), ids_digest(ids), len(standing), begins)
            )
            completion = Completion(
                read_ids(ids, chat.vocabulary)[0],
                prompt_state=prompt_state_of(standing, chat.vocabulary),
                ids=ids,
                logprobs=tuple(-float(at) for at in range(len(ids))),
                context_ids=context,
                restarts=anew,
            )
            read = read_turn(
                completion, Toolbox(TOOLS), turn=number, format=chat.format, profile="strict"
            )
            self.messages.append(read.message(completion))
            self.messages += [
                {"role": "tool", "tool_call_id": each.id, "name": each.name, "content": "yes"}
                for each in read.calls
            ]
            standing += ids

    def parity(self, profile: str = "strict") -> Parity:
        """What reading it once more finds."""
        return parity_of(
            self.messages, TOOLS, self.chat.vocabulary, format=self.chat.format, profile=profile
        )

    def assistant(self, number: int) -> dict[str, Any]:
        """A turn's message."""
        found = [each for each in self.messages if each["role"] == "assistant"]
        return found[number]


def test_one_sequence_and_its_mask(chat: Chat) -> None:
    episode = Episode(chat)
    (sequence,) = sequences_of(episode.messages, episode.turns)
    sampled = [each for at in range(3) for each in episode.assistant(at)["ids"]]
    kept = [each for each, on in zip(sequence.response_ids, sequence.mask, strict=True) if on]
    assert kept == sampled
    assert list(sequence.prompt_ids) == episode.assistant(0)["context_ids"]
    assert sequence.logprobs is not None
    assert len(sequence.response_ids) == len(sequence.mask) == len(sequence.logprobs)
    told = [value for value, on in zip(sequence.logprobs, sequence.mask, strict=True) if on]
    assert told == [value for at in range(3) for value in episode.assistant(at)["logprobs"]]
    assert sequence.mask[0] == sequence.mask[-1] == 1
    others = [value for value, on in zip(sequence.logprobs, sequence.mask, strict=True) if not on]
    assert others
    assert set(others) == {0.0}


def test_two_sequences_where_the_prompt_began_anew(chat: Chat) -> None:
    episode = Episode(chat, anew_at=1)
    first, second = sequences_of(episode.messages, episode.turns)
    assert list(first.response_ids) == episode.assistant(0)["ids"]
    assert list(second.prompt_ids) == episode.assistant(1)["context_ids"]
    assert sum(second.mask) == sum(len(episode.assistant(at)["ids"]) for at in (1, 2))
    assert episode.parity().differences == ()


def test_without_log_probabilities_of_every_turn_there_are_none(chat: Chat) -> None:
    episode = Episode(chat)
    del episode.assistant(1)["logprobs"]
    (sequence,) = sequences_of(episode.messages, episode.turns)
    assert sequence.logprobs is None


def _swap(ids: list[int]) -> None:
    ids[0], ids[1] = ids[1], ids[0]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda each: each.assistant(1)["ids"].__setitem__(0, 3), "turn 1: output"),
        (lambda each: _swap(each.assistant(1)["context_ids"]), "turn 1: prompt of"),
        (lambda each: each.assistant(1)["context_ids"].append(3), "turn 1: prompt of"),
        (lambda each: each.assistant(1).__setitem__("restarts", True), "turn 1: prompt of"),
        (lambda each: each.messages.pop(), "2 sampled turns and the servers 3"),
        (lambda each: each.turns.pop(), "3 sampled turns and the servers 2"),
        (lambda each: each.assistant(0).pop("ids"), "no token ids"),
        (lambda each: each.messages.clear(), "nothing was sampled"),
    ],
)
def test_a_row_that_differs_is_not_trained_on(
    chat: Chat, change: Callable[[Episode], Any], why: str
) -> None:
    episode = Episode(chat)
    change(episode)
    with pytest.raises(Untrainable, match=why):
        sequences_of(episode.messages, episode.turns)


def test_a_turn_that_was_not_asked_for_is_left_out(chat: Chat) -> None:
    episode = Episode(chat)
    full = {"role": "assistant", "finish_reason": "length", "ids": [], "context_ids": []}
    episode.messages.append({**full, "content": None, "logprobs": []})
    assert len(sequences_of(episode.messages, episode.turns)) == 1
    assert episode.parity() == Parity(3, ())


def _calls(change: Callable[[list[dict[str, Any]]], Any]) -> Callable[[Episode], Any]:
    return lambda episode: change(episode.assistant(1)["tool_calls"])


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (_calls(lambda calls: calls[0]["arguments"].__setitem__("box_id", "B-3")), [(1, "calls")]),
        (_calls(lambda calls: calls[0].__setitem__("name", "add_box")), [(1, "calls")]),
        (_calls(lambda calls: calls[1].__setitem__("executable", False)), [(1, "calls")]),
        (_calls(lambda calls: calls.pop()), [(1, "calls")]),
        (lambda each: each.assistant(0).pop("tool_calls"), [(0, "calls")]),
        (lambda each: each.assistant(0).__setitem__("reasoning", "mh"), [(0, "reasoning")]),
        (lambda each: each.assistant(2).__setitem__("content", "No."), [(2, "content")]),
        (lambda each: each.assistant(2).__setitem__("raw", "No."), [(2, "raw")]),
        (
            lambda each: each.assistant(2).__setitem__("prompt_state", "think_open"),
            [(2, "prompt_state")],
        ),
        # A call that was carried out and is not in the text, and one that was not carried out.
        (
            lambda each: each.messages.insert(
                3, {"role": "tool", "tool_call_id": "call_0_1", "name": "sneaky", "content": ""}
            ),
            [(0, "carried_out")],
        ),
        (lambda each: each.messages.pop(2), [(0, "carried_out")]),
    ],
)
def test_a_planted_difference_is_found(
    chat: Chat, change: Callable[[Episode], Any], found: list[tuple[int, str]]
) -> None:
    episode = Episode(chat)
    assert episode.parity() == Parity(3, ())
    kept = copy.deepcopy(episode.messages)
    change(episode)
    parity = episode.parity()
    assert [(each.turn, each.field) for each in parity.differences] == found
    assert parity.turns == 3
    assert parity.to_json()["differences"][0]["field"] == found[0][1]
    assert kept != episode.messages


def test_a_call_that_a_limit_kept_from_being_made_is_no_difference(chat: Chat) -> None:
    episode = Episode(chat, TEXTS[:2])
    episode.messages.pop()
    assert episode.parity() == Parity(2, ())


def test_another_profile_reads_other_calls(chat: Chat) -> None:
    text = "<tool_call>\n<function=move_box>\n<parameter=weight>\n2\n</parameter>\n"
    episode = Episode(chat, (text, "Done. <DONE>"))
    assert episode.parity().differences == ()
    assert episode.parity("vllm-0.32").differences != ()


def test_the_templates_of_this_folder_are_there() -> None:
    assert (Path(__file__).parents[2] / "interpret" / "tests" / "tokens").is_dir()
