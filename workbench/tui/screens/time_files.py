"""Opens files of the workspace as they were at the event that the time view shows, changed or not."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from textual.screen import Screen

from workbench.client.threads import in_daemon
from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.text import visible, visible_path
from workbench.tui.open_screens import open_text
from workbench.tui.palette_entries import PaletteEntry
from workbench.tui.screens.palette import PaletteScreen
from workbench.view.past_files import files_in, text_in
from workbench.view.state import SessionState


class PastFiles:
    """Lets the user choose a file of the snapshot before the shown event, and shows its text in the pager."""

    def __init__(self, screen: Screen[None], state: SessionState, locations: Locations) -> None:
        """`locations` is where the snapshots are."""
        self._screen, self._state, self._locations = screen, state, locations

    async def choose(self) -> None:
        """Ask which file to show."""
        version, seq = self._state.version, self._state.last_seq
        if not version:
            self._warn("no snapshot was taken before this event")
            return
        try:
            files = await in_daemon(partial(files_in, self._locations, Path(self._state.workspace), version))
        except WorkbenchError as error:
            self._warn(str(error))
            return

        def chosen(entry: PaletteEntry | None) -> None:
            if entry is not None:
                self._screen.run_worker(self._show(entry.label, files, seq))

        if self._screen.is_current:
            entries = [PaletteEntry("file", path, "", path) for path in files]
            title = f"Files as of event {seq:,}"
            self._screen.app.push_screen(PaletteScreen(entries, None, None, title=title, hint="A file"), chosen)

    async def _show(self, path: str, files: Mapping[str, str], seq: int) -> None:
        try:
            text = await in_daemon(partial(text_in, self._locations, Path(self._state.workspace), path, files[path]))
        except WorkbenchError as error:
            self._warn(str(error))
        else:
            open_text(self._screen.app, f"{visible_path(path)} · as of event {seq:,} · read-only", text)

    def _warn(self, words: str) -> None:
        self._screen.notify(visible(words, lines=False), severity="warning", markup=False)
