"""Real tokenizers for the tests of tokens: Qwen's BPE in three dresses, and some made here.

The files are in `tokens/`; its README says where they come from.
"""

import base64
import hashlib
import json
import lzma
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import tiktoken
import tokenizers
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers

from outcomebox.interpret.tokens import Vocabulary

FOLDER = Path(__file__).parent / "tokens"

PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How Qwen's tokenizers cut a text before they merge."""

ADDED = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
)
"""Qwen3's added tokens; the first has id 151643."""

FIRST_ADDED = 151643
ADDED_IDS = {text: FIRST_ADDED + place for place, text in enumerate(ADDED)}
IM_START, IM_END = ADDED_IDS["<|im_start|>"], ADDED_IDS["<|im_end|>"]
NEWLINE = 198


@cache
def ranks() -> dict[bytes, int]:
    """Return Qwen's BPE: the bytes of each token -> its id."""
    data = lzma.decompress((FOLDER / "qwen.tiktoken.xz").read_bytes())
    digest = hashlib.sha256(data).hexdigest()
    assert digest == "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186"
    pairs = (line.split() for line in data.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


@cache
def qwen(*, markers: bool = True) -> tiktoken.Encoding:
    """Return Qwen3's tokenizer; without `markers` that of a model that has none of their tokens."""
    added = ADDED_IDS if markers else {each: ADDED_IDS[each] for each in ADDED[:3]}
    return tiktoken.Encoding(
        "qwen3", pat_str=PATTERN, mergeable_ranks=ranks(), special_tokens=dict(added)
    )


@cache
def vocabulary(*, markers: bool = True) -> Vocabulary:
    """Return Qwen3's tokenizer as `interpret` takes it."""
    return Vocabulary(qwen(markers=markers))


def encode(text: str) -> list[int]:
    """Return the ids of a text in which spelled markers are their tokens, as in a prompt."""
    return qwen().encode(text, allowed_special="all")


def spell(text: str) -> list[int]:
    """Return the ids of a text in which nothing is a special token."""
    return qwen().encode(text, disallowed_special=())


class HubTokenizer:
    """Qwen3's BPE with the methods that tokenizers of transformers have.

    Arguments:
        special: Added tokens that are labelled special, so that decoding may skip them.
    """

    name_or_path = "Qwen/Qwen3.5-4B"
    unk_token_id: int | None = None
    eos_token_id = IM_END

    def __init__(self, special: Sequence[str] = ADDED, *, markers: bool = True) -> None:
        self._encoding = qwen(markers=markers)
        self._added = dict(ADDED_IDS if markers else {each: ADDED_IDS[each] for each in ADDED[:3]})
        self.all_special_tokens = [each for each in special if each in self._added]
        self.all_special_ids = [self._added[each] for each in self.all_special_tokens]

    def __len__(self) -> int:
        return FIRST_ADDED + len(self._added)

    def get_added_vocab(self) -> dict[str, int]:
        return dict(self._added)

    def get_vocab(self) -> dict[str, int]:
        return byte_level_vocab() | self._added

    def convert_tokens_to_ids(self, tokens: str) -> int | None:
        return self.get_added_vocab().get(tokens)

    def encode(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        return self._encoding.encode(text, allowed_special="all")

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        skipped = set(self.all_special_ids) if skip_special_tokens else set()
        return self._encoding.decode([each for each in token_ids if each not in skipped])


@cache
def hub() -> HubTokenizer:
    """Return Qwen3's tokenizer as transformers has it."""
    return HubTokenizer()


@cache
def byte_level_vocab() -> dict[str, int]:
    """Return the vocabulary of Qwen's BPE as a `tokenizer.json` spells it."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    spelled = {byte: chr(byte) for byte in plain}
    spelled |= {byte: chr(256 + place) for place, byte in enumerate(others)}
    return {"".join(spelled[byte] for byte in token): rank for token, rank in ranks().items()}


def _pairs(vocabulary: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return the merges that make each token out of two that come before it."""
    merges: list[tuple[str, str]] = []
    for token, rank in sorted(vocabulary.items(), key=lambda each: each[1]):
        halves = [(token[:cut], token[cut:]) for cut in range(1, len(token))]
        known = [
            pair
            for pair in halves
            if all(half in vocabulary and vocabulary[half] < rank for half in pair)
        ]
        merges += known[:1]
    return merges


@cache
def small_byte_level() -> tokenizers.Tokenizer:
    """Return a byte-level BPE of the `tokenizers` library: Qwen's first 3,000 tokens."""
    vocabulary = {token: rank for token, rank in byte_level_vocab().items() if rank < 3000}
    made = tokenizers.Tokenizer(models.BPE(vocab=vocabulary, merges=_pairs(vocabulary)))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(each, normalized=False) for each in ADDED[:14]])
    made.add_tokens([AddedToken(each, normalized=False) for each in ADDED[14:]])
    return made


@cache
def byte_fallback(*, strip: bool) -> tokenizers.Tokenizer:
    """Return a sentencepiece-like BPE with byte fallback, as Llama 2 (`strip`) and Gemma have."""
    words = ["\u2581", "a", "b", "c", "d", "e", "h", "l", "o", "t", "n", ".", "<", ">", "/", "_"]
    words += ["th", "he", "ll", "\u2581a", "\u2581th", "\u2581the", "an", "\u2581\u2581", "é"]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *words]
    vocabulary = {token: place for place, token in enumerate(tokens)}
    merges = [pair for pair in _pairs(vocabulary) if not pair[0].startswith("<0")]
    merges = [pair for pair in merges if vocabulary["".join(pair)] > 258]
    made = tokenizers.Tokenizer(
        models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>", byte_fallback=True)
    )
    steps: list[Any] = [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    made.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)] if strip else steps)
    made.add_special_tokens([AddedToken("<tool_call>", normalized=False)])
    made.add_tokens([AddedToken("<think>", normalized=False)])
    return made


class Words:
    """A tokenizer that only knows to decode: each id is one of these texts or bytes."""

    def __init__(self, tokens: Sequence[str | bytes]) -> None:
        self._tokens = [each.encode() if isinstance(each, str) else each for each in tokens]
        self._vocab = {each: at for at, each in enumerate(tokens) if isinstance(each, str)}

    def get_vocab(self) -> dict[str, int]:
        return self._vocab

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        return b"".join(self._tokens[each] for each in token_ids).decode("utf-8", "replace")


def _fail(message: str) -> None:
    raise jinja2.TemplateError(message)


def _tojson(value: Any, **_: Any) -> str:
    """Write JSON as chat templates are rendered: nothing escaped for HTML."""
    return json.dumps(value, ensure_ascii=False)


@cache
def _template(name: str) -> jinja2.Template:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = _fail
    environment.filters["tojson"] = _tojson
    return environment.from_string((FOLDER / f"{name}.jinja").read_text(encoding="utf-8"))


class JinjaChat:
    """A model's own chat template, as `apply_chat_template` renders it: messages -> ids.

    Arguments:
        name: `qwen2_5`, `qwen3`, `qwen3_5` or `qwen3_6`.
        options: Further variables of the template, as `enable_thinking`.
    """

    def __init__(self, name: str, **options: Any) -> None:
        self._name = name
        self._options = options

    def text(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Any = None,
        add_generation_prompt: bool = False,
    ) -> str:
        return _template(self._name).render(
            messages=messages,
            tools=tools,
            add_generation_prompt=add_generation_prompt,
            **self._options,
        )

    def __call__(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Any = None,
        add_generation_prompt: bool = False,
    ) -> list[int]:
        return encode(self.text(messages, tools=tools, add_generation_prompt=add_generation_prompt))
