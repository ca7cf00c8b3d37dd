"""What a command of the editor would do, worked out without writing: preview and execution go by the same plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from workbench.files.text_file import EditorError, decoded, read_bytes, why_unusable
from workbench.text import well_formed
from workbench.tools.executor import FileChange, ToolExecutor
from workbench.tools.schema import TextContent
from workbench.tools.str_replace_editor.definition import StrReplaceEditorAction, StrReplaceEditorObservation
from workbench.tools.str_replace_editor.edits import Edited, insert_after, replace_once
from workbench.tools.str_replace_editor.files import Files, Plan
from workbench.tools.str_replace_editor.view import image_in, show_change, show_file, show_folder


def plan(action: StrReplaceEditorAction, files: Files, path: Path) -> Plan:
    """The change the action stands for, of the file at this real path.

    Raises EditorError when it cannot be made, OSError.
    """
    if action.command == "create":
        return files.creation(path, _given(action, "file_text"))
    if action.command == "undo_edit":
        return files.undoing(path)
    return files.edit(path, _edit_of(action))


def _edit_of(action: StrReplaceEditorAction) -> Callable[[str], Edited]:
    if action.command == "insert":
        line, added = action.insert_line, _given(action, "new_str")
        if line is None:
            raise EditorError("`insert` needs `insert_line`: the line after which the text goes, 0 for the top.")
        return lambda text: insert_after(text, line, added)
    old = _given(action, "old_str")
    return lambda text: replace_once(text, old, action.new_str or "")


def _given(action: StrReplaceEditorAction, name: str) -> str:
    value = getattr(action, name)
    if value is None:
        raise EditorError(f"The command `{action.command}` needs `{name}`.")
    return str(value)


class FileEditorExecutor(ToolExecutor[StrReplaceEditorAction, StrReplaceEditorObservation]):
    """The editor of one session; earlier versions are kept under `state_dir`."""

    def __init__(self, workspace: str, state_dir: Path | None = None, *, merges: bool = False) -> None:
        self._files = Files(workspace, state_dir, merges=merges)

    def __call__(self, action: StrReplaceEditorAction) -> StrReplaceEditorObservation:
        """View or edit; a refusal is an observation that says why."""
        try:
            if action.command == "view":
                return self._view(action)
            made = plan(action, self._files, self._files.target(action.path))
            self._files.take_back(made) if action.command == "undo_edit" else self._files.write(made)
        except EditorError as error:
            return _refusal(action, str(error))
        except (OSError, ValueError) as error:  # ValueError: a path that no file can have
            return _refusal(action, why_unusable(action.path, error))
        return _report(action, made)

    def preparation(self, action: StrReplaceEditorAction) -> Callable[[], StrReplaceEditorObservation] | None:
        """An edit that is bound to fail goes back to the model before anybody is asked about it."""
        if action.command == "view":
            return None
        try:
            plan(action, self._files, self._files.locate(action.path))
        except EditorError as error:
            refused = _refusal(action, str(error))
        except (OSError, ValueError) as error:
            refused = _refusal(action, why_unusable(action.path, error))
        else:
            return None
        return lambda: refused

    def preview(self, action: StrReplaceEditorAction) -> Sequence[FileChange]:
        """The file before and after, as the action would write it; empty when it would be refused."""
        if action.command == "view":
            return ()
        try:
            made = plan(action, self._files, self._files.locate(action.path))
        except (EditorError, OSError, ValueError):
            return ()
        return (self._files.previewed(made),)

    def _view(self, action: StrReplaceEditorAction) -> StrReplaceEditorObservation:
        path = self._files.existing(self._files.locate(action.path))
        if path.is_dir():
            if action.view_range is not None:
                raise EditorError(f"{path} is a folder; `view_range` is for files.")
            return _seen(action, show_folder(path, action.path))
        raw = read_bytes(path, self._files.root_of(path))
        image = image_in(raw)
        if image is not None:
            text = TextContent(text=f"The image {action.path}:")
            return StrReplaceEditorObservation(content=(text, image), command="view", path=action.path, prev_exist=True)
        coding, content = decoded(path, raw)
        shown = show_file(action.path, content, coding, action.view_range)
        self._files.remember(path, raw)
        return _seen(action, shown)


def _report(action: StrReplaceEditorAction, made: Plan) -> StrReplaceEditorObservation:
    return StrReplaceEditorObservation.from_text(
        _said(action, made),
        command=action.command,
        path=action.path,
        prev_exist=made.before is not None,
        old_content=made.before,
        new_content=made.after,
    )


def _said(action: StrReplaceEditorAction, made: Plan) -> str:
    if action.command == "create":
        return f"File created successfully at: {action.path}"
    if made.edited is None:
        return f"Took the creation of {action.path} back: the file is removed."
    done = f"Took the last edit of {action.path} back." if action.command == "undo_edit" else f"Edited {action.path}."
    return f"{done} {show_change(made.edited)}"


def _seen(action: StrReplaceEditorAction, text: str) -> StrReplaceEditorObservation:
    return StrReplaceEditorObservation.from_text(text, command="view", path=action.path, prev_exist=True)


def _refusal(action: StrReplaceEditorAction, text: str) -> StrReplaceEditorObservation:
    exists = os.path.lexists(action.path)
    return StrReplaceEditorObservation.from_text(
        well_formed(text), is_error=True, command=action.command, path=action.path, prev_exist=exists
    )
