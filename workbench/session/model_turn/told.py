"""What the workbench itself tells the model about the person's doings, in one line each; used by the history."""

from __future__ import annotations

from workbench.llm.model import Message
from workbench.session.events import FilesChanged
from workbench.text import visible

_NAMED = 10


def taken_back_message(event: FilesChanged) -> Message:
    """That the person changed files: what is in them now, the agent reads when it needs it."""
    names = [visible(file.path, lines=False) for file in event.files]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    said = f"[The person took back changes in {', '.join(names[:_NAMED])}{more}. View a file before you edit it.]"
    return {"role": "user", "content": said}
