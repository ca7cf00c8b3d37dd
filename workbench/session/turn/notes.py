"""Notes to the model about repaired calls, decisions, hooks, reverts, rewinds and forks."""

from __future__ import annotations

import json
from typing import Final

from workbench.llm.model import Message
from workbench.protocol.events import ActionDecided, ActionProposed, FilesChanged, Forked, Rewound
from workbench.protocol.hook_run import HookRan
from workbench.text import cut_middle, visible, well_formed

_NAMED = 10
_REPORTED_OTHERWISE: Final = ("before_action", "before_asking", "user_message")
"""The hook events whose denial is reported elsewhere: in the result of the action, or to the user."""


def repair_note(event: ActionProposed) -> str:
    """Return the note before the result of a repaired call, which says how the call was read; "" if nothing was
    repaired.
    """
    return well_formed(f"[Your call was read with {'; '.join(event.repairs)}.]") if event.repairs else ""


def decision_note(event: ActionDecided) -> str:
    """Return the note before the result of an action: arguments that the user or a hook changed, and the user's note.

    Empty if there is neither.
    """
    note = []
    if event.edited is not None:
        who = "A hook" if event.by_hook else "The user"
        arguments = cut_middle(well_formed(json.dumps(event.edited, ensure_ascii=False)), 4_000)
        note.append(f"[{who} changed the arguments before it ran: {arguments}]")
    if event.note.strip() and event.written is None:  # the result of a partial approval has the note already
        note.append(f"[The user's note: {well_formed(event.note.strip())}]")
    return "\n".join(note)


def hook_note(event: HookRan) -> str:
    """Return the note to the model about a hook that ran: its context, and its objection to something that has
    happened.

    Empty if there is neither. Why a hook denied an action is in the result of that action instead.
    """
    name = visible(event.name, lines=False)
    note = []
    if event.decision == "deny" and event.event not in _REPORTED_OTHERWISE and event.explanation.strip():
        note.append(f"[The hook {name} objects: {well_formed(event.explanation.strip())}]")
    if event.context.strip():
        note.append(f"[From the hook {name}: {well_formed(event.context.strip())}]")
    return "\n".join(note)


def revert_message(event: FilesChanged) -> Message:
    """Return the message that the user reverted files, or applied changes of another session to them.

    It names the files only; the agent reads their content when needed.
    """
    names = [visible(file.path, lines=False) for file in event.files]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    what = "applied changes from another session to" if event.session else "reverted changes in"
    note = f"[The user {what} {', '.join(names[:_NAMED])}{more}. View a file before you edit it.]"
    return {"role": "user", "content": note}


def fork_message(event: Forked) -> Message:
    """Return the message that the session continues as a fork, perhaps in another directory."""
    note = "The user continues the conversation from this point in a new session."
    if event.moved_from:
        before, now = (visible(path, lines=False) for path in (event.moved_from, event.workspace))
        note += f" It works in {now}, a copy of the files as they were here, and no longer in {before}."
        note += " Calls whose results follow run there." if event.keeps_run else ""
    return {"role": "user", "content": f"[{note} Your shell is a new one. View a file before you edit it.]"}


def rewind_message(event: Rewound) -> Message:
    """Return the message that the user moved the conversation, the files or both to another state."""
    names = [visible(file.path, lines=False) for file in event.files]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    listed = f"{', '.join(names[:_NAMED])}{more}"
    if event.scope == "conversation":
        note = "The user moved the conversation to this point; the files were left as they are."
    elif event.scope == "files":
        note = f"The user restored an earlier state of the files: {listed or 'none differed'}."
    else:
        note = f"The user moved the session to this point, files included: {listed or 'none differed'}."
    restarted = " Your shell and your interpreter were restarted." if event.files else ""
    return {"role": "user", "content": f"[{note}{restarted} View a file before you edit it.]"}
