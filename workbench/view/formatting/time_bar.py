"""The words of the bar of the time view: which event of how many, what happened then, and how long ago."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from workbench.protocol.events import Event

_MINUTE: Final = 60
_MONTH: Final = 30 * 86400
_UNITS: Final = ((86400, "d"), (3600, "h"), (_MINUTE, "min"))
"""Seconds of each unit, the longest first."""
_NAMES: Final = {
    "session_started": "Session started",
    "user_message": "Your message",
    "message_withdrawn": "Message removed",
    "resources_read": "Resources attached",
    "model_responded": "Answer",
    "model_asked": "Model called by a tool",
    "action_proposed": "Action proposed",
    "person_command": "Your command",
    "action_assessed": "Risk assessed",
    "action_decided": "Decision",
    "action_started": "Action started",
    "action_observed": "Action finished",
    "action_abandoned": "Outcome unknown",
    "version_taken": "Snapshot",
    "files_changed": "Files changed",
    "history_condensed": "Compacted",
    "condensing_asked": "Compaction requested",
    "condensing_undone": "Compaction undone",
    "output_dropped": "Output dropped",
    "agent_nudged": "Loop warning",
    "hook_ran": "Hook",
    "settings_changed": "Settings changed",
    "delegate_step": "Sub-agent",
    "rewound": "Rewind",
    "forked": "Fork",
    "run_ended": "Run ended",
}


def event_name(event: Event) -> str:
    """Return what an event records, in a word or two; for a step of a sub-agent, also what the step records."""
    inner = getattr(event, "event", None)
    name = _NAMES.get(event.kind) or event.kind.replace("_", " ").capitalize()
    return f"{name}: {event_name(inner).lower()}" if inner is not None else name


def age_text(at: datetime, now: datetime) -> str:
    """Return how long ago a time was, such as `3 min ago`, or its date if that is more than a month ago."""
    passed = int((now - at).total_seconds())
    if passed < _MINUTE:
        return "just now"
    if passed > _MONTH:
        return f"{at.astimezone():%-d %b %Y}"
    unit, name = next((unit, name) for unit, name in _UNITS if passed >= unit)
    return f"{passed // unit:,} {name} ago"


def gauge(seq: int, last: int, width: int) -> tuple[str, str]:
    """Return the filled and the empty part of a bar of `width` cells that shows how far into the session `seq` is."""
    filled = width if seq >= last else max(1, min(width - 1, round(width * seq / last)))
    return "■" * filled, "─" * (width - filled)


def no_event_text(seq: int) -> str:
    """Return the text shown for an event that cannot be read from the session file."""
    return f"Event {seq:,} cannot be read: the session file is damaged there"
