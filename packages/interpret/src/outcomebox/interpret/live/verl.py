"""verl's tool parsers, as its agent loop calls them."""

import asyncio
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from outcomebox.interpret.live.base import (
    Answer,
    LiveParser,
    Recorded,
    failed,
    installed,
    parser_for,
)

TOOL_PARSERS = {"qwen3_xml": "qwen3_coder", "qwen3_coder": "qwen3_coder", "hermes": "hermes"}
"""Format -> what `multi_turn.format` is for it."""


class Verl:
    """The tool parsers of the installed verl.

    The agent loop decodes the ids of a whole output and hands out what stands before the calls;
    it knows neither reasoning nor streams.

    Raises:
        ImportError: verl is not installed.

    Attributes:
        release: The installed release.
        name: The name and release.
    """

    def __init__(self) -> None:
        try:
            parsers = _tool_parsers()
            schemas: Any = import_module("verl.tools.schemas")
        except ModuleNotFoundError as error:
            raise ImportError(
                f"live parser 'verl' runs the installed verl, which lacks {error.name!r}; "
                "install verl 0.9 here"
            ) from error
        self._parser = parsers.ToolParser
        self._schema = schemas.OpenAIFunctionToolSchema
        self._loop = asyncio.new_event_loop()
        self.release = installed("verl")
        self.name = f"verl {self.release}"

    def parse(self, output: Recorded) -> Answer:
        """Read one output as the agent loop does.

        A tool that verl's schema refuses stops a training run before its first turn: that is an
        error here.

        Raises:
            ValueError: The format is none of `TOOL_PARSERS`.
        """
        wanted = parser_for(TOOL_PARSERS, output.format)
        try:
            tools = [self._schema.model_validate(tool) for tool in output.openai_tools()]
            parser = self._parser.get_tool_parser(wanted, output.tokenizer)
            content, calls = self._loop.run_until_complete(
                parser.extract_tool_calls(list(output.ids), tools)
            )
        except Exception as error:  # noqa: BLE001 - it would end the run; part of the answer
            return Answer(None, None, error=failed(error))
        return Answer(None, content, tuple((call.name, call.arguments) for call in calls))

    def __del__(self) -> None:
        """Close the event loop."""
        loop = getattr(self, "_loop", None)
        if loop is not None and not loop.is_closed():
            loop.close()


def _tool_parsers() -> Any:
    """Load the module of the parsers by its file.

    Its package starts the whole rollout machinery when imported, of which parsing needs nothing.
    """
    package = find_spec("verl")
    if package is None or not package.origin:
        raise ModuleNotFoundError("verl is not installed", name="verl")
    file = Path(package.origin).parent / "experimental" / "agent_loop" / "tool_parser.py"
    spec = spec_from_file_location("verl_tool_parser", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise ModuleNotFoundError(f"verl has no {file}", name="verl.experimental.agent_loop")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make(*, stream: bool, where: str) -> LiveParser:
    """Make the live parser; it has no stream, and `where` is not needed.

    Raises:
        ValueError: A stream was asked for, or `where` was given.
    """
    if stream:
        raise ValueError("live parser 'verl' reads whole outputs only; leave out the stream")
    if where:
        raise ValueError(f"live parser 'verl' is the installed one; leave out {where!r}")
    return Verl()
