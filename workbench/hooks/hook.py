"""The definition of a hook, and what it answered."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from workbench.protocol.hook_run import HookDecision

HookEvent: TypeAlias = Literal[
    "session_start",
    "session_end",
    "user_message",
    "before_action",
    "after_action",
    "before_asking",
    "after_decision",
    "model_call",
    "run_end",
    "notification",
    "before_compaction",
]
Format: TypeAlias = Literal["ohw", "claude"]
DECIDING: frozenset[HookEvent] = frozenset({"before_action", "before_asking"})
"""The events in which a hook can decide on an action."""


class Hook(msgspec.Struct, frozen=True):
    """One hook; `source` is the file that defines it, and `format` how it talks."""

    event: HookEvent
    command: str
    name: str
    source: Path
    matcher: str = ""
    timeout: float = 60.0
    in_sandbox: bool = True
    format: Format = "ohw"
    files: Mapping[str, str] = {}
    """The files of the workspace that the command names, each with a hash of its content."""

    def matches(self, names: Collection[str]) -> bool:
        """Return whether it runs for an event about something with these names, such as the tool's."""
        if self.matcher in ("", "*"):
            return True
        return any(re.fullmatch(self.matcher, name) for name in names)


class HookAnswer(msgspec.Struct, frozen=True):
    """What one run of a hook means; with a `failure`, which is one line, it decides nothing."""

    decision: HookDecision = ""
    explanation: str = ""
    context: str = ""
    """What the model is to read."""
    arguments: dict[str, Any] | None = None
    """The arguments of the tool that it wants in place of the model's."""
    message: str = ""
    """A line for the user."""
    failure: str = ""


class InvalidAnswer(Exception):
    """What a hook printed cannot be used; the message is one line."""
