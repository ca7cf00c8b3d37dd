"""What a command of the editor would do, worked out without writing: preview and execution go by the same plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from workbench.files.text_file import EditorError
from workbench.tools.str_replace_editor.definition import StrReplaceEditorAction
from workbench.tools.str_replace_editor.edits import Edited, insert_after, replace_once
from workbench.tools.str_replace_editor.files import Files, Plan


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
