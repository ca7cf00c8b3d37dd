"""A session as a series of entries that are safe to show: messages, actions and their results.

`formats` writes them as Markdown or HTML.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from workbench.protocol.events import Event, event_from_json
from workbench.secrets.masker import SecretMasker
from workbench.session.storage.jsonl import export_lines
from workbench.session.storage.store import Store
from workbench.text import counted, visible
from workbench.tools.manifest import kind_of
from workbench.view.formatting.actions import (
    action_line,
    decision_of,
    outcome,
    plus_minus,
    seconds,
    short_path,
    tool_sign,
)
from workbench.view.formatting.cards import printed_output
from workbench.view.reducer import apply
from workbench.view.state import CHANGED_BACK, ActionItem, AgentItem, Item, NoticeItem, SessionState, UserItem
from workbench.view.wrapping import count_lines

Kind = Literal["person", "agent", "action", "notice"]


@dataclass(frozen=True)
class Detail:
    """A part that is collapsed at first; `language` is the language of its text, for highlighting."""

    title: str
    body: str
    language: str = ""


@dataclass(frozen=True)
class TranscriptEntry:
    """One message, action or notice; `text` is Markdown by the user or the agent, `title` is plain text."""

    kind: Kind
    title: str
    text: str = ""
    folds: tuple[Detail, ...] = ()
    failed: bool = False


def facts(state: SessionState) -> list[tuple[str, str]]:
    """Return facts about the session as a whole, as names and values."""
    cost = "unknown" if state.cost is None else f"${state.cost:.4f}"
    rows = [
        ("Session", state.session_id),
        ("Directory", state.workspace),
        ("Model", state.model),
        ("Cost", f"{cost}, {state.total_tokens:,} tokens"),
        ("Events", str(state.last_seq)),
    ]
    return [(name, visible(value, lines=False)) for name, value in rows]


def entries(state: SessionState) -> Iterator[TranscriptEntry]:
    """Yield all entries in order; the result of an action is in its folds."""
    for item in state.items:
        entry = _entry(item, state.workspace)
        if entry is not None:
            yield entry


def transcript_text(state: SessionState) -> str:
    """Return all entries as plain text, without what is folded."""
    return "\n\n".join("\n".join(filter(None, (entry.title, entry.text.strip()))) for entry in entries(state))


def _entry(item: Item, workspace: str) -> TranscriptEntry | None:
    if isinstance(item, UserItem):
        return _message(item)
    if isinstance(item, AgentItem):
        thought = (Detail("Reasoning", visible(item.reasoning)),) if item.reasoning.strip() else ()
        return TranscriptEntry("agent", "Agent", visible(item.text), thought)
    if isinstance(item, NoticeItem):
        more = (Detail("More", visible(item.detail)),) if item.detail else ()
        return TranscriptEntry("notice", visible(item.text, lines=False), folds=more, failed=item.kind == "error")
    if kind_of(item.tool) == "final" and not item.agent and not item.error:
        return TranscriptEntry("agent", "Agent · finished", visible(str(item.arguments.get("message", ""))))
    return _action(item, workspace)


def _message(item: UserItem) -> TranscriptEntry:
    taken_back = " · removed before it was sent" if item.withdrawn else ""
    images = "".join(f"\n[image {chip}]" for chip in item.images)
    images += "".join(f"\n[resource {chip}]" for chip in item.resources)
    return TranscriptEntry("person", f"You{_time(item.at)}{taken_back}", visible(item.text) + images)


def _action(item: ActionItem, workspace: str) -> TranscriptEntry:
    who = f"{visible(item.agent, lines=False)} · " if item.agent else "you · " if item.by_user else ""
    facts = [outcome(item) or item.phase, "" if item.by_user else item.risk]
    facts.append(seconds(item.duration) if item.duration is not None else "")
    facts.append(decision_of(item))
    line = f"{item.number}. {who}{tool_sign(item)} {action_line(item, workspace)}"
    ended = " · ".join(part for part in facts if part)
    return TranscriptEntry(
        "action", f"{line} — {ended}", "", tuple(_folds(item, workspace)), item.phase in ("failed", "lost")
    )


def _folds(item: ActionItem, workspace: str) -> Iterator[Detail]:
    if item.tool != CHANGED_BACK:
        yield Detail(f"Call of {visible(item.tool, lines=False)}", visible(_json(item.arguments)), "json")
    more = {
        "Call as the tool shows it": item.call_rendering,
        "Thought": item.thought,
        "Note": item.note,
        "Result as the tool shows it": item.rendering,
    }
    yield from (Detail(title, visible(text)) for title, text in more.items() if text.strip())
    output = item.output or printed_output(item)
    if output.strip():
        lines = output.rstrip("\n").count("\n") + 1
        yield Detail(f"Output, {counted(lines, 'line')}", visible(output.rstrip("\n")))
    for delta in item.files:
        path, sides = short_path(delta.path, workspace), (delta.before, delta.after)
        if delta.cut:
            yield Detail(f"Change of {path}", visible(delta.cut))
        else:
            yield Detail(f"Change of {path} {plus_minus(*count_lines(*sides))}", _diff(path, *sides), "diff")


def _diff(path: str, before: str | None, after: str | None) -> str:
    names = (path if before is not None else "/dev/null", path if after is not None else "/dev/null")
    sides = ((before or "").split("\n"), (after or "").split("\n"))
    return visible("\n".join(difflib.unified_diff(*sides, *names, lineterm="")))


def _json(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False, indent=2, default=str)


def _time(at: datetime) -> str:
    return f" · {at:%Y-%m-%d %H:%M} UTC"


class Recorded:
    """A session from its first event to event number `until` (to the last one if None)."""

    def __init__(self, store: Store, until: int | None = None) -> None:
        self._store = store
        self._until = until
        self._secrets = SecretMasker()
        self._secrets.add_all(os.environ)  # the log masks the secrets known at the time; mask those known now too

    def lines(self) -> Iterator[str]:
        """Yield one event per line, as JSON without raw control characters."""
        for number, line in enumerate(export_lines(self._store), 1):
            if self._until is not None and number > self._until:
                return
            yield self._clean(line)

    def events(self) -> Iterator[Event]:
        """Yield the events that this version understands."""
        for line in self.lines():
            try:
                yield event_from_json(line)
            except ValueError:
                continue  # an event of a later version; `lines` has it

    def state(self) -> SessionState:
        """Return the state in which the screen would show the session."""
        state = SessionState()
        for event in self.events():
            apply(state, event)
        return state

    def _clean(self, line: str) -> str:
        # in JSON, a line of a text does not begin where the masker would look for it
        data = json.loads(line)
        masked = self._secrets.masked_data(data)
        return line if masked == data and visible(line, lines=False) == line else json.dumps(masked)
