"""A task of the ThinkingBox form, hydrated: with its agent, its scenario and its fixtures.

Fields whose names differ from the format's carry its name as an alias, so that a task is validated
from, and dumped to, the layout of the format's hydrated rows.

Values are shared: two tasks of one scenario hold one ``Scenario``, and merged server configurations
share the parts that no task changed. Nothing in a task may be changed by whoever uses it: copy
first.
"""

from __future__ import annotations

import hashlib
import json
import sys
from functools import cached_property
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.thinkingbox.history import normal_messages
from outcomebox.sandbox.thinkingbox.merge import merge_servers
from outcomebox.sandbox.thinkingbox.tags import Tags
from outcomebox.sandbox.thinkingbox.testcode import reads_judge

UNLIMITED = sys.maxsize


class Form(BaseModel):
    """Part of a file of the format: unknown keys are passed over, as the format has it."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
    )


def _fixture(config: dict[str, Any]) -> dict[str, Any]:
    kind = config.get("type")
    if not isinstance(kind, str) or not all(part.isidentifier() for part in kind.split(".")):
        raise ValueError("a fixture needs a `type`: package.module.attribute")
    if "." not in kind:
        raise ValueError(f"the type {kind!r} names no module; write package.module.attribute")
    return config


Fixture = Annotated[dict[str, Any], AfterValidator(_fixture)]


class BuiltinTool(Form):
    """A tool that the agent has by itself; no server answers it."""

    name: str
    description: str
    input_schema: dict[str, Any]
    direct_response: str | None = None
    is_end_turn: bool = False


class Agent(Form):
    """How the agent is set up."""

    name: str = Field(default="", exclude=True)
    system_instructions: str
    builtin_tools: tuple[BuiltinTool, ...]


class ToolOverride(Form):
    """A tool that the agent sees, with what a scenario changes about it."""

    name: str
    description: str | None = Field(default=None, alias="override_description")
    argument_descriptions: dict[str, str] | None = Field(
        default=None, alias="override_arg_description"
    )
    direct_response: str | None = None
    is_end_turn: bool = False


class Scenario(Form):
    """What the tasks of one scenario have in common."""

    name: str = Field(default="", exclude=True)
    world_state: dict[str, Any]
    tools: tuple[ToolOverride, ...]
    bot_instructions: str | None = None
    tags: Tags = Tags()
    fixtures: dict[str, Fixture] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)


class GoldenCall(Form):
    """One call of the golden interactions."""

    server: str
    tool: str
    arguments: dict[str, Any]


class ThinkingBoxTask(Form):
    """One task.

    Attributes:
        uid: ``<file name>:<test name>``.
        agent: How the agent is set up.
        scenario: What it shares with other tasks.
        history: Messages before the query, as plain mappings (``T`` names the kind of each).
        query: The user's first message.
        test_code: The check; binds ``__tb_test_fn``, line numbers are those of the file.
        bot_instructions: The task's own; :func:`.prompts.prompts` joins the scenario's.
        user_context: What only the simulated user knows.
        max_user_turns: Replies of the simulated user, at most.
        max_agent_turns: Steps of the agent, at most.
        init: The task's own additions to the scenario's ``world_state``.
        format_query: Whether texts are filled with what the servers' init returned.
        metadata: Where the task comes from (``test_case_file``, ``test_case_name``, ``scenario``,
            ``agent``), and what its file says besides.
        tags: The scenario's and the task's.
        fixtures: ``type`` and arguments of each fixture that the test may ask for.
    """

    uid: str
    agent: Agent
    scenario: Scenario
    history: tuple[dict[str, Any], ...] | None = None
    query: str
    test_code: str
    bot_instructions: str | None = None
    user_context: str | None = None
    max_user_turns: int = Field(default=10, alias="max_user_sim_turns")
    max_agent_turns: int = Field(default=UNLIMITED, ge=0, alias="max_agent_sim_turns")
    init: dict[str, dict[str, Any]] = Field(default_factory=dict)
    format_query: bool = False
    metadata: dict[str, Any] = Field(default_factory=dict)
    tags: Tags = Tags()
    fixtures: dict[str, Fixture] = Field(default_factory=dict)

    @field_validator("history", mode="before")
    @classmethod
    def _normal(cls, value: Any) -> Any:
        return value if value is None else normal_messages(value)

    @model_validator(mode="after")
    def _merges(self) -> ThinkingBoxTask:
        _ = self.servers  # so that what cannot be merged is found on loading
        return self

    @cached_property
    def servers(self) -> dict[str, Any]:
        """What each server is started with, in the order in which they are started."""
        return merge_servers(self.scenario.world_state, self.init)

    @property
    def file(self) -> str:
        """The test file, as a path."""
        return str(self.metadata.get("test_case_file", self.uid.partition(":")[0]))

    @property
    def name(self) -> str:
        """The test's name in its file."""
        return str(self.metadata.get("test_case_name", self.uid.partition(":")[2]))

    @property
    def family(self) -> str:
        """The scenario's name."""
        return self.scenario.name

    @property
    def domain(self) -> str:
        """The domain tag, or else the scenario's name."""
        return self.tags.domain or self.scenario.name

    @property
    def tools(self) -> tuple[ToolOverride, ...]:
        """The tools that the agent sees."""
        return self.scenario.tools

    @property
    def scenario_instructions(self) -> str | None:
        """The scenario's own instructions to the agent."""
        return self.scenario.bot_instructions

    @cached_property
    def golden(self) -> tuple[GoldenCall, ...]:
        """The golden interactions of all servers that have some, in the order of the servers.

        Raises:
            InputError: They are there, but not as a list of ``{tool, parameters}``.
        """
        return tuple(
            call for server, config in self.servers.items() for call in self._golden(server, config)
        )

    def _golden(self, server: str, config: Any) -> list[GoldenCall]:
        golden = config.get("golden_test_case") if isinstance(config, dict) else None
        given = golden.get("tool_interactions") if isinstance(golden, dict) else golden
        calls = []
        field = f"init.{server}.golden_test_case.tool_interactions"
        if given is not None and not isinstance(given, list):
            raise self._error("must be a list of {tool, parameters}", field, given)
        for number, item in enumerate(given or ()):
            tool = item.get("tool") if isinstance(item, dict) else None
            arguments = (item.get("parameters") or {}) if isinstance(item, dict) else None
            if not isinstance(tool, str) or not isinstance(arguments, dict):
                message = "must be a mapping with a `tool` and its `parameters`"
                raise self._error(message, f"{field}.{number}", item)
            calls.append(GoldenCall.model_construct(server=server, tool=tool, arguments=arguments))
        return calls

    @cached_property
    def uses_judge(self) -> bool:
        """Whether the test function itself reads the name ``judge``.

        True says that a judge may be asked, not that it will be. A fixture may ask a judge of its
        own accord, which test code does not show.
        """
        return reads_judge(self.test_code)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the task's content (all but its metadata, which has paths): 64 hex digits."""
        return self._digest({"metadata"})

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of what the task asks and accepts, whatever it is called and tagged."""
        return self._digest({"metadata", "uid", "tags"})

    def _digest(self, left_out: set[str]) -> str:
        plain = self.model_dump(mode="json", exclude=left_out)
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def _error(self, message: str, field: str, value: object) -> InputError:
        return InputError(message, file=self.file, task=self.uid, field=field, value=value)
