"""Templates and token ids that broke somebody's software in public, each as its prose says."""

import json
from typing import Any

import pytest

from interpret_tokenizers import (
    ADDED_IDS,
    FOLDER,
    IM_END,
    IM_START,
    NEWLINE,
    HubTokenizer,
    JinjaChat,
    encode,
    qwen,
    spell,
    vocabulary,
)
from outcomebox.interpret import interpret
from outcomebox.interpret.tokens import (
    ChatTemplate,
    Ledger,
    LedgerError,
    RecordedTurn,
    RenderersTemplate,
    TurnRefused,
    drifts,
    next_turn,
    read_episode,
    read_ids,
    renderer_named,
)

CASES: dict[str, dict[str, Any]] = {
    case["id"]: case
    for case in map(json.loads, (FOLDER / "cases.jsonl").read_text(encoding="utf-8").splitlines())
}

TEMPLATES = {"renderers": "qwen3.5", "jinja": "qwen3_5"}


@pytest.fixture(params=TEMPLATES)
def qwen3_5(request: pytest.FixtureRequest) -> ChatTemplate:
    """Qwen3.5's template, by the `renderers` library and by its own Jinja text."""
    if request.param == "renderers":
        return RenderersTemplate(renderer_named("qwen3.5", qwen()), qwen())
    return ChatTemplate(JinjaChat("qwen3_5"), qwen())


