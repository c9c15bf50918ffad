"""Times readings of model outputs: ours against vLLM's and verl's parsers, in one run.

Usage: ``python3 -m tools.bench.interpret --vllm PYTHON --verl PYTHON [--json]``

Each reference runs in its own environment, named by its Python, on the same inputs; one that is not
given is skipped, which is said. All figures are CPU seconds, best of several rounds. Goals: 100
times vLLM's speed a KB, 5 times verl's, 20,000 turns a second, and time that grows only as the
input does.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from outcomebox.interpret import Toolbox, interpret
from tools.bench.interpret_reference import SIDES, seconds_per_call

GOALS = {"vllm": 100.0, "verl": 5.0, "verl_parser": 5.0}
"""How many times as fast a KB as each reference; `verl` is its call in the agent loop."""

TURNS_PER_SECOND = 20_000
GROWTH = 4.0
"""How much dearer a KB of the longest flood may be than one of the shortest; of a square, 16."""

_KB = 1024
_SIZES = (64 * _KB, 256 * _KB, 1024 * _KB)
_FLOODS = ("<", ">", "<parameter=", "</", "<tool_call>", "<think>", "\n")

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "refund",
            "description": "Refunds an order.",
            "parameters": {
                "type": "object",
                "properties": {
                    "order": {"type": "string"},
                    "cents": {"type": "integer"},
                    "notify": {"type": "boolean"},
                },
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "write",
            "description": "Writes a file.",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
            },
        },
    },
]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for side in SIDES:
        parser.add_argument(f"--{side}", metavar="PYTHON", help=f"a Python that has {side}")
    parser.add_argument(
        "--profile", action="append", default=[], help="time this profile too; may be repeated"
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="for each input (default 2)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--check", action="store_true", help="exit with 1 where a goal is missed")
    given = parser.parse_args()
    result = measure({side: getattr(given, side) for side in SIDES}, given.profile, given.seconds)
    print(json.dumps(result) if given.json else table(result))
    if given.check and not all(goal["met"] for goal in result["goals"]):
        sys.exit(1)


def measure(
    pythons: Mapping[str, str | None], profiles: Sequence[str], seconds: float
) -> dict[str, Any]:
    """All figures of one run.

    Args:
        pythons: For each reference, a Python that has it; None to leave it out.
        profiles: Profiles to be timed beside `strict`.
        seconds: CPU seconds for each input and side.

    Returns:
        `inputs` (name to KB), `sides` (name to version and ms a KB of each input and in all),
        `skipped` (reference to reason), `floods`, `ratios` and `goals`.
    """
    texts = inputs()
    result: dict[str, Any] = {
        "python": platform.python_version(),
        "inputs": {name: len(text) / _KB for name, text in texts.items()},
        "sides": {},
        "skipped": {},
    }
    for profile in dict.fromkeys(["strict", *profiles]):
        read = _reader(profile)
        times = {name: _time(read, text, seconds) for name, text in texts.items()}
        result["sides"][profile] = {"version": None, **_per_kb(texts, times)}
        if profile == "strict":
            result["turns_per_second"] = 1 / times["turn"]
    for side, python in pythons.items():
        if not python:
            result["skipped"][side] = f"no --{side} PYTHON given"
            continue
        found = _reference(side, python, texts, seconds)
        if isinstance(found, str):
            result["skipped"][side] = found
        else:
            for name, times in found["times"].items():
                figures = _per_kb(texts, times)
                result["sides"][name] = {"version": found["version"], **figures}
    result["floods"] = floods(_reader("strict"), seconds / 4)
    ours = result["sides"]["strict"]["ms_per_kb"]
    result["ratios"] = {
        side: result["sides"][side]["ms_per_kb"] / ours for side in GOALS if side in result["sides"]
    }
    result["goals"] = _goals(result)
    return result


def inputs() -> dict[str, str]:
    """What is read: outputs as models write them, each behind a prompt that opened reasoning."""
    code = "".join(
        f"def step_{n}(rows):\n    return [r for r in rows if r['n'] < {n} and r['m'] > 0]\n\n\n"
        for n in range(48)
    )
    think = "The customer asks for a refund of the late order. "
    refund = _call("refund", {"order": "00501", "cents": "750", "notify": "true"})
    return {
        "turn": f"{think * 4}\n</think>\n\n{refund}<|im_end|>",
        "reasoning": f"{think * 80}\n</think>\n\n{refund}<|im_end|>",
        "code": f"{think}\n</think>\n\n{_call('write', {'path': 'a.py', 'text': code})}<|im_end|>",
        "answer": f"{think}\n</think>\n\n{'Your refund is on its way. ' * 40}<|im_end|>",
    }


def _call(name: str, parameters: Mapping[str, str]) -> str:
    blocks = "".join(f"<parameter={k}>\n{v}\n</parameter>\n" for k, v in parameters.items())
    return f"<tool_call>\n<function={name}>\n{blocks}</function>\n</tool_call>"


def _reader(profile: str) -> Callable[[str], object]:
    tools = Toolbox(TOOLS)

    def read(text: str) -> object:
        return interpret(text, tools=tools, profile=profile, prompt_state="think_open")

    return read


def _time(read: Callable[[str], object], text: str, seconds: float) -> float:
    return seconds_per_call(lambda: read(text), seconds)


def _per_kb(texts: Mapping[str, str], times: Mapping[str, float]) -> dict[str, Any]:
    kb = {name: len(text) / _KB for name, text in texts.items()}
    each = {name: 1e3 * times[name] / kb[name] for name in texts}
    return {"ms_per_kb": 1e3 * sum(times.values()) / sum(kb.values()), "each": each}


def _reference(
    side: str, python: str, texts: Mapping[str, str], seconds: float
) -> dict[str, Any] | str:
    """Return the reference's figures, or why there are none."""
    script = Path(__file__).with_name("interpret_reference.py")
    asked = json.dumps({"tools": TOOLS, "inputs": texts, "seconds": seconds})
    try:
        done = subprocess.run(
            [python, str(script), side], input=asked, capture_output=True, text=True, check=False
        )
    except OSError as error:
        return f"{python}: {error}"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return f"{python} cannot run {side}'s parser: {last}"
    # Its parsers may print before the last line.
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def floods(read: Callable[[str], object], seconds: float) -> dict[str, list[float]]:
    """Milliseconds a KB of hostile input, for each of the sizes: in reasoning, content, a value."""
    places = {
        "reasoning": ("", ""),
        "content": ("</think>", ""),
        "value": ("</think><tool_call>\n<function=write>\n<parameter=text>\n", "\n</parameter>"),
    }
    return {
        f"{flood!r} in {place}": [
            1e3 * _time(read, before + flood * (size // len(flood)) + after, seconds) * _KB / size
            for size in _SIZES
        ]
        for flood in _FLOODS
        for place, (before, after) in places.items()
    }


def _goals(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    rate = result["turns_per_second"]
    worst = max(result["floods"].items(), key=lambda each: each[1][-1] / each[1][0])
    growth = worst[1][-1] / worst[1][0]
    goals = [
        {"goal": "turns a second", "wanted": TURNS_PER_SECOND, "found": rate},
        {"goal": f"growth, worst: {worst[0]}", "wanted": GROWTH, "found": growth},
    ]
    goals += (
        {"goal": f"times {side}'s speed", "wanted": GOALS[side], "found": ratio}
        for side, ratio in result["ratios"].items()
    )
    for goal in goals:
        most = goal["goal"].startswith("growth")
        goal["met"] = goal["found"] <= goal["wanted"] if most else goal["found"] >= goal["wanted"]
    return goals


def table(result: Mapping[str, Any]) -> str:
    """The figures as a table."""
    names = list(result["inputs"])
    lines = [f"Python {result['python']}; CPU ms a KB, best of several rounds", ""]
    lines.append(f"{'':22}" + "".join(f"{name:>11}" for name in [*names, "all"]))
    lines.append(f"{'KB':22}" + "".join(f"{result['inputs'][name]:11.2f}" for name in names))
    for side, figures in result["sides"].items():
        title = side if figures["version"] is None else f"{side} {figures['version']}"
        row = [*(figures["each"][name] for name in names), figures["ms_per_kb"]]
        lines.append(f"{title:22}" + "".join(f"{each:11.4f}" for each in row))
    lines += [f"{side}: skipped, {why}" for side, why in result["skipped"].items()]
    heads = "".join(f"{size // _KB:>8} KB" for size in _SIZES)
    lines += ["", f"{'floods, ms a KB':34}{heads}{'growth':>9}"]
    for name, each in result["floods"].items():
        cells = "".join(f"{value:11.4f}" for value in each)
        lines.append(f"{name:34}{cells}{each[-1] / each[0]:9.2f}")
    lines.append("")
    for goal in result["goals"]:
        verdict = "met" if goal["met"] else "MISSED"
        lines.append(f"{goal['goal']}: {goal['found']:,.1f} (goal {goal['wanted']:,}): {verdict}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
