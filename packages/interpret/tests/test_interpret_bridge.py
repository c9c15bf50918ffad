"""The next turn behind what stands: token for token, or refused with a place and a cause."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import outcomebox.interpret as face
from interpret_tokenizers import (
    ADDED_IDS,
    IM_END,
    HubTokenizer,
    JinjaChat,
    encode,
    hub,
    qwen,
    small_byte_level,
)
from outcomebox.interpret.tokens import (
    ALL_DRIFTS,
    CAUSES,
    ChatTemplate,
    DriftCode,
    Marks,
    RenderersTemplate,
    TurnRefused,
    drifts,
    next_turn,
    renderer_named,
)

TEMPLATES: dict[str, Callable[..., ChatTemplate]] = {
    "qwen3, library": lambda **more: library("qwen3", **more),
    "qwen3.5, library": lambda **more: library("qwen3.5", **more),
    "qwen3.6, library": lambda **more: library("qwen3.6", **more),
    "qwen3, jinja": lambda **more: ChatTemplate(JinjaChat("qwen3", **more), qwen(), "hermes"),
    "qwen3.5, jinja": lambda **more: ChatTemplate(JinjaChat("qwen3_5", **more), qwen()),
    "qwen3.6, jinja": lambda **more: ChatTemplate(JinjaChat("qwen3_6", **more), qwen()),
}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "find",
            "description": "Finds.",
            "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
        },
    }
]


def library(name: str, **options: Any) -> RenderersTemplate:
    style = "hermes" if name == "qwen3" else "qwen3_xml"
    return RenderersTemplate(renderer_named(name, qwen(), **options), qwen(), style)


@pytest.fixture(params=TEMPLATES)
def template(request: pytest.FixtureRequest) -> ChatTemplate:
    return TEMPLATES[request.param]()


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def tool(text: str) -> dict[str, Any]:
    return {"role": "tool", "content": text}


def assistant(
    reasoning: str, content: str = "", calls: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    made: dict[str, Any] = {"role": "assistant", "content": content}
    if reasoning:
        made["reasoning_content"] = reasoning
    if calls:
        made["tool_calls"] = [
            {"type": "function", "function": {"name": "find", "arguments": each}} for each in calls
        ]
    return made


def sampled(
    template: ChatTemplate, prompt: Sequence[int], messages: list[Any], tools: Any = TOOLS
) -> list[int]:
    """Return what a model would sample for the last message, its end included."""
    begun = template.marks.text(prompt)
    whole = template.marks.text(template.ids(messages, tools=tools))
    shared = begun.rpartition("<|im_start|>assistant\n")[0] + "<|im_start|>assistant\n"
    text = whole[len(shared) :].removesuffix("\n")
    return encode(text.removeprefix(begun[len(shared) :]))


def test_an_episode_is_appended_token_for_token(template: ChatTemplate) -> None:
    messages = [{"role": "system", "content": "Be brief."}, user("Where is 00501?")]
    turns = [
        (assistant("Look.", "", [{"what": "00501"}]), [tool("Holtsville")]),
        (
            assistant("Again.", "One more.", [{"what": "é中🎉"}, {"what": "true"}]),
            [tool("a"), tool("b")],
        ),
        (assistant("Look.", "", [{"what": "<b>"}]), [tool("")]),
    ]
    prompt = template.ids(messages, tools=TOOLS, generation=True)
    for message, new in turns:
        messages.append(message)
        ids = sampled(template, prompt, messages)
        found = next_turn(
            template,
            prompt_ids=prompt,
            sampled_ids=ids,
            messages=messages,
            new_messages=new,
            tools=TOOLS,
        )
        assert list(found.ids[: len(prompt) + len(ids)]) == [*prompt, *ids]
        assert list(found.ids) == [*prompt, *ids, *found.context]
        assert found.witnessed is (True if isinstance(template, RenderersTemplate) else None)
        messages += new
        anew = template.ids(messages, tools=TOOLS, generation=True)
        assert list(found.context) == anew[-len(found.context) :]
        assert template.marks.text(found.ids) == template.marks.text(anew)
        if not isinstance(template, RenderersTemplate):
            assert list(found.ids) == anew
            assert found.drifts == ()
        prompt = list(found.ids)


def test_where_the_library_splits_what_the_template_joins_is_seen() -> None:
    """Behind a text the library encodes the newlines before a call alone; its text is the same."""
    own = ChatTemplate(JinjaChat("qwen3_5"), qwen())
    messages = [user("q"), assistant("t", "One more.", [{"what": "x"}])]
    (drift,) = drifts(own.ids(messages), library("qwen3.5").ids(messages), own.marks)
    assert drift.code == "retokenised"
    assert own.marks.text(drift.standing[:1]) == ".\n\n"
    assert [own.marks.text([each]) for each in drift.rendered[:2]] == [".", "\n\n"]


WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="<>|"), max_size=12
).map(str.strip)


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(WORDS, min_size=4, max_size=4),
    cuts=st.lists(st.integers(0, 40), max_size=6),
    results=st.lists(WORDS, min_size=1, max_size=3),
)
def test_what_was_sampled_stands_however_its_words_were_split(
    words: list[str], cuts: list[int], results: list[str]
) -> None:
    template = CACHED.setdefault("t", library("qwen3.6"))
    messages = [
        user(words[0] or "q"),
        assistant(words[1] or "t", words[2], [{"what": words[3]}]),
    ]
    prompt = template.ids(messages[:1], tools=TOOLS, generation=True)
    ids = sampled(template, prompt, messages)
    for cut in sorted({each for each in cuts if each < len(ids) - 1}, reverse=True):
        data = qwen().decode_single_token_bytes(ids[cut])
        if ids[cut] < ADDED_IDS["<|endoftext|>"]:
            ids[cut : cut + 1] = [qwen().encode_single_token(bytes([byte])) for byte in data]
    found = next_turn(
        template,
        prompt_ids=prompt,
        sampled_ids=ids,
        messages=messages,
        new_messages=list(map(tool, results)),
        tools=TOOLS,
    )
    anew = template.ids([*messages, *map(tool, results)], tools=TOOLS, generation=True)
    assert list(found.ids[: len(prompt) + len(ids)]) == [*prompt, *ids]
    assert template.marks.text(found.ids) == template.marks.text(anew)
    assert list(found.context) == anew[-len(found.context) :]
    assert {each.code for each in found.drifts} <= {"retokenised"}
    assert bool(found.drifts) == (list(found.ids) != anew)
    assert found.witnessed is True


CACHED: dict[str, ChatTemplate] = {}


def test_a_word_that_was_sampled_in_two_tokens_is_not_joined(template: ChatTemplate) -> None:
    messages = [user("q"), assistant("t", "An international call.", [{"what": "x"}])]
    prompt = template.ids(messages[:1], tools=TOOLS, generation=True)
    ids = sampled(template, prompt, messages)
    at = ids.index(6489)
    ids[at : at + 1] = [946, 41140]
    arguments: dict[str, Any] = {
        "prompt_ids": prompt,
        "sampled_ids": ids,
        "messages": messages,
        "new_messages": [tool("r")],
        "tools": TOOLS,
    }
    found = next_turn(template, **arguments)
    assert list(found.ids[: len(prompt) + len(ids)]) == [*prompt, *ids]
    (drift,) = found.drifts
    assert (drift.code, drift.at) == ("retokenised", len(prompt) + at)
    assert (drift.standing[:2], drift.rendered[0]) == ((946, 41140), 6489)
    with pytest.raises(TurnRefused) as refused:
        next_turn(template, **arguments, accept=())
    assert (refused.value.code, refused.value.index) == ("retokenised", len(prompt) + at)
    assert refused.value.to_json()["drifts"][0]["at"] == len(prompt) + at


@pytest.mark.parametrize("name", [each for each in TEMPLATES if "qwen3.6" not in each])
def test_with_thinking_off_a_new_question_keeps_the_empty_block(name: str) -> None:
    template = TEMPLATES[name](enable_thinking=False)
    messages = [user("q"), assistant("", "An answer.")]
    prompt = template.ids(messages[:1], generation=True)
    assert template.marks.text(prompt).endswith("<think>\n\n</think>\n\n")
    ids = encode("An answer.<|im_end|>")
    found = next_turn(
        template,
        prompt_ids=prompt,
        sampled_ids=ids,
        messages=messages,
        new_messages=[user("And now?")],
    )
    assert found.ids[: len(prompt) + len(ids)] == (*prompt, *ids)
    if "jinja" in name:
        assert [each.code for each in found.drifts] == ["empty_thinking"]


def test_where_a_template_keeps_thinking_a_new_question_is_appended() -> None:
    template = ChatTemplate(JinjaChat("qwen3_6", preserve_thinking=True), qwen())
    same = library("qwen3.6", preserve_thinking=True)
    messages = [user("q"), assistant("t", "a")]
    prompt = template.ids(messages[:1], generation=True)
    ids = sampled(template, prompt, messages, None)
    for each in (template, same):
        found = next_turn(
            each, prompt_ids=prompt, sampled_ids=ids, messages=messages, new_messages=[user("b")]
        )
        assert found.drifts == ()
        assert list(found.ids) == template.ids([*messages, user("b")], generation=True)


CUTS = {
    "in the answer": ("\n</think>\n\nAn ans", assistant("t", "An ans"), ["<|im_end|>"]),
    "in the reasoning": ("", assistant("t"), ["</think>", "<|im_end|>"]),
}


@pytest.mark.parametrize("where", CUTS)
@pytest.mark.parametrize("name", ["qwen3.5, library", "qwen3.5, jinja"])
def test_a_turn_that_was_cut_is_ended_as_context(where: str, name: str) -> None:
    template = TEMPLATES[name]()
    rest, message, added = CUTS[where]
    prompt = template.ids([user("q")], generation=True)
    arguments: dict[str, Any] = {
        "prompt_ids": prompt,
        "sampled_ids": encode("t" + rest),
        "messages": [user("q"), message],
        "new_messages": [tool("Your turn was cut.")],
    }
    with pytest.raises(TurnRefused, match="pass close=True") as refused:
        next_turn(template, **arguments)
    assert refused.value.code == "not_ended"
    found = next_turn(template, **arguments, close=True)
    assert list(found.context[: len(added)]) == [ADDED_IDS[each] for each in added]
    assert found.ids[: len(prompt)] == tuple(prompt)
    assert found.witnessed is (True if "library" in name else None)


BASE: dict[str, Any] = {
    "messages": [user("q"), assistant("t", "a")],
    "new_messages": [tool("r")],
    "sampled_ids": encode("t\n</think>\n\na<|im_end|>"),
}
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "nothing new": ({"new_messages": []}, "nothing_new", "new_messages is empty"),
    "an assistant's turn": (
        {"new_messages": [assistant("", "b")]},
        "assistant_in_new",
        "append its sampled ids",
    ),
    "no assistant's turn": ({"messages": [user("q")]}, "no_assistant", "messages ends with user"),
    "no messages": ({"messages": []}, "no_assistant", "messages ends with nothing"),
    "results one by one": (
        {"messages": [user("q"), assistant("t"), tool("r")]},
        "tool_merging",
        "give them together",
    ),
    "nothing sampled": ({"sampled_ids": []}, "nothing_sampled", "the turn has no ids"),
    "more behind the end": (
        {"sampled_ids": encode("a<|im_end|>b<|im_end|>")},
        "text_after_end",
        r"sampled_ids\[1\] ends the turn",
    ),
    "no end": ({"sampled_ids": encode("a")}, "not_ended", "close=True"),
    "another end": (
        {"sampled_ids": encode("t\n</think>\n\na<|endoftext|>")},
        "end_of_turn",
        "ends with another token",
    ),
    "another text": (
        {"sampled_ids": encode("t\n</think>\n\nb<|im_end|>")},
        "text",
        "as it was sampled",
    ),
    "a tool's result behind a question": (
        {"new_messages": [user("b"), tool("r")]},
        "tool_alone",
        r"messages\[3\] is a tool result behind user",
    ),
    "no question": (
        {"messages": [assistant("t", "a")]},
        "needs_user_query",
        "no user asks anything",
    ),
    "an unknown role": (
        {"new_messages": [{"role": "critic", "content": "r"}]},
        "template_error",
        "Unexpected message role",
    ),
}


@pytest.mark.parametrize(("change", "code", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(change: dict[str, Any], code: str, says: str) -> None:
    template = ChatTemplate(JinjaChat("qwen3_5"), qwen())
    prompt = template.ids([user("q")], generation=True)
    with pytest.raises(TurnRefused, match=says) as refused:
        next_turn(template, prompt_ids=prompt, **(BASE | change))
    assert refused.value.code == code


def test_an_unknown_cause_is_not_accepted() -> None:
    template = ChatTemplate(JinjaChat("qwen3_5"), qwen())
    with pytest.raises(ValueError, match=r"unknown causes \['thought'\]; use some of"):
        next_turn(template, prompt_ids=[1], **BASE, accept={"thought"})  # type: ignore[arg-type]


def test_everything_can_be_accepted_by_name() -> None:
    template = ChatTemplate(JinjaChat("qwen3_5"), qwen())
    prompt = template.ids([user("other")], generation=True)
    ids = encode("u\n</think>\n\nb<|im_end|>")
    found = next_turn(
        template, prompt_ids=prompt, **(BASE | {"sampled_ids": ids}), accept=ALL_DRIFTS
    )
    assert found.ids[: len(prompt) + len(ids)] == (*prompt, *ids)
    assert [each.turn for each in found.drifts] == [0, 1]


def test_a_bridge_that_differs_from_the_render_is_refused() -> None:
    class Lossy:
        """A renderer whose bridge loses the newline behind the end of a turn."""

        def __init__(self) -> None:
            self._inner = renderer_named("qwen3.5", qwen())

        def render_ids(self, *args: Any, **options: Any) -> Any:
            return self._inner.render_ids(*args, **options)

        def bridge_to_next_turn(self, prompt: Any, ids: Any, *args: Any, **options: Any) -> Any:
            found = self._inner.bridge_to_next_turn(prompt, ids, *args, **options)
            del found.token_ids[len(prompt) + len(ids)]
            return found

    template = RenderersTemplate(Lossy(), qwen())
    prompt = template.ids([user("q")], generation=True)
    with pytest.raises(TurnRefused, match="other ids than its render") as refused:
        next_turn(template, prompt_ids=prompt, **BASE)
    assert refused.value.code == "bridges_differ"
    assert refused.value.index == len(prompt) + len(BASE["sampled_ids"])


# -- causes of a difference -----------------------------------------------------------------------

CALL = "<tool_call>\n<function=f>\n<parameter=a>\n{}\n</parameter>\n</function>\n</tool_call>"
THOUGHT = (
    "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n<think>\n{}\n</think>\n\n{}<|im_end|>"
)
PLAIN = "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n{}<|im_end|>"
RESULT = "<tool_response>\nr\n</tool_response>"
PAIRS: dict[DriftCode, tuple[str, str]] = {
    "thinking_stripped": (THOUGHT.format("t", "a"), PLAIN.format("a")),
    "empty_thinking": (THOUGHT.format("", "a"), PLAIN.format("a")),
    "thinking_added": (PLAIN.format("a"), THOUGHT.format("t", "a")),
    "call_missing": (PLAIN.format(CALL.format(1)), PLAIN.format("")),
    "call_added": (PLAIN.format(""), PLAIN.format(CALL.format(1))),
    "arguments_rewritten": (PLAIN.format(CALL.format("true")), PLAIN.format(CALL.format("True"))),
    "boundary_newline": (
        PLAIN.format("a").replace("<|im_end|>\n", "<|im_end|>"),
        PLAIN.format("a"),
    ),
    "white_space": (PLAIN.format("a\n"), PLAIN.format("a")),
    "end_of_turn": (PLAIN.format("a")[:-10] + "<|endoftext|>", PLAIN.format("a")),
    "text": (PLAIN.format("a"), PLAIN.format("b")),
    "system_prompt": (PLAIN.format("a"), "<|im_start|>system\ns<|im_end|>\n" + PLAIN.format("a")),
    "tool_merging": (
        f"<|im_start|>user\n{RESULT}<|im_end|>\n<|im_start|>user\n{RESULT}<|im_end|>",
        f"<|im_start|>user\n{RESULT}\n{RESULT}<|im_end|>",
    ),
    "turn_missing": (PLAIN.format("a") + "\n<|im_start|>user\nc<|im_end|>", PLAIN.format("a")),
    "turn_added": (PLAIN.format("a"), PLAIN.format("a") + "\n<|im_start|>user\nc<|im_end|>"),
}


@pytest.mark.parametrize("code", PAIRS)
def test_the_cause_of_a_difference(code: DriftCode) -> None:
    standing, rendered = map(encode, PAIRS[code])
    found = drifts(standing, rendered, Marks(qwen()))
    assert [each.code for each in found] == [code]
    (drift,) = found
    assert standing[: drift.at] == rendered[: drift.at]
    assert standing[drift.at : drift.at + 1] != rendered[drift.at : drift.at + 1]
    assert drift.message.startswith(CAUSES[code])
    assert drifts(standing, standing, Marks(qwen())) == ()


def test_every_cause_is_tested() -> None:
    assert set(PAIRS) | {"retokenised"} == ALL_DRIFTS == set(CAUSES)


def test_a_harmless_difference_does_not_hide_a_grave_one_behind_it() -> None:
    standing = encode(PLAIN.format(CALL.format("true")) + "\n" + THOUGHT.format("t", "a"))
    rendered = encode(PLAIN.format(CALL.format("True")) + "\n" + PLAIN.format("a"))
    found = drifts(standing, rendered, Marks(qwen()))
    assert [(each.code, each.turn) for each in found] == [
        ("arguments_rewritten", 1),
        ("thinking_stripped", 3),
    ]


def test_a_system_message_that_differs_is_named() -> None:
    texts = [f"<|im_start|>system\n{each}<|im_end|>\n" + PLAIN.format("a") for each in "st"]
    (drift,) = drifts(encode(texts[0]), encode(texts[1]), Marks(qwen()))
    assert (drift.code, drift.turn, drift.at) == ("system_prompt", 0, 3)


# -- templates ------------------------------------------------------------------------------------


def shapes(ids: list[int]) -> dict[str, Any]:
    class Encoded:
        def __init__(self) -> None:
            self.ids = ids

    return {
        "list": ids,
        "tuple": tuple(ids),
        "mapping": {"input_ids": ids, "attention_mask": [1] * len(ids)},
        "batch": {"input_ids": [ids]},
        "encoding": Encoded(),
    }


@pytest.mark.parametrize("shape", shapes([]))
def test_whatever_a_template_function_returns_is_read(shape: str) -> None:
    chat = JinjaChat("qwen3_5")
    wanted = chat([user("q")])

    def render(messages: Any, **options: Any) -> Any:
        return shapes(chat(messages, **options))[shape]

    assert ChatTemplate(render, qwen()).ids([user("q")]) == wanted


def test_a_template_that_returns_text_is_an_error() -> None:
    template = ChatTemplate(lambda *_, **__: "text", qwen())
    with pytest.raises(TypeError, match="returned str, not ids; let it tokenize"):
        template.ids([user("q")])


def test_the_template_of_a_tokenizer_of_transformers() -> None:
    class WithTemplate(HubTokenizer):
        def apply_chat_template(self, messages: Any, *, tokenize: bool, **options: Any) -> Any:
            assert tokenize
            thinking = options.pop("enable_thinking")
            ids = JinjaChat("qwen3_5", enable_thinking=thinking)(messages, **options)
            return {"input_ids": ids}

    template = ChatTemplate.of_tokenizer(WithTemplate(), enable_thinking=False)
    ids = template.ids([user("q")], generation=True)
    assert template.marks.text(ids).endswith("<think>\n\n</think>\n\n")


@pytest.mark.parametrize("tokenizer", [qwen, hub], ids=["tiktoken", "transformers"])
def test_the_library_takes_a_tokenizer_of_either_kind(tokenizer: Any) -> None:
    template = RenderersTemplate(renderer_named("qwen3.5", tokenizer()), tokenizer())
    wanted = ChatTemplate(JinjaChat("qwen3_5"), qwen())
    messages = [user("q"), assistant("t", "a", [{"what": "x", "n": 1, "on": True}]), tool("r")]
    for generation in (False, True):
        assert template.ids(messages, tools=TOOLS, generation=generation) == wanted.ids(
            messages, tools=TOOLS, generation=generation
        )


def test_the_library_takes_a_tokenizer_of_tokenizers() -> None:
    tokenizer = small_byte_level()
    template = RenderersTemplate(renderer_named("qwen3.5", tokenizer), tokenizer)
    text = JinjaChat("qwen3_5").text([user("Hello there")], add_generation_prompt=True)
    ids = template.ids([user("Hello there")], generation=True)
    assert template.marks.text(ids) == text
    assert ids == tokenizer.encode(text).ids


def test_errors_of_the_library_name_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"renderer 'qwen9' is unknown; use one of: .*qwen3\.5"):
        renderer_named("qwen9", qwen())
    monkeypatch.setitem(sys.modules, "renderers", None)
    with pytest.raises(ImportError, match=r"install outcomebox-interpret\[tokens\]"):
        renderer_named("qwen3.5", qwen())


def test_nothing_of_others_is_imported_until_it_is_asked_for() -> None:
    root = str(Path(face.__file__).parents[2])
    code = (
        f"import sys; sys.path.insert(0, {root!r}); before = set(sys.modules)\n"
        "import outcomebox.interpret.tokens as tokens\n"
        "[getattr(tokens, name) for name in tokens.__all__]\n"
        "print(*sorted({each.partition('.')[0] for each in set(sys.modules) - before}))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) - sys.stdlib_module_names == {"outcomebox"}


def test_an_unknown_name_of_the_face_is_an_attribute_error() -> None:
    from outcomebox.interpret import tokens

    with pytest.raises(AttributeError, match="has no attribute 'encode'"):
        _ = tokens.encode
    assert IM_END in Marks(qwen()).ends
