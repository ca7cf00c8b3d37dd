"""An action in a few words: its sign, one line, its outcome, its risk. Called by rows, cards and the detail page.

What is shown comes from what will run (command, path), not from what the model says about it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final

from workbench.text import counted, first_line, revealed, visible
from workbench.view.formatting.wrapping import count_lines
from workbench.view.state import CHANGED_BACK, ActionItem

SHELL_TOOL = "execute_bash"
EDITOR_TOOL = "str_replace_editor"
ASK_TOOL = "ask_human"
DELEGATE_TOOL = "delegate"
LONGEST = 2_000
"""Characters of an argument that are looked at for one line."""

STATE_SIGNS: Final[dict[str, tuple[str, str]]] = {
    "proposed": ("○", "dim"),
    "waiting": ("?", "waiting"),
    "approved": ("○", "dim"),
    "running": ("●", "running"),
    "done": ("✓", "ok"),
    "failed": ("✗", "failed"),
    "rejected": ("–", "dim"),
    "skipped": ("–", "dim"),
    "lost": ("!", "failed"),
}
"""Sign and style of each phase."""

SEARCH_TOOLS: Final = frozenset({"glob", "grep"})
_TOOL_SIGNS: Final = {
    SHELL_TOOL: "$",
    "python_execute": "λ",
    "execute_ipython_cell": "λ",
    "browser": "◎",
    "glob": "⌕",
    "grep": "⌕",
    "find_tools": "⌕",
    "web_read": "⇣",
    "task_tracker": "▤",
    "think": "✎",
    ASK_TOOL: "¿",
    DELEGATE_TOOL: "⇉",
    "finish": "■",
}
_MAIN_ARGUMENT: Final = {
    "think": "thought",
    ASK_TOOL: "question",
    "finish": "message",
    "python_execute": "code",
    "web_read": "url",
    "find_tools": "query",
    "execute_ipython_cell": "code",
    "browser": "code",
    DELEGATE_TOOL: "inputs",
}
"""What a call of the tool is about, where that is one text."""
_OUTCOMES: Final = {"rejected": "rejected", "skipped": "skipped", "lost": "unknown"}


def tool_sign(item: ActionItem) -> str:
    """One cell that says what kind of tool it is."""
    if item.tool == EDITOR_TOOL:
        return "≡" if item.arguments.get("command") == "view" else "±"
    if item.tool == CHANGED_BACK:
        return "±"
    return _TOOL_SIGNS.get(item.tool, "◆")


def action_line(item: ActionItem, workspace: str = "") -> str:
    """What it does, on one line, safe to show; paths below the workspace are relative to it."""
    said = _changed_back(item, workspace) if item.tool == CHANGED_BACK else _action_line(item, workspace)
    return f"{said} · {item.part}" if item.part else said


def _action_line(item: ActionItem, workspace: str) -> str:
    arguments = item.arguments
    if item.error:
        name, why = visible(item.tool[:80], lines=False), _short(item.error)
        return why if why.startswith(f"{name} ") else f"{name}: {why}"
    if item.tool == SHELL_TOOL:
        return _command(arguments)
    if item.tool == EDITOR_TOOL:
        return _edit(arguments, workspace)
    if item.tool == "task_tracker":
        return _plan(arguments)
    if item.tool in SEARCH_TOOLS:
        return _search(arguments, workspace)
    said = arguments.get(_MAIN_ARGUMENT.get(item.tool, ""))
    who = f"{_short(arguments['agent'], 24)}: " if item.tool == DELEGATE_TOOL and arguments.get("agent") else ""
    return f"{who}{_short(said)}" if said else _any_tool(item)


def copied(item: ActionItem) -> tuple[str, str]:
    """What of an action is worth to be copied: a command, a path or what it is about; and its name in words."""
    main = {SHELL_TOOL: "command", EDITOR_TOOL: "path", **_MAIN_ARGUMENT}.get(item.tool, "path")
    value = item.arguments.get(main)
    if isinstance(value, str) and value:
        return f"the {main}", value
    return "the arguments", json.dumps(item.arguments, ensure_ascii=False, indent=2, default=str)


def outcome(item: ActionItem) -> str:
    """How it ended, in at most a few words: `exit 1`, `+3 −1`, `rejected`, or nothing."""
    if item.phase in _OUTCOMES:
        return _OUTCOMES[item.phase]
    if item.exit_code == -1 and item.phase == "done":
        return "goes on"
    if item.phase == "failed":
        return f"exit {item.exit_code}" if item.exit_code not in (None, 0, -1) else "error"
    if item.files:
        counts = [count_lines(delta.before, delta.after) for delta in item.files]
        return plus_minus(sum(added for added, _ in counts), sum(removed for _, removed in counts))
    return _count_found(item.observation) if item.tool in SEARCH_TOOLS and item.phase == "done" else ""


def plus_minus(added: int, removed: int) -> str:
    """`+3 −1`; a side that is zero is left out, unless both are."""
    if not added and not removed:
        return "±0"
    return " ".join(part for part in (f"+{added}" if added else "", f"−{removed}" if removed else "") if part)


def seconds(value: float, *, live: bool = False) -> str:
    """A duration as a person reads it: `0.02 s`, `1.2 s`, `42 s`, `3:05 min`, `2 h 10`."""
    if value >= 3600:
        return f"{int(value) // 3600} h {int(value) % 3600 // 60:02d}"
    if value >= 60:
        return f"{int(value) // 60}:{int(value) % 60:02d} min"
    if live or value >= 10:
        return f"{int(value)} s"
    return f"{value:.2f} s" if value < 1 else f"{value:.1f} s"


def short_path(path: str, workspace: str = "") -> str:
    """The path as shown: relative to the workspace when it lies in it."""
    pure = PurePath(path)
    if workspace and pure.is_relative_to(workspace):
        path = str(pure.relative_to(workspace))
    return revealed(path[-LONGEST:], lines=False)


def _changed_back(item: ActionItem, workspace: str) -> str:
    names = [short_path(delta.path, workspace) for delta in item.files]
    return f"changed back {names[0] if len(names) == 1 else f'{len(names)} files'}"


def _command(arguments: Mapping[str, Any]) -> str:
    command = str(arguments.get("command", ""))
    if arguments.get("is_input") in (True, "true"):
        return f"input: {_short(command, show=revealed)}"
    if not command.strip():
        return "restart the shell" if arguments.get("reset") else "wait for more output"
    return _short(command, show=revealed)


def _edit(arguments: Mapping[str, Any], workspace: str) -> str:
    path = short_path(str(arguments.get("path", "")), workspace)
    view = arguments.get("view_range")
    if isinstance(view, list | tuple) and len(view) == 2:
        last = "end" if view[1] == -1 else view[1]
        return visible(f"{path} {view[0]}-{last}", lines=False)
    verb = {"create": " new", "undo_edit": " undo", "insert": " insert"}.get(str(arguments.get("command")), "")
    return path + verb


def _search(arguments: Mapping[str, Any], workspace: str) -> str:
    where, files = arguments.get("path"), arguments.get("include")
    said = [_short(arguments.get("pattern", ""))]
    said += [f"in {short_path(str(where), workspace)}"] if where else []
    said += [f"({_short(files, 60)})"] if files else []
    return " ".join(said)


def _count_found(observation: Mapping[str, Any]) -> str:
    lines = observation.get("matched_lines")
    count, word = (observation.get("found"), "file") if lines is None else (lines, "line")
    return counted(count, word) if isinstance(count, int) else ""


def _plan(arguments: Mapping[str, Any]) -> str:
    entries = arguments.get("task_list")
    if arguments.get("command") != "plan" or not isinstance(entries, list | tuple):
        return "look at the plan"
    done = sum(1 for entry in entries if isinstance(entry, Mapping) and entry.get("status") == "done")
    return f"plan: {done} of {len(entries)} done"


def _any_tool(item: ActionItem) -> str:
    said = ", ".join(f"{_short(name, 40)}={_short(value, 60)}" for name, value in list(item.arguments.items())[:4])
    return f"{visible(item.tool[:80], lines=False)} {said}".strip()


def _short(value: object, width: int = 300, show: Callable[..., str] = visible) -> str:
    """The first line; a sign of more where lines follow."""
    text = str(value)[:LONGEST].strip()
    line = first_line(text, width, show)
    return f"{line} …" if "\n" in text and not line.endswith("…") else line


_SAID: Final[Mapping[str, Callable[[Any], str]]] = {
    "exit_code": lambda code: f"exit code {code}" if isinstance(code, int) and code >= 0 else "",
    "timed_out": lambda is_so: "its time was up before it was done" if is_so else "",
    "full_output": lambda place: f"the whole output is in {place}",
    "output_file": lambda place: f"the whole output is in {place}",
    "metadata": lambda known: _folder(known),
    "truncated": lambda is_so: "there was more than is shown" if is_so else "",
    "found": lambda count: f"{count} found" if isinstance(count, int) else f"found: {_plain(count)}",
    "matched_files": lambda count: f"files that match: {count}",
    "matched_lines": lambda count: f"lines that match: {count}",
    "url": lambda address: f"address: {address}",
    "title": lambda title: f"title: {title}",
    "kind": lambda kind: f"kind of text: {kind}",
    "pages": lambda count: f"parts: {count}" if count else "",
    "page": lambda number: f"part {number}",
    "status": lambda number: f"the server answered with {number}",
    "kept": lambda is_so: "read before, and kept since" if is_so else "",
    "interpreter": lambda place: f"interpreter: {place}",
    "count": lambda number: f"cell {number}" if number else "",
    "restarted": lambda is_so: "the interpreter was started anew" if is_so else "",
    "server": lambda name: f"MCP server: {name}",
    "tool": lambda name: f"its tool: {name}",
    "agent": lambda name: f"sub-agent: {name}",
    "session": lambda name: f"its session: {name}",
    "model": lambda name: f"written by {name}",
    "cost": lambda dollars: f"for ${dollars:.4f}" if isinstance(dollars, int | float) else "",
    "input_tokens": lambda count: f"{count} tokens in",
    "output_tokens": lambda count: f"{count} tokens out",
    "tabs": lambda tabs: f"open pages: {_plain(tabs)}" if tabs else "",
    "downloads": lambda files: f"downloaded: {_plain(files)}" if files else "",
}
_SHOWN_ELSEWHERE: Final = frozenset(
    (
        *("content", "output", "old_content", "new_content", "is_error", "error", "command", "path", "prev_exist"),
        *("task_list", "files", "response"),
    )
)
"""What stands in the result's text, among the arguments or in the diff."""


def result_facts(observation: Mapping[str, Any]) -> Iterator[str]:
    """A line each; a field of a tool of somebody else's is told by its name."""
    for name, value in observation.items():
        if name in _SHOWN_ELSEWHERE or value is None or value in ("", [], {}):
            continue
        said = _SAID[name](value) if name in _SAID else f"{name.replace('_', ' ')}: {_plain(value)}"
        if said:
            yield said


def _folder(known: Any) -> str:
    place = known.get("working_dir") if isinstance(known, Mapping) else None
    return f"folder afterwards: {place}" if place else ""


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
