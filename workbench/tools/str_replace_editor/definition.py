"""The tool `str_replace_editor`: its action, observation and description, and the executor."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from workbench.files.text_file import EditorError, read_bytes, why_unusable
from workbench.text import well_formed
from workbench.tools.context import ConversationState, merges_changes, state_directory_of, workspace_of
from workbench.tools.effects import AssessmentContext, Effect, TouchesFile
from workbench.tools.executor import FileChange, ToolExecutor
from workbench.tools.schema import Action, Observation, TextContent
from workbench.tools.str_replace_editor.edits import Edited, insert_after, replace_once
from workbench.tools.str_replace_editor.files import Files, Plan
from workbench.tools.str_replace_editor.view import image_in, show_change, show_directory, show_file
from workbench.tools.tool import DeclaredTool, ToolAnnotations, ToolDefinition, described

Command = Literal["view", "create", "str_replace", "insert", "undo_edit"]

_DESCRIPTION = """View, create and edit text files; what you wrote stays after each call.

* `view` shows a file with line numbers, the entries of a directory two levels deep, or an image. Long files are cut in
  the middle: give `view_range` to see the part you need.
* `create` writes a new file with `file_text` and creates its directories. It never replaces an existing file.
* `str_replace` replaces `old_str` by `new_str`. `old_str` must be in the file exactly once, spaces and indentation
  included: include a few lines around the place. Without `new_str` the text is deleted.
* `insert` puts `new_str` as lines of its own after line `insert_line` (0: at the top).
* `undo_edit` undoes the last edit this tool made to the file, up to ten edits, a creation too.

