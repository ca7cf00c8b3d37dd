"""The input of a hook: the event as in the log, with its session and, for an action, the call."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from workbench.hooks.hook import HookEvent
from workbench.protocol.codec import encode
from workbench.protocol.events import ActionProposed, Event
from workbench.protocol.risk import Mode


class Occurrence(msgspec.Struct, frozen=True):
    """One event for which hooks run; `proposed` is the action that it concerns, with its current arguments."""

    hook_event: HookEvent
    session: str
    workspace: str
    mode: Mode = "medium"
    event: Event | None = None
    proposed: ActionProposed | None = None
    trigger: str = ""
    """What a matcher is compared with if there is no action, such as how the session starts, or why the history is
    compacted.
    """
    mcp_name: str = ""
    """The name `mcp__SERVER__TOOL` of a tool of an MCP server; empty for any other tool."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names with which a matcher in our own format is compared."""
        return (self.proposed.tool,) if self.proposed is not None else (self.trigger,)


def payload(about: Occurrence) -> str:
    """Return the input of a hook in our own format, one line of JSON."""
    values: dict[str, Any] = {
        "hook_event": about.hook_event,
        "session_id": about.session,
        "workspace": about.workspace,
        "mode": about.mode,
    }
    if about.proposed is not None:
        values |= {"tool": about.proposed.tool, "arguments": about.proposed.arguments}
    if about.trigger:
        values["trigger"] = about.trigger
    event = json.loads(encode(about.event)) if about.event is not None else None
    return json.dumps({**values, "event": event}, ensure_ascii=False) + "\n"
