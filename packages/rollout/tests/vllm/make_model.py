"""Makes a small Qwen3 model that has learnt some conversations by heart, for a real server to serve.

It runs under the Python that has torch and transformers, not under ours::

    python make_model.py CONVERSATIONS FOLDER [STEPS]

``CONVERSATIONS`` has one JSON object a line: ``tools`` and ``messages`` in the form of the chat API,
with the text of each assistant turn in ``raw``. ``FOLDER`` becomes a model as hubs hold it, with a
tokenizer of its own and a chat template in the manner of Qwen3.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from pathlib import Path
from typing import Any

CONTROL = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>",
    "</tool_call>",
)  # fmt: skip
CONTEXT = 4096

TEMPLATE = """\
{%- if tools %}<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content }}

{% endif %}# Tools
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% elif messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' %}<|im_start|>user
{{ message.content }}<|im_end|>
{% elif message.role == 'assistant' %}<|im_start|>assistant
{% if message.raw is defined %}{{ message.raw }}{% else %}{% if message.reasoning_content %}<think>
{{ message.reasoning_content.strip('\n') }}
</think>

{% endif %}{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}
{%- set function = call.function %}
<tool_call>
<function={{ function.name }}>
{% for name, value in function.arguments.items() %}<parameter={{ name }}>
{{ value if value is string else value | tojson }}
</parameter>
{% endfor %}</function>
</tool_call>
{%- endfor %}{% endif %}<|im_end|>
{% elif message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and not enable_thinking %}<think>

</think>

{% endif %}{% endif %}"""


def make_tokenizer(texts: list[str], folder: Path) -> Any:
    """A byte-level tokenizer, so that every text has ids, with the control tokens of Qwen3."""
    tokenizers = importlib.import_module("tokenizers")
    transformers = importlib.import_module("transformers")
    own = tokenizers.Tokenizer(tokenizers.models.BPE())
    own.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    own.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    own.train_from_iterator(texts, trainer)
    # As in Qwen3 these are tokens of their own, but shown when text is decoded.
    own.add_tokens([tokenizers.AddedToken(each, special=False) for each in CONTROL[3:]])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=own,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    return tokenizer


def samples(conversations: list[dict[str, Any]], tokenizer: Any) -> list[tuple[list[int], Any]]:
    """Each conversation: its ids, and those of them that the assistant is to write."""
    opens = tokenizer.encode("<|im_start|>assistant\n", add_special_tokens=False)
    found = []
    for each in conversations:
        text = tokenizer.apply_chat_template(each["messages"], tools=each["tools"], tokenize=False)
        ids = tokenizer.encode(text, add_special_tokens=False)
        labels, at = [-100] * len(ids), 0
        while at < len(ids):
            if ids[at : at + len(opens)] != opens:
                at += 1
                continue
            at += len(opens)
            end = ids.index(tokenizer.eos_token_id, at) + 1
            labels[at:end] = ids[at:end]
            at = end
        found.append((ids, labels))
    return found


def learn(model: Any, data: list[tuple[list[int], Any]], steps: int) -> float:
    """Train on the assistants' turns alone; returns the mean loss of the last steps."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)  # two on busy cores wait for each other
    torch.manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1.0, (step + 1) / 20) * 0.5 * (1 + math.cos(math.pi * step / steps)),
    )
    order: list[int] = []
    losses = []
    for step in range(steps):
        if not order:
            order += torch.randperm(len(data)).tolist()
        ids, labels = (torch.tensor([each]) for each in data[order.pop()])
        loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
    return sum(losses[-10:]) / len(losses[-10:])


def main(source: str, target: str, steps: str = "250") -> None:
    """Make the model."""
    transformers = importlib.import_module("transformers")
    folder = Path(target)
    with open(source, encoding="utf-8") as file:
        conversations = [json.loads(line) for line in file]
    texts = [json.dumps(each, ensure_ascii=False) for each in conversations]
    texts += [
        str(message.get(part) or "")
        for each in conversations
        for message in each["messages"]
        for part in ("content", "raw")
    ]
    tokenizer = make_tokenizer(texts, folder)
    data = samples(conversations, tokenizer)
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    transformers.set_seed(0)
    model = transformers.Qwen3ForCausalLM(config)
    model.generation_config.do_sample = True
    longest = max(len(ids) for ids, _ in data)
    print(f"{len(data)} conversations, at most {longest} tokens, {model.num_parameters()} parameters")
    loss = learn(model, data, int(steps))
    model.save_pretrained(folder)
    print(f"loss {loss:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
