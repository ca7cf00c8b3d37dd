"""Lines of the workbench itself: how a run ended, what was set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from workbench.settings_check import MODE_NAMES
from workbench.tui.fold.state import NoticeItem

if TYPE_CHECKING:
    from workbench.protocol.events import AgentNudged, CondensingUndone, HistoryCondensed, RunEnded, SettingsChanged

NoticeKind: TypeAlias = Literal["info", "finished", "warning", "error"]

_ENDS: Final[dict[str, tuple[str, NoticeKind]]] = {
    "finished": ("Finished", "finished"),
    "interrupted": ("Stopped by you", "warning"),
    "limit": ("Stopped at a limit", "warning"),
    "stuck": ("Stopped: the agent goes in circles", "warning"),
    "error": ("Stopped by an error", "error"),
}


_WHY_CONDENSED: Final = {
    "asked": "it asked for that",
    "person": "you asked for that",
    "overflow": "its window was full",
    "tokens": "its window was almost full",
    "events": "the history had grown long",
}


def run_end_notice(event: RunEnded) -> NoticeItem | None:
    """What to say of a run's end; nothing when the agent only waits for an answer."""
    if event.reason not in _ENDS:
        return None
    text, kind = _ENDS[event.reason]
    if event.reason == "interrupted" and event.detail:
        text = "Stopped"  # not by the person: its detail says by what
    says_more = event.detail and event.detail.casefold() not in text.casefold() and kind != "finished"
    return NoticeItem(event.seq, f"{text}: {event.detail}" if says_more else text, kind)


def nudge_notice(event: AgentNudged) -> NoticeItem:
    """What the workbench told the agent by itself, and why."""
    if event.reason == "stuck":
        return NoticeItem(event.seq, f"The agent was told that it goes in circles: {event.evidence}", "warning")
    if event.reason == "lost":
        return NoticeItem(event.seq, f"The session file was damaged and repaired: {event.evidence}", "warning")
    why = "its answer was empty" if event.reason == "empty" else "its answer called no tool"
    return NoticeItem(event.seq, f"The agent was asked again: {why}")


def condensed_notice(event: HistoryCondensed) -> NoticeItem:
    """What was summed up for the model; the summary can be opened."""
    text = f"Events {event.first} to {event.last} were summed up for the model: {_WHY_CONDENSED[event.reason]}"
    return NoticeItem(event.seq, text, detail=event.summary, title="Summary of the history")


def undone_notice(event: CondensingUndone) -> NoticeItem:
    """What the model gets word for word again."""
    text = f"The summary of events {event.first} to {event.last} was taken back: the model gets them whole again"
    return NoticeItem(event.seq, text)


def settings_notice(event: SettingsChanged) -> NoticeItem:
    """What is set from here on."""
    parts = [
        f"mode from here on: {MODE_NAMES[event.mode]}" if event.mode else "",
        f"model from here on: {event.model}" if event.model else "",
        f"at most {event.max_steps} steps a run" if event.max_steps is not None else "",
        f"rule of this session: {event.rule}" if event.rule else "",
        f"no longer a rule of this session: {event.dropped_rule}" if event.dropped_rule else "",
        f"the session is called {event.title or 'as before'}" if event.title is not None else "",
    ]
    said = ", ".join(part for part in parts if part)
    return NoticeItem(event.seq, f"{said[:1].upper()}{said[1:]}")
