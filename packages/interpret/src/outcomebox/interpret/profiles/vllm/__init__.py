"""vLLM's readings: what its OpenAI-compatible chat endpoint answers, by release and mode.

Each format has modules of its own; this one only puts their readings together.
"""

from functools import partial

from outcomebox.interpret.profiles.base import Profile, Reading
from outcomebox.interpret.profiles.vllm import deepseek_stream, deepseek_whole
from outcomebox.interpret.profiles.vllm.hermes import (
    read_hermes_024,
    read_hermes_024_stream,
    read_hermes_032,
    read_hermes_032_stream,
)
from outcomebox.interpret.profiles.vllm.releases import V024, V032
from outcomebox.interpret.profiles.vllm.xml_stream import read_stream
from outcomebox.interpret.profiles.vllm.xml_whole import read_whole

_WHOLE = "what the chat endpoint of vLLM {} answers, not streaming"
_STREAM = "what a client of vLLM {} joins from the deltas of a stream, one token each"

_READINGS: dict[str, tuple[str, dict[str, Reading]]] = {
    "vllm-0.24": (
        _WHOLE.format("0.24"),
        {
            "qwen3_xml": partial(read_whole, release=V024),
            "hermes": read_hermes_024,
            "deepseek_r1": deepseek_whole.read_whole,
        },
    ),
    "vllm-0.24-stream": (
        _STREAM.format("0.24"),
        {
            "qwen3_xml": partial(read_stream, release=V024),
            "hermes": read_hermes_024_stream,
            "deepseek_r1": deepseek_stream.read_stream,
        },
    ),
    "vllm-0.32": (
        _WHOLE.format("0.32"),
        {
            "qwen3_xml": partial(read_whole, release=V032),
            "hermes": read_hermes_032,
            "deepseek_r1": deepseek_whole.read_whole,
        },
    ),
    "vllm-0.32-stream": (
        _STREAM.format("0.32"),
        {
            "qwen3_xml": partial(read_stream, release=V032),
            "hermes": read_hermes_032_stream,
            "deepseek_r1": deepseek_stream.read_stream,
        },
    ),
}

PROFILES = {
    name: Profile(name=name, summary=summary, readings=readings)
    for name, (summary, readings) in _READINGS.items()
}
