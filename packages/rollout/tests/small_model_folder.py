"""A model's folder as hubs hold it, without the model: a small tokenizer and a chat template."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>",
           "</tool_call>")  # fmt: skip

TEMPLATE = """\
{%- for tool in tools or [] %}{{ tool | tojson }}
{% endfor %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.reasoning_content %}<think>
{{ message.reasoning_content.strip('\\n') }}
</think>

{% endif %}{{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{{ call.function | tojson }}
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def make_folder(folder: Path, *, context: str = TEMPLATE) -> Tokenizer:
    """Write the folder; returns its tokenizer.

    A few pairs of letters have an id of their own: what a model samples in single letters would be
    encoded in another way.
    """
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pairs = [("a", "b"), ("ab", "c"), ("o", "n"), ("Ċ", "Ċ"), ("e", "r")]
    names = [*letters, *("".join(pair) for pair in pairs)]
    tokenizer = Tokenizer(models.BPE({name: at for at, name in enumerate(names)}, pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(each, special=True) for each in CONTROL[:3]])
    tokenizer.add_tokens([AddedToken(each, special=False) for each in CONTROL[3:]])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(context, encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|im_end|>"}), "utf-8")
    return tokenizer
