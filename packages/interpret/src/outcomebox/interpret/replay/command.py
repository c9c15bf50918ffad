"""`outcomebox-parity`: do two readers take recorded outputs for the same turns?"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, cast, get_args

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from outcomebox.interpret.output import PromptState
from outcomebox.interpret.profiles import PROFILE_NAMES
from outcomebox.interpret.replay.errors import ReplayError
from outcomebox.interpret.replay.page import page
from outcomebox.interpret.replay.printable import encodable
from outcomebox.interpret.replay.recorded import Source, read_recorded
from outcomebox.interpret.replay.report import report_json
from outcomebox.interpret.replay.rows import FIELDS
from outcomebox.interpret.replay.run import Observer, Replay, ReplayResult, compare_turns
from outcomebox.interpret.replay.show import show
from outcomebox.interpret.replay.shrink import DEFAULT_TRIES
from outcomebox.interpret.replay.tally import Tally
from outcomebox.interpret.replay.tokenizers import load_tokenizer
from outcomebox.interpret.turn import Tool

EXAMPLES = """\
Examples:

  outcomebox-parity episodes.jsonl --left vllm-0.24 --right verl-0.9 --tools tools.json
      does training read what evaluation reads?

  outcomebox-parity episodes.jsonl --left vllm-0.24 --right vllm-0.32 --shrink --html parity.html
      what will an upgrade of the server change? A smallest example of each difference.

  outcomebox-parity outputs.jsonl --left strict --right live:vllm --fail-on-difference
      a check for CI, against the parser that is installed here

