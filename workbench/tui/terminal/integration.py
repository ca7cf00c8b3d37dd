"""Uses the terminal for more than drawing: title, progress, notices, bell, clipboard, plain characters, focus.

The environment determines which control sequences are sent; the terminal is never queried.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, ClassVar, Final

from msgspec import Struct
from textual import events, on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.filter import LineFilter, Monochrome
from textual.widgets import Input, TextArea

from workbench.ascii import wants_ascii
from workbench.config.settings import Auto, TerminalSettings, read_terminal
from workbench.text import first_line
from workbench.tui import garbage_collection
from workbench.tui.focus import focus_default
from workbench.tui.messages import QuestionRang
from workbench.tui.terminal.desktop_notice import (
    NoticeKind,
    is_multiplexed,
    notice_kind,
    notice_sequence,
    run_notice_command,
)
from workbench.tui.terminal.early_input import EarlyInput
from workbench.tui.terminal.filters import AsciiFilter, NoColor
from workbench.tui.textual_seam.driver import write_to_terminal
from workbench.view.state import SessionState

_NO_TITLE: Final = ("dumb", "linux", "vt", "ansi", "cons", "emacs", "eterm", "unknown")
_SHOWS_PROGRESS: Final = frozenset({"ghostty", "WezTerm", "mintty"})


class Capabilities(Struct, frozen=True):
    """The control sequences to send."""

    title: bool = False
    progress: bool = False
    notice: NoticeKind = ""


def capabilities(settings: TerminalSettings, env: Mapping[str, str]) -> Capabilities:
    """Return the capabilities that the settings name; for "auto", the ones known for the terminal in `env`."""
    program = env.get("TERM_PROGRAM", "")
    has_title = not env.get("TERM", "dumb").startswith(_NO_TITLE)
    has_progress = program in _SHOWS_PROGRESS or "WT_SESSION" in env or env.get("ConEmuANSI") == "ON"
    return Capabilities(
        title=_choose(settings.title, has_title),
        progress=_choose(settings.progress, has_progress and not is_multiplexed(env)),
        notice=notice_kind(settings.notice, env),
    )


def _choose(setting: Auto, default: bool) -> bool:
    return default if setting == "auto" else setting


_PUSH_TITLE: Final = "\x1b[22;2t"
_POP_TITLE: Final = "\x1b[23;2t"
_PROGRESS: Final = {"working": "3;0", "needs you": "4;0"}
_LONGEST: Final = 40


class TerminalWindow:
    """Shows the state of the session in the window's title, on its tab and in desktop notices.

    Each sequence contains only our own words and the directory's name, without characters that end or split a sequence.
    """

    def __init__(self, can: Capabilities, write: Callable[[str], None], notify: Callable[[str], None]) -> None:
        """`notify` shows a text as a desktop notification."""
        self._can = can
        self._write = write
        self._notify = notify
        self._title = ""
        self._progress = ""
        self._is_ours = False
        self._was_running = False

    @property
    def ending(self) -> str:
        """The sequences that restore the window."""
        return (_POP_TITLE if self._can.title else "") + ("\x1b]9;4;0;0\x07" if self._can.progress else "")

    def begin(self) -> None:
        """Save the window's current title."""
        self._title = self._progress = ""
        self._is_ours = True
        if self._can.title:
            self._write(_PUSH_TITLE)

    def show(self, state: SessionState, *, has_focus: bool = True) -> None:
        """Write title and progress of this state, if they have changed, and a notice if a run ended without focus."""
        word = _activity_word(state)
        if self._was_running and not word and not has_focus:
            self.notify(state)
        self._was_running = bool(word)
        title = " - ".join(part for part in (f"ohw {_directory(state)}".strip(), word) if part)
        if self._can.title and title != self._title:
            self._write(f"\x1b]2;{title}\x07")
        progress = _PROGRESS.get(word, "0;0")
        if self._can.progress and progress != (self._progress or "0;0"):
            self._write(f"\x1b]9;4;{progress}\x07")
        self._title, self._progress = title, progress

    def notify(self, state: SessionState) -> None:
        """Send a desktop notice that a question is waiting, or how the run has ended."""
        self._notify(f"ohw {_directory(state)}: {_news(state)}")

    def end(self) -> None:
        """Restore the window's title and progress. A second call does nothing: it would pop another program's title."""
        if self._is_ours and self.ending:
            self._write(self.ending)
        self._is_ours = False


def _news(state: SessionState) -> str:
    if state.waiting:
        return "a question needs your answer"
    if state.work == "lost":
        return "the agent process stopped"
    return "the run ended with an error" if state.ended == "error" else "the agent is done"


def _activity_word(state: SessionState) -> str:
    if state.waiting:
        return "needs you"
    return "working" if state.is_running and state.work != "lost" else ""


def _directory(state: SessionState) -> str:
    """Return the name of the directory, without characters that end or divide a sequence."""
    return first_line(PurePath(state.workspace).name, _LONGEST).replace(";", ",")


_INTERVAL: Final = 0.5
"""Seconds between two updates of the window."""
_NO_COLOUR: Final = NoColor()
_ASCII: Final = AsciiFilter()


