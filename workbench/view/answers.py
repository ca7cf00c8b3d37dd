"""Finds the agent's answers in a session, to be copied."""

from __future__ import annotations

from workbench.view.formatting.actions import presentation
from workbench.view.state import ActionItem, AgentItem, Item, SessionState


def answers(state: SessionState) -> list[str]:
    """Return the agent's answers to the user, newest first: its messages, and calls whose subject is a message."""
    return [text for item in reversed(state.items) if (text := _message_of(item).strip())]


def _message_of(item: Item) -> str:
    if isinstance(item, AgentItem):
        return item.text
    if isinstance(item, ActionItem) and item.phase == "done" and presentation(item).subject == "message":
        return str(item.arguments.get("message", ""))
    return ""
