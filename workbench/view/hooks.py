"""The runs of hooks as front ends show them: a notice if one did something, and a line on the page of its action."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from workbench.text import first_line, visible
from workbench.view.state import NoticeItem

if TYPE_CHECKING:
    from workbench.protocol.hook_run import HookRan

_LONGEST: Final = 300
_DID: Final = {"approve": "approved", "ask": "asked", "deny": "denied", "change": "changed the arguments"}


def hook_notice(event: HookRan) -> NoticeItem | None:
    """Return the notice about a run; None if there is nothing that the user has to know."""
    who = f'Hook "{visible(event.name, lines=False)}"'
    if event.failure:
        return NoticeItem(event.seq, _line(f"{who} failed: {event.failure}"), "warning")
    if event.decision == "deny" and event.event == "user_message":
        return NoticeItem(event.seq, _line(f"{who} blocked your message: {event.explanation}"), "warning")
    if event.message:
        return NoticeItem(event.seq, _line(f"{who}: {event.message}"))
    text = event.context or (event.explanation if event.decision == "deny" and not event.action_id else "")
    if text:
        return NoticeItem(event.seq, f"{who} added a note for the agent", detail=text, title="Note of a hook")
    return None


def _line(text: str) -> str:
    return first_line(visible(text, lines=False), _LONGEST)


def hook_line(event: HookRan) -> str:
    """Return a run in one line: which hook, when, what it did, its exit code and its time in milliseconds."""
    ended = "" if event.exit is None else f"exit {event.exit}"
    did = event.failure or _DID.get(event.decision, "")
    did += f": {event.explanation}" if event.explanation and not event.failure else ""
    facts = (event.name, event.event.replace("_", " "), did, ended, f"{event.duration * 1000:.0f} ms")
    return first_line(" · ".join(filter(None, facts)), _LONGEST)
