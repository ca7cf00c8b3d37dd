"""A tool call of another agent as its program describes it, and the action that represents the call in our session.

The description is the program's own: its title and kind do not affect any decision. A command line and file changes in
it are rated and checked against the rules like those of our own agent; everything else in it is treated as unverified.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
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
from workbench.lazy_pattern import lazy_pattern
from workbench.secrets.masker import MASKER
from workbench.text import cut_middle, first_line, well_formed
from workbench.tools.execute_bash import NAME as SHELL
from workbench.tools.str_replace_editor import NAME as EDITOR

UNCHECKED: Final = "agent_call"
"""The tool that represents a call about which we understand only what the agent says."""
REPORT: Final = "agent_report"
"""The tool that records a call which the agent has made without asking."""
_LONGEST_TEXT: Final = 30_000
_LONGEST_TITLE: Final = 200
_LARGEST: Final = 500_000
"""The maximum number of characters of an input or output as JSON."""
_MOST_PATHS: Final = 50
_COMMAND_KEYS: Final = ("command", "cmd")
_DIRECTORY_KEYS: Final = ("cwd", "workdir", "working_directory")
_HARMLESS_KEYS: Final = frozenset(
    {"description", "reason", "timeout", "timeout_ms", "call_id", "turn_id", "process_id", "started_at_ms", "source"}
    | {"auto_approved", "parsed_cmd", "available_decisions", "proposed_execpolicy_amendment"}
)
"""Keys of an input that do not change what the command or edit beside them does; Codex sends the longer ones."""
_PATH_KEYS: Final = frozenset({"file_path", "path", "abs_path", "filePath", "filepath"})
_EDIT_KEYS: Final = frozenset(
    {"old_string", "new_string", "old_str", "new_str", "old_text", "new_text", "oldText", "newText", "content"}
    | {"file_text", "replace_all", "instruction", "expected_replacements"}
)
"""Keys of an edit's input; the content that they describe is compared with the file once the call is over."""

_CHANGE_KEYS: Final = frozenset({"type", "content", "unified_diff", "patch", "additions", "deletions", "relativePath"})
"""Keys of one file's entry in `changes` (Codex) and `files` (OpenCode) that name no other file."""
_STAYING: Final = ("add", "update")
"""The types of changes after which the file is there under its name."""
_NO_FILE: Final = "/dev/null"
_DIFF_HEADER: Final = lazy_pattern(r"(?:Index: |--- |\+\+\+ )([^\t]*)")
_DIFF_LINE: Final = lazy_pattern(r"[ +\-\\]|@@ |=+$|$")
_FENCED: Final = lazy_pattern(r"(?s)\A(`{3,})[^`\n]*\n(.*?)\n?\1\s*\Z")
_OUTPUT_KEYS: Final = ("formatted_output", "aggregated_output", "output", "text", "error")
_SHELLS: Final = ("bash", "sh")
_ONLY_TITLE: Final = "Only its title says what it runs."

Change: TypeAlias = ToolCallStart | ToolCallProgress | ToolCallUpdate
Arguments: TypeAlias = dict[str, Any]


class CallDiff(NamedTuple):
    """The change to a file, or to a passage in it, that a call describes; if `old` is None, the file is new."""

    path: str
    old: str | None
    new: str


def clean(text: str) -> str:
    """Return text from the agent with secrets masked, so that it may be stored."""
    return MASKER.masked(well_formed(text))


@dataclass
class AgentCall:
    """A tool call, as far as the agent's program has described it."""

    id: str
    title: str = ""
    kind: str = ""
    status: str = "pending"
    text: str = ""
    diffs: tuple[CallDiff, ...] = ()
    paths: tuple[str, ...] = ()
    input: Any = None
    output: Any = None
    was_proposed: bool = False
    """Whether an action of the session represents the call."""
    is_cut: bool = False
    """Whether the call has more changes or paths than are stored here."""
    size: int = 0
    """The approximate number of characters stored about the call."""
    is_title_cut: bool = False
    """Whether the program has sent a longer title, or one of several lines."""
    was_refused: bool = False
    """Whether the last permission request for the call was refused."""

    @property
    def is_over(self) -> bool:
        """Whether the program has reported the end of the call."""
        return self.status in ("completed", "failed")

    @property
    def name(self) -> str:
        """The title of the call on one line, or a substitute if there is none."""
        return self.title or "a tool call without a title"

    def apply(self, change: Change) -> None:
        """Apply an update from the program; fields that are missing in it stay unchanged."""
        if title := clean(change.title or "").strip():
            self.title = first_line(title, _LONGEST_TITLE)
            self.is_title_cut = self.title != title
        self.kind = change.kind or self.kind
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
        """Store the changes, or only the start of each if they are too large."""
        if len(diffs) > _MOST_PATHS or sum(len(old or "") + len(new) for _, old, new in diffs) > _LARGEST:
            most = _LONGEST_TEXT // _MOST_PATHS
            diffs = [CallDiff(path, (old or "")[:most], new[:most]) for path, old, new in diffs[:_MOST_PATHS]]
            self.is_cut = True
        self.diffs = tuple(diffs)

    def forget(self) -> None:
        """Drop the content that was needed only for the proposal and the result."""
        self.diffs, self.input, self.output, self.text, self.size = (), None, None, "", 0

    @property
    def result(self) -> str:
        """The result of the call as text: what the program shows, its output, or the names of the changed files."""
        changed = f"It changed {', '.join(diff.path for diff in self.diffs)}." if self.diffs else ""
        return _unfenced(self.text) or cut_middle(clean(_output(self.output)), _LONGEST_TEXT) or clean(changed)