def messages_of(case: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads(CASES[case]["input"])
    return loaded


def sampled_for(template: ChatTemplate, messages: list[dict[str, Any]], turn: int) -> list[int]:
    """Return what a model would sample for the assistant's turn at that place, end included.

    It writes behind its prompt, so no token reaches over the border, as one may in a whole render.
    """
    text = template.marks.text
    prompt = text(template.ids(messages[:turn], generation=True))
    whole = text(template.ids(messages[: turn + 1]))
    assert whole.startswith(prompt)
    return encode(whole.removeprefix(prompt).removesuffix("\n"))


def test_every_case_has_its_test() -> None:
    named = {name.removeprefix("test_").split("__")[0].replace("_", "-") for name in globals()}
    assert set(CASES) <= named
    assert len(CASES) == 14


def test_tpl_001__no_user_query_is_a_typed_error_before_generation() -> None:
    messages = messages_of("tpl-001")
    response = {"role": "user", "content": "<tool_response>\nr\n</tool_response>"}
    template = ChatTemplate(JinjaChat("qwen3_5"), qwen())
    for conversation in (messages, [*messages[:2], response]):
        with pytest.raises(TurnRefused, match="put a user's message before the first") as refused:
            template.ids(conversation, generation=True)
        assert refused.value.code == "needs_user_query"
        assert refused.value.__cause__ is not None
    # The library's renderer and Qwen3's template write it; with a query all do.
    library = RenderersTemplate(renderer_named("qwen3.5", qwen()), qwen())
    assert library.ids(messages, generation=True)
    assert ChatTemplate(JinjaChat("qwen3"), qwen()).ids(messages, generation=True)
    asked = [messages[0], {"role": "user", "content": "q"}, *messages[1:]]
    assert template.ids(asked, generation=True) == library.ids(asked, generation=True)


def test_tpl_002__thinking_that_is_stripped_breaks_the_prefix(qwen3_5: ChatTemplate) -> None:
    messages = messages_of("tpl-002")
    prompt = qwen3_5.ids(messages[:1], generation=True)
    sampled = sampled_for(qwen3_5, messages, 1)
    assert "t1" in qwen3_5.marks.text(sampled)
    anew = qwen3_5.ids(messages, generation=True)
    episode = read_episode(
        [
            RecordedTurn(prompt, sampled, [-0.1] * len(sampled)),
            RecordedTurn(anew, [IM_END], [-0.1]),
        ],
        qwen(),
    )
    assert not episode.prefix_stable
    assert episode.breaks[1].code == "thinking_stripped"
    assert episode.breaks[1].turn == 1  # Turn 0 is the user's: the first assistant turn.
    first = episode.breaks[1].at
    stands = [*prompt, *sampled]
    assert stands[:first] == anew[:first]
    assert stands[first] != anew[first]
    # A new sample begins with the rewritten prompt; ids of the two are never mixed.
    assert [each.ids[: len(prompt)] for each in episode.ledgers] == [
        tuple(prompt),
        tuple(anew[: len(prompt)]),
    ]
    assert episode.ledgers[1].ids == (*anew, IM_END)

    arguments: dict[str, Any] = {
        "prompt_ids": prompt,
        "sampled_ids": sampled,
        "messages": messages[:2],
        "new_messages": messages[2:],
    }
    with pytest.raises(TurnRefused, match="start a new sample") as refused:
        next_turn(qwen3_5, **arguments)
    assert (refused.value.code, refused.value.index) == ("thinking_stripped", first)
    # Or the caller keeps t1 and appends.
    kept = next_turn(qwen3_5, **arguments, accept={"thinking_stripped"})
    assert kept.ids[: len(stands)] == tuple(stands)
    assert [each.code for each in kept.drifts] == ["thinking_stripped"]


def test_tpl_005__results_given_together_are_one_turn(qwen3_5: ChatTemplate) -> None:
    messages = messages_of("tpl-005")
    messages[1]["reasoning_content"] = "Both."
    prompt = qwen3_5.ids(messages[:1], generation=True)
    sampled = sampled_for(qwen3_5, messages, 1)
    found = next_turn(
        qwen3_5,
        prompt_ids=prompt,
        sampled_ids=sampled,
        messages=messages[:2],
        new_messages=messages[2:],
    )
    assert list(found.ids) == qwen3_5.ids(messages, generation=True)
    assert found.drifts == ()
    text = qwen3_5.marks.text(found.context)
    assert text.count("<|im_start|>user") == 1
    assert text.count("<tool_response>") == 2
    with pytest.raises(TurnRefused, match="give them together") as refused:
        next_turn(
            qwen3_5,
            prompt_ids=prompt,
            sampled_ids=sampled,
            messages=messages[:3],
            new_messages=messages[3:],
        )
    assert refused.value.code == "tool_merging"


def test_tpl_005__an_extra_turn_boundary_is_named(qwen3_5: ChatTemplate) -> None:
    messages = messages_of("tpl-005")
    whole = qwen3_5.ids(messages)
    one_by_one = qwen3_5.ids(messages[:3]) + encode(
        "<|im_start|>user\n<tool_response>\nrb\n</tool_response><|im_end|>\n"
    )
    (drift,) = drifts(one_by_one, whole, qwen3_5.marks)
    assert drift.code == "tool_merging"
    assert one_by_one[: drift.at] == whole[: drift.at]
    assert one_by_one[drift.at] == IM_END


def test_tpl_007__the_default_system_prompt_is_the_template_s_own() -> None:
    messages = messages_of("tpl-007")
    lengths = {}
    for name, library in (("qwen2_5", None), ("qwen3", "qwen3"), ("qwen3_5", "qwen3.5")):
        own = JinjaChat(name)
        template = ChatTemplate(own, qwen())
        ids = template.ids(messages, generation=True)
        assert ids == encode(own.text(messages, add_generation_prompt=True))
        if library:
            other = RenderersTemplate(renderer_named(library, qwen()), qwen())
            assert ids == other.ids(messages, generation=True)
        lengths[name] = len(ids)
        assert ("You are Qwen" in template.marks.text(ids)) == (name == "qwen2_5")
    assert lengths == {"qwen2_5": 30, "qwen3": 9, "qwen3_5": 11}
    with_it = ChatTemplate(JinjaChat("qwen2_5"), qwen()).ids(messages, generation=True)
    without = ChatTemplate(JinjaChat("qwen3"), qwen()).ids(messages, generation=True)
    template = ChatTemplate(JinjaChat("qwen3"), qwen())
    (drift,) = drifts(without, with_it, template.marks)
    assert (drift.code, drift.at) == ("system_prompt", 1)


def test_tpl_008__string_arguments_are_decoded(qwen3_5: ChatTemplate) -> None:
    messages = messages_of("tpl-008")
    decoded = json.loads(json.dumps(messages))
    function = decoded[1]["tool_calls"][0]["function"]
    function["arguments"] = json.loads(function["arguments"])
    assert qwen3_5.ids(messages) == qwen3_5.ids(decoded)
    assert isinstance(messages[1]["tool_calls"][0]["function"]["arguments"], str)  # Not changed.
    for name in ("qwen2_5", "qwen3"):
        template = ChatTemplate(JinjaChat(name), qwen())
        assert template.ids(messages) == template.ids(decoded)
    for wrong in ('{"a": 3', "[1]", "3"):
        messages[1]["tool_calls"][0]["function"]["arguments"] = wrong
        with pytest.raises(
            TurnRefused, match=r"messages\[1\]\.tool_calls\[0\]\.arguments"
        ) as refused:
            qwen3_5.ids(messages)
        assert refused.value.code == "string_arguments"


@pytest.mark.parametrize("name", ["qwen3", "qwen3_5", "qwen3_6"])
def test_tpl_009__history_shows_json_words(name: str) -> None:
    messages = messages_of("tpl-009")
    template = ChatTemplate(JinjaChat(name), qwen())
    text = template.marks.text(template.ids(messages))
    assert "true" in text
    assert "null" in text
    assert "True" not in text
    assert "None" not in text


def test_tpl_009__recorded_ids_are_kept_whatever_a_render_makes_of_them(
    qwen3_5: ChatTemplate,
) -> None:
    messages = messages_of("tpl-009")
    prompt = qwen3_5.ids(messages[:1], generation=True)
    sampled = encode(
        "\n</think>\n\n<tool_call>\n<function=f>\n<parameter=on>\nTrue\n</parameter>\n"
        "<parameter=x>\nnull\n</parameter>\n</function>\n</tool_call><|im_end|>"
    )
    found = next_turn(
        qwen3_5,
        prompt_ids=prompt,
        sampled_ids=sampled,
        messages=messages[:2],
        new_messages=messages[2:],
    )
    assert found.ids[: len(prompt) + len(sampled)] == (*prompt, *sampled)
    assert [each.code for each in found.drifts] == ["arguments_rewritten"]


def test_tpl_013__history_without_the_call_is_found(qwen3_5: ChatTemplate) -> None:
    messages = messages_of("tpl-013")
    prompt = qwen3_5.ids(messages[:1], generation=True)
    sampled = sampled_for(qwen3_5, messages, 1)
    found = next_turn(
        qwen3_5,
        prompt_ids=prompt,
        sampled_ids=sampled,
        messages=messages[:2],
        new_messages=messages[2:],
    )
    assert found.ids[: len(prompt) + len(sampled)] == (*prompt, *sampled)
    anew = qwen3_5.ids(messages, generation=True)
    assert qwen3_5.marks.text(found.ids) == qwen3_5.marks.text(anew)
    assert "<function=f>" in qwen3_5.marks.text(anew)
    # A whole render writes the two newlines of an empty reasoning as one token.
    assert [each.code for each in found.drifts] == ["retokenised"]
    assert (found.drifts[0].standing[:2], found.drifts[0].rendered[0]) == ((198, 198), 271)
    stripped = {key: value for key, value in messages[1].items() if key != "tool_calls"}
    with pytest.raises(TurnRefused, match="a call that stands is not rendered") as refused:
        next_turn(
            qwen3_5,
            prompt_ids=prompt,
            sampled_ids=sampled,
            messages=[messages[0], stripped],
            new_messages=messages[2:],
        )
    assert refused.value.code == "call_missing"
    assert refused.value.index is not None
    assert refused.value.index >= len(prompt)


def test_tpl_015__a_tool_message_is_rendered_with_the_call_before_it(qwen3_5: ChatTemplate) -> None:
    alone = messages_of("tpl-015")
    with pytest.raises(
        TurnRefused, match=r"messages\[0\] is a tool result behind nothing"
    ) as refused:
        qwen3_5.ids(alone)
    assert refused.value.code == "tool_alone"
    history = messages_of("tpl-013")[:2]
    prompt = qwen3_5.ids(history[:1], generation=True)
    sampled = sampled_for(qwen3_5, history, 1)
    found = next_turn(
        qwen3_5, prompt_ids=prompt, sampled_ids=sampled, messages=history, new_messages=alone
    )
    # The difference of two whole renders.
    before = qwen3_5.ids(history)
    after = qwen3_5.ids([*history, *alone], generation=True)
    assert before[-1:] == [NEWLINE]
    assert after[: len(before)] == before
    assert list(found.context) == [NEWLINE, *after[len(before) :]]


def test_tok_001__a_sampled_split_of_a_word_is_kept() -> None:
    ids: list[int] = json.loads(CASES["tok-001"]["input"])["ids"]
    text, tokens = read_ids(ids, qwen())
    assert text == " international"
    assert spell(text) == [6489]
    assert tokens.ids == (946, 41140)
    ledger = Ledger(qwen())
    ledger.add_prompt(encode("<|im_start|>assistant\n"))
    ledger.add_sampled(ids, [-0.5, -0.25])
    sample = ledger.sample()
    assert sample.ids[sample.prompt_length :] == (946, 41140)
    assert sample.mask[sample.prompt_length :] == (1, 1)
    assert sample.logprobs[sample.prompt_length :] == (-0.5, -0.25)
    (drift,) = drifts(ids, spell(text), ledger_marks())
    assert (drift.code, drift.at) == ("retokenised", 0)


def ledger_marks() -> Any:
    return ChatTemplate(JinjaChat("qwen3"), qwen()).marks


def test_tok_003__a_completion_that_was_encoded_again_does_not_fit_its_logprobs() -> None:
    ids: list[int] = json.loads(CASES["tok-003"]["input"])["ids"]
    text, _ = read_ids(ids, qwen())
    again = spell(text)
    assert (text, again) == ("\n\n", [271])
    ledger = Ledger(qwen())
    ledger.add_prompt(encode("<|im_start|>assistant\n"))
    with pytest.raises(LedgerError, match="1 sampled ids and 2 log-probs") as refused:
        ledger.add_sampled(again, [-0.5, -0.25])
    assert [each.code for each in refused.value.violations] == ["logprob_length"]
    ledger.add_sampled(ids, [-0.5, -0.25])
    assert ledger.audit() == ()


def test_tok_005__the_newline_behind_the_end_of_a_turn_is_context(qwen3_5: ChatTemplate) -> None:
    history = messages_of("tpl-013")
    prompt = qwen3_5.ids(history[:1], generation=True)
    sampled = sampled_for(qwen3_5, history, 1)
    tail = [ADDED_IDS[each] for each in json.loads(CASES["tok-005"]["input"])["tail"]]
    assert sampled[-2:] == tail
    found = next_turn(
        qwen3_5,
        prompt_ids=prompt,
        sampled_ids=sampled,
        messages=history[:2],
        new_messages=history[2:],
    )
    assert found.context[:2] == (NEWLINE, IM_START)
    ledger = Ledger(qwen())
    ledger.add_prompt(prompt)
    ledger.add_sampled(sampled, [-0.1] * len(sampled))
    with pytest.raises(LedgerError, match="boundary_newline"):
        ledger.add_context(found.context[1:])
    ledger.add_context(found.context)
    sample = ledger.sample()
    end = len(prompt) + len(sampled)
    assert sample.ids[end - 1 : end + 2] == (IM_END, NEWLINE, IM_START)
    assert sample.mask[end - 1 : end + 2] == (1, 0, 0)


def test_tok_008__context_turns_keep_their_calls(qwen3_5: ChatTemplate) -> None:
    messages = messages_of("tok-008")
    ledger = Ledger(qwen())
    ledger.add_prompt(qwen3_5.ids(messages[:1], generation=True))
    content_only = encode("\n</think>\n\n<|im_end|>")
    with pytest.raises(LedgerError, match="only its content was encoded") as refused:
        ledger.add_context(content_only, message=messages[1])
    assert [each.code for each in refused.value.violations] == ["calls_missing"]
    ledger.add_context(sampled_for(qwen3_5, messages, 1), message=messages[1])
    standing = len(ledger.ids)
    rest = next_turn(
        qwen3_5,
        prompt_ids=ledger.segments[0].ids,
        sampled_ids=ledger.segments[1].ids,
        messages=messages[:2],
        new_messages=messages[2:3],
    )
    assert rest.ids[:standing] == ledger.ids
    ledger.add_context(rest.context)
    done = sampled_for(qwen3_5, messages, 3)
    ledger.add_sampled(done, [-0.1] * len(done), message=messages[3])
    sample = ledger.sample()
    assert qwen3_5.marks.text(sample.ids) == qwen3_5.marks.text(qwen3_5.ids(messages)[:-1])
    assert [each for each, on in zip(sample.ids, sample.mask, strict=True) if on] == done
    # A message that lost its calls does not pass for the ids that hold one.
    other = Ledger(qwen())
    other.add_prompt(qwen3_5.ids(messages[:1], generation=True))
    ids = sampled_for(qwen3_5, messages, 1)
    with pytest.raises(LedgerError, match="calls_dropped"):
        other.add_sampled(ids, [-0.1] * len(ids), message={"role": "assistant", "content": ""})


def test_tok_009__a_marker_reads_the_same_however_a_tokenizer_labels_it() -> None:
    case = CASES["tok-009"]
    text: str = json.loads(case["input"])["text"]
    special = HubTokenizer()
    plain = HubTokenizer(special=["<|im_start|>", "<|im_end|>"])
    none = HubTokenizer(markers=False)
    # What the case is about: the marker vanishes where it is labelled special.
    assert special.decode(encode(text), skip_special_tokens=True).strip().startswith("{")
    assert plain.decode(encode(text), skip_special_tokens=True) == text
    turns = [interpret(text, tools=case["tools"], format="hermes")]
    for tokenizer in (special, plain, none):
        ids = tokenizer.encode(text)
        turns.append(interpret(ids, tools=case["tools"], format="hermes", tokenizer=tokenizer))
    turns.append(
        interpret(encode(text), tools=case["tools"], format="hermes", tokenizer=vocabulary())
    )
    assert len({repr(each) for each in turns}) == 1
    (call,) = turns[0].tool_calls
    assert (call.name, call.arguments, call.status) == ("f", {}, "ok")


def test_tok_012__ids_decide_what_is_markup() -> None:
    text: str = json.loads(CASES["tok-012"]["input"])["text"]
    ids = spell(text)
    assert ADDED_IDS["<tool_call>"] not in ids
    turn = interpret(ids, tokenizer=vocabulary())
    assert (turn.content, turn.tool_calls) == (text, ())
    # A whole call that only quotes what a call looks like.
    quoted = "For example:\n<tool_call>\n<function=f>\n</function>\n</tool_call>"
    as_text = interpret(quoted)
    as_ids = interpret(spell(quoted), tokenizer=vocabulary())
    assert [call.name for call in as_text.tool_calls] == ["f"]  # Text alone cannot know.
    assert (as_ids.content, as_ids.tool_calls) == (quoted, ())
    assert len(interpret(encode(quoted), tokenizer=vocabulary()).tool_calls) == 1
