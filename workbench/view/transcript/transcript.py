"""A session as a series of entries that are safe to show: messages, actions and their results.

`markdown` and `html` write them as documents.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from typing import Any, Literal

from workbench.diff.hunks import compare
from workbench.diff.unified import unified_lines
from workbench.durations import measured_duration
from workbench.protocol.events import (
    DelegateStep,
    Event,
    HistoryCondensed,
    ModelAsked,
    ModelResponded,
    event_from_json,
)
from workbench.secrets.masker import SecretMasker, strings_in
from workbench.session.storage.store import Store
from workbench.session.storage.usage_log import ModelCall
from workbench.text import counted, first_line, visible
from workbench.tools.manifest import kind_of
from workbench.view.formatting.actions import (
    action_line,
    decision_of,
    outcome,
    plus_minus,
    short_path,
    tool_sign,
    user_words,
)
from workbench.view.formatting.cards import printed_output
from workbench.view.reducer import apply
from workbench.view.state import CHANGED_BACK, ActionItem, AgentItem, Item, NoticeItem, SessionState, UserItem
from workbench.view.stats import Totals
from workbench.view.wrapping import count_lines

_BATCH = 64
"""How many events are searched for secrets at once."""
Kind = Literal["person", "agent", "action", "notice"]


@dataclass(frozen=True)
class Detail:
    """A part that is collapsed at first; `language` is the language of its text, for highlighting."""

    title: str
    body: str
    language: str = ""


@dataclass(frozen=True)
class TranscriptEntry:
    """One message, action or notice; `text` is Markdown by the user or the agent, the others are plain text."""

    kind: Kind
    title: str
    text: str = ""
    folds: tuple[Detail, ...] = ()
    failed: bool = False
    facts: str = ""
    """When a message was sent; how an action ended, who allowed it and how long it took; what a run cost."""
    number: int = 0
    """The number of an action of the agent's; 0 for anything else."""
    at: datetime | None = None

    @property
    def heading(self) -> str:
        """The title, followed by the facts."""
        separator = " — " if self.kind == "action" else " · "
        return f"{self.title}{separator}{self.facts}" if self.facts else self.title


def title_of(state: SessionState) -> str:
    """Return the user's title for the session, or else the first message, on one line."""
    message = next((item.text for item in state.items if isinstance(item, UserItem)), "")
    return first_line(state.title, 100) or first_line(message, 100) or "A session"


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
    return "\n\n".join("\n".join(filter(None, (entry.heading, entry.text.strip()))) for entry in entries(state))


def _entry(item: Item, workspace: str) -> TranscriptEntry | None:
    if isinstance(item, UserItem):
        return _message(item)
    if isinstance(item, AgentItem):
        thought = (Detail("Reasoning", visible(item.reasoning)),) if item.reasoning.strip() else ()
        return TranscriptEntry("agent", "Agent", visible(item.text), thought)
    if isinstance(item, NoticeItem):
        more = (Detail("More", visible(item.detail)),) if item.detail else ()
        title, failed = visible(item.text, lines=False), item.kind == "error"
        return TranscriptEntry("notice", title, folds=more, failed=failed, facts=visible(item.facts, lines=False))
    if kind_of(item.tool) == "final" and not item.agent and not item.error:
        return TranscriptEntry("agent", "Agent · finished", visible(str(item.arguments.get("message", ""))))
    return _action(item, workspace)


def _message(item: UserItem) -> TranscriptEntry:
    sent = f"{item.at:%Y-%m-%d %H:%M} UTC{' · removed before it was sent' if item.withdrawn else ''}"
    images = "".join(f"\n[image {chip}]" for chip in item.images)
    images += "".join(f"\n[resource {chip}]" for chip in item.resources)
    return TranscriptEntry("person", "You", visible(item.text) + images, facts=sent, at=item.at)


