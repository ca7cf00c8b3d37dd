"""Describes the actions that wrote lines: the call, the user's message that led to it, the model and the decision."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.protocol.events import (
    ActionProposed,
    DelegateStep,
    Event,
    SettingsChanged,
    UserCommand,
    UserMessage,
)
from workbench.session.blame.history import Writer
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store, hold

_KINDS: Final = ("action_proposed", "action_decided", "person_command", "model_responded")
_DECISION: Final = """
  json_extract(json, '$.by'), json_extract(json, '$.rule'), json_extract(json, '$.verdict') = 'edited',
  json_extract(json, '$.hunks') IS NOT NULL"""
_INDEX: Final = f"""
SELECT seq, '', kind, coalesce(json_extract(json, '$.action_id'), json_extract(json, '$.response_id'), ''),
  json_extract(json, '$.model'), json_extract(json, '$.seen'), {_DECISION}
FROM events WHERE kind IN {_KINDS} OR kind = 'user_message'
  OR kind = 'settings_changed' AND json_extract(json, '$.title') <> ''
UNION ALL
SELECT seq, json_extract(json, '$.session'), json_extract(json, '$.event.kind'),
  coalesce(json_extract(json, '$.event.action_id'), json_extract(json, '$.event.response_id'), ''),
  json_extract(json, '$.event.model'), NULL, {_DECISION.replace("$.", "$.event.")}
FROM events WHERE kind = 'delegate_step' AND json_extract(json, '$.event.kind') IN {_KINDS}
ORDER BY seq"""


class Approval(Struct, frozen=True):
    """Who or what approved an action: the user, or a rule or a mode, which `rule` names."""

    by: str
    rule: str = ""
    is_edited: bool = False
    """Whether the arguments that the agent proposed were edited."""
    is_partial: bool = False
    """Whether only a part of the change was accepted."""


class Origin(Struct, frozen=True):
    """What a log contains about the action or command of a writer; its strings are not yet made safe to show.

    `title` is the session's: the user's name for it, or else its first message.
    """

    title: str = ""
    prompt: str = ""
    model: str = ""
    agent: str = ""
    """The name of the sub-agent that acted; empty for the agent of the session."""
    call: ActionProposed | None = None
    approval: Approval | None = None
    command: str = ""
    """The shell command, if it was the user's own; empty for an action of the agent."""


def origins_of(locations: Locations, writers: Iterable[Writer]) -> dict[Writer, Origin]:
    """Return what the logs contain about these writers.

    Writers without a session, and those whose session cannot be read, are missing from the result.
    """
    by_session: dict[str, list[Writer]] = {}
    for writer in writers:
        if writer.session:
            by_session.setdefault(writer.session, []).append(writer)
    origins: dict[Writer, Origin] = {}
    for session, group in by_session.items():
        try:
            with Store.open(session_path(locations, session), readonly=True) as store:
                hold(store)
                log = _LogIndex(store)
                origins |= {writer: log.origin(writer) for writer in group}
        except (WorkbenchError, sqlite3.Error):
            continue  # the file was damaged or deleted meanwhile
    return origins


class _Entry(NamedTuple):
    """A row of the index: an event of the session, or of the sub-agent whose log has the id `delegate`."""

    seq: int
    delegate: str
    kind: str
    name: str
    model: str | None
    last_read: int | None
    by: str | None
    rule: str | None
    is_edited: int | None
    is_partial: int


class _LogIndex:
    """An index of one log: the numbers of the events that describe its actions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._entries: dict[tuple[str, str, str], list[_Entry]] = {}
        self._messages: list[int] = []
        self._prompts: dict[int, str] = {}
        titled = 0
        for row in store.query(_INDEX):
            entry = _Entry(*row)
            if entry.kind == "user_message":
                self._messages.append(entry.seq)
            elif entry.kind == "settings_changed":
                titled = entry.seq
            else:
                self._entries.setdefault((entry.delegate or "", entry.kind, entry.name), []).append(entry)
        self._title = self._read_title(titled)

    def _read_title(self, titled: int) -> str:
        event = self._event(titled or (self._messages[0] if self._messages else 0))
        if isinstance(event, SettingsChanged):
            return event.title or ""
        return event.text if isinstance(event, UserMessage) else ""

    def _event(self, seq: int) -> Event | None:
        return next(iter(self._store.events(seq - 1, 1)), None) if seq else None

    def _last(self, delegate: str, kind: str, name: str, until: int) -> _Entry | None:
        entries: Sequence[_Entry] = self._entries.get((delegate, kind, name), ())
        return next((each for each in reversed(entries) if each.seq <= until), None)

    def origin(self, writer: Writer) -> Origin:
        """Return what the log contains about a writer."""
        if not writer.action_id:
            return Origin(self._title)
        entry = self._last(writer.delegate, "action_proposed", writer.action_id, writer.seq)
        step = self._event(entry.seq) if entry is not None else None
        call = step.event if isinstance(step, DelegateStep) else step
        if not isinstance(call, ActionProposed):
            return Origin(self._title, command=self._command(writer))
        answer = self._last(writer.delegate, "model_responded", call.response_id, writer.seq)
        proposed = step.seq if step is not None else writer.seq
        return Origin(
            self._title,
            self._prompt(min(proposed, (answer.last_read if answer else None) or proposed)),
            (answer.model if answer else None) or "",
            step.agent if isinstance(step, DelegateStep) else "",
            call,
            self._approval(writer, proposed),
        )

    def _prompt(self, until: int) -> str:
        """Return the user's last message up to the event `until`."""
        at = bisect_right(self._messages, until)
        seq = self._messages[at - 1] if at else 0
        if seq not in self._prompts:
            event = self._event(seq)
            self._prompts[seq] = event.text if isinstance(event, UserMessage) else ""
        return self._prompts[seq]

    def _command(self, writer: Writer) -> str:
        entry = self._last("", "person_command", writer.action_id, writer.seq)
        event = self._event(entry.seq) if entry is not None else None
        return event.command if isinstance(event, UserCommand) else ""

    def _approval(self, writer: Writer, proposed: int) -> Approval | None:
        entry = self._last(writer.delegate, "action_decided", writer.action_id, writer.seq)
        if entry is None or entry.seq < proposed:
            return None
        return Approval(entry.by or "", entry.rule or "", bool(entry.is_edited), bool(entry.is_partial))
