"""The hooks in the settings and in `hooks.toml` of a directory: the tables `[[hooks]]`."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.config.setting_kinds import (
    REQUIRED,
    OneOf,
    RegularExpression,
    Switch,
    Table,
    Text,
    WholeNumber,
    checked_table,
    setting,
)
from workbench.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EVENTS = {
    "session_start": "a session starts, or is resumed",
    "session_end": "the session is closed",
    "user_message": "you have sent a message, before the model reads it",
    "before_action": "the agent wants to run a tool, before you are asked",
    "after_action": "a tool has run",
    "before_asking": "you are about to be asked about an action",
    "after_decision": "an action was approved or rejected",
    "model_call": "the model has answered",
    "run_end": "the agent has stopped",
    "notification": "an action needs your approval, or the agent has stopped",
    "before_compaction": "the history is about to be compacted",
}
"""The events of hooks, and when each happens."""


class HookSettings:
    """A hook: a table `[[hooks]]`."""

    event: str = setting(REQUIRED, OneOf(words=EVENTS), "Event", "When it runs.")
    command: str = setting(REQUIRED, Text(required=True), "Command", "A shell command, run in the workspace.")
    name: str = setting("", Text(), "Name", "How it is called in lists and messages; by default its command.")
    matcher: str = setting(
        "", RegularExpression(), "Matcher", "A regular expression for the whole name of the tool.", unset="all"
    )
    timeout: int = setting(60, WholeNumber(1), "Timeout", "Seconds after which it is ended.", unit="seconds")
    sandbox: bool = setting(True, Switch(), "Sandbox", "Whether it runs in the sandbox, like commands.")


_REQUIRED = ("event", "command")


def check_hook(name: str, value: Any) -> dict[str, Any]:
    """Return the checked entries of one hook. Raises a UsageError that names what is wrong."""
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} must be a table: [[hooks]]")
    for key in _REQUIRED:
        if key not in value:
            raise UsageError(f"{name}.{key} is missing")
    return checked_table(HookSettings, name, value)


class HookTables(Table):
    """A list of tables `[[hooks]]`."""

    def __init__(self) -> None:
        super().__init__(lambda _, value: value)

    def check(self, name: str, value: Any) -> Any:
        """Return the hooks as a tuple of tables. Raises UsageError."""
        if not isinstance(value, list | tuple):
            raise UsageError(f"{name} must be tables: [[{name}]]")
        return tuple(check_hook(f"{name}[{number}]", each) for number, each in enumerate(value, 1))

    def show(self, value: Any) -> str:
        """Return the number of hooks; empty if there are none."""
        return str(len(value)) if value else ""
