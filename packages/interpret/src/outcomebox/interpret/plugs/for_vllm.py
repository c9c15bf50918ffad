r"""Tool and reasoning parsers for vLLM, called `outcomebox_FORMAT` (`outcomebox_qwen3_xml` ...).

Where this package is installed beside vLLM, its entry point in `vllm.general_plugins` calls
`register`, and the names can be used:

    vllm serve MODEL --enable-auto-tool-choice --tool-call-parser outcomebox_qwen3_xml \
        --reasoning-parser outcomebox_qwen3_xml

Without entry points, pass the path of this file as `--tool-parser-plugin`: loading it registers
both kinds.

The two share one reading of an output, so that a call drafted in reasoning is never run. vLLM makes
both for each request, one after the other in one thread, the reasoning parser first; that is how
they find each other. A tool parser that finds no partner reads what it is given as if reasoning
were over.
"""

import importlib
from functools import partial
from typing import Any, cast

from outcomebox.interpret.formats import FORMAT_NAMES
from outcomebox.interpret.plugs.imported import when_imported
from outcomebox.interpret.plugs.names import plug_name
from outcomebox.interpret.plugs.vllm_reasoning import ReasoningParsing
from outcomebox.interpret.plugs.vllm_tools import ToolParsing

_THEIR_NAMES = {"deepseek_r1": "deepseek_v3", "glm": "glm45"}
"""Formats that vLLM has under another name."""


def register() -> None:
    """Make the parsers of every format known to vLLM.

    Its registries are filled when vLLM imports them, for most of its processes never do; a parser
    is built when one is asked for.
    """
    when_imported("vllm.tool_parsers.abstract_tool_parser", partial(_fill, kind="ToolParser"))
    when_imported("vllm.reasoning.abs_reasoning_parsers", partial(_fill, kind="ReasoningParser"))


def _fill(module: Any, *, kind: str) -> None:
    manager = getattr(module, f"{kind}Manager")
    for name in FORMAT_NAMES:
        # By its own path: vLLM may have loaded this file under another name.
        manager.register_lazy_module(plug_name(name), __package_path__, f"{kind}_{name}")


__package_path__ = "outcomebox.interpret.plugs.for_vllm"


def __getattr__(name: str) -> Any:
    """Build the class of that name: `ToolParser_FORMAT` or `ReasoningParser_FORMAT`."""
    kind, _, format_name = name.partition("_")
    if format_name not in FORMAT_NAMES or kind not in ("ToolParser", "ReasoningParser"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    build = _tool_parser_class if kind == "ToolParser" else _reasoning_parser_class
    built = build(name, format_name)
    globals()[name] = built
    return built


def _tool_parser_class(class_name: str, format_name: str) -> type[Any]:
    base = importlib.import_module("vllm.tool_parsers.abstract_tool_parser").ToolParser
    theirs = _their_parser(format_name)
    # How a request constrains the model is the server's business: as with its own parser.
    members = {
        name: getattr(theirs, name)
        for name in ("structural_tag_model", "supports_required_and_named")
        if hasattr(theirs, name)
    }
    members |= {"format_name": format_name, "__module__": __package_path__}
    return cast("type[Any]", type(class_name, (ToolParsing, base), members))


def _reasoning_parser_class(class_name: str, format_name: str) -> type[Any]:
    base = importlib.import_module("vllm.reasoning").ReasoningParser
    members = {"format_name": format_name, "__module__": __package_path__}
    return cast("type[Any]", type(class_name, (ReasoningParsing, base), members))


def _their_parser(format_name: str) -> type[Any] | None:
    manager = importlib.import_module("vllm.tool_parsers").ToolParserManager
    name = _THEIR_NAMES.get(format_name, format_name)
    return manager.get_tool_parser(name) if name in manager.list_registered() else None


if __name__ != __package_path__:
    # Loaded by its path, as `--tool-parser-plugin` does it.
    register()
