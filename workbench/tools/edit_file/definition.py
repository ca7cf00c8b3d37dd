"""The tool `edit_file` as model and session see it; it is offered only where there is a model to ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from workbench.tools.completion import Completion
from workbench.tools.context import ConversationState, merges_changes
from workbench.tools.declared import DeclaredTool
from workbench.tools.effects import AssessmentContext, Effect, TouchesFile
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolAnnotations, ToolDefinition

MAX_LINES = 300
"""Of the range that one call may rewrite."""

_DESCRIPTION = f"""Rewrite a range of lines of a text file by a draft: a model merges your draft with the lines.

Write in `content` how lines `start` to `end` should read. Where lines stay as they are you may leave them out and put a
comment in their place, such as `# ... existing code ...`; keep a line or two around each change, so that its place is
clear. Indent the draft as the file is indented.

* The range counts from 1 and takes in both ends; `end` = -1 is the end of the file. At most {MAX_LINES} lines: view the
  file and give the part that changes.
* `start` = -1 adds `content` at the end of the file, as it is. So it is for a file that does not exist yet.
* The result shows what changed; `undo_edit` of str_replace_editor takes it back.

For a small exact change str_replace is quicker. The path is absolute."""
_SHORT = f"""Rewrite lines `start` to `end` of a file (at most {MAX_LINES}) by a draft in `content`; a comment like
`# ... existing code ...` may stand for lines that stay. `start` = -1 adds to the end. The path is absolute."""


class EditFileAction(Action):
    """A draft of a range of lines."""

    path: str = Field(description="The file, as an absolute path.")
    content: str = Field(description="How the lines should read; comments may stand for parts that stay.")
    start: int = Field(1, description="The first line of the range, counted from 1; -1 adds to the end of the file.")
    end: int = Field(-1, description="The last line of the range; -1 is the end of the file.")


class EditFileObservation(Observation):
    """What became of the file, and what the model that merged the draft took (tokens, US dollars)."""

    path: str | None = None
    prev_exist: bool = True
    old_content: str | None = None
    new_content: str | None = None
    model: str = ""
    cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class LLMBasedFileEditTool(DeclaredTool[EditFileAction, EditFileObservation]):
    """Edits by draft, ready to run; with the `state_dir` of an editor that one takes its edits back."""

    name = "edit_file"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = EditFileAction
    observation_type = EditFileObservation
    annotations = ToolAnnotations.writing("Edit by draft")

    def __init__(
        self,
        complete: Completion,
        workspace: str | None = None,
        state_dir: Path | None = None,
        *,
        merges: bool = False,
    ) -> None:
        from workbench.tools.edit_file.impl import EditFileExecutor

        super().__init__(EditFileExecutor(complete, workspace or str(Path.cwd()), state_dir, merges=merges))

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the edit of the file."""
        return (TouchesFile("edit", str(arguments.get("path", ""))),)

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """The tool of a session; none where the session has no model to ask."""
        if conv_state.complete is None:
            return ()
        given = {
            "complete": conv_state.complete,
            "workspace": conv_state.workspace,
            "state_dir": conv_state.state_dir,
            "merges": merges_changes(conv_state),
        }
        return (cls(**{**given, **params}),)
