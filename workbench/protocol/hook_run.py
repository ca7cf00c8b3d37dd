"""The run of a hook, as the log records it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from workbench.protocol.event_base import EventBase

HookDecision: TypeAlias = Literal["", "approve", "ask", "deny", "change"]


class HookRan(EventBase):
    """One run of a hook, a program of the user's that is notified of events.

    `event` is the hook event, such as `before_action`, and `about` the number of the log's event that it was given, or
    0. `exit` is the exit status, negative for a signal, `None` if the workbench ended it; `duration` is in seconds.
    `decision` is what it decided, and `explanation` its words for that; a run with a `failure` decides nothing.
    `arguments` are those that it put in the place of the action's, `context` is what the model reads. Secrets are
    masked.
    """

    name: str
    source: str
    event: str
    action_id: str = ""
    about: int = 0
    exit: int | None = None
    duration: float = 0.0
    decision: HookDecision = ""
    explanation: str = ""
    context: str = ""
    arguments: dict[str, Any] | None = None
    message: str = ""
    """A line for the user."""
    failure: str = ""
