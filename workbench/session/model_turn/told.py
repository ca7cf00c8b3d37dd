"""What the workbench itself tells the model about the person's doings, used by the history."""

from __future__ import annotations

import json

from workbench.llm.model import Message
from workbench.protocol.events import ActionDecided, FilesChanged
from workbench.text import cut_middle, visible, well_formed

_NAMED = 10


def decision_said(event: ActionDecided) -> str:
    """What stands before the result of an action that ran: the person's arguments for it, and their note."""
    if event.by != "person":
        return ""
    said = []
    if event.edited is not None:
        arguments = cut_middle(well_formed(json.dumps(event.edited, ensure_ascii=False)), 4_000)
        said.append(f"[The person changed the arguments before it ran: {arguments}]")
    if event.note.strip() and event.written is None:  # a result that tells of a part has the note itself
        said.append(f"[The person's note: {well_formed(event.note.strip())}]")
    return "\n".join(said)


def taken_back_message(event: FilesChanged) -> Message:
    """That the person changed files: what is in them now, the agent reads when it needs it."""
    names = [visible(file.path, lines=False) for file in event.files]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    said = f"[The person took back changes in {', '.join(names[:_NAMED])}{more}. View a file before you edit it.]"
    return {"role": "user", "content": said}
