"""A tokenizer for tests of plugs: each marker is one token, and so is each other character."""

import re
from typing import ClassVar

MARKERS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_start|>", "<|im_end|>"]
SPLIT = re.compile("|".join(map(re.escape, MARKERS)) + "|(?s:.)")


class CharacterTokenizer:
    """What vLLM and verl ask of a tokenizer."""

    chat_template: str | None = None
    all_special_tokens: ClassVar = ["<|im_start|>", "<|im_end|>"]
    all_special_ids: ClassVar = [MARKERS.index(each) for each in ("<|im_start|>", "<|im_end|>")]
    pad_token = "<|im_end|>"
    eos_token_id = MARKERS.index("<|im_end|>")

    def __init__(self, template_end: str | None = None) -> None:
        if template_end is not None:
            self.chat_template = template_end

    def apply_chat_template(
        self, messages: list[dict[str, str]], *, add_generation_prompt: bool, tokenize: bool
    ) -> str:
        assert messages
        assert add_generation_prompt
        assert not tokenize
        return f"<|im_start|>user\n?<|im_end|>\n<|im_start|>assistant\n{self.chat_template}"

    def get_vocab(self) -> dict[str, int]:
        plain = {chr(each): each + 100 for each in range(32, 127)}
        return {**{text: at for at, text in enumerate(MARKERS)}, **plain, "\n": 110}

    def encode(self, text: str, **_: object) -> list[int]:
        known = {text: at for at, text in enumerate(MARKERS)}
        return [known[each] if each in known else ord(each) + 100 for each in SPLIT.findall(text)]

    def decode(self, ids: list[int], skip_special_tokens: bool = False, **_: object) -> str:
        skipped = self.all_special_ids if skip_special_tokens else ()
        return "".join(
            MARKERS[each] if each < 100 else chr(each - 100) for each in ids if each not in skipped
        )

    def convert_ids_to_tokens(self, ids: list[int], **_: object) -> list[str]:
        return [self.decode([each]) for each in ids]

    def convert_tokens_to_ids(self, token: str) -> int:
        return self.encode(token)[0]

    def __len__(self) -> int:
        return 0x110000 + 100