class TerminalIntegration:
    """Integrates one app with its terminal, according to the table `[terminal]` of the settings."""

    def __init__(
        self,
        app: App[Any],
        state: Callable[[], SessionState],
        settings: Mapping[str, object],
        env: Mapping[str, str] = os.environ,
    ) -> None:
        """Read the settings, before the first frame. Raises UsageError if an entry is not valid."""
        self._app = app
        self._state = state
        self._env = dict(env)
        self.settings = read_terminal(settings)
        can = capabilities(self.settings, env)
        self._notice = can.notice
        self.window = TerminalWindow(can, lambda sequence: write_to_terminal(app, sequence), self._notify)
        self.is_ascii = wants_ascii(env) if self.settings.ascii == "auto" else self.settings.ascii
        self._is_still = not self.settings.motion or env.get("OHW_REDUCED_MOTION", "") not in ("", "0", "false", "no")
        if self._is_still:
            app.animation_level = "none"

    def _notify(self, words: str) -> None:
        """Show a desktop notification through the terminal, and with the user's command."""
        sequence = notice_sequence(self._notice, words, self._env)
        if sequence:
            write_to_terminal(self._app, sequence)
        run_notice_command(self.settings.notice_command, words, self._env)

    def change(self, settings: Mapping[str, object]) -> None:
        """Apply changed settings of the bell, the clipboard and the command; the others change at the next start."""
        self.settings = read_terminal(settings)

    def line_filters(self, filters: Sequence[LineFilter]) -> list[LineFilter]:
        """Return Textual's filters, with our NO_COLOR filter in place of its gray one, and an ASCII filter if set."""
        others = [each for each in filters if not isinstance(each, Monochrome)]
        return [*others, *([_NO_COLOUR] if self._app.no_color else []), *([_ASCII] if self.is_ascii else [])]

    def begin(self) -> None:
        """Watch the window's focus, and show the session's state in the window except while the app is suspended."""
        self._app.watch(self._app, "app_focus", self._focus_default, init=False)
        if self._app.is_headless:
            return
        self._app.app_suspend_signal.subscribe(self._app, lambda _: self.window.end(), immediate=True)
        self._app.app_resume_signal.subscribe(self._app, lambda _: self._show_window(), immediate=True)
        self._show_window()
        self._app.set_interval(_INTERVAL, self._update)

    def end(self) -> None:
        """Restore the window and the garbage collector."""
        garbage_collection.end()
        if not self._app.is_headless:
            self.window.end()

    def stop_blinking(self, widget: object) -> None:
        """Stop the blinking cursor of a text field if the user asked for reduced motion."""
        if self._is_still and isinstance(widget, Input | TextArea):
            widget.cursor_blink = False

    def ring(self) -> None:
        """Ring if the settings allow it, and send a desktop notice if the window has no focus."""
        if self.settings.bell:
            self._app.bell()
        if not self._app.app_focus:
            self.window.notify(self._state())

    def copy_selection(self) -> None:
        """Copy the text selected with the mouse, if the settings ask for that."""
        text = self._app.screen.get_selected_text() if self.settings.select_copies else None
        if text:
            self._app.copy_to_clipboard(text)
            self._app.notify("Copied", timeout=2)

    def copy_with_program(self, text: str) -> None:
        """Copy text with a program if the settings allow it, because many terminals refuse the control sequence."""
        if self.settings.clipboard and not self._app.is_headless:
            from workbench.tui.terminal.clipboard import copy_with_program

            copy_with_program(text, self._env)

    def _focus_default(self, is_focused: bool) -> None:
        """Focus the default widget if none has the focus: the window may have lost it before any widget had it."""
        if is_focused and self._app.screen.focused is None:
            focus_default(self._app.screen)

    def _update(self) -> None:
        self.window.show(self._state(), has_focus=self._app.app_focus)
        garbage_collection.collect_while_idle()

    def _show_window(self) -> None:
        self.window.begin()
        self.window.show(self._state())


class TerminalApp(App[int]):
    """An app that is integrated with its terminal and loses no key while a screen opens."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "suspend_process", "Suspend", id="suspend", priority=True, show=False)
    ]

    state: SessionState

    def __init__(self, settings: Mapping[str, object]) -> None:
        """`settings` is the table `[terminal]`."""
        super().__init__()
        self.terminal = TerminalIntegration(self, lambda: self.state, settings)
        self.early_input = EarlyInput(self, super().on_event)

    async def on_event(self, event: events.Event) -> None:
        """Deliver an event, or hold it back while a screen opens."""
        await self.early_input.receive(event)

    def push_screen(self, *args: Any, **options: Any) -> Any:
        """Open a screen; keys wait until it has been painted."""
        result = super().push_screen(*args, **options)
        self.early_input.hold_until_painted(self.screen)
        return result

    def pop_screen(self) -> Any:
        """Close the screen on top."""
        result = super().pop_screen()
        self.early_input.screen_closed()
        return result

    def on_mount(self) -> None:
        """Start to show the title and the progress."""
        self.terminal.begin()

    def on_unmount(self) -> None:
        """Restore the window and the garbage collector."""
        self.terminal.end()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Stop the blinking cursor of the focused widget if the user asked for reduced motion."""
        self.terminal.stop_blinking(event.widget)

    @on(QuestionRang)
    def on_question_rang(self) -> None:
        """Ring for a question that the user may not see."""
        self.terminal.ring()

    @on(events.TextSelected)
    def on_text_selected(self) -> None:
        """Copy the selected text, if the settings ask for that."""
        self.terminal.copy_selection()

    def copy_to_clipboard(self, text: str) -> None:
        """Copy text with the terminal's control sequence and with a program."""
        super().copy_to_clipboard(text)
        self.terminal.copy_with_program(text)
