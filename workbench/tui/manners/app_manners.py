"""The part of the app that minds the terminal around it; `WorkbenchApp` is the whole."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.filter import LineFilter, Monochrome
from textual.widgets import Input, TextArea

from workbench.ascii import wants_ascii
from workbench.config.terminal import TerminalSettings, read_terminal
from workbench.tui import garbage
from workbench.tui.manners.abilities import abilities
from workbench.tui.manners.ascii_filter import AsciiFilter
from workbench.tui.manners.clipboard import put_on_clipboard
from workbench.tui.manners.early_input import EarlyInput
from workbench.tui.manners.no_colour import NoColour
from workbench.tui.manners.window import Window
from workbench.tui.messages import QuestionRang
from workbench.view.state import SessionState

_LOOK = 0.5
"""Seconds between two looks at how the session stands."""
_NO_COLOUR = NoColour()
_ASCII = AsciiFilter()


class AppManners(EarlyInput):
    """Title, progress, notices, bell, clipboard and signs; `mind` says what is wanted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "suspend_process", "Suspend", id="suspend", priority=True, show=False)
    ]

    state: SessionState
    window: Window

    def mind(self, wanted: Mapping[str, object], env: Mapping[str, str] = os.environ) -> None:
        """Read the table `[terminal]`; called before the first frame."""
        self._wanted: TerminalSettings = read_terminal(wanted)
        self._env = dict(env)
        self.window = Window(abilities(self._wanted, env), self._write)
        self._is_ascii = wants_ascii(env) if self._wanted.ascii == "auto" else self._wanted.ascii
        self._is_still = not self._wanted.motion or env.get("OHW_REDUCED_MOTION", "") not in ("", "0", "false", "no")
        if self._is_still:
            self.animation_level = "none"

    @property
    def has_vim_keys(self) -> bool:
        """Whether the prompt has vim's keys."""
        return self._wanted.vim

    def mind_anew(self, wanted: Mapping[str, object]) -> None:
        """Bell and clipboard as they are wanted now; what is written to the terminal stays until the next start."""
        self._wanted = read_terminal(wanted)

    def own_filters(self) -> list[LineFilter]:
        """Those of Textual, but for its greys without colours; then what the terminal's signs ask for."""
        kept = [each for each in super().get_line_filters() if not isinstance(each, Monochrome)]
        return [*kept, *([_NO_COLOUR] if self.no_color else []), *([_ASCII] if self._is_ascii else [])]

    def on_mount(self) -> None:
        """Say how the session stands, from now on."""
        if self.is_headless:
            return
        self.app_suspend_signal.subscribe(self, lambda _: self.window.end(), immediate=True)
        self.app_resume_signal.subscribe(self, lambda _: self._begin(), immediate=True)
        self._begin()
        self.set_interval(_LOOK, self._look)

    def on_unmount(self) -> None:
        """The window as it was."""
        garbage.end()
        if not self.is_headless:
            self.window.end()

    def _look(self) -> None:
        self.window.show(self.state)
        garbage.look_in_a_pause()

    def _begin(self) -> None:
        self.window.begin()
        self.window.show(self.state)

    def watch_app_focus(self, is_focused: bool) -> None:
        """A terminal may say that it has the keys no more before any widget had them: the next key finds one."""
        if is_focused and self.screen.focused is None:
            self.screen._update_auto_focus()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """With reduced motion no cursor blinks."""
        if self._is_still and isinstance(event.widget, Input | TextArea):
            event.widget.cursor_blink = False

    @on(QuestionRang)
    def on_question_rang(self) -> None:
        """A question waits that the person may not see."""
        if self._wanted.bell:
            self.bell()
        if not self.app_focus:
            self.window.notice(self.state)

    @on(events.TextSelected)
    def on_text_selected(self) -> None:
        """Selecting copies."""
        text = self.screen.get_selected_text() if self._wanted.select_copies else None
        if text:
            self.copy_to_clipboard(text)
            self.notify("copied", timeout=2)

    def copy_to_clipboard(self, text: str) -> None:
        """By the terminal, and by a program of the system."""
        super().copy_to_clipboard(text)
        if self._wanted.clipboard and not self.is_headless:
            put_on_clipboard(text, self._env)

    def _write(self, sequence: str) -> None:
        if self._driver is not None:
            self._driver.write(sequence)
            self._driver.flush()