def _unfenced(text: str) -> str:
    """Return the content of a code block, if the text is one: some adapters send all output as Markdown."""
    block = _FENCED.match(text)
    return block[2] if block is not None and f"\n{block[1]}" not in f"\n{block[2]}" else text


def _output(value: Any) -> str:
    """Return the output of a call as text: of an object with several descriptions of it, the one for readers."""
    if isinstance(value, Mapping):
        strings = (value.get(key) for key in _OUTPUT_KEYS)
        value = next((each for each in strings if isinstance(each, str) and each), value)
    elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
        value = "\n".join(map(_output, value))
    if value is None or isinstance(value, str):
        return value or ""
    return _json(value)


def _bounded(value: Any) -> Any:
    """Return the value; if its JSON is too large, return the start of that as text instead."""
    text = _json(value)
    return value if len(text) <= _LARGEST else f"{text[:_LONGEST_TEXT]}…"


def _strings(content: Sequence[Any]) -> Iterator[str]:
    for each in content:
        if isinstance(each, ContentToolCallContent) and isinstance(each.content, TextContentBlock):
            yield each.content.text


def action_for(call: AgentCall, workspace: str) -> tuple[str, Arguments]:
    """Return the tool and the arguments of the action that represents a call for which the agent asks permission.

    An edit of one file becomes an action of our editor, and a command line one of our shell. Any other call becomes an
    `agent_call`; its arguments include the agent's own words, unless edits and a command line describe it completely.
    The title of a call that runs something and has no input is rated as a command line, but stays the agent's words.
    """
    line = command_line(call.input, workspace)
    edits = [edit for diff in call.diffs if (edit := edit_for(diff, workspace)) is not None]
    is_each_there = not call.is_cut and len({edit["path"] for edit in edits}) == len(call.diffs)
    is_understood = is_each_there and bool(edits or line) and _says_no_more(call, line, workspace)
    if is_understood and not edits:
        return SHELL, {"command": line}
    if is_understood and len(edits) == 1 and not line:
        return EDITOR, edits[0]
    arguments = {"title": call.name, "command": line or _titled(call), "edits": edits if is_each_there else []}
    if not is_understood:
        arguments |= _own_words(call)
        arguments["details"] = arguments["details"] or (_ONLY_TITLE if _titled(call) else "")
    return UNCHECKED, {name: value for name, value in arguments.items() if value}


def _titled(call: AgentCall) -> str:
    """Return the title of a call without an input, as Gemini CLI sends commands; empty if that cannot be one."""
    is_command = call.kind == "execute" and call.input is None and not call.is_title_cut
    return call.title if is_command else ""


def _says_no_more(call: AgentCall, line: str, workspace: str) -> bool:
    """Return whether the input and paths of a call contain nothing beyond its diffs and its command line."""
    changed = {str(Path(workspace, diff.path)) for diff in call.diffs}
    where = _values(call.input, _DIRECTORY_KEYS) if isinstance(call.input, Mapping) else []
    directory = {str(Path(workspace, each)) for each in (workspace, *where) if isinstance(each, str)} if line else set()
    if not (changed | directory).issuperset(str(Path(workspace, path)) for path in call.paths):
        return False
    if call.input is None:
        return True
    return isinstance(call.input, Mapping) and all(
        key in _HARMLESS_KEYS
        or (bool(line) and key in (*_COMMAND_KEYS, *_DIRECTORY_KEYS))
        or (bool(changed) and _describes(key, value, changed, workspace))
        for key, value in call.input.items()
    )


def _describes(key: str, value: Any, changed: Set[str], workspace: str) -> bool:
    """Return whether an entry of an input describes only changes to the files in `changed`."""

    def is_changed(path: Any) -> bool:
        return isinstance(path, str) and str(Path(workspace, path)) in changed

    if key == "changes" and isinstance(value, Mapping):
        return all(is_changed(path) and _is_of_one_file(entry, {"move_path"}) for path, entry in value.items())
    if key == "files" and isinstance(value, list):
        return all(_is_of_one_file(entry, {"filePath"}) and is_changed(entry["filePath"]) for entry in value)
    if key == "diff" and isinstance(value, str):
        return all(_names_only(line, is_changed) for line in value.splitlines())
    is_plain = value is None or isinstance(value, str | int)
    return (key in _EDIT_KEYS and is_plain) or (key in _PATH_KEYS and is_changed(value))


