"""Datasets in the ThinkingBox form, read whole and unchanged.

The way of the data::

    tasks = load_thinkingbox(Path("dataset"), ["banking.py:test_transfer"])
    task.servers                     # what each tool server is started with
    prompts(task, init_result)       # its texts, once the servers have been started

A dataset is a folder with ``agent/``, ``scenario/`` and ``test_case/``. Nothing of it is imported
or run here. Tasks share what they were read from: no value in one may be changed.
"""

from outcomebox.sandbox.thinkingbox.jsonl import dump_jsonl, hydrate_jsonl
from outcomebox.sandbox.thinkingbox.load import load_thinkingbox
from outcomebox.sandbox.thinkingbox.merge import merge
from outcomebox.sandbox.thinkingbox.prompts import Prompts, fill, prompts
from outcomebox.sandbox.thinkingbox.tags import Tags
from outcomebox.sandbox.thinkingbox.task import (
    UNLIMITED,
    Agent,
    BuiltinTool,
    GoldenCall,
    Scenario,
    ThinkingBoxTask,
    ToolOverride,
)
from outcomebox.sandbox.thinkingbox.testcode import TEST_FUNCTION

__all__ = [
    "TEST_FUNCTION",
    "UNLIMITED",
    "Agent",
    "BuiltinTool",
    "GoldenCall",
    "Prompts",
    "Scenario",
    "Tags",
    "ThinkingBoxTask",
    "ToolOverride",
    "dump_jsonl",
    "fill",
    "hydrate_jsonl",
    "load_thinkingbox",
    "merge",
    "prompts",
]
