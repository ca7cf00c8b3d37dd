"""One line that says what the engine is doing, and since when according to the log; costs nothing while it is idle."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Final

from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from workbench.durations import whole_duration
from workbench.protocol.live import CallProgress
from workbench.text import counted, first_line, visible
from workbench.tools.manifest import kind_of, presentation_of
from workbench.tui.key_names import key_of
from workbench.view import clock
from workbench.view.formatting.actions import presentation, short_path
from workbench.view.state import ActionItem, SessionState

_WORKING = ("thinking", "deciding", "acting")
_BUSY: Final = "●"
_FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
"""The frames of the sign while the agent works; with reduced motion it is `_BUSY`."""
_FRAME: Final = 0.125
"""Seconds of a frame."""
_LEAST_SIZE: Final = 1_000
"""The fewest characters whose count is shown."""


class Activity(Widget):
    """Shows what the engine is doing; while the agent works, the icon is animated or, with reduced motion, the seconds
    count.
    """

    def __init__(self, state: SessionState) -> None:
        super().__init__(id="activity")
        self._state = state
        self._what: tuple[str, str] = ("", "")
        self._since = clock.now()
        self._timer: Timer | None = None
        self._last_line = Content("")
        self._hint = Content("")
        self._background = Content("")

    def on_mount(self) -> None:
        """Show the first line."""
        self._timer = self.set_interval(_FRAME, self._repaint, pause=True)
        self.show()

    def show(self) -> None:
        """Show the current state."""
        what = activity_text(self._state, key_of(self.app, "question", "f8"))
        self._since = began(self._state) or (self._since if what == self._what else clock.now())
        self._what = what
        if self._timer is not None:
            (self._timer.resume if is_working(self._state) else self._timer.pause)()
        self._repaint()

    def show_hint(self, hint: Content) -> None:
        """Show a hint at the right end of the line; an empty one removes it."""
        self._hint = hint
        self._repaint()

    def show_background(self, text: str) -> None:
        """Show what runs beside the session, as text that is safe to show, before the hints; an empty one removes
        it.
        """
        self._background = Content.styled(text, "$dim")
        self._repaint()

    def render(self) -> Content:
        """Return the line: sign, words and seconds, and at its right end the hints."""
        self._last_line = self._line()
        return self._last_line

    def _repaint(self) -> None:
        """Refresh only if the line has changed."""
        if not self._last_line.is_same(self._line()):
            self.refresh()

    def _line(self) -> Content:
        hints = [each for each in (self._background, self._hint) if each.plain]
        if is_working(self._state) and not self._state.is_stopping:
            hints.append(Content.styled(f"{key_of(self.app, 'leave', 'escape')} to stop", "$dim"))
        if not hints:
            return self._work().truncate(self.size.width, ellipsis=True)
        right = Content("   ").join(hints)
        work = self._work().truncate(max(0, self.size.width - right.cell_length - 1), ellipsis=True)
        return Content.assemble(work, " " * max(0, self.size.width - work.cell_length - right.cell_length), right)

    def _work(self) -> Content:
        text, style = self._what
        if not (is_working(self._state) and text.startswith(_BUSY)):
            return Content.styled(text, style)
        is_still = self.app.animation_level == "none"
        sign = _BUSY if is_still else _FRAMES[int(time.monotonic() / _FRAME) % len(_FRAMES)]
        size = size_text(self._state)
        took = whole_duration(max(0.0, (clock.now() - self._since).total_seconds()))
        facts = "".join(f" · {fact}" for fact in (size, took) if fact)
        detail = visible(_news(self._state), lines=False)
        line = text.replace(_BUSY, sign, 1)
        return Content.assemble((line, style), (facts, "$dim"), (f" · {detail}" if detail else "", "$warning"))


def _news(state: SessionState) -> str:
    """Return the engine's remark on the model call, but not which fallback is asked if a notice has said so."""
    name, detail = state.fallback_model, state.work_detail
    return "" if name in state.fallbacks and detail.endswith(f"; asking {name}") else detail


