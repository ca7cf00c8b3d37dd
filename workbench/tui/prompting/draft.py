"""What is typed and not sent, in a file beside the session's other state: it outlives the screen, however that ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.config import private_folder
from workbench.errors import WorkbenchError
from workbench.text import well_formed
from workbench.tui.background import in_daemon
from workbench.tui.fold.state import SessionState, UserItem
from workbench.whole_files import discard_file, replace_file

if TYPE_CHECKING:
    from textual.screen import Screen

    from workbench.tui.widgets.prompt import Prompt

FILE: Final = "draft"
_DELAY: Final = 0.4
"""Seconds after a key until the file holds it."""
_LARGEST: Final = 4 << 20


class Draft:
    """Keeps the prompt's text of one main screen; `keep` gives the folder of a session's state, by its id.

    Words of a server that stand in the prompt are not kept: back in the prompt they would pass for the user's.
    """

    def __init__(self, screen: Screen[None], state: SessionState, keep: Callable[[str], Path] | None) -> None:
        self._screen, self._state, self._keep = screen, state, keep
        self._writing = threading.Lock()
        self._text = ""
        self._is_due = False

    def note(self, prompt: Prompt) -> None:
        """The prompt holds something else: have it written soon, or at once when it is empty."""
        text = "" if prompt.is_foreign else prompt.pastes.expand(prompt.text)
        if text == self._text or self._keep is None:
            return
        self._text = text
        if not self._is_due:
            self._is_due = True
            self._screen.set_timer(_DELAY if text.strip() else 0.01, self._save)

    def restore(self, prompt: Prompt) -> None:
        """Put back what the last screen of this session left, unless that was sent or something is typed already."""
        path = self._path()
        if path is None or prompt.text:
            return
        try:
            text = path.read_bytes().decode("utf-8", "replace") if path.stat().st_size <= _LARGEST else ""
        except OSError:
            return
        sent = next((item.text for item in reversed(self._state.items) if isinstance(item, UserItem)), "")
        if text.strip() and well_formed(text) != well_formed(sent):
            prompt.give_back(text)

    def flush(self) -> None:
        """Write what is typed now; for the end of the screen."""
        if self._is_due:
            self._is_due = False
            self._write()

    def _save(self) -> None:
        if self._is_due:
            self._is_due = False
            self._screen.run_worker(in_daemon(self._write), group="draft")

    def _write(self) -> None:
        """The newest text, or no file; a disk that is full keeps the old one."""
        path = self._path()
        if path is None:
            return
        with self._writing, suppress(OSError, WorkbenchError):
            if self._text.strip():
                private_folder(path.parent)
                replace_file(path, self._text.encode("utf-8", "replace"))
            else:
                discard_file(path)

    def _path(self) -> Path | None:
        """The file, once the session has an id."""
        return self._keep(self._state.session_id) / FILE if self._keep and self._state.session_id else None
