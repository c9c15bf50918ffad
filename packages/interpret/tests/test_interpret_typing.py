"""The types of the public API, as users' type checkers see them.

`mypy --strict` checks this file with all others, and that is most of the test: `assert_type` pins
what is right, and each `type: ignore` names an error that mypy must report, for an unused one is an
error itself. The last test takes the ignores away and looks for the errors, where mypy is there.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, assert_never, assert_type

import pytest

import outcomebox.interpret as face
from outcomebox.interpret import (
    Coercion,
    Diagnostic,
    Interpreter,
    PromptState,
    Status,
    Tool,
    Toolbox,
    ToolCall,
    Turn,
    interpret,
    render,
)
from outcomebox.interpret.openai import (
    from_message,
    from_output_items,
    from_response,
    sent_calls,
    to_message,
    to_output_items,
    to_response,
)

TOOLS: Sequence[Tool] = ({"name": "f", "parameters": {"type": "object"}},)
CALL = "<tool_call>\n<function=f>\n</function>\n</tool_call>"


class Words:
    """The least that is a tokenizer: no base class of ours is needed."""

    def get_vocab(self) -> dict[str, int]:
        return {"Hi": 0, ".": 1}

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = False) -> str:
        assert not skip_special_tokens
        return "".join(list(self.get_vocab())[each] for each in token_ids)


# -- what is right --------------------------------------------------------------------------------


def test_what_reading_gives() -> None:
    turn = interpret(CALL, tools=TOOLS, prompt_state="think_closed", finish_reason="stop")
    assert_type(turn, Turn)
    assert_type(turn.reasoning, str | None)
    assert_type(turn.content, str | None)
    assert_type(turn.tool_calls, tuple[ToolCall, ...])
    assert_type(turn.diagnostics, tuple[Diagnostic, ...])
    (call,) = turn.tool_calls
    assert_type(call.name, str)
    assert_type(call.arguments, dict[str, Any])
    assert_type(call.status, Status)
    assert_type(call.executable, bool)
    assert_type(call.span, tuple[int, int])
    assert_type(call.changes, tuple[Coercion, ...])
    assert_type(call.message, str)
    assert_type(call.wire, str | None)
    assert_type(call.arguments_json(), str)
    assert call.status == "ok"


def test_outputs_are_text_or_any_sequence_of_ids() -> None:
    for ids in ([0, 1], (0, 1), range(2)):
        assert_type(interpret(ids, tokenizer=Words()), Turn)
        assert interpret(ids, tokenizer=Words()).content == "Hi."


def test_tools_are_mappings_or_a_toolbox() -> None:
    dicts: list[dict[str, Any]] = [{"type": "function", "function": {"name": "f"}}]
    mappings: tuple[Mapping[str, object], ...] = ({"name": "f"},)
    assert interpret(CALL, tools=dicts).tool_calls
    assert interpret(CALL, tools=mappings).tool_calls
    box = Toolbox(dicts)
    assert_type(box.offered("f"), bool | None)
    assert_type(box.known, bool)
    assert interpret(CALL, tools=box).tool_calls


def test_a_stream_gives_the_same_type() -> None:
    reader = Interpreter(tools=None, prompt_state="think_open", tokenizer=None)
    assert_type(reader, Interpreter)
    # What is fed is done for its effect alone.
    feed: Callable[[str | Sequence[int]], None] = reader.feed
    feed("Hm.</think>Hi.")
    turn = reader.finish("stop")
    assert_type(turn, Turn)
    assert turn == Turn("Hm.", "Hi.")


def test_what_writing_gives() -> None:
    calls: list[tuple[str, Mapping[str, object]]] = [("f", {"n": 1, "s": "x", "l": [None]})]
    assert_type(render(reasoning=None, content=None, tool_calls=calls), str)


def test_parts_are_tuples_of_plain_values() -> None:
    reasoning, content, calls, diagnostics = interpret("Hi.")
    assert_type(reasoning, str | None)
    assert_type(content, str | None)
    assert_type(calls, tuple[ToolCall, ...])
    assert_type(diagnostics, tuple[Diagnostic, ...])
    change = Coercion(parameter="n", text="007", value=7, why="it is")
    assert_type(change.parameter, str)
    assert_type(change.text, str)
    assert_type(change.why, str)
    assert_type(change._replace(text="7"), Coercion)


def test_statuses_are_all_known() -> None:
    """A match over them is complete; another status would be an error here first."""

    def told(status: Status) -> str:
        match status:
            case "ok" | "coerced" | "repaired":
                return "run it"
            case "coercion_failed" | "unknown_tool":
                return "let the tool answer"
            case "ambiguous" | "malformed" | "truncated":
                return "tell the model"
            case _:
                assert_never(status)

    assert told(interpret(CALL).tool_calls[0].status) == "run it"


def test_prompt_states_are_all_known() -> None:
    state: PromptState = "think_open"
    expected: Literal["assistant_start", "think_open", "think_closed"] = state
    assert expected == "think_open"


def test_openai_objects_are_plain() -> None:
    turn = interpret(CALL)
    message = to_message(turn, call_id=lambda index: f"call_{index}")
    assert_type(message, dict[str, Any])
    assert_type(to_response(turn, model="m"), dict[str, Any])
    assert_type(to_output_items(turn), list[dict[str, Any]])
    assert_type(sent_calls(turn), tuple[ToolCall, ...])
    assert_type(from_message(message, tools=TOOLS), Turn)
    assert_type(from_response(to_response(turn, model="m"), choice=0), Turn)
    assert_type(from_output_items(to_output_items(turn)), Turn)


# -- what is wrong: each ignore is an error that must stay -----------------------------------------


def never_called() -> None:
    """Only looked at: what mypy refuses need not run."""
    interpret(["Hi"])  # type: ignore[list-item]
    interpret(None)  # type: ignore[arg-type]
    interpret("Hi.", TOOLS)  # type: ignore[call-arg]
    interpret("Hi.", tools={"name": "f"})  # type: ignore[arg-type]
    interpret("Hi.", tools=["f"])  # type: ignore[list-item]
    interpret("Hi.", prompt_state="open")  # type: ignore[arg-type]
    interpret("Hi.", finish_reason=None)  # type: ignore[arg-type]
    interpret("Hi.", tokenizer=object())  # type: ignore[arg-type]
    interpret("Hi.", schema={})  # type: ignore[call-arg]
    Interpreter(prompt_state="closed")  # type: ignore[arg-type]
    Interpreter().feed(1)  # type: ignore[arg-type]
    render(reasoning=None, content="Hi.")  # type: ignore[call-arg]
    render(reasoning=None, content=None, tool_calls=[("f", "x")])  # type: ignore[list-item]
    turn = interpret("Hi.")
    turn.content.strip()  # type: ignore[union-attr]
    turn.content = "Bye."  # type: ignore[misc]
    turn.tool_calls.append  # type: ignore[attr-defined]  # noqa: B018
    turn.tool_calls[0].status = "ok"  # type: ignore[misc]
    turn.tool_calls[0].status == "fine"  # type: ignore[comparison-overlap]  # noqa: B015
    turn.thoughts  # type: ignore[attr-defined]  # noqa: B018
    turn.tool_calls[0].wire.encode()  # type: ignore[union-attr]
    state: PromptState = "thinking"  # type: ignore[assignment]
    Toolbox("tools")  # type: ignore[arg-type]
    to_message(turn, call_id="call_1")  # type: ignore[arg-type]
    to_response(turn)  # type: ignore[call-arg]
    del state


_IGNORE = re.compile(r"\s*# type: ignore\[([a-z-]+)\]")


def test_mypy_reports_every_error_that_is_expected(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy has an environment of its own; `check` runs it here")
    lines = Path(__file__).read_text("utf-8").splitlines()
    expected = [(n, found[1]) for n, line in enumerate(lines, 1) if (found := _IGNORE.search(line))]
    assert len(expected) >= 20
    bare = tmp_path / "bare_typing.py"
    bare.write_text("\n".join(_IGNORE.sub("", line) for line in lines) + "\n", "utf-8")
    source = Path(face.__file__).parents[2]
    flags = ["--strict", "--namespace-packages", "--explicit-package-bases", "--no-error-summary"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict-equality", *flags, "--no-color-output", str(bare)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"MYPYPATH": str(source), "PATH": "", "MYPY_CACHE_DIR": str(tmp_path / "cache")},
    )
    said = done.stdout + done.stderr
    reported = re.findall(
        r"^bare_typing\.py:(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.MULTILINE
    )
    assert [(int(line), code) for line, code in reported] == expected, said
