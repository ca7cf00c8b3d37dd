"""Changes that an editor has not saved: before the agent reads or edits a file, the editor is asked about them.

The file tools read the disk, where a decision's fingerprint can be checked. So the user decides what belongs there
first: an action that names files of the workspace waits until the editor's front end has checked them. It waits again
before it runs if the user was asked meanwhile.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from workbench.llm.model import Cancel
from workbench.protocol.events import ActionProposed
from workbench.protocol.live import CheckUnsaved, LiveEvent
from workbench.risk.actions import named_paths
from workbench.risk.paths import within
from workbench.session.log import Log
from workbench.session.state import OpenAction
from workbench.tools.manifest import kind_of

_POLL: Final = 0.1
"""Seconds between checks whether the run was canceled or the editor has gone."""
_Check: TypeAlias = tuple[str, str]
"""The ID of an action, and the fingerprint of its approval if it is about to run, otherwise ""."""


class EditorChecks:
    """The checks of files that an editor's front end is asked for; a session shares them with its sub-agents.

    All methods may be called in any thread.
    """

    def __init__(self, on_live: Callable[[LiveEvent], None]) -> None:
        """`on_live` passes a request on to the front end."""
        self.is_offered: Callable[[], bool] = lambda: False
        """Returns whether a front end is attached that checks files."""
        self._on_live = on_live
        self._numbers = itertools.count(1)
        self._pending: dict[int, threading.Event] = {}

    def run(self, paths: tuple[str, ...], cancel: Cancel) -> None:
        """Let the files be checked, and wait until that is done, the run is canceled or the editor has gone."""
        number, answered = next(self._numbers), threading.Event()
        self._pending[number] = answered
        self._on_live(CheckUnsaved(request=number, paths=paths))
        while not answered.wait(_POLL) and self.is_offered() and not cancel.is_set:
            continue
        del self._pending[number]
        if not answered.is_set():
            self._on_live(CheckUnsaved(request=number))

    def end(self, number: int) -> None:
        """End the wait of a check, as the front end has answered."""
        answered = self._pending.get(number)
        if answered is not None:
            answered.set()


class UnsavedFiles:
    """Has files checked for unsaved changes before an action of one session, or of one sub-agent, uses them."""

    def __init__(self, log: Log, checks: EditorChecks) -> None:
        self.checks = checks
        self._log = log
        self._checked: set[_Check] = set()

    def awaits(self, proposed: ActionProposed) -> bool:
        """Return whether files have to be checked before the action is assessed."""
        is_due = (proposed.action_id, "") not in self._checked
        return is_due and bool(self._files(proposed.tool, proposed.arguments))

    def check(self, cancel: Cancel) -> bool:
        """Let the files of the next action be checked, and wait until that is done; return False if no check is due."""
        with self._log.lock:
            due = self._due(self._log.state.next_action)
            batch = self._log.state.batch
            self._checked = {each for each in self._checked if each[0] in batch}
        if due is None:
            return False
        check, files = due
        self._checked.add(check)
        self.checks.run(files, cancel)
        return True

    def _due(self, action: OpenAction | None) -> tuple[_Check, tuple[str, ...]] | None:
        if action is None or action.is_waiting or action.proposed.error:
            return None
        decided = action.decided if action.may_run else None
        check = (action.proposed.action_id, decided.fingerprint if decided else "")
        # What a mode or rule has allowed runs at once, after the check before its assessment.
        is_due = check not in self._checked and (action.was_asked or decided is None)
        files = self._files(action.proposed.tool, action.arguments) if is_due else ()
        return (check, files) if files else None

    def _files(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the real paths of the files in the workspace that an action reads or edits with the editor."""
        if kind_of(tool) != "edit" or not self.checks.is_offered():
            return ()
        workspace = self._log.state.workspace
        paths = (os.path.realpath(path) for path in named_paths(arguments, workspace) if "\0" not in path)
        return tuple(path for path in paths if within(path, workspace) and not os.path.isdir(path))  # noqa: PTH112 - hot
