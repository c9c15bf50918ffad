"""Which ids wrote what, and where a prompt left the model."""

from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from interpret_tokenizers import JinjaChat, Words, encode, hub, qwen, spell, vocabulary
from outcomebox.interpret import PromptState, Turn, interpret
from outcomebox.interpret.profiles import PROFILE_NAMES
from outcomebox.interpret.tokens import parts_of, prompt_state_of, read_ids

EXAMPLES = settings(max_examples=200, deadline=None)

OUTPUT = (
    "The order is late.\n</think>\n\nI refund it.\n\n<tool_call>\n<function=refund>\n"
    "<parameter=order>\n00501\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n"
    "<function=ping>\n</function>\n</tool_call><|im_end|>"
)


def test_the_parts_of_a_turn() -> None:
    ids = encode(OUTPUT)
    text, tokens = read_ids(ids, qwen())
    turn = interpret(ids, tokenizer=vocabulary(), prompt_state="think_open")
    parts = parts_of(turn, text, tokens)
    assert [(part.kind, part.call, text[slice(*part.span)]) for part in parts] == [
        ("reasoning", None, "The order is late.\n"),
        ("markup", None, "</think>"),
        ("content", None, "\n\nI refund it.\n\n"),
        ("call", 0, text[slice(*turn.tool_calls[0].span)]),
        ("markup", None, "\n"),
        ("call", 1, text[slice(*turn.tool_calls[1].span)]),
        ("markup", None, "<|im_end|>"),
    ]
    assert [each for part in parts for each in ids[slice(*part.ids)]] == ids
    for part in parts:
        assert read_ids(ids[slice(*part.ids)], qwen())[0] == text[slice(*part.span)]


