"""Applies changes from other sessions to the workspace for the user, with the rating and rules of the agent's edits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.files.replaced_paths import is_vacated
from workbench.files.root_directory import real_path
from workbench.protocol.events import ActionProposed, FileDelta
from workbench.protocol.live import ChangesRated
from workbench.protocol.risk import Risk
from workbench.risk.paths import within
from workbench.session.actions.assess import Rater, is_riskier
from workbench.session.actions.decide import CommandError
from workbench.session.workspace.file_modes import PERMISSION_CHANGES
from workbench.session.workspace.files import WorkspaceFiles
from workbench.text import visible_path
from workbench.tools.str_replace_editor import NAME as EDITOR
from workbench.tools.str_replace_editor.definition import FileEditorTool
from workbench.tools.tool import ToolDefinition


class UserChanges:
    """Applies changes that the user has seen with their risk; a rule that denies such an edit to the agent denies it
    here.
    """

    def __init__(self, rater: Rater, files: WorkspaceFiles) -> None:
        self._rater = rater
        self._files = files
        self._editor: ToolDefinition[Any, Any] = FileEditorTool(str(files.root.path))

    def rating(self, files: Sequence[FileDelta]) -> ChangesRated:
        """Return the risk of the changes. Raises CommandError if one is denied or not in the workspace."""
        risk: Risk = "LOW"
        reasons: dict[str, None] = {}
        removed = frozenset(file.path for file in files if file.after is None)
        for file in files:
            self._check_inside(file, removed)
            if file.cut in PERMISSION_CHANGES:
                reasons[f"{visible_path(file.path)} {file.cut}"] = None
            arguments = {"command": "create", "path": file.path, "file_text": file.after or ""}
            proposed = ActionProposed(action_id="", response_id="", call_id="", tool=EDITOR, arguments=arguments)
            assessment = self._rater.local(proposed, self._editor)
            own, ruling = self._rater.ruling(proposed, self._editor, assessment)
            if ruling.verdict == "deny" and ruling.by == "rule":
                raise CommandError(f"{visible_path(file.path)} was not written: {ruling.rule} denies it")
            risk = own if is_riskier(own, risk) else risk
            reasons |= dict.fromkeys(assessment.reasons)
        return ChangesRated(risk=risk, reasons=tuple(reasons))

    def _check_inside(self, file: FileDelta, removed: frozenset[str]) -> None:
        root = real_path(str(self._files.root.path))
        if within(file.path, root) and is_vacated(Path(file.path), removed):
            return  # a link that is removed first is not followed
        path = Path(file.path)
        # To delete a link is to change the directory that it is in, wherever it leads.
        is_link = file.after is None and path.is_symlink()
        real = str(Path(real_path(str(path.parent)), path.name)) if is_link else real_path(file.path)
        if not within(real, root) or real == root:
            raise CommandError(f"{visible_path(file.path)} is not in the workspace; nothing was written")

    def apply(self, files: Sequence[FileDelta], session: str, accepted: Risk) -> None:
        """Write the changes, which come from another session, if they are not riskier than the user has accepted.

        Raises CommandError, RevertError or StoreError.
        """
        if is_riskier(self.rating(files).risk, accepted):
            raise CommandError("the changes are riskier than when you looked at them; look again")
        self._files.revert(files, session=session)
