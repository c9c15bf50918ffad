"""Live parsers: the parsers of real releases, run on one output as their servers run them.

They certify the profiles. Each needs the release itself, which is loaded when a parser is made and
never before; this package imports none of them.
"""

from importlib.metadata import entry_points

from outcomebox.interpret.live.base import LiveParser, Maker

GROUP = "outcomebox.live_parsers"
"""Entry points of live parsers: name -> a `Maker`."""


def live_names() -> tuple[str, ...]:
    """Return the names of all live parsers that are installed, whether or not their release is."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def live_parser(name: str, *, stream: bool = False, where: str = "") -> LiveParser:
    """Make a live parser.

    Args:
        name: `vllm`, `verl`, `sglang`, `openai` or what another distribution adds.
        stream: Whether the output arrives one token at a time.
        where: What the parser needs to be found: the address of an endpoint, for `openai`.

    Raises:
        ValueError: The name is unknown, or the parser has no such mode; the message says which.
        ImportError: The parser's release is not installed; the message says what to install.
    """
    for point in entry_points(group=GROUP):
        if point.name == name:
            make: Maker = point.load()
            return make(stream=stream, where=where)
    known = ", ".join(live_names()) or "none: install outcomebox-interpret anew"
    raise ValueError(f"live parser {name!r} is unknown; use one of: {known}")