def is_working(state: SessionState) -> bool:
    """Return whether the agent is busy and not waiting for the user."""
    return state.work in _WORKING and not state.waiting


def began(state: SessionState) -> datetime | None:
    """Return when the current activity began; None if the log does not record that, as for a streaming answer."""
    if state.running:
        return next(iter(state.running.values())).started
    return None if state.call or (state.live and state.live.text) else state.thinks_since


def _lost_text(state: SessionState) -> tuple[str, str]:
    if state.has_ended:
        return "the session has ended", "$dim"
    return f"✗ {'the session cannot continue' if state.is_over else 'no connection to the agent'}", "$error"


def activity_text(state: SessionState, answer: str = "F8") -> tuple[str, str]:
    """Return the current activity, as a sign and words, and its style.

    `answer` is the key that opens a question.
    """
    if state.work == "lost":  # the conversation ends with the reason
        return _lost_text(state)
    if state.stalled:
        return f"✗ {first_line(state.stalled, 200)}", "$error"
    if state.waiting:
        return waiting_text(state, answer), "bold $sign-waiting"
    if state.unsaved:
        return f"✗ {first_line(state.work_detail, 200)}", "bold $sign-failed"
    if not is_working(state):
        return "● starting" if state.work == "starting" else "", "$dim"
    return f"● {'stopping' if state.is_stopping else _work(state)}", "$sign-running"


def _work(state: SessionState) -> str:
    """Return what a busy agent is doing."""
    running = next(iter(state.running.values()), None)
    if running is not None:
        return _sub_agents(state) or _action(running, state.workspace)
    if state.call is not None:
        return _call(state.call, state.workspace)
    if state.container_phase == "starting" and state.work_detail:
        return "waiting"
    return "writing" if state.live and state.live.text else "thinking"


def waiting_text(state: SessionState, key: str) -> str:
    """Return what waits for the user, and the key that opens it."""
    if state.actions[state.waiting[0]].asks:
        return f"? The agent has a question · {key}"
    count = len(state.waiting)
    return f"? {counted(count, 'action')} {'needs' if count == 1 else 'need'} approval · {key}"


def _sub_agents(state: SessionState) -> str:
    """Return the number and names of the running sub-agents; empty if there are none."""
    names = [str(item.arguments.get("agent")) for item in state.running.values() if kind_of(item.tool) == "sub_agent"]
    return f"{counted(len(names), 'sub-agent')} running: {first_line(', '.join(names), 80)}" if names else ""


def _action(item: ActionItem, workspace: str) -> str:
    command = item.arguments.get("command")
    if kind_of(item.tool) == "command" and isinstance(command, str):
        return f"running $ {first_line(command, 80)}"
    path = item.arguments.get("path")
    what = first_line(presentation(item).activity or f"running {item.tool}", 80)
    return f"{what} {first_line(short_path(path, workspace), 80)}" if isinstance(path, str) else what


def _call(call: CallProgress, workspace: str) -> str:
    """Return what the call that the model is writing does to a file, or else which call it is."""
    if kind_of(call.tool) == "edit" and call.path:
        form = presentation_of(call.tool, {"command": call.command, "path": call.path})
        return f"{form.activity or 'editing'} {first_line(short_path(call.path, workspace), 80)}"
    return "writing a command" if kind_of(call.tool) == "command" else f"writing a call of {first_line(call.tool, 40)}"


def size_text(state: SessionState) -> str:
    """Return how much the current activity has produced so far, such as `12.4 kB`; empty if that is little."""
    running = next(iter(state.running.values()), None)
    if running is not None:
        count = len(running.output)
    elif state.call is not None:
        count = state.call.size
    else:
        count = len(state.live.text or state.live.reasoning) if state.live else 0
    return f"{count / 1000:.1f} kB" if count >= _LEAST_SIZE else ""
