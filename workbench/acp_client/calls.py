"""A tool call of another agent as its program describes it, and the actions that stand for it in our session.

The description is the program's own: its title and kind decide nothing. A command line and the changes of files are
rated and ruled on like those of our own agent; whatever else it says counts as unchecked.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)

from workbench.files.root_directory import real_path
from workbench.files.text_file import EditorError, decoded, read_bytes
from workbench.secrets.masker import MASKER
from workbench.text import cut_middle, first_line, well_formed
from workbench.tools.execute_bash import NAME as SHELL
from workbench.tools.str_replace_editor import NAME as EDITOR

UNCHECKED: Final = "agent_call"
"""The tool that stands for a call of which we understand only what the agent says about it."""
REPORT: Final = "agent_report"
"""The tool that records a call that the agent has made without asking."""
_LONGEST_TEXT: Final = 30_000
_LONGEST_TITLE: Final = 200
_LARGEST: Final = 500_000
"""The most characters of an input or an output as JSON."""
_MOST_PATHS: Final = 50
_COMMAND_KEYS: Final = ("command", "cmd")
_DIRECTORY_KEYS: Final = ("cwd", "workdir", "working_directory")
_HARMLESS_KEYS: Final = frozenset({"description", "reason", "timeout", "timeout_ms", "call_id"})
"""Keys beside a command or an edit that do not change what it does."""
_PATH_KEYS: Final = frozenset({"file_path", "path", "abs_path", "filePath"})
_EDIT_KEYS: Final = frozenset(
    {"old_string", "new_string", "old_str", "new_str", "old_text", "new_text", "oldText", "newText", "content"}
    | {"file_text", "replace_all", "instruction", "expected_replacements"}
)
"""Keys of an edit; what they say is compared with the file once the call is over."""

Change: TypeAlias = ToolCallStart | ToolCallProgress | ToolCallUpdate
Arguments: TypeAlias = dict[str, Any]


class CallDiff(NamedTuple):
    """The change of a file, or of a passage in it, that a call describes; without `old`, the file is new."""

    path: str
    old: str | None
    new: str


def clean(text: str) -> str:
    """Return a text of the agent's without secrets, as it may be stored."""
    return MASKER.masked(well_formed(text))


@dataclass
class AgentCall:
    """A tool call, as far as the program has described it."""

    id: str
    title: str = ""
    status: str = "pending"
    text: str = ""
    diffs: tuple[CallDiff, ...] = ()
    paths: tuple[str, ...] = ()
    input: Any = None
    output: Any = None
    was_proposed: bool = False
    """Whether an action of the session stands for it."""
    is_cut: bool = False
    """Whether its changes or its paths are more than is kept of them."""
    size: int = 0
    """The characters that are kept of it, about."""
    was_refused: bool = False
    """Whether the last answer to it was a no."""

    @property
    def is_over(self) -> bool:
        """Whether the program has reported its end."""
        return self.status in ("completed", "failed")

    @property
    def name(self) -> str:
        """Its title, on one line."""
        return self.title or "a tool call without a title"

    def apply(self, change: Change) -> None:
        """Apply what the program reports; a part that it omits stays as it was."""
        self.title = first_line(clean(change.title or ""), _LONGEST_TITLE) or self.title
        self.status = change.status or self.status
        self.input = self.input if change.raw_input is None else _bounded(change.raw_input)
        self.output = self.output if change.raw_output is None else _bounded(change.raw_output)
        if change.locations is not None:
            self.paths = tuple(well_formed(each.path) for each in change.locations[:_MOST_PATHS])
            self.is_cut = self.is_cut or len(change.locations) > _MOST_PATHS
        if change.content is not None:
            self.text = cut_middle(clean("\n".join(_strings(change.content))), _LONGEST_TEXT)
            diffs = [each for each in change.content if isinstance(each, FileEditToolCallContent)]
            self._apply_diffs([CallDiff(well_formed(each.path), each.old_text, each.new_text) for each in diffs])
        values = [_json(each) for each in (self.input, self.output) if each is not None]
        self.size = sum(map(len, (self.text, *values, *(f"{old or ''}{new}" for _, old, new in self.diffs))))

    def _apply_diffs(self, diffs: Sequence[CallDiff]) -> None:
        """Keep the changes, or the beginning of them if they are too large."""
        if len(diffs) > _MOST_PATHS or sum(len(old or "") + len(new) for _, old, new in diffs) > _LARGEST:
            most = _LONGEST_TEXT // _MOST_PATHS
            diffs = [CallDiff(path, (old or "")[:most], new[:most]) for path, old, new in diffs[:_MOST_PATHS]]
            self.is_cut = True
        self.diffs = tuple(diffs)

    def forget(self) -> None:
        """Drop what only its proposal and its result needed."""
        self.diffs, self.input, self.output, self.text, self.size = (), None, None, "", 0

    @property
    def result(self) -> str:
        """What it has led to, as text."""
        output = "" if self.output is None else self.output if isinstance(self.output, str) else _json(self.output)
        changed = f"It changed {', '.join(diff.path for diff in self.diffs)}." if self.diffs else ""
        return self.text or cut_middle(clean(output), _LONGEST_TEXT) or clean(changed)


def _bounded(value: Any) -> Any:
    """Return a value, or in place of one that is too large its beginning as text."""
    text = _json(value)
    return value if len(text) <= _LARGEST else f"{text[:_LONGEST_TEXT]}…"


def _strings(content: Sequence[Any]) -> Iterator[str]:
    for each in content:
        if isinstance(each, ContentToolCallContent) and isinstance(each.content, TextContentBlock):
            yield each.content.text