def _action(item: ActionItem, workspace: str) -> TranscriptEntry:
    who = f"{visible(item.agent, lines=False)} · " if item.agent else user_words(item)
    facts = [outcome(item) or item.phase, "" if item.by_user else item.risk]
    facts.append(measured_duration(item.duration) if item.duration is not None else "")
    facts.append(decision_of(item))
    return TranscriptEntry(
        "action",
        f"{item.number}. {who}{tool_sign(item)} {action_line(item, workspace)}",
        folds=tuple(_folds(item, workspace)),
        failed=item.phase in ("failed", "lost"),
        facts=" · ".join(part for part in facts if part),
        number=0 if item.agent else item.number,
        at=item.started or item.at,
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
    return visible("\n".join(unified_lines(compare(path, before, after))))


def _json(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False, indent=2, default=str)


@dataclass
class RecordedState:
    """A recorded session: the state as the screen would show it, its model calls, and the times of the first and the
    last event.
    """

    state: SessionState = field(default_factory=SessionState)
    models: dict[str, Totals] = field(default_factory=dict)
    """The calls of each model, by its name, safe to show."""
    began: datetime | None = None
    ended: datetime | None = None

    def add(self, event: Event) -> None:
        """Apply an event."""
        apply(self.state, event)
        self.began, self.ended = self.began or event.at, event.at
        call = event.event if isinstance(event, DelegateStep) else event
        if isinstance(call, ModelResponded | ModelAsked | HistoryCondensed):
            name = visible(call.model or "unknown", lines=False)
            agent = getattr(event, "agent", "")
            self.models.setdefault(f"{name} (sub-agents)" if agent else name, Totals()).add(_call(call))


def _call(event: ModelResponded | ModelAsked | HistoryCondensed) -> ModelCall:
    usage = event.usage
    return ModelCall(
        "",
        event.at,
        cost=event.cost,
        input=usage.input or 0,
        cached=usage.cached or 0,
        written=usage.written or 0,
        output=usage.output or 0,
        seconds=event.latency,
    )


class Recorded:
    """A session from its first event to event number `until` (to the last one if None)."""

    def __init__(self, store: Store, until: int | None = None) -> None:
        self._store = store
        self._until = until
        self._secrets = SecretMasker()
        self._secrets.add_all(os.environ)  # the log masks the secrets known at the time; mask those known now too

    def lines(self) -> Iterator[str]:
        """Yield one event per line, as JSON without raw control characters."""
        lines = (line for _, line in islice(self._store.lines(), self._until))
        while batch := list(islice(lines, _BATCH)):
            yield from self._clean(batch)

    def events(self) -> Iterator[Event]:
        """Yield the events that this version understands."""
        for line in self.lines():
            try:
                yield event_from_json(line)
            except ValueError:
                continue  # an event of a later version; `lines` has it

    def state(self) -> SessionState:
        """Return the state in which the screen would show the session."""
        return self.read().state

    def read(self) -> RecordedState:
        """Return the state in which the screen would show the session, with the session's totals."""
        recorded = RecordedState()
        for event in self.events():
            recorded.add(event)
        return recorded

    def _clean(self, lines: Sequence[str]) -> Iterator[str]:
        """Yield the lines without secrets and control characters; lines without secrets are checked as a batch."""
        # The decoded strings are checked: JSON escapes line breaks, so the masker would not see where lines begin.
        batch = [json.loads(line) for line in lines]
        if not self._secrets.may_stand_in_any(chain.from_iterable(map(strings_in, batch))):
            yield from (_escaped(line, data) for line, data in zip(lines, batch, strict=True))
        elif len(lines) > 1:
            half = len(lines) // 2
            yield from self._clean(lines[:half])
            yield from self._clean(lines[half:])
        else:
            masked = self._secrets.masked_data(batch[0])
            yield _escaped(lines[0], masked) if masked == batch[0] else json.dumps(masked)


def _escaped(line: str, data: Any) -> str:
    """Return the line, or the data as JSON if the line has control characters."""
    return line if visible(line, lines=False) == line else json.dumps(data)
