"""What an edit would do, worked out without writing: preview and execution both go by the same plan."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from workbench.tools.str_replace_editor.definition import StrReplaceEditorAction
from workbench.tools.str_replace_editor.edits import Edited, changed_part, insert_after, replace_once
from workbench.tools.str_replace_editor.text_file import MAX_BYTES, Coding, EditorError, decoded, digest, read_bytes
from workbench.tools.str_replace_editor.undo import UndoCopies

_COMPARED = 2_000
"""Names of a folder that are looked at for the one that was meant."""


@dataclass(frozen=True)
class Plan:
    """One file before and after, as bytes and as text; None where it does not exist."""

    path: Path
    raw_before: bytes | None
    raw_after: bytes | None
    before: str | None
    after: str | None
    edited: Edited | None = None


class Planner:
    """Works out plans; knows what the model was last shown of each file and the earlier versions."""

    def __init__(self, workspace: str, undo: UndoCopies) -> None:
        self._workspace = workspace
        self._undo = undo
        self._shown: dict[Path, str] = {}

    def plan(self, action: StrReplaceEditorAction) -> Plan:
        """The change the action stands for; raises EditorError when it cannot be made, OSError."""
        path = self.locate(action.path)
        if action.command == "create":
            return self._creation(path, _given(action, "file_text"))
        if action.command == "undo_edit":
            return self._undoing(path)
        edit = self._edit_of(action)
        raw = self._read_unchanged(path)
        coding, before = decoded(path, raw)
        edited = edit(before)
        after = _encoded(coding, edited.text, path)
        return Plan(path, raw, after, before, edited.text, edited)

    def locate(self, given: str) -> Path:
        """The file itself, links followed; raises EditorError for a path that is not absolute."""
        if not Path(given).is_absolute():
            home = f"{Path.home()}/{given[2:]}" if given.startswith("~/") else given
            absolute = os.path.normpath(Path(self._workspace) / home)
            raise EditorError(f"The path {given!r} is not absolute. Did you mean {absolute}?")
        return Path(os.path.realpath(given))

    def remember(self, path: Path, content: str) -> None:
        """The model knows the content with this digest now; an empty one: nothing any more."""
        self._shown.pop(path, None)
        if content:
            self._shown[path] = content

    def existing(self, path: Path) -> Path:
        """The path, if something is there; raises EditorError that names what is near otherwise."""
        if path.exists():
            return path
        beside = [entry.name for entry in islice(path.parent.iterdir(), _COMPARED)] if path.parent.is_dir() else []
        near = get_close_matches(path.name, beside, 1)
        hint = f" Did you mean {path.parent / near[0]}?" if near else " Use `create` for a new file."
        raise EditorError(f"{path} does not exist.{hint}")

    def _edit_of(self, action: StrReplaceEditorAction) -> Callable[[str], Edited]:
        if action.command == "insert":
            line, added = action.insert_line, _given(action, "new_str")
            if line is None:
                raise EditorError("`insert` needs `insert_line`: the line after which the text goes, 0 for the top.")
            return lambda text: insert_after(text, line, added)
        old = _given(action, "old_str")
        return lambda text: replace_once(text, old, action.new_str or "")

    def _creation(self, path: Path, text: str) -> Plan:
        if os.path.lexists(path):
            what = "is a folder" if path.is_dir() else "exists already"
            raise EditorError(f"{path} {what}; `create` never replaces anything. Use `str_replace` to edit a file.")
        return Plan(path, None, _encoded(Coding(), text, path), None, text)

    def _undoing(self, path: Path) -> Plan:
        earlier = self._undo.last(path)
        if earlier is None:
            raise EditorError(f"There is no edit of {path} left to take back.")
        raw = read_bytes(self.existing(path))
        if digest(raw) != earlier.made:
            if earlier.existed and raw == earlier.raw:  # kept for an edit that a crash prevented
                self._undo.drop(path)
                return self._undoing(path)
            raise EditorError(
                f"{path} was changed by something else after the last edit, and taking that edit back would lose the "
                "change. View the file and make the opposite edit with `str_replace`."
            )
        before = decoded(path, raw)[1]
        if not earlier.existed:
            return Plan(path, raw, None, before, None)
        after = decoded(path, earlier.raw)[1]
        return Plan(path, raw, earlier.raw, before, after, changed_part(before, after))

    def _read_unchanged(self, path: Path) -> bytes:
        raw = read_bytes(self.existing(path))
        if path in self._shown and self._shown[path] != digest(raw):
            raise EditorError(f"{path} has changed since it was last shown to you. View it again before you edit it.")
        return raw


def _given(action: StrReplaceEditorAction, name: str) -> str:
    value = getattr(action, name)
    if value is None:
        raise EditorError(f"The command `{action.command}` needs `{name}`.")
    return str(value)


def _encoded(coding: Coding, text: str, path: Path) -> bytes:
    raw = coding.encode(text)
    if len(raw) > MAX_BYTES:
        raise EditorError(f"{path} would become larger than {MAX_BYTES // 1_000_000} MB; write it in parts.")
    if b"\0" in raw and not coding.encoding.startswith(("utf-16", "utf-32")):
        raise EditorError("The text holds a NUL character, which would make the file a binary one.")
    return raw
