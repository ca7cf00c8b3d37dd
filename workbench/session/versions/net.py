"""The safety net below commands and cells: what they take away and no version holds is copied before; for `files`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from workbench.errors import WorkbenchError
from workbench.llm.model import Cancel
from workbench.protocol.events import Event, VersionTaken
from workbench.security.assessment import Assessment
from workbench.security.local import assess_action
from workbench.session.ledger import Ledger
from workbench.session.versions.copies import Copy
from workbench.session.versions.loss import NO_COPY
from workbench.session.versions.losses import Losses
from workbench.session.versions.repository import Change, VersionsFail
from workbench.text import counted
from workbench.tools.tool import ToolDefinition

logger = logging.getLogger(__name__)
SHELL: Final = "execute_bash"
WATCHED: Final = frozenset({SHELL, "execute_ipython_cell", "python_execute"})
"""Tools that may take away files without naming them in a preview."""
_STEP = 0.02


class SafetyNet:
    """Keeps copies and brings them back, in threads of its own: an interrupt and a screen wait for none of it."""

    def __init__(
        self, tools: Mapping[str, ToolDefinition], losses: Losses, report: Callable[[Sequence[Event]], None]
    ) -> None:
        self.losses = losses
        self._tools = tools
        self._report = report
        self._failed: dict[str, str] = {}
        self._kept: dict[str, tuple[Copy, frozenset[str]]] = {}

    def keep(self, ledger: Ledger, action_id: str, tool: str, arguments: Mapping[str, Any], cancel: Cancel) -> None:
        """Keep a copy of what this call takes away, and say so; returns early when it is cancelled."""
        self._failed.pop(action_id, None)
        found = self.assessed(ledger, tool, arguments)
        if found.risk == "LOW":
            return
        said = str(arguments.get("command") or arguments.get("code") or "")
        kept = _aside(partial(self._keep, found, said, ledger.session_id, action_id), cancel)
        if isinstance(kept, VersionsFail):
            self._failed[action_id] = f"{NO_COPY}: {kept}"
            self._report([VersionTaken(notice=f"{NO_COPY} of what is deleted now: {kept}")])
        elif kept is not None and kept.copied:
            are = "they are" if kept.copied > 1 else "it is"
            said = f"a copy of {counted(kept.copied, 'file')} is kept before {are} changed or deleted"
            told = f"{said}: `ohw restore {kept.id}` brings it back"
            self._report([VersionTaken(action_id=action_id, copy_id=kept.id, notice=told)])

    def _keep(self, found: Assessment, command: str, session_id: str, action_id: str) -> Copy | None:
        kept = self.losses.keep(found, command, session_id)
        if kept is not None:
            self._kept[action_id] = kept, self.losses.copies.paths_of(kept)
        return kept

    def keep_deleted(self, ledger: Ledger, action_id: str, version: str, deleted: Sequence[Change]) -> str:
        """Keep what an action has deleted beside what was foreseen; the id of its copy that was not told yet."""
        copy, foreseen = self._kept.pop(action_id, (None, frozenset[str]()))
        rest = [change for change in deleted if change.path not in foreseen]
        untold = copy.id if copy is not None and not copy.copied else ""
        if not rest:
            return untold
        try:
            kept = self.losses.keep_deleted(rest, version, _command_of(ledger, action_id), ledger.session_id)
        except VersionsFail:
            logger.exception("what an action deleted is in no copy, only in its version")
            return ""
        return kept.id if copy is None else untold

    def failed(self, action_id: str) -> str:
        """Why no copy could be made before this action, which is about to start; empty where none was wanted."""
        return self._failed.get(action_id, "")

    def assessed(self, ledger: Ledger, name: str, arguments: Mapping[str, Any]) -> Assessment:
        """The rating of a call that would start now."""
        tool = self._tools.get(name)
        if tool is None or name not in WATCHED:
            return Assessment("LOW")
        return assess_action(tool, arguments, ledger.workspace, tool.working_dir() or ledger.workspace)

    def restore(self, copy_id: str) -> None:
        """Bring a copy back; what came of it is reported."""
        threading.Thread(target=self._restored, args=(copy_id,), name="session-restoring", daemon=True).start()

    def _restored(self, copy_id: str) -> None:
        try:
            said = self.losses.copies.restore(copy_id).told
        except WorkbenchError as error:
            said = f"nothing was brought back: {error}"
        self._report([VersionTaken(notice=f"{said} (copy {copy_id})")])


def _command_of(ledger: Ledger, action_id: str) -> str:
    """What the action ran, or else the tool it called."""
    own, action = ledger.own.get(action_id), ledger.batch.get(action_id)
    if own is not None:
        return own.command
    if action is None:
        return "an action"
    return str(action.arguments.get("command") or action.arguments.get("code") or action.proposed.tool)


def _aside(keep: Callable[[], Copy | None], cancel: Cancel) -> Copy | VersionsFail | None:
    """What `keep` gives, or why it failed; None also after an interrupt, which leaves it to itself."""
    kept: list[Copy | VersionsFail | None] = []

    def work() -> None:
        try:
            kept.append(keep())
        except VersionsFail as error:
            kept.append(error)
        except (OSError, ValueError) as error:  # whatever stops it, the person is told that there is no copy
            kept.append(VersionsFail(str(error)))

    thread = threading.Thread(target=work, name="session-copy", daemon=True)
    thread.start()
    while thread.is_alive() and not cancel.is_set:
        thread.join(_STEP)
    return kept[0] if kept else None
