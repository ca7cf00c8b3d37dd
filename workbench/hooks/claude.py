"""Hooks in Claude Code's format: `hooks` in `.claude/settings.json`, their input and their output.

Source: the hooks reference in Claude Code's documentation, https://docs.claude.com/en/docs/claude-code/hooks (also at
https://code.claude.com/docs/en/hooks). Such a hook expects Claude Code's names of tools and arguments, so our calls are
translated to them in `tool_name` and `tool_input`, and the `updatedInput` that it prints is translated back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from workbench.hooks.answer import MOST_CONTEXT, blocked, printed_object, table_in, text_in
from workbench.hooks.hook import HookAnswer, HookEvent, InvalidAnswer
from workbench.hooks.occurrence import Occurrence
from workbench.hooks.runner import HookRun
from workbench.protocol.codec import encode
from workbench.protocol.events import ActionObserved, RunEnded, UserMessage
from workbench.protocol.hook_run import HookDecision
from workbench.text import well_formed
from workbench.tools.claude_calls import arguments_of, tool_input, tool_name

EVENTS: Final[Mapping[str, HookEvent]] = {
    "PreToolUse": "before_action",
    "PostToolUse": "after_action",
    "PermissionRequest": "before_asking",
    "UserPromptSubmit": "user_message",
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
    "Stop": "run_end",
    "Notification": "notification",
    "PreCompact": "before_compaction",
}
"""Our event for each event of Claude Code that has one."""
_NAMES: Final = {ours: name for name, ours in EVENTS.items()}
_MODES: Final = {"plan": "plan", "edits": "acceptEdits", "never": "bypassPermissions"}
_DECISIONS: Final[Mapping[str, HookDecision]] = {
    "allow": "approve",
    "approve": "approve",
    "ask": "ask",
    "deny": "deny",
    "block": "deny",
    "defer": "",
    "": "",
}
_READS_TEXT: Final = ("user_message", "session_start")
"""The events for which the model reads what a hook prints as plain text."""


def names(about: Occurrence) -> tuple[str, ...]:
    """Return the names with which a matcher is compared: Claude Code's and ours for the tool, or the trigger."""
    if about.proposed is None:
        return (about.trigger,)
    name = about.mcp_name or tool_name(about.proposed.tool, about.proposed.arguments)
    return (name, about.proposed.tool)


def payload(about: Occurrence) -> str:
    """Return the input of a hook, one line of JSON."""
    values: dict[str, Any] = {
        "session_id": about.session,
        "transcript_path": "",
        "cwd": about.workspace,
        "permission_mode": _MODES.get(about.mode, "default"),
        "hook_event_name": _NAMES[about.hook_event],
    }
    if about.proposed is not None:
        tool, arguments = about.proposed.tool, about.proposed.arguments
        values |= {"tool_name": names(about)[0], "tool_input": tool_input(tool, arguments)}
        values["tool_use_id"] = about.proposed.action_id
    return json.dumps({**values, **_details(about)}, ensure_ascii=False) + "\n"


def _details(about: Occurrence) -> dict[str, Any]:
    """Return the entries that only some events have."""
    match about.event:
        case ActionObserved() as event:
            return {"tool_response": json.loads(encode(event))["observation"]}
        case UserMessage(text=text):
            return {"prompt": text}
        case RunEnded(reason=reason, detail=detail) if about.hook_event == "notification":
            return {"message": f"The agent has stopped ({reason}): {detail}"}
        case RunEnded():
            return {"stop_hook_active": False}
    if about.hook_event == "notification" and about.proposed is not None:
        return {"message": f"ohw needs your permission to use {names(about)[0]}"}
    by_event = {"session_start": "source", "session_end": "reason", "before_compaction": "trigger"}
    name = by_event.get(about.hook_event)
    return {name: about.trigger} if name else {}


def answer_of(run: HookRun, about: Occurrence) -> HookAnswer:
    """Return the answer of a hook that uses Claude Code's format; a failure if what it printed is invalid."""
    if refusal := blocked(run):
        return refusal
    try:
        values = printed_object(run.output)
        if values is None:
            is_context = about.hook_event in _READS_TEXT
            return HookAnswer(context=well_formed(run.output.strip())[:MOST_CONTEXT] if is_context else "")
        return _read(values, about)
    except InvalidAnswer as error:
        return HookAnswer(failure=str(error))


def _read(values: dict[str, Any], about: Occurrence) -> HookAnswer:
    special = table_in(values, "hookSpecificOutput") or {}
    # A hook for PermissionRequest prints {"decision": {"behavior": "allow" or "deny", "message", "updatedInput"}}.
    nested = table_in(special, "decision") or {}
    word = text_in(special, "permissionDecision") or text_in(nested, "behavior") or text_in(values, "decision")
    if word not in _DECISIONS:
        raise InvalidAnswer(f"its decision {word!r} is not known")
    reasons = (
        text_in(special, "permissionDecisionReason"),
        text_in(nested, "message"),
        text_in(values, "reason"),
        text_in(values, "stopReason"),
    )
    updated = table_in(special, "updatedInput")
    updated = table_in(nested, "updatedInput") if updated is None else updated
    proposed = about.proposed if updated is not None else None
    arguments = arguments_of(proposed.tool, proposed.arguments, updated or {}) if proposed is not None else None
    decision: HookDecision = "deny" if values.get("continue") is False else _DECISIONS[word]
    return HookAnswer(
        decision=decision or ("change" if arguments is not None else ""),
        explanation=next(filter(None, reasons), ""),
        context=text_in(special, "additionalContext")[:MOST_CONTEXT],
        arguments=arguments,
        message=text_in(values, "systemMessage"),
    )
