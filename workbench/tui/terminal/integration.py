"""What the terminal understands beyond text, told by its environment; nothing is asked of it. Pure."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any, ClassVar, Final, Literal

from textual import events, on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.filter import LineFilter, Monochrome
from textual.widgets import Input, TextArea

from workbench.ascii import wants_ascii
from workbench.config.settings import Auto, TerminalSettings, read_terminal
from workbench.processes.start import find_program, run
from workbench.text import first_line
from workbench.tui import garbage
from workbench.tui.focusing import focus_default
from workbench.tui.messages import QuestionRang
from workbench.tui.terminal.early_input import EarlyInput
from workbench.tui.terminal.filters import AsciiFilter, NoColour
from workbench.tui.textual_seam.driver import write_to_terminal
from workbench.view.state import SessionState

_NO_TITLE: Final = ("dumb", "linux", "vt", "ansi", "cons", "emacs", "eterm", "unknown")
_SHOWS_PROGRESS: Final = frozenset({"ghostty", "WezTerm", "mintty"})
_NOTICE_9: Final = frozenset({"iTerm.app", "WezTerm", "ghostty"})
_NOTICE_777: Final = ("foot", "rxvt")


@dataclass(frozen=True)
class Abilities:
    """Which of our sequences are sent; `notice` is the number of the one for the desktop, or nothing."""

    title: bool = False
    progress: bool = False
    notice: Literal["", "9", "777"] = ""


def abilities(wanted: TerminalSettings, env: Mapping[str, str]) -> Abilities:
    """What is sent: as the person said, else what this terminal is known for."""
    program = env.get("TERM_PROGRAM", "")
    is_inside = "TMUX" in env or "STY" in env or env.get("TERM", "").startswith(("screen", "tmux"))
    title = not env.get("TERM", "dumb").startswith(_NO_TITLE)
    progress = program in _SHOWS_PROGRESS or "WT_SESSION" in env or env.get("ConEmuANSI") == "ON"
    return Abilities(
        title=_said(wanted.title, title),
        progress=_said(wanted.progress, progress and not is_inside),
        notice=_notice(wanted.notice, env, is_inside),
    )


def _notice(wanted: Auto, env: Mapping[str, str], is_inside: bool) -> Literal["", "9", "777"]:
    if wanted is False:
        return ""
    term = env.get("TERM", "")
    if term.startswith(_NOTICE_777) or "VTE_VERSION" in env:
        return "" if is_inside and wanted == "auto" else "777"
    known = env.get("TERM_PROGRAM", "") in _NOTICE_9 or term.startswith("xterm-kitty")
    return "9" if wanted is True or (known and not is_inside) else ""


def _said(wanted: Auto, known: bool) -> bool:
    return known if wanted == "auto" else wanted


_KEEP_TITLE: Final = "\x1b[22;2t"
_GIVE_TITLE: Final = "\x1b[23;2t"
_PROGRESS: Final = {"working": "3;0", "waiting for you": "4;0"}
_LONGEST: Final = 40


class Window:
    """Says how the session stands; every sequence holds our own words and the folder's name, made safe."""

    def __init__(self, can: Abilities, write: Callable[[str], None]) -> None:
        self._can = can
        self._write = write
        self._title = ""
        self._progress = ""
        self._is_ours = False

    @property
    def ending(self) -> str:
        """What gives the terminal back as it was."""
        return (_GIVE_TITLE if self._can.title else "") + ("\x1b]9;4;0;0\x07" if self._can.progress else "")

    def begin(self) -> None:
        """The terminal is ours: keep the title it has."""
        self._title = self._progress = ""
        self._is_ours = True
        if self._can.title:
            self._write(_KEEP_TITLE)

    def show(self, state: SessionState) -> None:
        """Say how it stands now, if that is news."""
        word = _standing(state)
        title = " - ".join(part for part in (f"ohw {_folder(state)}".strip(), word) if part)
        if self._can.title and title != self._title:
            self._write(f"\x1b]2;{title}\x07")
        progress = _PROGRESS.get(word, "0;0")
        if self._can.progress and progress != (self._progress or "0;0"):
            self._write(f"\x1b]9;4;{progress}\x07")
        self._title, self._progress = title, progress

    def notice(self, state: SessionState) -> None:
        """Tell the desktop that the person is waited for."""
        said = f"ohw {_folder(state)}: a question waits for you"
        if self._can.notice == "9":
            self._write(f"\x1b]9;{said}\x07")
        elif self._can.notice:
            self._write(f"\x1b]777;notify;ohw;{said}\x07")

    def end(self) -> None:
        """Give the terminal back as it was, once: the title below ours is somebody else's."""
        if self._is_ours and self.ending:
            self._write(self.ending)
        self._is_ours = False


def _standing(state: SessionState) -> str:
    if state.waiting:
        return "waiting for you"
    return "working" if state.is_running and state.work != "lost" else ""


def _folder(state: SessionState) -> str:
    """Safe in a sequence: what ends or divides one is no part of it."""
    return first_line(PurePath(state.workspace).name, _LONGEST).replace(";", ",")


_PATIENCE = 5.0


def clipboard_program(env: Mapping[str, str], platform: str = sys.platform) -> Sequence[str] | None:
    """The command that takes text for the clipboard on its input."""
    wanted: list[tuple[str, ...]]
    if platform == "darwin":
        wanted = [("pbcopy",)]
    elif "WAYLAND_DISPLAY" in env:
        wanted = [("wl-copy",)]
    elif "DISPLAY" in env:
        wanted = [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    else:
        wanted = [("clip.exe",)] if "WSL_DISTRO_NAME" in env else []
    return next((command for command in wanted if find_program(command[0], env)), None)


def put_on_clipboard(text: str, env: Mapping[str, str]) -> None:
    """Give the text to that program, beside everything else; nothing happens where there is none."""
    command = clipboard_program(env)
    if command is not None:
        threading.Thread(target=_give, args=(command, text), daemon=True, name="ohw-clipboard").start()


def _give(command: Sequence[str], text: str) -> None:
    with suppress(OSError):
        run(
            command,
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            start_new_session=True,
        )


_LOOK = 0.5
"""Seconds between two looks at how the session stands."""
_NO_COLOUR = NoColour()
_ASCII = AsciiFilter()


class AppManners(App[int]):
    """Title, progress, notices, bell, clipboard and signs; `mind` says what is wanted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "suspend_process", "Suspend", id="suspend", priority=True, show=False)
    ]

    state: SessionState
    window: Window

    @cached_property
    def early_input(self) -> EarlyInput:
        """What holds keys back while a screen opens."""
        return EarlyInput(self, super().on_event)

    async def on_event(self, event: events.Event) -> None:
        """Deliver an event, or hold it back."""
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
            focus_default(self.screen)

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
        write_to_terminal(self, sequence)