def _is_of_one_file(entry: Any, paths: Set[str]) -> bool:
    """Return whether the entry of a file names no other one; its own is in the keys `paths`, or these are null."""
    if not isinstance(entry, Mapping) or not entry.keys() <= _CHANGE_KEYS | paths:
        return False
    stays = entry.get("type") in _STAYING and entry.get("move_path") is None
    return stays and ("filePath" in entry or "filePath" not in paths)


def _names_only(line: str, is_changed: Callable[[Any], bool]) -> bool:
    """Return whether a line of a unified diff names no other file; one that could be a header counts as one."""
    header = _DIFF_HEADER.match(line)
    if header is None:
        return _DIFF_LINE.match(line) is not None
    return header[1] == _NO_FILE or is_changed(header[1])


def says_the_same(call: AgentCall, tool: str, arguments: Mapping[str, Any], workspace: str) -> bool:
    """Return whether a finished call is, according to the agent, still the one that was approved as this action.

    Neither the content of files is compared nor the text that the agent shows, because that is now the result.
    """
    if tool == SHELL:
        return action_for(call, workspace) == (tool, arguments)
    asked = {str(Path(workspace, path)) for path in arguments.get("paths", ())}
    asked |= {edit["path"] for edit in arguments.get("edits", ())} | {arguments.get("path", "")}
    line = arguments.get("command", "") if tool == UNCHECKED else ""
    return (
        asked.issuperset(str(Path(workspace, diff.path)) for diff in call.diffs)
        and (call.input is None or command_line(call.input, workspace) == line)
        and arguments.get("input") in (None, _own_words(call)["input"])
    )


def _own_words(call: AgentCall) -> Arguments:
    """Return the agent's own description of a call, as arguments of an `agent_call`."""
    changes = (f"{diff.path}:\n- {diff.old or ''}\n+ {diff.new}" for diff in call.diffs)
    return {
        "input": "" if call.input is None else cut_middle(clean(_json(call.input)), _LONGEST_TEXT),
        "details": cut_middle("\n".join((*filter(None, [call.text]), *map(clean, changes))), _LONGEST_TEXT),
        "paths": list(dict.fromkeys((*(diff.path for diff in call.diffs), *call.paths))),
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)


def command_line(raw_input: Any, workspace: str) -> str:
    """Return the command line in the input of a call, with a `cd` to the directory that the input names.

    It is empty if there is none, if there are several commands or directories, or if one is not a string: only the
    agent knows which of them it uses.
    """
    if not isinstance(raw_input, Mapping):
        return ""
    commands, directories = _values(raw_input, _COMMAND_KEYS), _values(raw_input, _DIRECTORY_KEYS)
    if len(commands) != 1 or len(directories) > 1 or not all(isinstance(each, str) for each in directories):
        return ""
    written = commands[0]
    if isinstance(written, list) and all(isinstance(word, str) for word in written):
        written = _script(written) or shlex.join(written)
    if not isinstance(written, str) or not written.strip():
        return ""
    if not any(directories) or real_path(directories[0]) == real_path(workspace):
        return well_formed(written)
    return well_formed(f"cd {shlex.quote(directories[0])} && {written}")


def _script(words: Sequence[str]) -> str:
    """Return the script that bash or sh is started with, as Codex does for each command; empty for other programs."""
    is_script = len(words) == 3 and Path(words[0]).name in _SHELLS and words[1] in ("-c", "-lc")
    return words[2] if is_script else ""


def _values(raw_input: Mapping[str, Any], keys: Sequence[str]) -> list[Any]:
    return [raw_input[key] for key in keys if raw_input.get(key) is not None]


def edit_for(diff: CallDiff, workspace: str) -> Arguments | None:
    """Return the arguments with which our editor makes this change; None if it does not fit the current file."""
    path = str(Path(workspace, diff.path))
    content = content_of(path)
    if diff.old is None or (not diff.old and not content):
        return edit_to(path, diff.new, content)
    if content is None or content.count(diff.old) != 1:
        return None
    return {"command": "str_replace", "path": path, "old_str": diff.old, "new_str": diff.new}


def edit_to(path: str, text: str, content: str | None) -> Arguments | None:
    """Return the arguments with which our editor changes a file from `content` to `text`; None if they are equal.

    A `content` of None means that the file does not exist.
    """
    if content is None:
        return {"command": "create", "path": path, "file_text": text}
    if content == text:
        return None
    if not content:
        return {"command": "insert", "path": path, "insert_line": 0, "new_str": text}
    return {"command": "str_replace", "path": path, "old_str": content, "new_str": text}


def content_of(path: str) -> str | None:
    """Return the text of a file; None if there is no readable one."""
    try:
        real = Path(real_path(path))
        return decoded(real, read_bytes(real))[1]
    except (EditorError, OSError, ValueError):
        return None
