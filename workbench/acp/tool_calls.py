"""An action as a tool call of the protocol: title, kind, status, locations and content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final

from acp.helpers import ToolCallContentVariant, text_block, tool_content, tool_diff_content
from acp.schema import ToolCallLocation, ToolCallStatus, ToolKind
from msgspec import Struct
from msgspec.structs import replace

from workbench.text import visible
from workbench.tools.manifest import ToolKind as OwnKind
from workbench.tools.manifest import kind_of
from workbench.view.formatting.actions import action_line, decision_of, presentation, title_of
from workbench.view.formatting.approval import files_written
from workbench.view.formatting.cards import printed_output
from workbench.view.read_groups import is_read
from workbench.view.state import ActionItem, Phase

_STATUS: Final[Mapping[Phase, ToolCallStatus]] = {
    "proposed": "pending",
    "waiting": "pending",
    "approved": "pending",
    "running": "in_progress",
    "done": "completed",
    "failed": "failed",
    "rejected": "failed",
    "skipped": "failed",
    "lost": "failed",
}
_KINDS: Final[Mapping[OwnKind, ToolKind]] = {
    "command": "execute",
    "code": "execute",
    "edit": "edit",
    "search": "search",
    "pages": "fetch",
    "fetch": "fetch",
    "plan": "think",
    "thought": "think",
}
_NOT_RUN: Final = {"skipped": "It was skipped.", "lost": "Its outcome is unknown."}


class CallView(Struct, frozen=True):
    """What an editor shows of an action; the fields are those of a tool call in the protocol."""

    title: str
    kind: ToolKind
    status: ToolCallStatus
    content: list[ToolCallContentVariant]
    locations: list[ToolCallLocation]
    raw_input: dict[str, Any]


def call_view(item: ActionItem, workspace: str) -> CallView:
    """Return what an editor shows of an action now."""
    return CallView(
        title=call_title(item, workspace),
        kind=call_kind(item),
        status=_STATUS[item.phase],
        content=list(_content(item)),
        locations=locations(item, workspace),
        raw_input=item.arguments,
    )


def call_title(item: ActionItem, workspace: str) -> str:
    """Return the title of an action on one line: its sub-agent, if any, and what it does, not the
    model's summary of it.
    """
    agent = f"{item.agent}: " if item.agent else ""
    if kind_of(item.tool) == "command":
        return f"{agent}{action_line(item, workspace)}"
    return f"{agent}{title_of(replace(item, summary=''), workspace).text}"


def call_kind(item: ActionItem) -> ToolKind:
    """Return the kind of tool call, as the protocol defines it, that an action is."""
    own = kind_of(item.tool)
    return "read" if own == "edit" and is_read(item) else _KINDS.get(own, "other")


def diffs(item: ActionItem) -> Iterator[ToolCallContentVariant]:
    """Yield the file changes that the action has made or, before it has run, would make."""
    for delta in item.files or item.preview:
        if not delta.cut:
            yield tool_diff_content(delta.path, delta.after or "", delta.before)


def locations(item: ActionItem, workspace: str) -> list[ToolCallLocation]:
    """Return the files that the action is about, each with the line of its first change, or the first line it reads."""
    changed = item.files or item.preview
    if changed:
        written = files_written(item) if item.preview else []
        lines = [diff.hunks[0].new + 1 if diff.hunks else None for diff in written]
        lines += [None] * (len(changed) - len(lines))
        return [ToolCallLocation(path=delta.path, line=line) for delta, line in zip(changed, lines, strict=False)]
    path = item.arguments.get("path")
    if kind_of(item.tool) not in ("edit", "search") or not isinstance(path, str) or not path:
        return []
    span = item.arguments.get("view_range")
    line = span[0] if isinstance(span, list) and span and isinstance(span[0], int) and span[0] > 0 else None
    return [ToolCallLocation(path=str(PurePath(workspace, path)), line=line)]


def _content(item: ActionItem) -> Iterator[ToolCallContentVariant]:
    yield from diffs(item)
    if item.phase == "rejected":
        note = f": {visible(item.note)}" if item.note else ""
        yield _text(f"{decision_of(item) or 'rejected'}{note}")
    elif item.phase in _NOT_RUN:
        yield _text(_NOT_RUN[item.phase])
    elif output := _output(item):
        yield _text(fenced(output))


def _output(item: ActionItem) -> str:
    """Return the output to show: of a running action the output so far, otherwise the tool's own rendering or the
    output.
    """
    if item.phase == "done" and presentation(item).result in ("changes", "none"):
        return ""
    return visible(item.rendering or printed_output(item)).strip("\n")


def _text(text: str) -> ToolCallContentVariant:
    return tool_content(text_block(text))


def fenced(text: str) -> str:
    """Return a text as a code block of Markdown, which nothing in the text can end."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"
