"""Tells a headless run on stderr, line by line and safe to show; colour only on a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from workbench.protocol.events import (
    ActionAbandoned,
    ActionDecided,
    ActionObserved,
    ActionProposed,
    AgentNudged,
    DelegateStep,
    Event,
    HistoryCondensed,
    ModelResponded,
    RunEnded,
    SessionStarted,
    VersionTaken,
)
from workbench.protocol.live import EngineState, LiveEvent, Notice
from workbench.session.state import OpenAction
from workbench.text import first_line, visible
from workbench.tools.ask_human.question import read_question

OpenQuestion: TypeAlias = tuple[OpenAction, str]
"""A waiting action, and the sub-agent that asks; empty for the agent itself."""
_DIM, _RED, _BOLD, _PLAIN = "\x1b[2m", "\x1b[31m", "\x1b[1m", "\x1b[0m"


class Narrator:
    """Writes one run, line by line, with `write`; `colour` where a terminal shows it."""

    def __init__(self, write: Callable[[str], None], *, colour: bool = False) -> None:
        self._write = write
        self._colour = colour
        self._last_detail = ""

    def event(self, event: Event) -> None:
        """A line for what a reader of the log would want to see."""
        match event:
            case SessionStarted():
                directory = visible(event.workspace, lines=False)
                self._say(f"session {event.id} in {directory}, model {event.model}, mode {event.mode}", _DIM)
            case ModelResponded() if event.text.strip():
                self._say(event.text.strip())
            case ActionProposed():
                self._say(f"▸ {event.tool}" if event.error else f"▸ {event.tool}: {_what(event)}", _BOLD)
            case ActionDecided() if event.verdict == "rejected":
                self._say(f"  rejected by {event.rule or event.by}", _RED)
            case ActionObserved():
                self._observed(event)
            case ActionAbandoned():
                self._say(f"  outcome unknown: {event.reason}", _RED)
            case AgentNudged() | HistoryCondensed() | RunEnded() | DelegateStep() | VersionTaken():
                self._turned(event)

    def _turned(self, event: AgentNudged | HistoryCondensed | RunEnded | DelegateStep | VersionTaken) -> None:
        if isinstance(event, VersionTaken):
            if event.guarded:
                self._say(f"  {event.notice}", _RED)
        elif isinstance(event, AgentNudged):
            self._say(f"told the agent: {event.evidence or first_line(event.text, 160)}", _DIM)
        elif isinstance(event, HistoryCondensed):
            self._say(f"events {event.first} to {event.last} were summed up for the model", _DIM)
        elif isinstance(event, DelegateStep):
            if isinstance(event.event, ActionProposed):
                self._say(f"  {event.agent} ▸ {event.event.tool}: {_what(event.event)}")
        else:
            self._say(f"{event.reason}: {first_line(event.detail, 500)}" if event.detail else event.reason, _DIM)

    def notice(self, line: str) -> None:
        """What the workbench itself has to say."""
        self._say(line, _RED)

    def live(self, event: LiveEvent) -> None:
        """Notices, and retries and waits, each once: a countdown is for screens."""
        if isinstance(event, Notice):
            self.notice(event.text)
        if not isinstance(event, EngineState):
            return
        if event.detail and _without_seconds(event.detail) != _without_seconds(self._last_detail):
            self._say(event.detail, _RED)
        self._last_detail = event.detail

    def close(self, session_id: str, questions: Sequence[OpenQuestion], unsaved: str) -> None:
        """How to go on, with every question that is open; only what is true is said."""
        if unsaved:
            self._say(unsaved, _RED)
            return
        if not questions:
            self._say(f"to go on: ohw resume {session_id}", _DIM)
            return
        if len(questions) == 1:
            asked = self._asked(*questions[0])
            self._why(questions[0][0])
            self._say(f"stopped at a question: {asked} Answer it with `ohw resume {session_id}`", _BOLD)
            return
        for number, (action, agent) in enumerate(questions, 1):
            risk = action.assessed.risk if action.assessed is not None and not action.asks_person else ""
            what = "" if action.asks_person else f"  {_what(action.proposed)}"
            self._say(" ".join(filter(None, (f"{number}.", risk, self._asked(action, agent)))) + what, _BOLD)
            self._why(action)
        self._say(f"stopped at {len(questions)} questions. Answer them with `ohw resume {session_id}`", _BOLD)

    def _asked(self, action: OpenAction, agent: str) -> str:
        """Who asks what, in one line; a question of the agent's is told whole before."""
        if not action.asks_person:
            return f"may {action.proposed.tool} run{f' for the sub-agent {agent}' if agent else ''}?"
        self._ask(action.proposed)
        return f"the {f'sub-agent {agent}' if agent else 'agent'} asks you something."

    def _why(self, action: OpenAction) -> None:
        """Why an action is asked about: its risk with the reasons, and the rule or mode."""
        found = action.assessed
        if found is None or action.asks_person:
            return
        parts = [part.reason for part in found.segments if part.risk == found.risk]
        why = first_line("; ".join(dict.fromkeys((*found.reasons, *parts))), 300)
        if why:
            self._say(f"  it is {found.risk} ({why}); asked by {found.rule}", _DIM)

    def _ask(self, event: ActionProposed) -> None:
        """The whole question of the agent's, with its numbered options."""
        question = read_question(event.arguments)
        self._say(question.text, _BOLD)
        for number, option in enumerate(question.options, 1):
            self._say(f"  {number}. {option}")

    def _observed(self, event: ActionObserved) -> None:
        failed = bool(event.observation.get("is_error"))
        text = "".join(str(part.get("text", "")) for part in event.observation.get("content", ()))
        line = first_line(text, 160)
        if line:
            self._say(f"  {'✗ ' if failed else ''}{line}", _RED if failed else _DIM)

    def _say(self, text: str, style: str = "") -> None:
        shown = visible(text)
        if self._colour and style:
            shown = f"{style}{shown}{_PLAIN}"
        self._write(shown + "\n")


def _without_seconds(detail: str) -> str:
    return re.sub(r" in \d+ s$", "", detail)


def _what(event: ActionProposed) -> str:
    said = event.arguments.get("command") or event.arguments.get("question") or event.summary
    path = event.arguments.get("path")
    return first_line(f"{said} {path}" if path else str(said), 160)
