"""The text index of a session file: what the person and the agent wrote and what tools answered; used by the store."""

from __future__ import annotations

import re
import sqlite3

from workbench.protocol.events import ActionObserved, ActionProposed, Event, ModelResponded, UserMessage

_LONGEST = 4_000
"""Characters of one event that are indexed."""


def index_words(db: sqlite3.Connection, event: Event) -> None:
    """Add the words of one event, in the open transaction."""
    text = text_of(event)
    if text:
        db.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (event.seq, text[:_LONGEST]))


def text_of(event: Event) -> str:
    """What can be found of an event."""
    match event:
        case UserMessage(text=text) | ModelResponded(text=text):
            return text
        case ActionProposed():
            return " ".join((event.summary, *(value for value in event.arguments.values() if isinstance(value, str))))
        case ActionObserved():
            return observed_text(event.observation)
    return ""


def observed_text(observation: dict[str, object]) -> str:
    """All text blocks of a dumped observation, one below the other."""
    blocks = observation.get("content")
    if not isinstance(blocks, list | tuple):
        return ""
    texts = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def words_of(text: str) -> list[str]:
    """The words of a query."""
    return re.findall(r"\w+", text)


def find_words(db: sqlite3.Connection, text: str, limit: int) -> list[int]:
    """The newest events that hold every word of the text."""
    words = words_of(text)
    if not words:
        return []
    query = " ".join(f'"{word}"*' for word in words)
    rows = db.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?", (query, limit))
    return [row[0] for row in rows]
