"""What a session does with the files of its workspace, beside the agent's actions; held by the session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.session.events import FileDelta, FilesChanged
from workbench.session.journal import Journal
from workbench.session.versions.taking_back import NotTakenBack, take_back
from workbench.tools.tool import ToolDefinition

_BUSY = "an action that may write files runs now; wait until it has ended, or stop it"


class Files:
    """The files of one session's workspace."""

    def __init__(self, journal: Journal, tools: Mapping[str, ToolDefinition]) -> None:
        self._journal = journal
        self._tools = tools

    def take_back(self, files: Sequence[FileDelta]) -> None:
        """Write the files as the person wants them back; raises NotTakenBack, StoreError."""
        with self._journal.lock:
            self._journal.save()
            if self._is_writing:
                raise NotTakenBack(_BUSY)
            try:
                take_back(files)
            except NotTakenBack as error:
                self._changed(error.done)
                raise
            self._changed(files)

    def _changed(self, files: Sequence[FileDelta]) -> None:
        if files:
            self._journal.commit(FilesChanged(files=tuple(files), by="person"), happened=True)

    @property
    def _is_writing(self) -> bool:
        """Whether an action runs that may write."""
        running = [
            self._tools.get(action.proposed.tool) for action in self._journal.ledger.batch.values() if action.started
        ]
        return any(tool is None or not tool.is_read_only for tool in running)
