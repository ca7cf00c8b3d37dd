"""Runs the editor's commands; the session calls it, one action at a time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from workbench.text import well_formed
from workbench.tools.executor import FileChange, ToolExecutor
from workbench.tools.schema import TextContent
from workbench.tools.str_replace_editor import atomic
from workbench.tools.str_replace_editor.definition import StrReplaceEditorAction, StrReplaceEditorObservation
from workbench.tools.str_replace_editor.planning import Plan, Planner
from workbench.tools.str_replace_editor.text_file import EditorError, decoded, digest, read_bytes
from workbench.tools.str_replace_editor.undo import Earlier, UndoCopies
from workbench.tools.str_replace_editor.view import image_in, show_around, show_file, show_folder


class FileEditorExecutor(ToolExecutor[StrReplaceEditorAction, StrReplaceEditorObservation]):
    """The editor of one session; earlier versions are kept under `state_dir`."""

    def __init__(self, workspace: str, state_dir: Path | None = None) -> None:
        self._undo = UndoCopies(state_dir / "undo" if state_dir else None)
        self._planner = Planner(workspace, self._undo)

    def __call__(self, action: StrReplaceEditorAction) -> StrReplaceEditorObservation:
        """View or edit; a refusal is an observation that says why."""
        try:
            if action.command == "view":
                return self._view(action)
            plan = self._planner.plan(action)
            self._carry_out(plan, action.command)
        except EditorError as error:
            return _refusal(action, str(error))
        except (OSError, ValueError) as error:  # ValueError: a path that no file can have
            return _refusal(action, _why(action.path, error))
        return _report(action, plan)

    def preview(self, action: StrReplaceEditorAction) -> Sequence[FileChange]:
        """The file before and after, as the action would write it; empty when it would be refused."""
        if action.command == "view":
            return ()
        try:
            plan = self._planner.plan(action)
        except (EditorError, OSError, ValueError):
            return ()
        return (FileChange(str(plan.path), plan.before, plan.after),)

    def _view(self, action: StrReplaceEditorAction) -> StrReplaceEditorObservation:
        path = self._planner.existing(self._planner.locate(action.path))
        if path.is_dir():
            if action.view_range is not None:
                raise EditorError(f"{path} is a folder; `view_range` is for files.")
            return _seen(action, show_folder(path, action.path))
        raw = read_bytes(path)
        image = image_in(raw)
        if image is not None:
            text = TextContent(text=f"The image {action.path}:")
            return StrReplaceEditorObservation(content=(text, image), command="view", path=action.path, prev_exist=True)
        coding, content = decoded(path, raw)
        shown = show_file(action.path, content, coding, action.view_range)
        self._planner.remember(path, digest(raw))
        return _seen(action, shown)

    def _carry_out(self, plan: Plan, command: str) -> None:
        made = "" if plan.raw_after is None else digest(plan.raw_after)
        if command == "undo_edit":
            _write(plan)
            self._undo.drop(plan.path)
        else:
            self._undo.push(plan.path, Earlier(plan.raw_before is not None, made, plan.raw_before or b""))
            try:
                _write(plan)
            except OSError:
                self._forget_if_unchanged(plan)
                raise
        self._planner.remember(plan.path, made)

    def _forget_if_unchanged(self, plan: Plan) -> None:
        """After a failed write: the copy is kept only where the file is not as it was."""
        with suppress(OSError, EditorError):
            now = read_bytes(plan.path) if os.path.lexists(plan.path) else None
            if now == plan.raw_before or plan.raw_before is None:
                self._undo.drop(plan.path)


def _write(plan: Plan) -> None:
    if plan.raw_after is None:
        plan.path.unlink()
    elif plan.raw_before is None:
        atomic.write_new(plan.path, plan.raw_after)
    else:
        atomic.replace(plan.path, plan.raw_after)


def _report(action: StrReplaceEditorAction, plan: Plan) -> StrReplaceEditorObservation:
    return StrReplaceEditorObservation.from_text(
        _said(action, plan),
        command=action.command,
        path=action.path,
        prev_exist=plan.before is not None,
        old_content=plan.before,
        new_content=plan.after,
    )


def _said(action: StrReplaceEditorAction, plan: Plan) -> str:
    if action.command == "create":
        return f"File created successfully at: {action.path}"
    if plan.after is None or plan.edited is None:
        return f"Took the creation of {action.path} back: the file is removed."
    done = f"Took the last edit of {action.path} back." if action.command == "undo_edit" else f"Edited {action.path}."
    lines = show_around(plan.edited)
    return f"{done} Here's the result of running `cat -n` on the changed part:\n{lines}\n"


def _seen(action: StrReplaceEditorAction, text: str) -> StrReplaceEditorObservation:
    return StrReplaceEditorObservation.from_text(text, command="view", path=action.path, prev_exist=True)


def _refusal(action: StrReplaceEditorAction, text: str) -> StrReplaceEditorObservation:
    exists = os.path.lexists(action.path)
    return StrReplaceEditorObservation.from_text(
        well_formed(text), is_error=True, command=action.command, path=action.path, prev_exist=exists
    )


def _why(path: str, error: OSError | ValueError) -> str:
    if isinstance(error, FileExistsError):
        return f"{path} exists already; `create` never replaces anything. Nothing was changed."
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{path} could not be used: {reason}. Nothing was changed."
