"""A real vLLM server with a small model made on the spot, and episodes against it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import anyio
import httpx

from outcomebox.reward.rows import Row, read_rows
from outcomebox.rollout import (
    EpisodeSetting,
    EpisodeStore,
    ScriptedUser,
    make_policy,
    run_all,
    seeder,
)
from outcomebox.rollout.stages import NativeTasks
from outcomebox.sandbox import TaskSet, load_tasks, sandbox
from scripted_policy import SHELF

MAKER = Path(__file__).parent / "vllm" / "make_model.py"
MODEL = "small"
TASKS, ATTEMPTS = 5, 4
_START_S = 900.0


def shelf_rows(
    folder: Path, policy: str, options: Mapping[str, str], *, profile: str = "strict"
) -> tuple[list[Row], dict[str, list[dict[str, Any]]]]:
    """The rows of 20 episodes, and the tools of each task as an API has them."""
    found = load_tasks([str(SHELF)])
    file = folder / "episodes.jsonl"
    tools: dict[str, list[dict[str, Any]]] = {}

    async def run() -> None:
        tasks = NativeTasks(TaskSet(found.tasks[:TASKS], found.domains))
        async with sandbox() as box, tasks.started(box):
            for task in tasks.tasks:
                async with tasks.open(task, seed=0, repetition=0) as stage:
                    tools[task.uid] = [tool.spec.openai() for tool in stage.tools]
            setting = EpisodeSetting(
                sandbox=box,
                policy=make_policy(policy, options),
                user=ScriptedUser(),
                seed_of=seeder(0),
                profile=profile,
            )
            with EpisodeStore(file) as store:
                await run_all(setting, tasks, store, attempts=ATTEMPTS, concurrency=4)
            await setting.policy.aclose()

    anyio.run(run)
    return list(read_rows(file)), tools


def conversations(folder: Path) -> Path:
    """What the model is to learn: how the tasks are done."""
    rows, tools = shelf_rows(folder, "simulated", {"skill": "1e9", "spread": "0"})
    file = folder / "conversations.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for row in rows:
            if row["repetition"] == 0:
                messages = [_taught(message) for message in row["messages"]]
                told = {"tools": tools[row["uid"]], "messages": messages}
                out.write(json.dumps(told) + "\n")
    return file


def _taught(message: Mapping[str, Any]) -> dict[str, Any]:
    told = {"role": message["role"], "content": message.get("content") or ""}
    return told | ({"raw": message["raw"]} if "raw" in message else {})


@contextmanager
def vllm_server(python: str, folder: Path, *more: str) -> Iterator[tuple[str, Path]]:
    """Address of a server and the folder of its model.

    Args:
        python: The Python that has vLLM.
        folder: Where model, logs and rows of its making go.
        *more: More arguments of the server.
    """
    model = folder / "model"
    env = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",
    }
    env.pop("PYTHONPATH", None)
    learnt = [python, str(MAKER), str(conversations(folder)), str(model)]
    subprocess.run(learnt, check=True, env=env, timeout=_START_S)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        python, "-m", "vllm.entrypoints.openai.api_server",
        "--model", str(model), "--served-model-name", MODEL,
        "--host", "127.0.0.1", "--port", str(port),
        "--dtype", "float32", "--enforce-eager", "--max-model-len", "4096", "--max-num-seqs", "8",
        "--enable-auto-tool-choice", "--tool-call-parser", "qwen3_xml",
        "--reasoning-parser", "qwen3", *more,
    ]  # fmt: skip
    log = folder / "server.log"
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env) as server,
    ):
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(server, address, log)
            yield address, model
        finally:
            server.terminate()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = monotonic() + _START_S
    while monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            if httpx.get(f"{address}/health", timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        sleep(1)
    raise RuntimeError(f"the server did not come up:\n{log.read_text(errors='replace')[-4000:]}")
