"""The editor as model and session see it: its action, its observation, its description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from workbench.tools.context import ConversationState, merges_changes
from workbench.tools.declared import DeclaredTool
from workbench.tools.effects import AssessmentContext, Effect, TouchesFile
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolAnnotations, ToolDefinition

Command = Literal["view", "create", "str_replace", "insert", "undo_edit"]

_DESCRIPTION = """View, create and edit text files; what you wrote stays after each call.

* `view` shows a file with line numbers, the entries of a folder two levels deep, or an image. Long files are cut in the
  middle: give `view_range` to see the part you need.
* `create` writes a new file with `file_text` and makes its folders. It never replaces an existing file.
* `str_replace` replaces `old_str` by `new_str`. `old_str` must be in the file exactly once, blanks and indentation
  included: take in a few lines around the place. Without `new_str` the text is deleted.
* `insert` puts `new_str` as lines of its own after line `insert_line` (0: at the top).
* `undo_edit` takes back the last edit this tool made to the file, up to ten edits, a creation too.

Paths are absolute. Encoding, line ends, mode and links of a file are kept. View a file before you edit it; when it has
changed since you were last shown it, your edit is merged with that change, or refused and you have to view it again.
Files over 10 MB and binary files are refused. The result of an edit shows the changed lines."""
_SHORT = """View, create and edit text files. `view`: file with line numbers, folder or image. `create`: new file only.
`str_replace`: `old_str` must be in the file exactly once. `insert`: after line `insert_line`. `undo_edit`: takes the
last edit back. Paths are absolute."""


class StrReplaceEditorAction(Action):
    """One command of the editor."""

    can_read_only: ClassVar[bool] = True

    command: Command = Field(description="What to do.")
    path: str = Field(description="The file (for `view` also a folder), as an absolute path.")
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
        """A view changes nothing."""
        return self.command == "view"


class StrReplaceEditorObservation(Observation):
    """What the command did; the contents are the whole file before and after, where it was changed."""

    command: Command | None = None
    path: str | None = None
    prev_exist: bool = True
    old_content: str | None = None
    new_content: str | None = None

    @property
    def output(self) -> str:
        """What the model reads."""
        return self.text

    @property
    def error(self) -> str | None:
        """Why the command was refused, or None."""
        return self.text if self.is_error else None


class FileEditorTool(DeclaredTool[StrReplaceEditorAction, StrReplaceEditorObservation]):
    """The editor, ready to run; without a `state_dir` undo lasts as long as the tool."""

    name = "str_replace_editor"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = StrReplaceEditorAction
    observation_type = StrReplaceEditorObservation
    annotations = ToolAnnotations.writing("Edit files")

    def __init__(self, workspace: str | None = None, state_dir: Path | None = None, *, merges: bool = False) -> None:
        from workbench.tools.str_replace_editor.impl import FileEditorExecutor

        super().__init__(FileEditorExecutor(workspace or str(Path.cwd()), state_dir, merges=merges))

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return what is done to the file."""
        return (TouchesFile(str(arguments.get("command", "edit")), str(arguments.get("path", ""))),)

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """The editor of a session: relative paths are explained by its workspace, undo survives a restart."""
        given = {
            "workspace": conv_state.workspace,
            "state_dir": conv_state.state_dir,
            "merges": merges_changes(conv_state),
        }
        return (cls(**{**given, **params}),)