Exit status: 0 done; 1 something differs and --fail-on-difference is given; 2 bad input;
130 interrupted.
"""

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=EXAMPLES)
def parity(  # noqa: PLR0917 - typer reads the parameters as flags
    recorded: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORDED.jsonl...",
            help="Episode rows, ThinkingBox rows, or one object a line with an `output`.",
        ),
    ],
    left: Annotated[
        str,
        typer.Option(
            metavar="READER",
            help=f"A profile ({', '.join(PROFILE_NAMES)}), or a live parser: live:vllm, "
            "live:vllm-stream, live:verl, live:sglang, live:openai=URL.",
        ),
    ],
    right: Annotated[str, typer.Option(metavar="READER", help="The other reader.")],
    format: Annotated[  # noqa: A002 - the word users know it by
        str | None,
        typer.Option(help="Format of the outputs. Default: what a row says, else qwen3_xml."),
    ] = None,
    tools: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON: a list of OpenAI tool objects, or an object from a row's domain to such "
            "lists. Default: what a row says, else tools.json beside the first file.",
        ),
    ] = None,
    plain_schemas: Annotated[
        bool,
        typer.Option(
            "--plain-schemas",
            help="Offer each parameter as one plain type: for readers that refuse anyOf or $ref.",
        ),
    ] = False,
    prompt_state: Annotated[
        str,
        typer.Option(help="Where the prompt left the model, for turns that do not say so."),
    ] = "think_closed",
    field: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=DOTTED",
            help=f"Where a row keeps something: {', '.join(FIELDS)}. May be repeated.",
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="tokenizer.json, to read turns by their recorded ids."),
    ] = None,
    shrink: Annotated[
        bool, typer.Option("--shrink", help="Make a smallest example of each difference.")
    ] = False,
    tries: Annotated[
        int, typer.Option(help="Most outputs to read for one smallest example.", min=1)
    ] = DEFAULT_TRIES,
    calls_only: Annotated[
        bool,
        typer.Option("--calls-only", help="Compare what is executed, not reasoning and content."),
    ] = False,
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object; progress goes to stderr.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page that needs no network.")
    ] = None,
    fail_on_difference: Annotated[
        bool, typer.Option("--fail-on-difference", help="End with status 1 if a turn differs.")
    ] = False,
) -> None:
    """Read recorded outputs with two readers and class what differs by its cause.

    Nothing is sampled and nothing executed: the outputs are those that were recorded.
    """
    console = Console(stderr=True, highlight=False)
    try:
        source = Source(
            format=format,
            tools=load_tools(tools, recorded[0]),
            prompt_state=_prompt_state(prompt_state),
            plain=plain_schemas,
            fields=_fields(field),
            tokenizer=None if tokenizer is None else load_tokenizer(tokenizer),
        )
        replay = Replay(
            left, right, tokenizer, jobs=jobs, shrink=shrink, tries=tries, texts=not calls_only
        )
        result = replay_files(recorded, source, replay, console)
        report = report_json(result)
        if html is not None:
            _write(html, page(report))
    except ReplayError as error:
        console.print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        console.print("Interrupted.", style="yellow")
        raise typer.Exit(130) from None
    if as_json:
        # Half a character of a model's output becomes its own JSON escape.
        typer.echo(encodable(json.dumps(report, ensure_ascii=False, allow_nan=False)))
    else:
        Console(highlight=False).print(show(report))
    for note in report["notes"]:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)
    if html is not None:
        console.print(f"Page: {html}", markup=False, soft_wrap=True)
    if fail_on_difference and report["differing"]:
        raise typer.Exit(1)


def replay_files(
    files: Sequence[Path], source: Source, replay: Replay, console: Console
) -> ReplayResult:
    """Compare all turns of some files.

    Args:
        files: The rows.
        source: How to understand them.
        replay: What to compare.
        console: Where progress goes.

    Raises:
        ReplayError: Something cannot be used, or the files hold no raw output.
    """
    for reader in replay.readers():
        check = getattr(reader, "check", None)
        if check is not None and source.format is not None:
            check(source.format)
    turns = (turn for file in files for turn in read_recorded(file, source))
    with _progress(files, source, console) as observe:
        result = compare_turns(turns, replay, observe)
    result.notes = source.notes()
    if not result.tally.turns:
        raise ReplayError(
            "holds no turn with its raw output, so nothing was compared"
            + (f" ({source.without_output} messages without)" if source.without_output else "")
            + "; record the model's text, or name its field with --field output=...",
            file=files[0],
        )
    return result


def load_tools(
    file: Path | None, recorded: Path
) -> Sequence[Tool] | Mapping[str, Sequence[Tool]] | None:
    """Return the tools of a file: a list, or lists by domain.

    Args:
        file: The file; None for `tools.json` beside the rows, if it is there.
        recorded: The rows.

    Raises:
        ReplayError: It cannot be read, or holds something else.
    """
    if file is None:
        file = recorded.parent / "tools.json"
        if not file.is_file():
            return None
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReplayError(f"cannot be read: {error.strerror}", file=file) from error
    except ValueError as error:
        raise ReplayError(f"is not JSON ({error})", file=file) from None
    lists = found.values() if isinstance(found, dict) else [found]
    if not all(isinstance(each, list) for each in lists):
        raise ReplayError(
            "must be a list of OpenAI tool objects, or an object from domains to such lists",
            file=file,
        )
    return cast("Sequence[Tool] | Mapping[str, Sequence[Tool]]", found)


def _prompt_state(text: str) -> PromptState:
    if text not in get_args(PromptState):
        raise ReplayError(
            f"write one of {', '.join(get_args(PromptState))}", field="--prompt-state", value=text
        )
    return cast(PromptState, text)


def _fields(given: list[str] | None) -> dict[str, str]:
    found = {}
    for item in given or ():
        name, sign, dotted = item.partition("=")
        if not sign or not dotted:
            raise ReplayError("write NAME=DOTTED", field="--field", value=item)
        found[name] = dotted
    return found


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReplayError(
            f"cannot be written: {error.strerror}", file=file, field="--html"
        ) from error


@contextmanager
def _progress(files: Sequence[Path], source: Source, console: Console) -> Iterator[Observer]:
    """A live bar on a terminal; elsewhere a line for every tenth of the way."""
    size = sum(file.stat().st_size for file in files if file.is_file()) or 1
    if not console.is_terminal:
        tenths = 0

        def tell(tally: Tally) -> None:
            nonlocal tenths
            now = 10 * source.bytes_read // size
            if now > tenths:
                tenths = now
                console.print(f"parity: {tally.turns} turns, {tally.differing} differ")

        yield tell
        return
    with Progress(
        TextColumn("parity"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[counts]}"),
        TimeRemainingColumn(),
        console=console,
    ) as bar:
        task = bar.add_task("parity", total=size, counts="")

        def move(tally: Tally) -> None:
            bar.update(
                task,
                completed=source.bytes_read,
                counts=f"{tally.turns} turns, {tally.differing} differ",
            )

        yield move


def main() -> None:
    """Runs the command."""
    app(prog_name="outcomebox-parity")
