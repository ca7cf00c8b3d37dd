"""The draft: typed text that is not sent, in a file beside the session's other state; it outlives the screen.

Before the first message there is no session to return to. Such a draft is stored per directory and process, and the
next new screen in that directory adopts the newest one whose process has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.client.threads import in_daemon
from workbench.config.locations import private_directory
from workbench.errors import WorkbenchError
from workbench.files.state_files import discard_file, replace_file
from workbench.lazy_pattern import lazy_pattern
from workbench.processes.leftovers import has_ended, mark
from workbench.session.session_names import DRAFT
from workbench.text import well_formed
from workbench.view.state import SessionState, UserItem

if TYPE_CHECKING:
    from textual.screen import Screen

    from workbench.tui.widgets.prompt import Prompt

_DELAY: Final = 0.4
"""Seconds from a key until the draft is written."""
_LARGEST: Final = 4 << 20
_UNSENT: Final = lazy_pattern(rf"{DRAFT}-(\d+)-(\d+)")


class Draft:
    """Saves the text in the prompt of one main screen.

    `keep` returns the state directory of a session by id. `unsent` is the directory for drafts of a new session, or
    None if the session is not new. A server's text is not saved: restored to the prompt, it would pass for the user's
    own.
    """

    def __init__(
        self, screen: Screen[None], state: SessionState, keep: Callable[[str], Path] | None, unsent: Path | None
    ) -> None:
        self._screen, self._state, self._keep = screen, state, keep
        self._unsent = unsent / f"{DRAFT}-{mark()}" if unsent is not None else None
        self._writing = threading.Lock()
        self._text = self._saved = ""
        """The text in the prompt, and the one that was written last."""
        self._is_due = self._has_looked = False

    def note(self, prompt: Prompt) -> None:
        """Record that the prompt's text has changed, and write it soon, or at once if it is empty."""
        text = "" if prompt.is_foreign else prompt.pastes.expand(prompt.text)
        if text == self._text or (self._keep is None and self._unsent is None):
            return
        self._text = text
        if not self._is_due:
            self._is_due = True
            self._screen.set_timer(_DELAY if text.strip() else 0.01, self._save)

    def restore(self, prompt: Prompt) -> None:
        """Restore the draft of the session's last screen, unless it was sent or something is typed already."""
        if prompt.text:
            return
        self._adopt()
        path = self._path()
        if path is None or (path == self._unsent and self._has_looked):
            return
        self._has_looked = True  # a text sent since then is not offered again, even if the engine has not logged it yet
        try:
            text = path.read_bytes().decode("utf-8", "replace") if path.stat().st_size <= _LARGEST else ""
        except OSError:
            return
        sent = next((item.text for item in reversed(self._state.items) if isinstance(item, UserItem)), "")
        if text.strip() and well_formed(text) != well_formed(sent):
            prompt.restore_text(text)

    def flush(self) -> None:
        """Write the current text at once: the screen is closing, and the thread that should may not get to it."""
        self._is_due = False
        if self._text != self._saved:
            self._write()

    def _save(self) -> None:
        if self._is_due:
            self._is_due = False
            self._screen.run_worker(in_daemon(self._write), group="draft")

    def _write(self) -> None:
        """Write the newest text, or delete the file if there is none; on a full disk the old file stays."""
        path = self._path()
        if path is None:
            return
        with self._writing, suppress(OSError, WorkbenchError):
            text = self._text
            if text.strip():
                private_directory(path.parent)
                replace_file(path, text.encode("utf-8", "replace"))
            else:
                discard_file(path)
            self._saved = text
            if self._unsent is not None and path != self._unsent:
                discard_file(self._unsent)

    def _path(self) -> Path | None:
        """Return the draft's file: the directory's before the first message, then the session's; None if not known."""
        if self._unsent is not None and not any(isinstance(item, UserItem) for item in self._state.items):
            return self._unsent
        return self._keep(self._state.session_id) / DRAFT if self._keep and self._state.session_id else None

    def _adopt(self) -> None:
        """Rename the newest draft that an ended process left in this directory before its first message to ours."""
        if self._unsent is None or self._path() != self._unsent or self._unsent.exists():
            return
        with suppress(OSError):
            entries = [path for path in self._unsent.parent.iterdir() if _is_abandoned(path)]
            for path in sorted(entries, key=lambda path: path.stat().st_mtime)[-1:]:
                path.rename(self._unsent)


def _is_abandoned(path: Path) -> bool:
    match = _UNSENT.fullmatch(path.name)
    return match is not None and has_ended(*match.groups())