def action_for(call: AgentCall, workspace: str) -> tuple[str, Arguments]:
    """Return the tool and the arguments of the action that stands for a call which the agent asks about.

    An edit of one file is one of our editor, and a command line is one of our shell. Anything else is a call of its
    own, with all that the agent has said about it unless that is nothing but edits and a command line.
    """
    line = command_line(call.input, workspace)
    edits = [edit for diff in call.diffs if (edit := edit_for(diff, workspace)) is not None]
    is_each_there = not call.is_cut and len({edit["path"] for edit in edits}) == len(call.diffs)
    is_understood = is_each_there and bool(edits or line) and _says_no_more(call, line, workspace)
    if is_understood and not edits:
        return SHELL, {"command": line}
    if is_understood and len(edits) == 1 and not line:
        return EDITOR, edits[0]
    arguments = {"title": call.name, "command": line, "edits": edits if is_each_there else []}
    if not is_understood:
        arguments |= _own_words(call)
    return UNCHECKED, {name: value for name, value in arguments.items() if value}


def _says_no_more(call: AgentCall, line: str, workspace: str) -> bool:
    """Return whether the input and the paths of a call say nothing beside its diffs and its command line."""
    changed = {str(Path(workspace, diff.path)) for diff in call.diffs}
    if not changed.issuperset(str(Path(workspace, path)) for path in call.paths):
        return False
    if call.input is None:
        return True
    return isinstance(call.input, Mapping) and all(
        key in _HARMLESS_KEYS
        or (bool(line) and key in (*_COMMAND_KEYS, *_DIRECTORY_KEYS))
        or (key in _EDIT_KEYS and bool(changed) and isinstance(value, str | int | None))
        or (key in _PATH_KEYS and isinstance(value, str) and str(Path(workspace, value)) in changed)
        for key, value in call.input.items()
    )


def says_the_same(call: AgentCall, tool: str, arguments: Mapping[str, Any], workspace: str) -> bool:
    """Return whether a call that is over is still the one that an action stood for, as far as the agent says.

    The content of the files is not compared, nor is what the agent shows about the call: that is its result now.
    """
    if tool == SHELL:
        return action_for(call, workspace) == (tool, arguments)
    asked = {str(Path(workspace, path)) for path in arguments.get("paths", ())}
    asked |= {edit["path"] for edit in arguments.get("edits", ())} | {arguments.get("path", "")}
    line = arguments.get("command", "") if tool == UNCHECKED else ""
    return (
        asked.issuperset(str(Path(workspace, diff.path)) for diff in call.diffs)
        and command_line(call.input, workspace) == line
        and arguments.get("input") in (None, _own_words(call)["input"])
    )


def _own_words(call: AgentCall) -> Arguments:
    """Return what the agent says about a call."""
    changes = (f"{diff.path}:\n- {diff.old or ''}\n+ {diff.new}" for diff in call.diffs)
    return {
        "input": "" if call.input is None else cut_middle(clean(_json(call.input)), _LONGEST_TEXT),
        "details": cut_middle("\n".join((*filter(None, [call.text]), *map(clean, changes))), _LONGEST_TEXT),
        "paths": list(dict.fromkeys((*(diff.path for diff in call.diffs), *call.paths))),
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)


def command_line(raw_input: Any, workspace: str) -> str:
    """Return the command line in the input of a call, in the directory that it names.

    It is empty if there is none, or if the input has more than one command or directory, or none that is a text: which
    of them counts only the agent knows.
    """
    if not isinstance(raw_input, Mapping):
        return ""
    commands, directories = _values(raw_input, _COMMAND_KEYS), _values(raw_input, _DIRECTORY_KEYS)
    if len(commands) != 1 or len(directories) > 1 or not all(isinstance(each, str) for each in directories):
        return ""
    written = commands[0]
    if isinstance(written, list) and all(isinstance(word, str) for word in written):
        written = shlex.join(written)
    if not isinstance(written, str) or not written.strip():
        return ""
    if not any(directories) or real_path(directories[0]) == real_path(workspace):
        return well_formed(written)
    return well_formed(f"cd {shlex.quote(directories[0])} && {written}")


def _values(raw_input: Mapping[str, Any], keys: Sequence[str]) -> list[Any]:
    return [raw_input[key] for key in keys if raw_input.get(key) is not None]


def edit_for(diff: CallDiff, workspace: str) -> Arguments | None:
    """Return the arguments of our editor that make this change; None if it does not fit the file as it is now."""
    path = str(Path(workspace, diff.path))
    content = content_of(path)
    if diff.old is None or (not diff.old and not content):
        return edit_to(path, diff.new, content)
    if content is None or content.count(diff.old) != 1:
        return None
    return {"command": "str_replace", "path": path, "old_str": diff.old, "new_str": diff.new}


def edit_to(path: str, text: str, content: str | None) -> Arguments | None:
    """Return the arguments of our editor that give a file this text; None if it has it already."""
    if content is None:
        return {"command": "create", "path": path, "file_text": text}
    if content == text:
        return None
    if not content:
        return {"command": "insert", "path": path, "insert_line": 0, "new_str": text}
    return {"command": "str_replace", "path": path, "old_str": content, "new_str": text}


def content_of(path: str) -> str | None:
    """Return the text of a file; None if there is none that could be read."""
    try:
        real = Path(real_path(path))
        return decoded(real, read_bytes(real))[1]
    except (EditorError, OSError, ValueError):
        return None
