"""The server of a trained model: who reads its output, and what is refused."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from outcomebox.sandbox import InputError
from outcomebox.train.commands.app import app
from outcomebox.train.launch.serving import check_release, reading_of
from train_files import make_run


@pytest.mark.parametrize(
    ("format_", "profile", "parsers", "release"),
    [
        ("qwen3_xml", "vllm-0.24", ("qwen3_xml", "qwen3"), "0.24"),
        ("qwen3_coder", "vllm-0.32", ("qwen3_coder", "qwen3"), "0.32"),
        ("hermes", "vllm-0.32-stream", ("hermes", "qwen3"), "0.32"),
        ("qwen3_xml", "strict", ("outcomebox_qwen3_xml", "outcomebox_qwen3_xml"), None),
        ("glm", "strict", ("outcomebox_glm", "outcomebox_glm"), None),
    ],
)
def test_the_reader_of_training_reads_on_the_server(
    format_: str, profile: str, parsers: tuple[str, str], release: str | None
) -> None:
    found = reading_of(format_, profile)
    assert (found.tools, found.reasoning) == parsers
    assert found.release == release


@pytest.mark.parametrize(
    ("format_", "profile", "told"),
    [
        ("qwen3_xml", "verl-0.9", "model.profile: is no reading of a vLLM server"),
        ("qwen3_xml", "sglang-0.5", "model.profile: is no reading of a vLLM server"),
        ("deepseek_r1", "vllm-0.24", "model.format: has no parser of vLLM's own that was compared"),
        ("qwen3_xml", "vllm-1", "unknown"),
    ],
)
def test_what_no_server_reads(format_: str, profile: str, told: str) -> None:
    with pytest.raises(InputError, match=told.replace(".", r"\.")):
        reading_of(format_, profile)


def test_a_server_of_another_release_is_refused() -> None:
    reading = reading_of("qwen3_xml", "vllm-0.24")
    check_release(reading, "0.24.0", "python")
    check_release(reading, "0.24", "python")
    with pytest.raises(InputError, match=r"has vLLM 0\.32\.0, and the model was trained with the"):
        check_release(reading, "0.32.0", "python")
    with pytest.raises(InputError, match=r"has vLLM 0\.240\.0"):
        check_release(reading, "0.240.0", "python")
    with pytest.raises(InputError, match="has no vLLM; pip install vllm there"):
        check_release(reading, None, "python")
    check_release(reading_of("glm", "strict"), "9.9", "python")


def serve(tmp_path: Path, change: dict[str, Any], *more: str) -> Result:
    """The command over a merged model."""
    file = make_run(tmp_path, "8xh100", change)
    return CliRunner().invoke(
        app, ["serve", str(tmp_path / "merged"), "--config", str(file), *more]
    )


def test_a_dry_start_prints_the_command(tmp_path: Path) -> None:
    change = {"model.chat_template": "own.jinja", "model.enable_thinking": False}
    result = serve(tmp_path, change, "--dry-run", "--port", "8100", "--name", "mine")
    assert result.exit_code == 0, result.output
    words = shlex.split(result.stdout.splitlines()[0])
    assert words[1:] == [
        "-m", "vllm.entrypoints.openai.api_server",
        "--model", f"{tmp_path}/merged",
        "--served-model-name", "mine",
        "--host", "127.0.0.1",
        "--port", "8100",
        "--enable-auto-tool-choice",
        "--tool-call-parser", "qwen3_xml",
        "--reasoning-parser", "qwen3",
        "--max-model-len", "65536",
        "--tensor-parallel-size", "2",
        "--chat-template", f"{tmp_path}/own.jinja",
        "--default-chat-template-kwargs", '{"enable_thinking": false}',
    ]  # fmt: skip
    assert result.stdout.splitlines()[1] == "It reads as vllm-0.24 does; needed: vLLM 0.24."
    plain = json.loads(serve(tmp_path, {}, "--dry-run", "--json", "--gpus", "1").stdout)
    assert plain["vllm"] == "0.24"
    assert "--tensor-parallel-size" not in plain["command"]


def test_what_cannot_be_served(tmp_path: Path) -> None:
    result = serve(tmp_path, {})
    assert result.exit_code == 2
    assert "is no model; name the folder that checkpoint merge made" in result.stderr
    (tmp_path / "merged").mkdir()
    (tmp_path / "merged" / "config.json").touch()
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 0.32.0\n", encoding="utf-8")
    python.chmod(0o755)
    result = serve(tmp_path, {}, "--python", str(python))
    assert result.exit_code == 2
    assert "--python: has vLLM 0.32.0, and the model was trained with the reading of 0.24" in (
        result.stderr
    )
    result = serve(tmp_path, {}, "--python", "/no/python")
    assert result.exit_code == 2
    assert "--python: cannot be started" in result.stderr
