"""The profiles `sglang-0.5` and `sglang-0.5-stream`, certified against sglang 0.5.23.

They read what a client of `/v1/chat/completions` receives from a server started with
`--reasoning-parser qwen3` and `--tool-call-parser qwen3_coder` (format `qwen3_xml`) or `hermes`
(format `hermes`; a server of Qwen3 may also be started with `qwen25`, which reads otherwise).
`think_closed` is a request with `enable_thinking` false; else the server takes the model to think.
"""

from outcomebox.interpret.profiles.base import Profile
from outcomebox.interpret.profiles.sglang import (
    hermes_stream,
    hermes_whole,
    xml_stream,
    xml_whole,
)
from outcomebox.interpret.profiles.sglang.serve import stream, whole

_WHOLE = Profile(
    name="sglang-0.5",
    summary="sglang's chat endpoint, whole answers, certified against sglang 0.5.23",
    readings={
        "qwen3_xml": whole(xml_whole.read_whole),
        "hermes": whole(hermes_whole.read_whole),
    },
)

_STREAM = Profile(
    name="sglang-0.5-stream",
    summary="sglang's chat endpoint, streamed token by token, certified against sglang 0.5.23",
    readings={
        "qwen3_xml": stream(xml_stream.read_stream),
        "hermes": stream(hermes_stream.read_stream),
    },
)

PROFILES = {each.name: each for each in (_WHOLE, _STREAM)}
