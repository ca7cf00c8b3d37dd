"""Narrates a run without a screen: one or a few lines about each event that the user should know about."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from workbench.plain.output import WIDTH
from workbench.protocol.deletion_list import brief
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
from workbench.protocol.hook_run import HookRan
from workbench.protocol.live import EngineState, LiveEvent, Notice
from workbench.session.state import OpenAction
from workbench.text import first_line, visible, visible_path
from workbench.tools.ask_human.question import read_question, who_asks
from workbench.tools.manifest import kind_of
from workbench.tools.rich_text import renderable_of, renderable_of_call, rendered_lines
from workbench.tools.tool import ToolDefinition
from workbench.view.fallback_line import fallback_line
from workbench.view.formatting.actions import decision_text, headline
from workbench.view.formatting.approval import deletion_lines
from workbench.view.hooks import hook_notice

OpenQuestion: TypeAlias = tuple[OpenAction, str]
"""A pending action, and the name of the sub-agent that asks; empty if the agent itself asks."""
_DIM, _RED, _BOLD, _PLAIN = "\x1b[2m", "\x1b[31m", "\x1b[1m", "\x1b[0m"


class Narrator:
    """Narrates a run through `write`, line by line; with `color`, in the colors of a terminal."""

    def __init__(self, write: Callable[[str], None], *, color: bool = False, width: int = WIDTH) -> None:
        self._write = write
        self._width = width
        self._color = color
        self._last_detail = ""
        self._workspace = ""
        self._fallbacks: set[str] = set()
        self._final: set[str] = set()
        self._message = ""
        self._last_result = ""
        self._tools: dict[str, str] = {}
        self.tools: Mapping[str, ToolDefinition] = {}
        """The tools whose own rendering is printed with their calls and results."""

    def event(self, event: Event) -> None:
        """Write about an event if the user should know about it."""
        match event:
            case SessionStarted():
                self._workspace = event.workspace
                directory = visible_path(event.workspace)
                self._print(f"session {event.id} in {directory}, model {event.model}, mode {event.mode}", _DIM)
            case ModelResponded():
                self._answered(event)
            case ActionProposed():
                self._proposed(event)
            case ActionDecided():
                self._decided(event)
            case ActionObserved():
                self._observed(event)
            case ActionAbandoned():
                self._print(f"  outcome unknown: {event.reason}", _RED)
            case AgentNudged() | HistoryCondensed() | RunEnded() | DelegateStep() | VersionTaken() | HookRan():
                self._turned(event)

    def _turned(self, event: AgentNudged | HistoryCondensed | RunEnded | DelegateStep | VersionTaken | HookRan) -> None:
        if isinstance(event, HookRan):
            if (notice := hook_notice(event)) is not None:
                self._print(f"  {notice.text}", _RED if notice.kind == "warning" else _DIM)
        elif isinstance(event, VersionTaken):
            if event.guarded:
                self._print(f"  {event.notice}", _RED)
        elif isinstance(event, AgentNudged):
            self._print(f"notified the agent: {event.evidence or first_line(event.text, 160)}", _DIM)
        elif isinstance(event, HistoryCondensed):
            self._print(f"compacted events {event.first} to {event.last}", _DIM)
        elif isinstance(event, DelegateStep):
            self._delegated(event)
        else:
            self._ended(event)

    def _proposed(self, event: ActionProposed) -> None:
        self._tools[event.action_id] = event.tool
        self._print(f"▸ {self._call(event)}", _BOLD)
        if not event.error:
            tool = self.tools.get(event.tool)
            self._render(renderable_of_call(tool, event.arguments) if tool else None, event.rendering)

    def _render(self, renderable: Any, recorded: str) -> None:
        """Write a tool's own rendering below the line about its call or result; without a `renderable`, the recorded
        one.
        """
        lines = [visible(line, lines=False) for line in recorded.split("\n")] if recorded else []
        if renderable is not None:
            lines = rendered_lines(renderable, width=self._width - 2, color=self._color)
        self._write("".join(f"  {each}\n" for each in lines))

    def _ended(self, event: RunEnded) -> None:
        """Write how the run ended, with its final message, unless that was the result in the line above."""
        is_written = event.reason == "finished" and event.detail == self._last_result
        detail = self._message if event.reason == "finished" and self._message else first_line(event.detail, 500)
        self._print(f"{event.reason}: {detail}" if detail and not is_written else event.reason, _DIM)

    def _delegated(self, event: DelegateStep) -> None:
        if isinstance(event.event, ActionProposed):
            self._print(f"  {event.agent} ▸ {self._call(event.event)}")
        elif isinstance(event.event, ActionDecided):
            self._decided(event.event, f"  {event.agent}: ")
        elif isinstance(event.event, ModelResponded):
            self._note_fallback(event.event)

    def _decided(self, event: ActionDecided, start: str = "  ") -> None:
        """Write who or what allowed or denied an action; nothing if a call that ends the run was allowed."""
        is_denied = event.verdict == "rejected"
        if is_denied or event.action_id not in self._final:
            line = decision_text(event.by, event.rule, is_denied=is_denied)
            self._print(f"{start}{line}", _RED if is_denied else _DIM)

    def _answered(self, event: ModelResponded) -> None:
        self._note_fallback(event)
        if event.text.strip():
            self._print(event.text.strip())

    def _note_fallback(self, event: ModelResponded) -> None:
        if line := fallback_line(event, self._fallbacks):
            self._print(line, _RED)

    def notice(self, line: str) -> None:
        """Write a line from the workbench itself."""
        self._print(line, _RED)

    def live(self, event: LiveEvent) -> None:
        """Write about a notice, and once about each retry or wait, ignoring its countdown."""
        if isinstance(event, Notice):
            self.notice(event.text)
        if not isinstance(event, EngineState):
            return
        if event.detail and _without_seconds(event.detail) != _without_seconds(self._last_detail):
            self._print(event.detail, _RED)
        self._last_detail = event.detail

    def close(self, session_id: str, questions: Sequence[OpenQuestion], unsaved: str) -> None:
        """Write all open questions and how to resume; if `unsaved` is not empty, write only that."""
        if unsaved:
            self._print(unsaved, _RED)
            return
        if not questions:
            self._print(f"resume with: ohw resume {session_id}", _DIM)
            return
        if len(questions) == 1:
            asked = self._asked(*questions[0])
            self._why(questions[0][0])
            self._print(f"stopped at a question: {asked} Answer it with `ohw resume {session_id}`", _BOLD)
            return
        for number, (action, agent) in enumerate(questions, 1):
            risk = action.assessed.risk if action.assessed is not None and not action.asks_user else ""
            what = "" if action.asks_user else f"  {self._subject(action.proposed)}"
            self._print(" ".join(filter(None, (f"{number}.", risk, self._asked(action, agent)))) + what, _BOLD)
            self._why(action)
        self._print(f"stopped at {len(questions)} questions. Answer them with `ohw resume {session_id}`", _BOLD)

    def _call(self, event: ActionProposed) -> str:
        """Return a proposed call on one line.

        It is only the tool's name if the call could not be read, or ends the run with a message that is written later.
        """
        if kind_of(event.tool) == "final":
            self._final.add(event.action_id)
            return event.tool
        subject = "" if event.error else self._subject(event)
        if not subject or subject.split()[0] == event.tool:  # without a template, the subject begins with the name
            return subject or event.tool
        return f"{event.tool}: {subject}"

    def _subject(self, event: ActionProposed) -> str:
        return first_line(headline(event.tool, event.arguments, event.presentation, self._workspace), 160)

    def _asked(self, action: OpenAction, agent: str) -> str:
        """Return one line about who asks what; a question from an agent is first written in full."""
        if not action.asks_user:
            return f"may {action.proposed.tool} run{f' for {who_asks(agent)}' if agent else ''}?"
        self._ask(action.proposed)
        return f"the {f'sub-agent {agent}' if agent else 'agent'} asks you something."

    def _why(self, action: OpenAction) -> None:
        """Write why an action needs approval: its risk, the reasons, and the rule or mode that asks."""
        risk_assessment = action.assessed
        if risk_assessment is None or action.asks_user:
            return
        parts = [part.reason for part in risk_assessment.segments if part.risk == risk_assessment.risk]
        reasons = (brief(reason, risk_assessment.deleted) for reason in (*risk_assessment.reasons, *parts))
        why = first_line(visible("; ".join(dict.fromkeys(reasons)), lines=False), 300)
        if why:
            self._print(f"  it is {risk_assessment.risk} ({why}); asked by {risk_assessment.rule}", _DIM)
        for line in deletion_lines(risk_assessment.deleted):
            self._print(f"    {line.text}", _DIM)

    def _ask(self, event: ActionProposed) -> None:
        """Write the agent's question in full, with its numbered options."""
        question = read_question(event.arguments)
        self._print(question.text, _BOLD)
        for number, option in enumerate(question.options, 1):
            self._print(f"  {number}. {option}")

    def _observed(self, event: ActionObserved) -> None:
        failed = bool(event.observation.get("is_error"))
        text = "".join(str(part.get("text", "")) for part in event.observation.get("content", ()))
        is_message = event.action_id in self._final and event.ran and not failed
        self._message = text.strip() if is_message else ""
        self._last_result = "" if is_message else first_line(text, 200)
        line = "" if is_message else first_line(text, 160)
        if line:
            self._print(f"  {'✗ ' if failed else ''}{line}", _RED if failed else _DIM)
        tool = self.tools.get(self._tools.pop(event.action_id, ""))
        renderable = renderable_of(tool.observation_type, event.observation) if tool and event.ran else None
        self._render(renderable, event.rendering)

    def _print(self, text: str, style: str = "") -> None:
        line = visible(text)
        if self._color and style:
            line = f"{style}{line}{_PLAIN}"
        self._write(line + "\n")


def _without_seconds(detail: str) -> str:
    return re.sub(r" in \d+s$", "", detail)
