"""Leaves notes for channels, as files below `.notes` of the workspace."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from workbench.tools import (
    Action,
    AssessmentContext,
    ConversationState,
    Effect,
    FileChange,
    Observation,
    Presentation,
    SelfRated,
    ToolAnnotations,
    ToolDefinition,
    ToolExecutor,
    TouchesFile,
)


class Note(Action):
    """A note for a channel."""

    channel: str = Field(pattern=r"[a-z]+", description="Who reads it; `everyone` is the whole company.")
    text: str = Field(description="The note.")


class Sent(Observation):
    """The note was left."""

    words: int = 0


class Notes(ToolExecutor[Note, Sent]):
    """Writes a file a channel."""

    def __init__(self, workspace: str) -> None:
        self._workspace = Path(workspace)

    def file(self, channel: str) -> Path:
        """Return the file with the notes of a channel."""
        return self._workspace / ".notes" / f"{channel}.md"

    def preview(self, action: Note) -> Sequence[FileChange]:
        """Return the change: the note is appended to the existing ones."""
        file = self.file(action.channel)
        before = file.read_text() if file.exists() else None
        return [FileChange(str(file), before, f"{before or ''}- {action.text}\n")]

    def __call__(self, action: Note) -> Sent:
        """Append the note."""
        (change,) = self.preview(action)
        Path(change.path).parent.mkdir(exist_ok=True)
        Path(change.path).write_text(change.after or "")
        return Sent.from_text(f"The note is for {action.channel}.", words=len(action.text.split()))


class SendNote(ToolDefinition[Note, Sent]):
    """The definition of the tool `send_note`."""

    def __init__(self, workspace: str) -> None:
        super().__init__(
            name="send_note",
            description="Leave a note for a channel.",
            action_type=Note,
            observation_type=Sent,
            annotations=ToolAnnotations(title="Send a note", destructiveHint=False),
            executor=Notes(workspace),
            presentation=Presentation(
                icon="§",
                ascii_icon="N",
                noun="note",
                activity="sending a note",
                headline="to {channel}: {text}",
                subject="text",
                outcome="{words:word} sent",
                result="changes",
            ),
        )

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Return the tool of a session."""
        return (cls(conv_state.workspace, **params),)

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Rate the channel that everybody reads HIGH, whichever file it is."""
        channel = str(arguments.get("channel", ""))
        file = TouchesFile("create", f"{context.workspace}/.notes/{channel}.md")
        return (file, SelfRated("HIGH", "the whole company reads it")) if channel == "everyone" else (file,)
