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
    """One hook; `source` is the file that defines it, and `format` the format of its input and output."""

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
        """Return whether the hook runs for an event with one of these names, such as the name of the tool."""
        if self.matcher in ("", "*"):
            return True
        return any(re.fullmatch(self.matcher, name) for name in names)


class HookAnswer(msgspec.Struct, frozen=True):
    """The answer of one run of a hook. If it has a `failure` (one line), the hook failed and decides nothing."""

    decision: HookDecision = ""
    explanation: str = ""
    context: str = ""
    """Text for the model."""
    arguments: dict[str, Any] | None = None
    """The arguments that replace those of the model; None to leave them unchanged."""
    message: str = ""
    """A line for the user."""
    failure: str = ""


class InvalidAnswer(Exception):
    """The output of a hook cannot be used; the message says why, in one line."""
