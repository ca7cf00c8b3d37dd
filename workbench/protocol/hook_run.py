"""The run of a hook, as the log records it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from workbench.protocol.event_base import EventBase

HookDecision: TypeAlias = Literal["", "approve", "ask", "deny", "change"]


class HookRan(EventBase):
    """One run of a hook: a program of the user's that is notified of events.

    `event` is the hook event, such as `before_action`; `about` is the `seq` of the log's event that the hook was
    notified of, or 0. `exit` is the exit status, negative for a signal, `None` if the hook did not run or the workbench
    ended it; `duration` is in seconds. `decision` is the hook's decision, `explanation` its reason as text; a run with
    a `failure` decides nothing. `arguments` replace those of the action, `context` is text for the model. Secrets are
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
