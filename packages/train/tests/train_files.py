"""A model folder without weights worth the name, a pool of bundled tasks, and a settings file."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from outcomebox.rollout import RunSpec
from outcomebox.sandbox import SQLITE, load_tasks

CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>",
           "</tool_call>")  # fmt: skip

TEMPLATE = """\
{%- if tools %}<|im_start|>system
# Tools
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.reasoning_content %}<think>
{{ message.reasoning_content.strip('\\n') }}
</think>

{% endif %}{{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>
<function={{ call.function.name }}>
{%- for name, value in call.function.arguments.items() %}
<parameter={{ name }}>
{{ value if value is string else value | tojson }}
</parameter>
{%- endfor %}
</function>
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

CONFIG: Mapping[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "max_position_embeddings": 262144,
    "tie_word_embeddings": False,
}
TASKS = ("travel",)


def make_model(folder: Path, **config: Any) -> Path:
    """Write a model's folder: a small tokenizer, a chat template, config, one shard of nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    text, size = _tokenizer()
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    _json(folder / "tokenizer_config.json", {"eos_token": "<|im_end|>"})
    _json(folder / "config.json", {**CONFIG, "vocab_size": size, **config})
    header = b"{}"
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    return folder


@cache
def _tokenizer() -> tuple[str, int]:
    """A tokenizer that knows common words of the bundled tasks, as JSON, and its size."""
    tasks = load_tasks(list(TASKS))
    known = [each.query for each in tasks.tasks] + [each.policy for each in tasks.domains.values()]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(known, trainer)
    tokenizer.add_special_tokens([AddedToken(each, special=True) for each in CONTROL[:3]])
    tokenizer.add_tokens([AddedToken(each, special=False) for each in CONTROL[3:]])
    return tokenizer.to_str(), tokenizer.get_vocab_size()


@cache
def task_hashes(tasks: Sequence[str] = TASKS) -> Mapping[str, str]:
    """uid -> the task's digest, as a pool has it."""
    found = RunSpec(tasks=tuple(tasks)).tasks_on(SQLITE)
    return {task.uid: found.versions(task)["task"] for task in found.tasks}


def make_pool(
    folder: Path,
    *,
    tasks: Sequence[str] = TASKS,
    count: int = 20,
    test: int = 4,
    change: Mapping[str, Any] | None = None,
) -> Path:
    """Write a pool of the first bundled tasks, as a selection would have it.

    Args:
        folder: Is made.
        tasks: Where they come from.
        count: Tasks of the train side.
        test: Tasks of the test side.
        change: Fields of the first task that are to be others.
    """
    folder.mkdir(parents=True, exist_ok=True)
    hashes = list(task_hashes(tuple(tasks)).items())[: count + test]
    assert len(hashes) == count + test
    rows = [
        {
            "uid": uid,
            "domain": uid.split("/")[0],
            "family": "/".join(uid.split("/")[:2]),
            "hash": digest,
            "band": "intermediate",
            "passes": 4,
            "clean_runs": 8,
        }
        for uid, digest in hashes
    ]
    rows[0] |= dict(change or {})
    for side, some in (("train", rows[:count]), ("test", rows[count:])):
        plain = {"pool": {"format": "outcomebox-pool/1", "side": side}, "tasks": some}
        (folder / f"{side}.yaml").write_text(yaml.safe_dump(plain, sort_keys=False), "utf-8")
    return folder


def make_run(
    folder: Path,
    preset: str = "1xgpu",
    change: Mapping[str, Any] | None = None,
    *,
    model: Path | None = None,
    pool: Path | None = None,
) -> Path:
    """Write a settings file whose dry run is right, but for what is changed.

    Args:
        folder: Is made; model and pool are made in it where none are given.
        preset: What it starts from.
        change: Dotted field -> value; a value of ``...`` takes the field away.
        model: A model's folder.
        pool: A pool's folder.
    """
    plain: dict[str, Any] = {
        "preset": preset,
        "out": "runs/first",
        "model": {"path": str(model or make_model(folder / "model"))},
        "pool": {"path": str(pool or make_pool(folder / "pool")), "no_benchmark": True},
        "episodes": {"tasks": list(TASKS)},
    }
    if preset == "cpu":  # the lamps of the live tests have shorter prompts than these tasks
        plain["lengths"] = {"prompt": 16384, "response": 16384}
        plain["parallel"] = {"tokens_per_gpu": 32768}
    for dotted, value in (change or {}).items():
        *sections, field = dotted.split(".")
        holder = plain
        for section in sections:
            holder = holder.setdefault(section, {})
        if value is ...:
            holder.pop(field, None)
        else:
            holder[field] = value
    file = folder / "run.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(plain, sort_keys=False), encoding="utf-8")
    return file


def _json(file: Path, plain: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(plain, indent=1), encoding="utf-8")
