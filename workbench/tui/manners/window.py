"""The window around the screen: its title, its sign of progress, a notice on the desktop. Written as few bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import Final

from workbench.text import first_line
from workbench.tui.manners.abilities import Abilities
from workbench.view.state import SessionState

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
