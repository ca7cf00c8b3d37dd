"""What an approval is bound to: the action exactly as it was shown; checked again before the action starts."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.files.root_directory import real_path
from workbench.protocol.events import ActionAssessed, FileDelta
from workbench.protocol.risk import Risk
from workbench.risk.assessment import NOT_COMPARED
from workbench.text import visible_path

_MOST_LISTED = 4
NOT_ALL_COMPARED = (
    "it may run more files than are compared before it starts: if some of them change until then, that is not noticed"
)


def fingerprint(
    tool: str,
    arguments: dict[str, Any],
    working_dir: str,
    files: Iterable[FileDelta],
    stacked: Collection[str] = (),
    *,
    executes: Mapping[str, str] | None = None,
    reads: Sequence[str] = (),
) -> str:
    """Return a hash of everything that an approval is bound to.

    That is the tool, its canonical arguments, the working directory (path and identity), each file shown (identity,
    current content, text before and after), each file that it executes, and the real paths that it reads through links.
    For files in `stacked`, which an earlier action writes first, only the path and the texts before and after count.
    """
    states = [[file.path, *_on_disk(file.path, file.path in stacked), file.before, file.after] for file in files]
    where = [working_dir, *_identity(working_dir)]
    resolved = [path for path in reads if path not in arguments.values()]
    more = [part for part in (executes, resolved) if part]
    text = json.dumps([tool, arguments, where, states, *more], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def question_fingerprint(print_: str, risk: Risk) -> str:
    """Return the fingerprint of a question: the action's fingerprint and the risk with which it was shown."""
    return f"{print_}:{risk}"


def is_same_action(one: str, other: str) -> bool:
    """Return whether two fingerprints are of the same action; the risk in them, which older logs lack, is ignored."""
    return one.partition(":")[0] == other.partition(":")[0]


def executed_changes(before: Mapping[str, str], after: Mapping[str, str], directory: str) -> str:
    """Describe in one line how the files that an action executes have changed since the action was shown.

    Empty if nothing differs. Paths below `directory` are relative to it.
    """
    differ = [path for path in after if path in before and before[path] != after[path]]
    lines = [f"{_short(path, directory)} {_difference(before[path], after[path])}" for path in differ]
    lines += [f"{_short(path, directory)} is new" for path in after if path not in {*before, NOT_COMPARED}]
    gone = [path for path in before if path not in {*after, NOT_COMPARED}]
    lines += [f"{_short(path, directory)} is not there or not used any more" for path in gone]
    more = len(lines) - _MOST_LISTED
    listed = [*lines[:_MOST_LISTED], *([f"{more} more"] if more > 0 else [])]
    return f"what it runs has changed since it was shown: {', '.join(listed)}" if lines else ""


def question_changes(before: ActionAssessed, now: ActionAssessed) -> str:
    """Describe in one line how what an action would do differs from what was shown; empty if it does not."""
    if before.working_dir != now.working_dir:
        return f"it would run in {visible_path(now.working_dir)} here, and in {visible_path(before.working_dir)} there"
    if before.edited != now.edited:
        return "its arguments differ from those that were shown"
    if before.preview != now.preview:
        changed = content_changes(before.preview, now.preview, now.working_dir)
        return changed or "what it would write differs from what was shown"
    return executed_changes(before.executes, now.executes, now.working_dir)


def content_changes(before: Iterable[FileDelta], after: Iterable[FileDelta], directory: str) -> str:
    """Describe in one line which files have changed since the diff was shown; empty if none has.

    Paths below `directory` are relative to it.
    """
    contents = {file.path: file.before for file in before}
    names = [
        _short(file.path, directory) for file in after if file.path in contents and contents[file.path] != file.before
    ]
    if not names:
        return ""
    more = [f"{len(names) - _MOST_LISTED} more"] if len(names) > _MOST_LISTED else []
    have = "has" if len(names) == 1 else "have"
    return f"{', '.join([*names[:_MOST_LISTED], *more])} {have} changed since this was shown: the diff is the new one"


def _short(path: str, directory: str) -> str:
    return visible_path(path.removeprefix(f"{directory}/"))


def _difference(before: str, after: str) -> str:
    (content, _, _), (now, _, real) = before.partition(" "), after.partition(" ")
    if content != now:
        return "changed"
    return f"leads to {visible_path(real)} now" if real else "is no longer a link"


def _on_disk(path: str, is_stacked: bool) -> list[Any]:
    if is_stacked:
        return [real_path(path) if "\x00" not in path else ""]
    return [_identity(path), _content(path)]


def _identity(path: str) -> list[Any]:
    try:
        info = os.lstat(path)
    except (OSError, ValueError):
        return [real_path(path) if "\x00" not in path else "", None]
    return [real_path(path), info.st_dev, info.st_ino, stat.S_IFMT(info.st_mode)]


def _content(path: str) -> str:
    try:
        if not Path(path).is_file():  # a pipe or device would block
            return ""
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return ""