Paths are absolute. Encoding, line ends, mode and links of a file are kept. View a file before you edit it; when it has
changed since you were last shown it, your edit is merged with that change, or refused and you have to view it again.
Files over 10 MB and binary files are refused. The result of an edit shows the changed lines."""
_SHORT = """View, create and edit text files. `view`: file with lines, directory or image. `create`: new file only.
`str_replace`: `old_str` must be in the file exactly once. `insert`: after line `insert_line`. `undo_edit`: undoes
the last edit. Paths are absolute."""


class StrReplaceEditorAction(Action):
    """One command of the editor."""

    can_read_only: ClassVar[bool] = True

    command: Command = Field(description="What to do.")
    path: str = Field(description="The file (for `view` also a directory), as an absolute path.")
    file_text: str | None = Field(None, description="For `create`: the whole content of the new file.")
    old_str: str | None = Field(None, description="For `str_replace`: the text to replace, exactly as in the file.")
    new_str: str | None = Field(None, description="For `str_replace` and `insert`: the new text.")
    insert_line: Annotated[int, Field(ge=0)] | None = Field(
        None, description="For `insert`: the number of the line after which the text goes; 0 is the top of the file."
    )
    view_range: list[int] | None = Field(
        None, description="For `view` of a file: first and last line, counted from 1; [20, -1] is line 20 to the end."
    )

    @property
    def reads_only(self) -> bool:
        """Whether the command is `view`, which changes nothing."""
        return self.command == "view"


class StrReplaceEditorObservation(Observation):
    """The result of a command; the contents are those of the whole file, and are set only if the command changed it."""

    command: Command | None = None
    path: str | None = None
    prev_exist: bool = True
    old_content: str | None = None
    new_content: str | None = None

    @property
    def output(self) -> str:
        """The text for the model."""
        return self.text

    @property
    def error(self) -> str | None:
        """The text of the refusal; None if the call succeeded."""
        return self.text if self.is_error else None


class FileEditorTool(DeclaredTool[StrReplaceEditorAction, StrReplaceEditorObservation]):
    """Views and edits files; without a `state_dir`, undo steps are lost with the tool object."""

    name = "str_replace_editor"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = StrReplaceEditorAction
    observation_type = StrReplaceEditorObservation
    annotations = ToolAnnotations.writing("Edit files")

    def __init__(
        self,
        workspace: str | None = None,
        state_dir: Path | None = None,
        *,
        merges: bool = False,
        workspace_root: str | None = None,
    ) -> None:
        """`workspace_root` is the name of `workspace` in OpenHands."""
        super().__init__(FileEditorExecutor(workspace_root or workspace, state_dir, merges=merges))

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the operation on the file as the only effect."""
        return (TouchesFile(str(arguments.get("command", "edit")), str(arguments.get("path", ""))),)

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Return the editor of a session: errors suggest paths in its workspace, and undo survives a restart."""
        defaults = {
            "workspace": workspace_of(conv_state),
            "state_dir": state_directory_of(conv_state),
            "merges": merges_changes(conv_state),
        }
        return (cls(**{**defaults, **params}),)


def plan(action: StrReplaceEditorAction, files: Files, path: Path) -> Plan:
    """Return the change of the file at this real path. Raises EditorError if it is impossible, or OSError."""
    if action.command == "create":
        return files.creation(path, _required_text(action, "file_text"))
    if action.command == "undo_edit":
        return files.undoing(path)
    return files.edit(path, _edit_of(action))


def _edit_of(action: StrReplaceEditorAction) -> Callable[[str], Edited]:
    if action.command == "insert":
        line, added = action.insert_line, _required_text(action, "new_str")
        if line is None:
            raise EditorError("`insert` needs `insert_line`: the line after which the text goes, 0 for the top.")
        return lambda text: insert_after(text, line, added)
    old = _required_text(action, "old_str")
    return lambda text: replace_once(text, old, action.new_str or "")


def _required_text(action: StrReplaceEditorAction, name: str) -> str:
    value = getattr(action, name)
    if value is None:
        raise EditorError(f"The command `{action.command}` needs `{name}`.")
    return str(value)


class FileEditorExecutor(ToolExecutor[StrReplaceEditorAction, StrReplaceEditorObservation]):
    """The editor of one session; undo steps and viewed contents are stored under `state_dir`."""

    def __init__(
        self,
        workspace: str | Path | None = None,
        state_dir: Path | None = None,
        *,
        merges: bool = False,
        workspace_root: str | Path | None = None,
    ) -> None:
        """`workspace_root` is the name of `workspace` in OpenHands; without either it is the current directory."""
        self._files = Files(str(workspace_root or workspace or Path.cwd()), state_dir, merges=merges)

    def __call__(self, action: StrReplaceEditorAction) -> StrReplaceEditorObservation:
        """View or edit; a refusal is an observation with the reason."""
        try:
            if action.command == "view":
                return self._view(action)
            planned = plan(action, self._files, self._files.target(action.path))
            self._files.apply_undo(planned) if action.command == "undo_edit" else self._files.write(planned)
        except EditorError as error:
            return _refusal(action, str(error))
        except (OSError, ValueError) as error:  # ValueError: a path that no file can have
            return _refusal(action, why_unusable(action.path, error))
        return _report(action, planned)

    def preparation(self, action: StrReplaceEditorAction) -> Callable[[], StrReplaceEditorObservation] | None:
        """Return a function that reports why the edit is impossible, so that the user is not asked; None if it is
        possible.
        """
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
        """Return the file before and after the action; empty if the action would be refused."""
        if action.command == "view":
            return ()
        try:
            planned = plan(action, self._files, self._files.locate(action.path))
        except (EditorError, OSError, ValueError):
            return ()
        return (self._files.previewed(planned),)

    def _view(self, action: StrReplaceEditorAction) -> StrReplaceEditorObservation:
        path = self._files.existing(self._files.source(action.path))
        if path.is_dir():
            if action.view_range is not None:
                raise EditorError(f"{path} is a directory; `view_range` is for files.")
            return _view_result(action, show_directory(path, action.path))
        raw = read_bytes(path, self._files.root_of(path))
        image = image_in(raw)
        if image is not None:
            text = TextContent(text=f"The image {action.path}:")
            return StrReplaceEditorObservation(content=(text, image), command="view", path=action.path, prev_exist=True)
        coding, content = self._files.decoded(path, raw)
        listing = show_file(action.path, content, coding, action.view_range)
        self._files.remember(path, raw, coding=coding)
        return _view_result(action, listing)


def _report(action: StrReplaceEditorAction, planned: Plan) -> StrReplaceEditorObservation:
    return StrReplaceEditorObservation.from_text(
        _summary(action, planned),
        command=action.command,
        path=action.path,
        prev_exist=planned.before is not None,
        old_content=planned.before,
        new_content=planned.after,
    )


def _summary(action: StrReplaceEditorAction, planned: Plan) -> str:
    if action.command == "create":
        return f"File created successfully at: {action.path}"
    if planned.edited is None:
        return f"Undid the creation of {action.path}: the file is removed."
    done = f"Undid the last edit of {action.path}." if action.command == "undo_edit" else f"Edited {action.path}."
    return f"{done} {show_change(planned.edited)}"


def _view_result(action: StrReplaceEditorAction, text: str) -> StrReplaceEditorObservation:
    return StrReplaceEditorObservation.from_text(text, command="view", path=action.path, prev_exist=True)


def _refusal(action: StrReplaceEditorAction, text: str) -> StrReplaceEditorObservation:
    exists = os.path.lexists(action.path)
    return StrReplaceEditorObservation.from_text(
        well_formed(text), is_error=True, command=action.command, path=action.path, prev_exist=exists
    )


str_replace_editor_tool = described(FileEditorTool)
