"""servers.yaml: ThinkingBox's form as it is, our own fields, and clear words about mistakes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from outcomebox.sandbox import InputError, ServerSpec, load_servers

THEIRS = """\
use_internal_servers: true
servers:
  bank:
    type: mcp-process
    command: ["{python}", "-m", "bank.server"]
    env:
      BANK_KEY: "Fake"
  script:
    type: mcp-process
    command: ["{python}", "serve.py", "--root", "{env[BANK_ROOT]}/x", "{other}"]
    cwd: /srv
  outside:
    type: mcp-remote
    endpoint: http://127.0.0.1:9/mcp
"""


def written(folder: Path, text: str) -> Path:
    """A servers.yaml with that text."""
    file = folder / "servers.yaml"
    file.write_text(text)
    return file


def test_the_form_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANK_ROOT", "/data")
    monkeypatch.setenv("THINKINGBOX_DATA", "/tbdata")
    found = load_servers(written(tmp_path, THEIRS))
    assert list(found) == ["bank", "script"]
    bank, script = found.values()
    assert bank.command == (sys.executable, "-m", "bank.server")
    assert bank.env == {"BANK_KEY": "Fake", "THINKINGBOX_DATA": "/tbdata"}
    assert (bank.mode, bank.wanted_mode, bank.network) == (None, "fork", "loopback")
    assert script.command[1:] == ("serve.py", "--root", "/data/x", "{other}")
    assert script.cwd == Path("/srv")


def test_a_relative_cwd_is_below_the_folder_that_the_runner_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "servers.yaml"
    file.write_text("servers: {desk: {command: [desk], cwd: there}}", encoding="utf-8")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert load_servers(file)["desk"].cwd == tmp_path / "here" / "there"


def test_fields_of_ours_and_another_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THINKINGBOX_DATA", raising=False)
    monkeypatch.setenv("HOME_OF_ONE", "/one")
    text = """\
servers:
  one:
    command: ["{python}", "-m", "one"]
    mode: process
    limits: {memory_mb: 64, open_files: 32}
    network: host
    clock: "2030-01-01T00:00:00Z"
    inherit: [HOME_OF_ONE]
  two: {command: ["{python}", "-m", "two"], python: /opt/two/bin/python3.12}
"""
    file = written(tmp_path, text)
    one, two = load_servers(file, python="/opt/bin/python3", clock="2020-01-01T00:00:00Z").values()
    assert one.command[0] == "/opt/bin/python3"
    assert (one.wanted_mode, one.limits.memory_mb, one.limits.open_files) == ("process", 64, 32)
    assert (one.network, one.clock) == ("host", "2030-01-01T00:00:00Z")
    assert (one.env, two.env) == ({"HOME_OF_ONE": "/one"}, {})
    assert two.command[0] == "/opt/two/bin/python3.12"
    assert two.clock == "2020-01-01T00:00:00Z"
    assert one.key != two.key


@pytest.mark.parametrize(
    ("command", "mode"),
    [
        (("python", "-m", "x"), "fork"),
        (("/usr/bin/python3.12", "-u", "-s", "x.py", "-m", "y"), "fork"),
        (("python3", "-c", "print()"), "process"),
        (("python3", "-W", "error", "x.py"), "process"),
        (("python3",), "process"),
        (("pythonista", "x.py"), "process"),
        (("node", "x.js"), "process"),
        (("uv", "run", "python", "x.py"), "process"),
    ],
)
def test_what_can_be_forked_is_pythons(command: tuple[str, ...], mode: str) -> None:
    assert ServerSpec(name="x", command=command).wanted_mode == mode


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("servers: [1]", "servers.yaml: servers"),
        ("servers: {a: {command: []}}", "servers.a.command"),
        ("servers: {a: {command: [x], type: mcp-thing}}", "servers.a.type.*mcp-process"),
        ("servers: {a: {command: [x], comand: [y]}}", "servers.a.comand.*unknown field"),
        ("servers: {a: {type: mcp-process}}", "servers.a.command.*is missing"),
        ("servers: {a: {command: [x], mode: thread}}", "servers.a.mode"),
        ("servers: {a: {command: [x], clock: noon}}", "servers.a.clock.*ISO 8601"),
        ('servers: {a: {command: [x], clock: "2030-01-01T00:00:00"}}', "servers.a.clock.*offset"),
        ("servers: {a: {command: [x], limits: {memory_mb: 1}}}", "servers.a.limits.memory_mb"),
        (
            'servers: {a: {command: ["{env[NO_SUCH_NAME]}"]}}',
            "servers.a: names an environ.*NO_SUCH_NAME",
        ),
        ("servers: {a: {command: [x], inherit: [NO_SUCH_NAME]}}", "servers.a: .*NO_SUCH_NAME"),
        ("server: {}", "server.*unknown field"),
        ("servers: {a: {command: [x]", "not valid YAML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_servers(written(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.yaml"):
        load_servers(tmp_path / "nowhere.yaml")
