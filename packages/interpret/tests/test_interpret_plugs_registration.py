"""How the plugs are found, without the servers and trainers that look for them."""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

from outcomebox.interpret.formats import FORMAT_NAMES
from outcomebox.interpret.plugs import for_verl, for_vllm
from outcomebox.interpret.plugs.names import plug_name, plug_names
from outcomebox.interpret.profiles import PROFILE_NAMES

TRAINER = '''
class ToolParser:
    """As verl has it: a registry, and parsers made of a tokenizer."""

    registry = {}

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    @classmethod
    def register(cls, name):
        return lambda made: cls.registry.setdefault(name, made)
'''


def run(program: str, folder: Path) -> str:
    """Run a program that can import what lies in ``folder``; return what it prints."""
    paths = [str(folder), *(each for each in sys.path if each)]
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def trainer(folder: Path) -> Path:
    package = folder / "verl" / "experimental" / "agent_loop"
    package.mkdir(parents=True)
    (package / "tool_parser.py").write_text(TRAINER, "utf-8")
    return folder


def test_a_name_says_format_and_profile() -> None:
    assert plug_name("hermes") == "outcomebox_hermes"
    assert plug_name("qwen3_xml", "vllm-0.32") == "outcomebox_qwen3_xml@vllm-0.32"
    names = plug_names()
    assert len(names) == len(FORMAT_NAMES) * len(PROFILE_NAMES)
    assert names["outcomebox_hermes"] == ("hermes", "strict")


def test_a_registry_is_filled_when_its_module_is_imported(tmp_path: Path) -> None:
    said = run(
        "import outcomebox.interpret.plugs.for_verl as plug, sys\n"
        "assert 'verl' not in sys.modules\n"
        "import verl.experimental.agent_loop.tool_parser as module\n"
        "names = set(module.ToolParser.registry)\n"
        "assert names == set(plug.plug_names()), names\n"
        "made = module.ToolParser.registry['outcomebox_qwen3_xml']\n"
        "assert issubclass(made, (plug.ToolParsing, module.ToolParser))\n"
        "assert not [each for each in sys.meta_path if 'outcomebox' in type(each).__module__]\n"
        "print('filled')",
        trainer(tmp_path),
    )
    assert said == "filled\n"


def test_a_registry_that_is_there_is_filled_at_once(tmp_path: Path) -> None:
    said = run(
        "import verl.experimental.agent_loop.tool_parser as module\n"
        "import outcomebox.interpret.plugs.for_verl\n"
        "print(len(module.ToolParser.registry))",
        trainer(tmp_path),
    )
    assert int(said) == len(plug_names())


def test_plugs_import_no_server_and_no_trainer() -> None:
    for module in (for_verl, for_vllm):
        assert module.__name__ in sys.modules
    said = run(
        "import outcomebox.interpret.plugs.for_verl, outcomebox.interpret.plugs.for_vllm, sys\n"
        "print(*sorted({each.partition('.')[0] for each in sys.modules}))",
        Path(),
    )
    assert not set(said.split()) & {"torch", "vllm", "verl", "transformers", "pydantic", "numpy"}


def test_the_distribution_offers_them_to_those_who_look() -> None:
    file = Path(__file__).parents[1] / "pyproject.toml"
    groups = tomllib.loads(file.read_text("utf-8"))["project"]["entry-points"]
    wanted = {
        "vllm.general_plugins": for_vllm.register,
        "verl.plugins": for_verl,
    }
    for group, plug in wanted.items():
        (value,) = groups[group].values()
        assert EntryPoint("outcomebox", value, group).load() is plug
