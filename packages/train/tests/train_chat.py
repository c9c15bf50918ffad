"""A model's folder without the model: a small tokenizer, and chat templates of both manners."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from outcomebox.interpret.tokens import vocabulary
from outcomebox.rollout.policies.modelfolder import model_folder
from outcomebox.train.verl.chat import Chat

QWEN = Path(__file__).parents[2] / "interpret" / "tests" / "tokens" / "qwen3_5.jinja"
"""Qwen3.5's own template: it opens the reasoning, and leaves thoughts out once the user speaks."""

CONTROL = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>",
    "</tool_call>", "<tool_response>", "</tool_response>",
)  # fmt: skip

PLAIN = """\
{%- for tool in tools or [] %}{{ tool | tojson }}
{% endfor %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.reasoning_content %}<think>
{{ message.reasoning_content.strip('\\n') }}
</think>

{% endif %}{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}
{%- if message.content or not loop.first %}
{{ '\\n' }}
{%- endif %}<tool_call>
<function={{ call.function.name }}>
{% for name, value in call.function.arguments.items() %}<parameter={{ name }}>
{{ value if value is string else value | tojson }}
</parameter>
{% endfor %}</function>
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
"""Writes every turn as it was: a prompt always goes on from the turn before."""


def make_model(folder: Path, template: str = PLAIN) -> Path:
    """Write the folder; a few pairs of letters have an id of their own.

    Args:
        folder: Made if it is not there.
        template: The chat template.
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
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def chat_without_library(folder: Path, **options: object) -> Chat:
    """Template and tokenizer of a folder, without transformers.

    Args:
        folder: The model's folder.
        **options: Variables of the template.
    """
    found = model_folder(folder, "qwen3_xml", dict(options))
    marks = found.template.marks
    return Chat(
        found.template, vocabulary.vocabulary_of(found.tokenizer), marks.ends, marks.format.name
    )
