"""The kinds of sub-agents in the settings: the tables `[agents.NAME]`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from workbench.config.setting_kinds import (
    Prose,
    RegularExpression,
    Strings,
    Switch,
    Table,
    Text,
    WholeNumber,
    checked_table,
    setting,
)
from workbench.errors import UsageError
from workbench.lazy_pattern import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAME = lazy_pattern(r"[A-Za-z0-9][\w .-]{0,39}", re.ASCII)


def check_variables(name: str, value: Any) -> None:
    """Check that the value of the setting `name` is a table of environment variables. Raises UsageError if not."""
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value.values()):
        raise UsageError(f'{name} must be a table of texts, such as {{ API_KEY = "${{API_KEY}}" }}')


class AgentSettings:
    """A kind of sub-agent: a table `[agents.NAME]`."""

    description: str = setting("", Prose(), "Description", "What it is for; the agent chooses by it.")
    prompt: str = setting("", Prose(), "Prompt", "Its instructions.")
    tools: tuple[str, ...] | None = setting(
        None, Strings('tools, such as ["grep", "glob"]'), "Tools", "The tools it may use; all if not set.", unset="all"
    )
    disallowed_tools: tuple[str, ...] = setting(
        (), Strings('tools, such as ["web_read"]'), "Without", "Tools it may not use.", unset="none"
    )
    filter_tools_regex: str | None = setting(
        None, RegularExpression(), "Tools by name", "A regular expression for the names of its tools.", unset="all"
    )
    model: str | None = setting(None, Text(), "Model", "The name of a saved model.", unset="the session's")
    max_steps: int | None = setting(None, WholeNumber(1), "Steps", "Model calls in one run at most.", unit="calls")
    read_only: bool = setting(False, Switch(), "Read only", "Whether it can change nothing.")
    command: str = setting(
        "", Text(), "Command", "The program of another agent that speaks the Agent Client Protocol, such as npx."
    )
    args: tuple[str, ...] = setting((), Strings('words, such as ["-y", "PACKAGE"]'), "Arguments", "Its arguments.")
    env: Mapping[str, str] = setting(
        {}, Table(check_variables), "Variables", "Its environment variables; `${NAME}` is one of yours."
    )
    sandbox: bool = setting(True, Switch(), "Sandbox", "Whether its program runs inside the sandbox.")


def check_agents(name: str, value: Any) -> None:
    """Check the table `[agents]`. Raises a UsageError that names an invalid key."""
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} must contain tables, such as [agents.tester]")
    for agent, table in value.items():
        key = f"agents.{agent}"
        if not _NAME.fullmatch(agent):
            raise UsageError(f"agents.{agent!r}: a name is made of at most 40 letters, digits, spaces and - _ .")
        if not isinstance(table, Mapping):
            raise UsageError(f"{key} must be a table: [{key}]")
        checked_table(AgentSettings, key, table)