BAD = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
PIECES = st.sampled_from(
    [
        BAD,
        "<think>",
        "</think>",
        "<tool_call>\n<function=f>\n<parameter=a>\né\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>\n<function=f>\n<para",
        "<tool_call>",
        "</tool_call>",
        "<|im_end|>",
        "\n\n",
        " ",
        "text",
        "think",
        "</",
        "中🎉",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=10).map("".join)
STATES = st.sampled_from(["think_open", "think_closed", "assistant_start"])


@EXAMPLES
@given(text=TEXTS, state=STATES, cut=st.booleans(), random=st.randoms(use_true_random=False))
@example(text="</think>think", state="think_open", cut=False, random=None)
@example(text="<think>think</think>a</think>", state="assistant_start", cut=False, random=None)
@example(text="</think>\n\n\n" + BAD + "\n\ntext", state="assistant_start", cut=False, random=None)
@example(
    text=" <tool_call> </tool_call></tool_call> a", state="think_closed", cut=False, random=None
)
@example(text=" </think> a", state="think_open", cut=False, random=None)
def test_ids_rebuilt_from_spans_are_the_sampled_ids(
    text: str, state: PromptState, cut: bool, random: Any
) -> None:
    ids = encode(text)
    if random is not None and ids:
        # As a model samples: now and then it spells a word in smaller tokens.
        at = random.randrange(len(ids))
        ids[at : at + 1] = [
            each
            for byte in qwen().decode_single_token_bytes(ids[at])
            for each in [qwen().encode_single_token(bytes([byte]))]
        ]
    text, tokens = read_ids(ids, qwen())
    turn = interpret(
        ids,
        tokenizer=vocabulary(),
        prompt_state=state,
        finish_reason="length" if cut else "stop",
    )
    parts = parts_of(turn, text, tokens)
    assert [each for part in parts for each in ids[slice(*part.ids)]] == ids
    assert "".join(text[slice(*part.span)] for part in parts) == text
    for kind, wanted in (("reasoning", turn.reasoning), ("content", turn.content)):
        found = "".join(text[slice(*part.span)] for part in parts if part.kind == kind)
        assert found == (wanted or "")
    calls = [(part.call, part.span) for part in parts if part.kind == "call"]
    assert calls == [(at, call.span) for at, call in enumerate(turn.tool_calls)]


@pytest.mark.parametrize("profile", [each for each in PROFILE_NAMES if each != "strict"])
@settings(max_examples=50, deadline=None)
@given(text=TEXTS, state=STATES)
def test_the_parts_of_a_server_s_turn_tile_too_or_are_refused(
    profile: str, text: str, state: PromptState
) -> None:
    ids = encode(text)
    text, tokens = read_ids(ids, qwen())
    turn = interpret(ids, tokenizer=vocabulary(), prompt_state=state, profile=profile)
    try:
        parts = parts_of(turn, text, tokens)
    except ValueError:
        assume(False)  # This server's profile rewrote the text.
    assert [each for part in parts for each in ids[slice(*part.ids)]] == ids
    assert "".join(text[slice(*part.span)] for part in parts) == text


@EXAMPLES
@given(ids=st.lists(st.integers(0, 3000) | st.integers(151643, 151668), max_size=30))
def test_ranges_that_tile_the_text_tile_the_ids(ids: list[int]) -> None:
    text, tokens = read_ids(ids, qwen())
    ranges = [tokens.between(at, at + 1) for at in range(len(text))]
    rebuilt = [each for start, stop in ranges for each in ids[start:stop]]
    assert rebuilt == (ids if text else [])
    for at in range(len(text)):
        holder = tokens.holding(at)
        assert tokens.ends[holder] > at
        assert holder == 0 or tokens.ends[holder - 1] <= at


def test_white_space_before_a_closer_is_not_content() -> None:
    ids = encode(" </think> a")
    text, tokens = read_ids(ids, qwen())
    turn = interpret(ids, tokenizer=vocabulary(), prompt_state="think_open")
    assert (turn.reasoning, turn.content) == (None, " a")
    assert [each.span for each in parts_of(turn, text, tokens) if each.kind == "content"] == [
        (9, 11)
    ]


def test_a_turn_of_another_output_is_refused() -> None:
    text, tokens = read_ids(encode("Hello."), qwen())
    with pytest.raises(ValueError, match="reasoning 'Hm' is not text of this output"):
        parts_of(Turn("Hm", None), text, tokens)
    with pytest.raises(ValueError, match=r"content 'Bye\.' is not text of this output"):
        parts_of(Turn(None, "Bye."), text, tokens)


def test_an_output_without_ids_has_no_parts() -> None:
    text, tokens = read_ids([], qwen())
    assert parts_of(interpret(text), text, tokens) == ()


# -- where a prompt left the model ----------------------------------------------------------------

USER = [{"role": "user", "content": "What does <think> mean?"}]
PROMPTS: dict[str, tuple[list[int], PromptState]] = {
    "qwen3": (JinjaChat("qwen3")(USER, add_generation_prompt=True), "assistant_start"),
    "qwen3, thinking off": (
        JinjaChat("qwen3", enable_thinking=False)(USER, add_generation_prompt=True),
        "think_closed",
    ),
    "qwen3.5": (JinjaChat("qwen3_5")(USER, add_generation_prompt=True), "think_open"),
    "qwen3.5, thinking off": (
        JinjaChat("qwen3_5", enable_thinking=False)(USER, add_generation_prompt=True),
        "think_closed",
    ),
    "reasoning begun": (encode("<|im_start|>assistant\n<think>\nFirst,"), "think_open"),
    "answer begun": (encode("<|im_start|>assistant\n<think>a</think>The"), "think_closed"),
    "a tool result that quotes a marker": (
        [
            *encode("<|im_start|>user\n<tool_response>\n"),
            *spell("<think>"),
            *encode("\n</tool_response><|im_end|>\n<|im_start|>assistant\n"),
        ],
        "assistant_start",
    ),
    "quoted in the open turn": (
        [*encode("<|im_start|>assistant\n"), *spell("The <think> tag")],
        "assistant_start",
    ),
    "nothing": ([], "assistant_start"),
}


@pytest.mark.parametrize("name", PROMPTS)
def test_where_a_prompt_left_the_model(name: str) -> None:
    ids, state = PROMPTS[name]
    assert prompt_state_of(ids, qwen()) == state
    assert prompt_state_of(ids, hub()) == state


def test_where_no_token_of_its_own_is_the_marker_its_text_counts() -> None:
    tokenizer = Words(["<", "think", "/", ">", "<|im_end|>", "\n", "a"])
    opened, closed = [0, 1, 3], [0, 2, 1, 3]
    for ids, state in (
        ([6, *opened, 5], "think_open"),
        ([*opened, 6, *closed], "think_closed"),
        ([*opened, 4, 5, 6], "assistant_start"),
        ([6], "assistant_start"),
    ):
        assert prompt_state_of(ids, tokenizer) == state


def test_a_control_token_of_another_turn_ends_the_look_back() -> None:
    """DeepSeek's templates end only the assistant's turns; others begin with a token of theirs."""

    class Chat(Words):
        def get_added_vocab(self) -> dict[str, int]:
            return {text: at for text, at in self.get_vocab().items() if text.startswith("<")}

    tokens = ["<\uff5cUser\uff5c>", "<\uff5cAssistant\uff5c>", "<think>", "</think>", "Hi", "\n"]
    tokenizer = Chat([*tokens, "<\uff5cend\u2581of\u2581sentence\uff5c>"])
    for ids, state in (
        ([0, 4, 2, 4, 1], "assistant_start"),
        ([0, 4, 1, 2, 5], "think_open"),
        ([0, 4, 1, 2, 3, 5], "think_closed"),
        ([0, 4, 1, 3], "think_closed"),
        ([0, 4, 1, 2, 4, 6, 0, 4, 1], "assistant_start"),
    ):
        assert prompt_state_of(ids, tokenizer, "deepseek_r1") == state


def test_a_format_without_reasoning_is_past_it() -> None:
    assert prompt_state_of(encode("<|im_start|>assistant\n"), qwen(), "llama3_json") == (
        "think_closed"
    )


def test_the_state_fits_the_turn_that_follows() -> None:
    prompt, state = PROMPTS["qwen3.5"]
    turn = interpret(
        encode("Hm.\n</think>\n\nHello."),
        tokenizer=vocabulary(),
        prompt_state=prompt_state_of(prompt, qwen()),
    )
    assert (state, turn.reasoning, turn.content) == ("think_open", "Hm.\n", "\n\nHello.")
